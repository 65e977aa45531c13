"""A judge of texts, not a detector of systems: agreement on new sources and on new systems, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.calibration.purpose import Purpose
from calibrator.calibration.result import SystemFigures, SystemLine, SystemsPart, figure, rounded
from calibrator.evaluation.agreement import scores_of, systems_of
from calibrator.evaluation.systems import BySystem, by_system
from calibrator.judges.base import Judge
from calibrator.records import Item, Verdict

Array = NDArray[np.float64]

# From the name of a system to a judge made without its items, and the level of that judge's scores: the mean that it
# gives the texts of train and dev. Each such judge is set to the same level, as one judge of all systems would be.
# Otherwise leaving out the best system lowers the level of its scores, and the order of systems turns round.
Without = Callable[[str], tuple[Judge, float]]


def systems_part(
    purpose: Purpose,
    verdicts: Sequence[Verdict],
    without: Without | None,
    items: Sequence[Item],
    measure: str,
    seed: int,
    resamples: int,
) -> SystemsPart:
    """Return the agreement on `items` by system: that of `verdicts`, and that of judges made `without` each system."""
    names = sorted(set(systems_of(items)))
    one = "the test side holds one system only" if len(names) < 2 else ""
    told = SystemsPart(
        purpose=purpose.kind,
        why=purpose.why,
        fit=purpose.fit,
        named=purpose.systems,
        measure=measure,
        unchecked=purpose.unchecked or one,
    )
    if one or "" in names:
        return told
    scores = np.where([i.system in purpose.strange for i in items], np.nan, scores_of(verdicts))
    seen = _by_system(scores, items, measure, seed, resamples)
    unseen = None
    if without is not None:
        unseen = _by_system(_left_out(names, without, items), items, measure, seed, resamples)
    figures = {"new_sources": _figures(seen) if len(seen.systems) > 1 else None}
    figures["new_systems"] = None if unseen is None else _figures(unseen)
    return told.model_copy(update=figures | {"lines": _lines(items, seen, unseen)})


def _lines(items: Sequence[Item], seen: BySystem, unseen: BySystem | None) -> tuple[SystemLine, ...]:
    """Return a line for each system; those that no judge has seen have no figure but that of a new system."""
    known = {line.system: figure(line.figure) for line in seen.systems}
    alone = {} if unseen is None else {line.system: figure(line.figure) for line in unseen.systems}
    counts = Counter(systems_of(items))
    return tuple(
        SystemLine(
            system=name,
            items=counts[name],
            seen=known.get(name),
            unseen=alone.get(name),
            without=rounded(seen.without.get(name)),
        )
        for name in sorted(counts)
    )


def _left_out(names: Sequence[str], without: Without, items: Sequence[Item]) -> Array:
    """Return the scores of `items`, each by the judge made without its system, all at the same level."""
    scores = np.full(len(items), np.nan)
    levels = []
    for name in names:
        places = [k for k, system in enumerate(systems_of(items)) if system == name]
        judge, level = without(name)
        levels.append(level)
        scores[places] = scores_of(judge.judge([items[k] for k in places])) - level
    return scores + float(np.mean(levels))


def _by_system(scores: Array, items: Sequence[Item], measure: str, seed: int, resamples: int) -> BySystem:
    scored = np.flatnonzero(np.isfinite(scores)).tolist()
    kept = [items[k] for k in scored]
    human = np.array([i.human for i in kept], dtype=float)
    systems, groups = systems_of(kept), [i.group for i in kept]
    return by_system(scores[scored], human, systems, groups, seed, measure, resamples)


def _figures(found: BySystem) -> SystemFigures:
    return SystemFigures(pooled=figure(found.pooled), within=figure(found.within), between=figure(found.between))
