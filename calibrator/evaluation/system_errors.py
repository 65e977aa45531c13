"""How far a judge's scores are off, system by system: of the mean that a system gets, and of its single items.

Whoever compares systems reads their means, where errors of single items may cancel; or may not, where a judge is
lenient with one system and strict with another. Both errors are in points of the scale.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.resampling import Interval, codes, group_weights, percentile_interval

Array = NDArray[np.float64]
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class OfSystem:
    """One system, in points of the scale with 95 % intervals.

    `bias` is the judge's mean less the humans', above 0 where the judge is too kind; `mean_error` its size, and
    `item_error` the mean size of the error of an item, which is never smaller.
    """

    system: str
    items: int
    bias: Interval
    mean_error: Interval
    item_error: Interval


@dataclass(frozen=True, slots=True)
class SystemErrors:
    """All systems, by name, and the means over them of both errors, every system counting the same.

    A resample leaves the size of a bias larger than it is, as it adds noise to it: near 0 the interval of a
    `mean_error` lies above its value, and that of the bias is the one to read.
    """

    systems: tuple[OfSystem, ...]
    mean_error: Interval
    item_error: Interval
    items: int
    groups: int


def system_errors(
    scores: Array,
    human: Array,
    systems: Sequence[str],
    groups: Sequence[str],
    seed: int,
    resamples: int = RESAMPLES,
) -> SystemErrors:
    """Return the errors of `scores` (n,) against `human` (n,), by `systems` (n names); both are on one scale.

    Resamples draw whole `groups` (n names), the same for all figures; a system that a resample does not hold counts
    nothing in it. With fewer than two groups all intervals are nan, without items everything is. Leave items without a
    score out first. Raises ValueError if the lengths differ.
    """
    if not len(scores) == len(human) == len(systems) == len(groups):
        lengths = f"{len(scores)} scores, {len(human)} ratings, {len(systems)} systems, {len(groups)} groups"
        raise ValueError(f"one of each is needed for an item, there are {lengths}")
    names, count = sorted(set(systems)), len(set(groups))
    member = codes(systems) if names else np.zeros(0, dtype=np.int64)
    # The first row counts every item once; the others are the resamples.
    weights = np.ones((1, len(scores)))
    if count > 1:
        weights = np.vstack([weights, group_weights(groups, resamples, np.random.default_rng(seed))])
    difference = scores - human
    bias = _means(difference, member, len(names), weights)
    item_error = _means(np.abs(difference), member, len(names), weights)
    return SystemErrors(
        systems=tuple(
            OfSystem(
                name,
                int((member == k).sum()),
                _interval(bias[:, k]),
                _interval(np.abs(bias[:, k])),
                _interval(item_error[:, k]),
            )
            for k, name in enumerate(names)
        ),
        mean_error=_interval(_over_systems(np.abs(bias))),
        item_error=_interval(_over_systems(item_error)),
        items=len(scores),
        groups=count,
    )


def _means(series: Array, member: NDArray[np.int64], systems: int, weights: Array) -> Array:
    """Return a series' mean in each system with each row of weights, nan where it has none, shape (b, systems)."""
    belongs = (member[:, None] == np.arange(systems)).astype(float)
    total, size = (weights * series) @ belongs, weights @ belongs
    return np.where(size > 0, total / np.where(size > 0, size, 1.0), np.nan)


def _over_systems(figures: Array) -> Array:
    """Return the mean over the systems that have a figure, nan where none has, shape (b,)."""
    there = np.isfinite(figures)
    count = there.sum(axis=1)
    mean: Array = np.where(there, figures, 0.0).sum(axis=1) / np.where(count > 0, count, 1)
    return np.where(count > 0, mean, np.nan)


def _interval(figures: Array) -> Interval:
    """Return the first figure with the interval of the others."""
    return percentile_interval(float(figures[0]), figures[1:])
