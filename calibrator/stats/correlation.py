"""Agreement of two series of numbers: one figure for the items as they are, or one for each row of weights.

Every function takes `x` and `y` of shape (n,) and, if wanted, `weights` of shape (b, n): how often each item counts
in each of b resamples (whole numbers, as a bootstrap gives). It returns a float, or an array of shape (b,). What is
not defined (a constant series, fewer than two items) is nan, never 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Array = NDArray[np.float64]
Measure = Callable[..., Array]
BLOCK = 65_536  # numbers in one array of `spearman_draws`: what a core's own cache holds


def ranks(x: Array) -> Array:
    """Return the ranks of `x` from 1 up, ties averaged, shape (n,)."""
    return np.asarray(weighted_ranks(x, np.ones((1, len(x))))[0])


def weighted_ranks(x: Array, weights: Array) -> Array:
    """Return the average ranks of `x` in each resample, shape (b, n).

    An item drawn w times stands w times in the resample; its rank is the mean of the places it and its ties take, as
    `scipy.stats.rankdata` would give on the written-out resample. Items drawn 0 times get a rank that counts nothing.
    With a nan in `x` no rank is defined, and all are nan.
    """
    if not len(x) or np.isnan(x).any():
        return np.full(weights.shape, np.nan)
    _, inverse = np.unique(x, return_inverse=True)
    order = np.argsort(inverse, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(inverse[order]) > 0])
    per_value = np.add.reduceat(weights[:, order], starts, axis=1)
    below = np.cumsum(per_value, axis=1) - per_value
    ranks: Array = (below + (per_value + 1) / 2)[:, inverse]
    return ranks


def weighted_correlation(x: Array, y: Array, weights: Array) -> Array:
    """Return Pearson's r in each resample, shape (b,), of series (n,), or (b, n) that differ between the resamples.

    For numbers that are not far from 0 beside their spread, as ranks are.
    """
    total = weights.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        dx = x - (weights * x).sum(axis=1, keepdims=True) / total
        dy = y - (weights * y).sum(axis=1, keepdims=True) / total
        covariance: Array = (weights * dx * dy).sum(axis=1)
        # Rounding leaves a constant series with a spread of about 1e-16 times its size, which is none.
        sx, sy = ((weights * d * d).sum(axis=1) for d in (dx, dy))
        ok = (sx > 1e-20 * (weights * x * x).sum(axis=1)) & (sy > 1e-20 * (weights * y * y).sum(axis=1))
        r: Array = np.where(ok, covariance / np.sqrt(sx * sy), np.nan)
    return np.asarray(np.clip(r, -1.0, 1.0))


def pearson(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Pearson's r, -1 to 1; a series that varies by less than 1e-13 of its size only by rounding, and has none."""
    counts = np.ones((1, len(x))) if weights is None else weights
    r: Array = weighted_correlation(_from_mean(x), _from_mean(y), counts)
    return np.asarray(r[0]) if weights is None else r


def _from_mean(x: Array) -> Array:
    """Return `x` less its mean, all 0 where what is left is rounding: a large offset would hide a small spread."""
    if not np.isfinite(x).all() or not len(x):
        return np.full(len(x), np.nan)
    centred: Array = x - x.mean()
    return centred if np.abs(centred).max() > 1e-13 * np.abs(x).max() else np.zeros(len(x))


def spearman(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Spearman's rho with average ranks for ties, -1 to 1."""
    if weights is None:
        return np.asarray(weighted_correlation(ranks(x), ranks(y), np.ones((1, len(x))))[0])
    return weighted_correlation(weighted_ranks(x, weights), weighted_ranks(y, weights), weights)


def spearman_draws(scores: Array, human: Array, weights: Array) -> Array:
    """Return Spearman's rho of k series of scores against one human series in the same b resamples, shape (k, b).

    `scores` (k, n), `human` (n,), `weights` (b, n), whole numbers: row j is `spearman(scores[j], human, weights)`, much
    faster. A series with a nan in it has nan in all resamples; so has every series if `human` has one.

    The N items of a resample have ranks that add up to N(N + 1) / 2, and a sum of squared deviations of
    (N³ - Σ t³) / 12 with t the sizes of the ties (Kendall 1948, chapter 3). So the human side is ranked once for all
    series, and what is left to work out of each is Σ w · rank · human rank: a running sum over its items in order. All
    sums are of whole numbers and quarters, hence exact while N³ stays below 2⁵³.
    """
    rho = np.full((len(scores), len(weights)), np.nan)
    usable = np.flatnonzero(~np.isnan(scores).any(axis=1))
    if not len(human) or np.isnan(human).any():
        return rho
    sortings, of_human = {k: _sorting(scores[k]) for k in usable}, _sorting(human)
    rows = max(1, BLOCK // len(human))
    for start in range(0, len(weights), rows):
        part = weights[start : start + rows]
        counts = np.ascontiguousarray(part.T)
        human_spread = _spread(_by_value(counts, of_human))
        both = np.hstack([counts, counts * weighted_ranks(human, part).T])
        for k, sorting in sortings.items():
            here, ranked = np.hsplit(_by_value(both, sorting), 2)
            rho[k, start : start + rows] = _rho(here, ranked, human_spread)
    return rho


_Sorting = tuple[NDArray[np.int64], NDArray[np.int64]]


def _sorting(x: Array) -> _Sorting:
    """Return the order of `x`, and where in that order each of its values begins."""
    order = np.argsort(x, kind="stable")
    return order, np.flatnonzero(np.r_[True, np.diff(x[order]) > 0])


def _by_value(columns: Array, sorting: _Sorting) -> Array:
    """Return the rows of `columns` (n, c) in order, those of one value added up."""
    order, starts = sorting
    return columns[order] if len(starts) == len(order) else np.add.reduceat(columns[order], starts, axis=0)


def _spread(counts: Array) -> Array:
    """Return twelve times the sum of squared deviations of the ranks, for the items of each value, (v, b)."""
    spread: Array = counts.sum(axis=0) ** 3 - np.einsum("vb,vb,vb->b", counts, counts, counts)
    return spread


def _rho(counts: Array, human_ranks: Array, human_spread: Array) -> Array:
    """Return rho from the items and the sum of their human ranks at each value in order, both (v, b)."""
    total = counts.sum(axis=0)
    # A value's rank is what is through with it, less half of its own items, plus a half.
    products = np.einsum("vb,vb->b", human_ranks, np.cumsum(counts, axis=0) - counts / 2)
    covariance = 12 * (products + total * (total + 1) / 4 - total * (total + 1) ** 2 / 4)
    spread = _spread(counts)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: Array = np.where((spread > 0) & (human_spread > 0), covariance / np.sqrt(spread * human_spread), np.nan)
    return np.asarray(np.clip(rho, -1.0, 1.0))


def kendall(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Kendall's tau-b, -1 to 1 (Kendall 1945; ties in both series are taken out of the denominator).

    With weights, pairs of copies of one item are tied in both series, as in the written-out resample. Ratings have few
    values, so concordant and discordant pairs are counted level by level of the series with fewer: time and memory grow
    with b · n (time also with the levels), not with n².
    """
    counts = np.ones((1, len(x))) if weights is None else weights
    if not len(x) or np.isnan(x).any() or np.isnan(y).any():
        tau: Array = np.full(len(counts), np.nan)
        return np.asarray(tau[0]) if weights is None else tau
    place, level = (np.unique(v, return_inverse=True)[1] for v in (x, y))
    if place.max() < level.max():
        place, level = level, place
    agree = np.zeros(len(counts))
    lower = np.zeros((len(counts), place.max() + 1))  # weight of all lower levels at each place
    for k in range(level.max() + 1):
        members = level == k
        here, where = _added_up(counts[:, members], place[members])
        through = np.cumsum(lower, axis=1)
        before_less_after = 2 * through - lower - through[:, -1:]
        agree += 2 * (here * before_less_after[:, where]).sum(axis=1)
        lower[:, where] += here
    total = counts.sum(axis=1) ** 2
    untied = [total - (_added_up(counts, of)[0] ** 2).sum(axis=1) for of in (place, level)]
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.where(untied[0] * untied[1] > 0, agree / np.sqrt(np.abs(untied[0] * untied[1])), np.nan)
    return np.asarray(tau[0]) if weights is None else tau


def _added_up(weights: Array, place: NDArray[np.int64]) -> tuple[Array, NDArray[np.int64]]:
    """Return the columns of `weights` added up by their place, and the places there are."""
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
    return np.add.reduceat(weights[:, order], starts, axis=1), place[order][starts]


def mae(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Mean absolute error, in points of the scale; 0 is best."""
    counts = np.ones((1, len(x))) if weights is None else weights
    with np.errstate(invalid="ignore", divide="ignore"):
        error: Array = (counts @ np.abs(x - y)) / counts.sum(axis=1)
    return error[0] if weights is None else error


def rmse(x: Array, y: Array, weights: Array | None = None) -> Array:
    """Root of the mean squared error, in points of the scale; 0 is best, and one large error costs more than in mae."""
    counts = np.ones((1, len(x))) if weights is None else weights
    with np.errstate(invalid="ignore", divide="ignore"):
        error: Array = np.sqrt((counts @ np.square(x - y)) / counts.sum(axis=1))
    return error[0] if weights is None else error


MEASURES: dict[str, Measure] = {"spearman": spearman, "kendall": kendall, "pearson": pearson, "mae": mae}


def objective(name: str, judged: Array, human: Array) -> float:
    """Return the figure to be made as large as possible: the correlation, or minus the mean absolute error.

    A correlation that is not defined (all scores alike) is -1, so that such a judge is never preferred.
    """
    value = float(MEASURES[name](judged, human))
    if name == "mae":
        return -value
    return value if np.isfinite(value) else -1.0


def normal_scores(y: Array) -> Array:
    """Return the normal quantiles of the ranks of `y` ((rank - 1/2) / n, Hazen 1914), ties averaged first.

    Fitting these instead of the raw ratings makes a linear fit aim at the order of the items.
    """
    scores: Array = ndtri((ranks(y) - 0.5) / len(y))
    return scores
