"""Bootstrap over groups (Efron 1979; Davison and Hinkley 1997, section 3.8): whole groups are drawn, never items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]
PART = 2_000_000
ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its interval; nan where it is not defined."""

    value: float
    low: float
    high: float


def codes(groups: Sequence[str]) -> NDArray[np.int64]:
    """Return a number for each item's group, 0 up in the order of the groups' names; shape (n,)."""
    number = {name: k for k, name in enumerate(sorted(set(groups)))}
    return np.array([number[g] for g in groups], dtype=np.int64)


def group_weights(groups: Sequence[str], resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each item counts in each resample, shape (resamples, items).

    Each resample draws as many groups as there are, with replacement; an item counts as often as its group. Without
    items the shape is (resamples, 0), and every measure is nan.
    """
    if not len(groups):
        return np.zeros((resamples, 0))
    member = codes(groups)
    count = int(member.max()) + 1
    draws = rng.integers(count, size=(resamples, count))
    drawn = np.zeros((resamples, count))
    np.add.at(drawn, (np.arange(resamples)[:, None], draws), 1.0)
    weights: Array = drawn[:, member]
    return weights


def leave_one_out(groups: Sequence[str]) -> Array:
    """Return weights (g, n) that count every item once but for those of one group, in the order of the groups' names.

    A measure with these weights is the jackknife over groups (Quenouille 1956) that `bca_interval` takes.
    """
    member = codes(groups)
    weights: Array = (np.arange(len(set(groups)))[:, None] != member).astype(float)
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


def bca_interval(value: float, draws: Array, jackknife: Array, level: float = 0.95) -> Interval:
    """Return `value` with the bias-corrected and accelerated interval (Efron 1987; Davison and Hinkley 1997, 5.3.2).

    `draws` (b,) are its figures in the resamples, `jackknife` (g,) those with one group left out (see `leave_one_out`).
    A percentile interval whose two percentiles are moved by the median bias of the draws (ties with `value` count half)
    and by how much the spread changes with the figure. What is not defined in a resample, or with a group left out, is
    left aside; where that is more than half of either, or where no draw lies on one side of `value` and none ties with
    it, or where the correction breaks down, the interval is nan. A jackknife without spread has no acceleration.
    """
    nothing = Interval(value, float("nan"), float("nan"))
    defined, left_out = draws[np.isfinite(draws)], jackknife[np.isfinite(jackknife)]
    few = len(defined) * 2 < len(draws) or len(left_out) * 2 < len(jackknife)
    if not np.isfinite(value) or few or not len(defined) or not len(left_out):
        return nothing
    # A figure and its draws are worked out in different ways, and what is equal may differ in the last digit.
    same = ROUNDING * max(1.0, abs(value))
    bias = float(ndtri(((defined < value - same).mean() + (defined <= value + same).mean()) / 2))
    if not np.isfinite(bias):
        return nothing
    acceleration = _acceleration(left_out)
    shifted = bias + ndtri(np.array([(1 - level) / 2, (1 + level) / 2]))
    stretch = 1 - acceleration * shifted
    if (stretch <= 0).any():
        return nothing
    low, high = np.quantile(defined, ndtr(bias + shifted / stretch))
    return Interval(value, float(low), float(high))


def _acceleration(jackknife: Array) -> float:
    """Return a sixth of the skewness of the influence of one group, from the figures without it."""
    influence = jackknife.mean() - jackknife
    if np.abs(influence).max() <= ROUNDING * max(1.0, float(np.abs(jackknife).max())):
        return 0.0
    return float((influence**3).sum() / (6 * (influence**2).sum() ** 1.5))
