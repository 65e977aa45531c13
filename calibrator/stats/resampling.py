"""Bootstrap over groups (Efron 1979; Davison and Hinkley 1997, section 3.8): whole groups are drawn, never items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its percentile interval; nan where it is not defined."""

    value: float
    low: float
    high: float


def group_weights(groups: Sequence[str], resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each item counts in each resample, shape (resamples, items).

    Each resample draws as many groups as there are, with replacement; an item counts as often as its group.
    """
    _, member = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    count = int(member.max()) + 1
    draws = rng.integers(count, size=(resamples, count))
    drawn = np.zeros((resamples, count))
    np.add.at(drawn, (np.arange(resamples)[:, None], draws), 1.0)
    weights: Array = drawn[:, member]
    return weights


def percentile_interval(value: float, resampled: Array, level: float = 0.95) -> Interval:
    """Return `value` with the percentile interval of its resamples.

    Resamples in which the figure is not defined are left out; where more than half are, the interval is nan.
    """
    defined = resampled[np.isfinite(resampled)]
    if not np.isfinite(value) or len(defined) * 2 < len(resampled) or not len(defined):
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def interval(measure: Callable[..., Array], x: Array, y: Array, weights: Array, level: float = 0.95) -> Interval:
    """Return a measure of `x` against `y` with its interval over the resamples in `weights`."""
    return percentile_interval(float(measure(x, y)), measure(x, y, weights), level)


def paired_interval(
    measure: Callable[..., Array], x: Array, other: Array, y: Array, weights: Array, level: float = 0.95
) -> Interval:
    """Return how much more `x` has of the measure than `other`, on the same resamples, with its interval."""
    value = float(measure(x, y)) - float(measure(other, y))
    return percentile_interval(value, measure(x, y, weights) - measure(other, y, weights), level)
