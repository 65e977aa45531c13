"""How well judges agree with humans on the same items, with intervals over groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.judges.base import Judge
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.correlation import MEASURES
from calibrator.stats.permutation import Common, paired_permutation
from calibrator.stats.resampling import Interval, group_weights, percentile_interval, resampled

Array = NDArray[np.float64]
RESAMPLES = 2000
MOST_FAILURES = 0.05  # of the items: a judge that fails on more is not to be chosen


@dataclass(frozen=True, slots=True)
class Agreement:
    """One judge against the humans: each measure with its 95 % interval, and the failures by reason."""

    judge: str
    mode: str
    figures: Mapping[str, Interval]
    failures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Several judges on the items that all of them scored.

    `gains` holds, for each other judge, how much more of each measure the first has (for mae: how much less error,
    so that more is always better), paired, with 95 % intervals; `p` for each the two-sided p of the measure that was
    tested. `items` and `groups` count what was compared.
    """

    agreements: tuple[Agreement, ...]
    gains: Mapping[str, Mapping[str, Interval]]
    p: Mapping[str, float]
    items: int
    groups: int
    resamples: int
    seed: int


def compare(
    judges: Mapping[str, Judge],
    items: Sequence[Item],
    seed: int,
    resamples: int = RESAMPLES,
    tested: str | None = None,
) -> Comparison:
    """Return every judge's agreement with the humans on `items`, the first judge's gain over the others beside it.

    All figures are on the items that every judge scored, and on the same resamples of groups. The gains in the measure
    `tested` are tested by as many permutations (see `stats.permutation`): leave it out on the items that a judge was
    chosen on, where a p-value says nothing.
    """
    verdicts = {name: judge.judge(items) for name, judge in judges.items()}
    common = [k for k in range(len(items)) if all(isinstance(v[k], Judgment) for v in verdicts.values())]
    human = np.array([items[k].human for k in common], dtype=float)
    scores = {name: scores_of([v[k] for k in common]) for name, v in verdicts.items()}
    groups = [items[k].group for k in common]
    weights = group_weights(groups, resamples, np.random.default_rng(seed)) if common else np.ones((1, 0))
    values = {name: {m: float(f(score, human)) for m, f in MEASURES.items()} for name, score in scores.items()}
    draws = {name: _draws(score, human, weights, len(set(groups))) for name, score in scores.items()}
    agreements = tuple(
        Agreement(
            name,
            judges[name].mode,
            {m: percentile_interval(values[name][m], draws[name][m]) for m in MEASURES},
            failures_of(verdicts[name]),
        )
        for name in judges
    )
    first, *others = judges
    gains = {
        other: {m: gain_of(m, values[first][m], values[other][m], draws[first][m], draws[other][m]) for m in MEASURES}
        for other in others
    }
    p = {}
    if tested and common:
        p = {o: p_of(tested, scores[first], scores[o], human, groups, resamples, seed) for o in others}
    return Comparison(agreements, gains, p, len(common), len(set(groups)), resamples, seed)


def p_of(
    measure: str, mine: Array, other: Array, human: Array, groups: Sequence[str], permutations: int, seed: int
) -> float:
    """Return the two-sided p of the difference of two judges in a measure; see `stats.permutation`.

    `mine`, `other` and `human` (n,), `groups` n names.
    """
    common: Common = "raw" if measure == "mae" else "standard" if measure == "pearson" else "ranks"
    rng = np.random.default_rng(seed)
    return paired_permutation(MEASURES[measure], mine, other, human, groups, permutations, rng, common)


def _draws(score: Array, human: Array, weights: Array, groups: int) -> dict[str, Array]:
    """Return each measure in each resample; with fewer than two groups there is nothing to draw, and all are nan."""
    if groups < 2:
        return {m: np.full(len(weights), np.nan) for m in MEASURES}
    return {m: resampled(f, score, human, weights) for m, f in MEASURES.items()}


def gain_of(measure: str, mine: float, other: float, my_draws: Array, other_draws: Array) -> Interval:
    """Return how much more of a measure one judge has than another, with its 95 % interval; for mae less is more.

    `mine` and `other` are their figures, `my_draws` and `other_draws` (b,) those in the same resamples.
    """
    sign = -1.0 if measure == "mae" else 1.0
    return percentile_interval(sign * (mine - other), sign * (my_draws - other_draws))


def scores_of(verdicts: Sequence[Verdict | None]) -> Array:
    """Return the scores of verdicts, nan for a failure or none; shape (len(verdicts),)."""
    return np.array([v.score if isinstance(v, Judgment) else np.nan for v in verdicts], dtype=float)


def systems_of(items: Sequence[Item]) -> list[str]:
    """Return the name of each item's system, "" where it names none."""
    return [i.system or "" for i in items]


def failures_of(verdicts: Sequence[Verdict | None]) -> dict[str, int]:
    """Return how many failures there are of each reason."""
    return dict(Counter(v.reason for v in verdicts if isinstance(v, Failure)))
