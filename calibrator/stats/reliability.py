"""Whether scores mean what they say: mean human rating by mean score, and how far the two are apart.

The reliability diagram and the calibration error of classifiers (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017),
for scores on a rating scale instead of probabilities: in a bin of items with like scores, the mean rating takes the
place of the share that is right. Bins hold about as many items each (adaptive bins; Nixon et al. 2019).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.resampling import Interval, group_weights, percentile_interval

Array = NDArray[np.float64]
BINS = 10
IN_A_BIN = 10  # items, on average, at least: with fewer there are fewer bins


@dataclass(frozen=True, slots=True)
class Bin:
    """Items with like scores, from `low` to `high`: how many, their mean score, and their mean human rating."""

    low: float
    high: float
    items: int
    score: float
    human: Interval


@dataclass(frozen=True, slots=True)
class Reliability:
    """The reliability curve, lowest scores first, and the expected calibration error, in points of the scale.

    `by_chance` is the error that a judge with the right mean in every bin would show on so few items; nan where every
    bin has one item. The errors are nan without items.
    """

    bins: tuple[Bin, ...]
    error: float
    by_chance: float


def reliability(
    scores: Array,
    human: Array,
    groups: Sequence[str] = (),
    resamples: int = 0,
    rng: np.random.Generator | None = None,
    bins: int = BINS,
) -> Reliability:
    """Return the reliability curve and the expected calibration error of `scores` against `human`, both (n,).

    Items where either is nan do not count. There are at most `bins` bins (see `quantile_bins`). The error is the mean
    over bins, each weighing as many items as it has, of |mean score - mean rating|. It is 0 at best and biased upwards
    (a mean of few noisy ratings is never quite right): `by_chance` says by how much at least, from the spread of the
    ratings about their bins' means, as of independent items. So compare errors on the same items, and read an error
    near `by_chance` as none. With `groups`, n names, and an `rng` the mean ratings have 95 % intervals by bootstrap
    over groups, the bins held fixed; else the interval is nan. Raises ValueError for less than one bin.
    """
    if bins < 1:
        raise ValueError(f"there must be one bin at least, not {bins}")
    kept = np.isfinite(scores) & np.isfinite(human)
    x, y = np.asarray(scores, dtype=float)[kept], np.asarray(human, dtype=float)[kept]
    if not len(x):
        return Reliability((), math.nan, math.nan)
    bin_of = quantile_bins(x, bins)
    means = _draws(bin_of, y, [g for g, k in zip(groups, kept, strict=True) if k], resamples, rng) if groups else None
    found = []
    for b in range(int(bin_of.max()) + 1):
        here = bin_of == b
        value = float(y[here].mean())
        interval = Interval(value, math.nan, math.nan) if means is None else percentile_interval(value, means[b])
        found.append(Bin(float(x[here].min()), float(x[here].max()), int(here.sum()), float(x[here].mean()), interval))
    error = sum(b.items * abs(b.score - b.human.value) for b in found) / len(x)
    return Reliability(tuple(found), error, _by_chance(bin_of, y - x))


def quantile_bins(x: Array, bins: int = BINS) -> NDArray[np.int64]:
    """Return the bin of each number in `x`, shape (n,), from 0 up, by quantiles; equal numbers are in one bin.

    There are `bins`, fewer where that would leave less than `IN_A_BIN` items in one on average, or where ties fill
    more than their share. Each bin, from the lowest, takes as near as it can an equal share of what is left.
    """
    wanted = max(1, min(bins, len(x) // IN_A_BIN))
    _, place, counts = np.unique(x, return_inverse=True, return_counts=True)
    chosen, number, held, share = [], 0, 0, len(x) / wanted
    left = len(x)
    for count in counts.tolist():
        if held and held + count / 2 > share and number < wanted - 1:
            number, left, held = number + 1, left - held, 0
            share = left / (wanted - number)
        chosen.append(number)
        held += count
    return np.array(chosen, dtype=np.int64)[place]


def _draws(
    bin_of: NDArray[np.int64], y: Array, groups: Sequence[str], resamples: int, rng: np.random.Generator | None
) -> Array | None:
    """Return the mean rating of each bin in each resample of groups, nan where it drew nothing; shape (bins, b)."""
    if rng is None or resamples < 1 or len(set(groups)) < 2:
        return None
    weights = group_weights(groups, resamples, rng)
    member = (bin_of == np.arange(int(bin_of.max()) + 1)[:, None]).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        means: Array = ((member * y) @ weights.T) / (member @ weights.T)
    return means


def _by_chance(bin_of: NDArray[np.int64], residual: Array) -> float:
    """Return the mean of |error| that noise alone leaves: that of a normal mean of n_b items is sd · √(2 / (π n_b))."""
    size = np.bincount(bin_of)
    if len(residual) <= len(size):
        return math.nan
    apart = residual - (np.bincount(bin_of, residual) / size)[bin_of]
    spread = math.sqrt(float(apart @ apart) / (len(residual) - len(size)))
    return float((np.sqrt(size) / len(residual)).sum() * spread * math.sqrt(2 / math.pi))
