"""What a judge is for, new sources or new systems, and how much of the systems its fit and its choice leave out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared
from calibrator.criteria import Measured
from calibrator.drafting.fitting import share_for_new_systems
from calibrator.errors import ConfigError
from calibrator.records import Item

ENOUGH_SYSTEMS, FEWEST_SYSTEMS = 4, 3
MIXED = 0.5  # the share where nothing is fitted and only the choice on dev follows the purpose

Kind = Literal["new-sources", "new-systems"]
NEW_SOURCES: Kind = "new-sources"
NEW_SYSTEMS: Kind = "new-systems"
PAPER = "the paper's protocol has no fit to repeat without a system"


@dataclass(frozen=True, slots=True)
class Purpose:
    """What the judge is for and `why`; `systems` counts those that are named.

    `share`, 0 to 1, of each system's mean is taken off before what is fitted is fitted and what is chosen is chosen;
    `fitted` says that something is fitted. `unchecked` is why agreement on new systems cannot be measured, empty if it
    can. `strange` are systems that the test side may hold and train and dev do not: new ones to any judge.
    """

    kind: Kind
    why: str
    systems: int
    share: float
    fitted: bool = True
    unchecked: str = ""
    strange: frozenset[str] = frozenset()

    @property
    def fit(self) -> str:
        """The share in words."""
        amount = "plain" if self.share == 0 else "centred" if self.share == 1 else "mixed"
        return f"{amount} {'fit' if self.fitted else 'choice on dev'}"


def purpose_of(config: RunConfig, prepared: Prepared) -> Purpose:
    """Return what the judge is for: as the configuration says, else new systems where at least four are named.

    The share is chosen on train and dev by leaving systems out (see `stats.transfer`); a model's rubric has nothing to
    fit, and is chosen on dev with half of the systems' means taken off. The paper's protocol knows no systems, and
    where some rows name none nothing can be told: they may be anybody's. Raises ConfigError if a judge for new systems
    is wanted and cannot be had.
    """
    known = prepared.split.train + prepared.split.dev
    named = {i.system for i in known if i.system}
    strange = frozenset(i.system for i in _all_items(prepared) if i.system) - named
    return replace(_purpose(config, prepared, known, len(named)), strange=strange)


def _purpose(config: RunConfig, prepared: Prepared, known: Sequence[Item], systems: int) -> Purpose:
    fitted = config.model is None
    unchecked = _unchecked(prepared, known, systems)
    if config.purpose == NEW_SYSTEMS and (unchecked or systems < FEWEST_SYSTEMS):
        problem = unchecked or f"the data names {systems} systems, and at least {FEWEST_SYSTEMS} are needed"
        raise ConfigError(f"--for: {problem} (--system names their column; or give --for new-sources)")
    if config.purpose is None and config.protocol == "paper":
        return Purpose(NEW_SOURCES, "as the paper has it", systems, 0.0, fitted, unchecked or PAPER)
    if config.purpose != NEW_SYSTEMS and (config.purpose or unchecked or systems < ENOUGH_SYSTEMS):
        few = f"{systems or 'no'} system{'s' * (systems != 1)} named"
        return Purpose(NEW_SOURCES, "as asked" if config.purpose else few, systems, 0.0, fitted, unchecked)
    why = "as asked" if config.purpose else f"{systems} systems are named"
    if not fitted:
        return Purpose(NEW_SYSTEMS, why, systems, MIXED, fitted)
    share = share_for_new_systems(known, Measured(), config.objective in ("spearman", "kendall"))
    return Purpose(NEW_SYSTEMS, why, systems, share, fitted, PAPER if config.protocol == "paper" else "")


def _all_items(prepared: Prepared) -> tuple[Item, ...]:
    """Return the items of all sides; only the names of their systems are looked at here."""
    return (*prepared.dataset.items, *(prepared.test.items if prepared.test else ()))


def _unchecked(prepared: Prepared, known: Sequence[Item], systems: int) -> str:
    """Return why it cannot be measured how a judge does on new systems, empty if it can."""
    items = _all_items(prepared)
    unnamed = sum(not i.system for i in items)
    if unnamed == len(items):
        return "no systems are named in the data; --system names their column"
    if unnamed:
        return f"{unnamed} of {len(items)} rows name no system"
    return "one system only is named in train and dev" if systems < 2 else ""
