"""Bootstrap over groups (Efron 1979; Davison and Hinkley 1997, section 3.8): whole groups are drawn, never items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PART = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its percentile interval; nan where it is not defined."""

    value: float
    low: float
    high: float


def codes(groups: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each item's group, 0 up in the order of the groups' names; shape (n,)."""
    number = {name: k for k, name in enumerate(sorted(set(groups)))}
    return np.array([number[g] for g in groups], dtype=np.int64)


def group_weights(groups: Sequence[str], resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each item counts in each resample, shape (resamples, items).

    Each resample draws as many groups as there are, with replacement; an item counts as often as its group.
    """
    member = codes(groups)
    count = int(member.max()) + 1
    draws = rng.integers(count, size=(resamples, count))
    drawn = np.zeros((resamples, count))
    np.add.at(drawn, (np.arange(resamples)[:, None], draws), 1.0)
    weights: Array = drawn[:, member]
    return weights


def resampled(measure: Callable[..., Array], x: Array, y: Array, weights: Array) -> Array:
    """Return a measure of `x` against `y` in each resample, shape (resamples,).

    Worked out in parts of at most `PART` numbers, so that memory does not grow with items times resamples.
    """
    rows = max(1, PART // max(1, weights.shape[1]))
    parts = [measure(x, y, weights[k : k + rows]) for k in range(0, len(weights), rows)]
    return np.concatenate(parts)


def percentile_interval(value: float, draws: Array, level: float = 0.95) -> Interval:
    """Return `value` with the percentile interval of `draws`, its figures in the resamples.

    Resamples in which the figure is not defined are left out; where more than half are, the interval is nan.
    """
    defined = draws[np.isfinite(draws)]
    if not np.isfinite(value) or len(defined) * 2 < len(draws) or not len(defined):
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(value, float(low), float(high))
