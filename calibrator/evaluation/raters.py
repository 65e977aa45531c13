"""Who rated what: the ratings of annotators who rated the same items, as agreement among them is measured on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.records import Item
from calibrator.stats.resampling import group_weights

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings that are used, (n, k) without copies, how often each column counts in the mean, and what was done."""

    places: NDArray[np.int64]
    columns: tuple[int, ...]
    values: Array
    counts: Array
    copies: tuple[tuple[int, int], ...]
    shuffled: bool

    @property
    def effective(self) -> float:
        """How many annotators with equal weights the mean is worth, (Σw)² / Σw²; copies make it fewer than columns."""
        return float(self.counts.sum() ** 2 / (self.counts**2).sum())


def raters_of(item: Item) -> tuple[int, ...]:
    """Return the numbers of who rated an item; without them, one number for each rating."""
    return item.raters or tuple(range(len(item.ratings)))


def most_items(items: Sequence[Item]) -> tuple[int, ...]:
    """Return the annotators, two or more, who rated the most items as a set; () if no item has two ratings."""
    counts = Counter(raters_of(i) for i in items if len(i.ratings) > 1)
    # Of sets with as many items and annotators, the one with the lowest numbers: the order of the items never matters.
    return min(counts, key=lambda s: (-counts[s], -len(s), s), default=())


def ratings_by(items: Sequence[Item], raters: tuple[int, ...], seed: int) -> Ratings | None:
    """Return the ratings of the items that these annotators, and nobody else, rated."""
    places = np.array([k for k, i in enumerate(items) if raters_of(i) == raters])
    if not raters or not len(places):
        return None
    size = len(raters)
    values = np.array([items[k].ratings for k in places], dtype=float)
    steps = np.diff(values, axis=1)
    # Sorted ratings would agree for being sorted; one item, or ratings that never differ, are no sign of sorting.
    shuffled = len(values) > 1 and bool(steps.any() and ((steps >= 0).all() or (steps <= 0).all()))
    if shuffled:
        values = np.random.default_rng(seed).permuted(values, axis=1)
    own: list[int] = []
    copies: list[tuple[int, int]] = []
    weight = np.ones(size)
    for k in range(size):
        same = next((j for j in own if len(values) > 1 and (values[:, j] == values[:, k]).all()), None)
        if same is None:
            own.append(k)
        else:
            copies.append((raters[same], raters[k]))
            weight[same] += 1
    if len(own) < 2:
        return None
    return Ratings(places, tuple(raters[k] for k in own), values[:, own], weight[own], tuple(copies), shuffled)


def group_draws(groups: Sequence[str], resamples: int, seed: int) -> Array:
    """Return how often each item counts in each resample (resamples, n); with fewer than two groups, never."""
    if len(set(groups)) < 2:
        return np.zeros((resamples, len(groups)))
    return group_weights(groups, resamples, np.random.default_rng(seed))


def mean_without(ratings: Ratings, left_out: int) -> Array:
    """Return the mean rating (n,) of all annotators but the one in a column."""
    others = [j for j in range(ratings.values.shape[1]) if j != left_out]
    counts = ratings.counts[others]
    # Rounded, so that means of the same ratings in another order are tied.
    mean: Array = np.round(ratings.values[:, others] @ counts / counts.sum(), 9)
    return mean


def mean_of(figures: Sequence[Array]) -> Array:
    """Return the mean of figures; where one of them is not defined, neither is their mean."""
    mean: Array = np.mean(np.array(figures), axis=0)
    return mean
