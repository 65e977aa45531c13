"""What a judge is for, new sources or new systems, and how much of the systems its fit and its choice leave out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared
from calibrator.criteria import Measured
from calibrator.drafting.fitting import share_for_new_systems
from calibrator.errors import ConfigError

ENOUGH_SYSTEMS, FEWEST_SYSTEMS = 4, 3
MIXED = 0.5  # the share where nothing is fitted and only the choice on dev follows the purpose

Kind = Literal["new-sources", "new-systems"]
NEW_SOURCES: Kind = "new-sources"
NEW_SYSTEMS: Kind = "new-systems"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What the judge is for and `why`; `systems` counts those that are named.

    `share`, 0 to 1, of each system's mean is taken off before what is fitted is fitted and what is chosen is chosen.
    """

    kind: Kind
    why: str
    systems: int
    share: float

    @property
    def fit(self) -> str:
        """The share in a word."""
        return "plain" if self.share == 0 else "centred" if self.share == 1 else "mixed"


def purpose_of(config: RunConfig, prepared: Prepared) -> Purpose:
    """Return what the judge is for: as the configuration says, else new systems where at least four are named.

    The share is chosen on train and dev by leaving systems out (see `stats.transfer`); a model's rubric has nothing to
    fit, and is chosen on dev with half of the systems' means taken off. The paper's protocol knows no systems. Raises
    ConfigError if a judge for new systems is wanted where fewer than three are named.
    """
    systems = len({i.system for i in prepared.dataset.items if i.system})
    if config.protocol == "paper" and config.purpose != NEW_SYSTEMS:
        return Purpose(NEW_SOURCES, "as the paper has it", systems, 0.0)
    if config.purpose == NEW_SYSTEMS and systems < FEWEST_SYSTEMS:
        named = f"{systems or 'no'} system{'s' * (systems != 1)}"
        problem = f"the data names {named}, and at least {FEWEST_SYSTEMS} are needed"
        raise ConfigError(f"--for: {problem} (name their column with --system, or give --for new-sources)")
    if config.purpose == NEW_SOURCES or (config.purpose is None and systems < ENOUGH_SYSTEMS):
        why = "as asked" if config.purpose else f"{systems or 'no'} system{'s' * (systems != 1)} named"
        return Purpose(NEW_SOURCES, why, systems, 0.0)
    why = "as asked" if config.purpose else f"{systems} systems are named"
    if config.model is not None:
        return Purpose(NEW_SYSTEMS, why, systems, MIXED)
    known = prepared.split.train + prepared.split.dev
    by_rank = config.objective in ("spearman", "kendall")
    return Purpose(NEW_SYSTEMS, why, systems, share_for_new_systems(known, Measured(), by_rank))
