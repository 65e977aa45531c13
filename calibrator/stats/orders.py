"""How alike two rankings of a few systems are: Kendall's tau with its test, in resamples, and what stands beside it.

Rankings are given by the systems' scores, shape (k,), or (b, k) for b resamples. What is not defined is nan, never 0.
"""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats.correlation import kendall

Array = NDArray[np.float64]
ALL_ORDERS = 8  # systems whose orders are all looked at: 40,320


def tau_draws(x: Array, y: Array) -> Array:
    """Return Kendall's tau-b of each row of `x` (b, k) with that of `y` (b or 1, k), shape (b,).

    Systems without a score in either row are left out of it; nan where fewer than two are left or all are tied.
    """
    rows, columns = np.triu_indices(x.shape[1], 1)
    signs = [np.sign(v[:, rows] - v[:, columns]) for v in np.broadcast_arrays(x, y)]
    there = np.isfinite(signs[0]) & np.isfinite(signs[1])
    first, second = (np.where(there, s, 0.0) for s in signs)
    untied = np.abs(first).sum(axis=1) * np.abs(second).sum(axis=1)
    return np.where(untied > 0, (first * second).sum(axis=1) / np.sqrt(np.where(untied > 0, untied, 1.0)), np.nan)


def kendall_test(x: Array, y: Array) -> tuple[float, float]:
    """Return Kendall's tau-b and its two-tailed p: how likely so large a tau is if one order says nothing of the other.

    Without ties p is scipy's, exact for few systems. With ties, where scipy knows only an approximation for many, all
    orders of up to `ALL_ORDERS` systems are looked at; beyond that it is scipy's.
    """
    if len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan"), float("nan")
    tau = float(kendall(x, y))
    tied = len(np.unique(x)) < len(x) or len(np.unique(y)) < len(y)
    if not np.isfinite(tau):
        return tau, float("nan")
    if tied and len(x) <= ALL_ORDERS:
        return tau, _exact(x, y)
    return tau, float(stats.kendalltau(x, y, method="auto").pvalue)


def _exact(x: Array, y: Array) -> float:
    """Return the share of all orders of `x` whose tau is as far from 0 as it is now, or farther."""
    rows, columns = np.triu_indices(len(x), 1)
    orders = np.array(list(permutations(range(len(x)))))
    second = np.sign(y[rows] - y[columns])
    shuffled = x[orders]
    agree = np.sign(shuffled[:, rows] - shuffled[:, columns]) @ second
    seen = float(np.sign(x[rows] - x[columns]) @ second)
    return float((np.abs(agree) >= abs(seen) - 1e-9).mean())


def smallest_p(systems: int) -> float:
    """Return the smallest two-tailed p that Kendall's test can give for so many systems: 2 / k!."""
    return min(1.0, 2 / factorial(systems)) if systems > 1 else float("nan")


def significant_tau(systems: int, level: float = 0.05) -> float:
    """Return the smallest tau of so many systems without ties whose two-tailed p is below `level`; nan if none is.

    From the number of orders with each number of discordant pairs (Kendall 1938), worked out factor by factor.
    """
    shares = np.ones(1)
    for k in range(2, systems + 1):
        shares = np.convolve(shares, np.full(k, 1 / k))
    below = np.flatnonzero(2 * np.cumsum(shares) < level)
    pairs = systems * (systems - 1) / 2
    return float(1 - 2 * below[-1] / pairs) if len(below) and pairs else float("nan")


def pairs_alike(x: Array, y: Array) -> float:
    """Return the share of pairs of systems that both put in the same order, 0 to 1.

    A pair that both tie counts one, a pair that only one of them ties half.
    """
    rows, columns = np.triu_indices(len(x), 1)
    if not len(rows) or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    apart = np.abs(np.sign(x[rows] - x[columns]) - np.sign(y[rows] - y[columns]))
    return float((1 - apart / 2).mean())


def same_top(x: Array, y: Array) -> Array:
    """Return how well the highest of `x` (b, k) and of `y` (b or 1, k) agree, shape (b,): 1, 0, or between for ties.

    Of the systems that `x` has on top, the share that `y` has on top too.
    """
    first, second = (v == np.nanmax(v, axis=1, keepdims=True) for v in np.broadcast_arrays(x, y))
    share: Array = (first & second).sum(axis=1) / first.sum(axis=1)
    return share
