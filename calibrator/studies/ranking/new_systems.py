"""How a judge ranks systems that it was not fitted to: every system's texts scored by a fit to the others.

A judge that was fitted to some systems' outputs may rank those very systems by knowing them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from calibrator.calibration.progress import Progress
from calibrator.comparison.making import Made
from calibrator.evaluation.agreement import scores_of
from calibrator.judges.base import Judge
from calibrator.records import Item
from calibrator.studies.ranking.agree import OnNewSystems, rank_agreement, verdict_of
from calibrator.studies.ranking.field import Array, Field

SEARCHED = "its search would have to be made anew for each system left out"
NO_OTHER = "there is no second system to fit it to"
FROZEN = "it is frozen, and may have been fitted to texts of these systems"
Fit = Callable[[Sequence[Item]], Judge]


@dataclass(frozen=True, slots=True)
class Afresh:
    """The scores (n,) of judges on items of systems left out of their fits; and why others have none."""

    scores: Mapping[str, Array] = field(default_factory=dict)
    unchecked: Mapping[str, str] = field(default_factory=dict)

    def of(self, subject: Field, judge: str, resamples: int, seed: int, threshold: float) -> OnNewSystems | None:
        """Return how a judge ranks new systems, on the items that it is ranked on; None if it was fitted to none."""
        if judge in self.unchecked:
            return OnNewSystems(None, "not checked", self.unchecked[judge])
        if judge not in self.scores:
            return None
        anew = replace(subject, judges={**subject.judges, judge: self.scores[judge]})
        found = rank_agreement(anew, judge, resamples, seed)
        return OnNewSystems(found, verdict_of(found, threshold))


def afresh(made: Sequence[Made], known: Sequence[Item], items: Sequence[Item], progress: Progress) -> Afresh:
    """Return the scores of all judges that were fitted to `known` on `items`, each by a fit without its system.

    Items without a rating get none. What takes a search, or is frozen, is not made anew: whether it knows these
    systems is not checked.
    """
    unchecked = {m.name: FROZEN if m.name.startswith("calibrated:") else SEARCHED for m in made if m.seen}
    fits = {m.name: m.fit for m in made if m.fit is not None}
    if len({i.system for i in known if i.system}) < 2:
        return Afresh({}, unchecked | dict.fromkeys(fits, NO_OTHER))
    systems = sorted({i.system for i in items if i.system and i.human is not None})
    if fits:
        progress.phase("fitting without each system", len(fits) * len(systems), len(items))
    scores = {name: _left_out(fit, known, items, systems, progress) for name, fit in fits.items()}
    return Afresh(scores, {name: why for name, why in unchecked.items() if name not in scores})


def _left_out(
    fit: Fit, known: Sequence[Item], items: Sequence[Item], systems: Sequence[str], progress: Progress
) -> Array:
    """Return the scores (n,) of rated items, each by a fit without its system, all at the same level.

    The level of a fit is its mean score of `known`. A fit without the best system has a lower one, which no judge
    that is used on all systems has (see `calibration.transfer`). Items that name no system have no part in the fits:
    they might be of any.
    """
    scores = np.full(len(items), np.nan)
    levels = []
    for system in systems:
        judge = fit([i for i in known if i.system and i.system != system])
        level = float(np.nanmean(scores_of(judge.judge(known))))
        places = [k for k, i in enumerate(items) if i.system == system and i.human is not None]
        scores[places] = scores_of(judge.judge([items[k] for k in places])) - level
        levels.append(level)
        progress.advance(0)
    return scores + float(np.mean(levels))
