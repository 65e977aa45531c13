"""Correlations on many random samples, the statistical test of CSEval (Hengle et al. 2025, appendix D).

A trial is a random sample of the items, without replacement, and a correlation on it; there is one for each of 13
sample sizes, equally spaced up to all items, and each of three seeds. What is reported are the mean and the standard
deviation over these 39.

**The deviation is no standard error.** The samples overlap: those of one seed lie within each other, and the last size
is the whole set, three times over. So the deviation mostly tells how small the smallest samples were, and becomes
smaller with more sizes near the whole, whatever the data. How far the figure would move with other items is what the
interval beside it says, by bootstrap over groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import MEASURES
from calibrator.stats.resampling import Interval, group_weights, percentile_interval, resampled

Array = NDArray[np.float64]
SIZES = 13
SEEDS = (1, 2, 3)
SMALLEST = 100
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class TrialFigures:
    """One judge over the trials.

    `figures` has a row for each size and a column for each seed, nan where the measure is not defined; `mean` and
    `deviation` (with n - 1) are over the `defined` ones. `whole` is the figure on all items with its 95 % interval.
    """

    mean: float
    deviation: float
    figures: tuple[tuple[float, ...], ...]
    defined: int
    whole: Interval


@dataclass(frozen=True, slots=True)
class Trials:
    """Several judges on the same samples; `items` and `groups` count what every judge has a score for."""

    measure: str
    sizes: tuple[int, ...]
    seeds: tuple[int, ...]
    judges: Mapping[str, TrialFigures]
    items: int
    groups: int

    def delta(self, judge: str, other: str) -> float:
        """Return by how much one judge's mean over the trials is above another's (table 6 of the paper)."""
        return self.judges[judge].mean - self.judges[other].mean


def sample_sizes(items: int, count: int = SIZES, smallest: int = SMALLEST) -> tuple[int, ...]:
    """Return `count` sizes, equally spaced from `smallest` up to all `items` and rounded.

    With fewer than twice `smallest` items they begin at half of the items; of very few items sizes repeat.
    """
    first = min(smallest, (items + 1) // 2)
    return tuple(int(size) for size in np.round(np.linspace(first, items, count)))


def sample(items: int, size: int, seed: int) -> NDArray[np.int64]:
    """Return the places of `size` of the items, drawn without replacement.

    The same rows as `DataFrame.sample(size, random_state=seed)` of pandas draws, which the published procedure is
    written in. Samples of one seed lie within each other.
    """
    places: NDArray[np.int64] = np.random.RandomState(seed).permutation(items)[:size]
    return places


def run_trials(
    scores: Mapping[str, Array],
    human: Array,
    groups: Sequence[str],
    seed: int,
    measure: str = "spearman",
    sizes: Sequence[int] | None = None,
    seeds: Sequence[int] = SEEDS,
    resamples: int = RESAMPLES,
) -> Trials:
    """Return the trials of judges by name, `scores` (n,) each with nan for a failure, against `human` (n,).

    All figures are on the items that every judge scored and that have a rating; leave a judge out that has few.
    `measure` is a name of `stats.correlation.MEASURES`; `sizes` are those of `sample_sizes` unless given; `seed` is
    that of the bootstrap over `groups` (n names), and does not touch the trials. Raises ValueError for lengths that
    differ, or a size that is no number of items from 1 to all.
    """
    lengths = {len(human), len(groups), *(len(s) for s in scores.values())}
    if len(lengths) > 1:
        raise ValueError(f"a score, a rating and a group are needed for each item, there are {sorted(lengths)}")
    known = np.isfinite(human)
    for judged in scores.values():
        known &= np.isfinite(judged)
    places = np.flatnonzero(known)
    chosen = tuple(sample_sizes(len(places)) if sizes is None else sizes)
    off = [size for size in chosen if not 1 <= size <= len(places)]
    if off and len(places):
        raise ValueError(f"a sample of {off[0]} cannot be drawn from {len(places)} items")
    samples = [[sample(len(places), size, s) for s in seeds] for size in chosen]
    kept = [groups[k] for k in places.tolist()]
    weights = group_weights(kept, resamples, np.random.default_rng(seed))
    judges = {
        name: _judge(judged[places], human[places], kept, samples, weights, measure) for name, judged in scores.items()
    }
    return Trials(measure, chosen, tuple(seeds), judges, len(places), len(set(kept)))


def _judge(
    scores: Array,
    human: Array,
    groups: Sequence[str],
    samples: Sequence[Sequence[NDArray[np.int64]]],
    weights: Array,
    measure: str,
) -> TrialFigures:
    figure = MEASURES[measure]
    figures = np.array([[float(figure(scores[p], human[p])) for p in of_size] for of_size in samples])
    defined = figures[np.isfinite(figures)]
    draws = resampled(figure, scores, human, weights) if len(set(groups)) > 1 else np.zeros(0)
    return TrialFigures(
        mean=float(defined.mean()) if len(defined) else float("nan"),
        deviation=float(defined.std(ddof=1)) if len(defined) > 1 else float("nan"),
        figures=tuple(tuple(float(f) for f in row) for row in figures),
        defined=len(defined),
        whole=percentile_interval(float(figure(scores, human)), draws),
    )
