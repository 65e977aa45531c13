"""Ordinal regression on one number: the cumulative logit model with proportional odds (McCullagh 1980)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logit

Array = NDArray[np.float64]


def shares_of_points(y: Array, points: Array) -> Array:
    """Return how ratings `y` (n,) count at the `points` (k,) of a scale, in rising order; shape (n, k), rows add to 1.

    A rating between two points, as a mean of several raters is, counts at both, at each the more the nearer it lies, so
    that the mean of the points by these shares is the rating. What lies beyond the ends counts at the end.
    """
    place = np.interp(y, points, np.arange(len(points)))
    return np.maximum(0.0, 1.0 - np.abs(place[:, None] - np.arange(len(points))))


def proportional_odds(x: Array, shares: Array, penalty: float) -> tuple[float, Array]:
    """Return slope and cuts (k - 1,) of the model P(point ≤ j) = expit(cut_j - slope · x).

    `x` (n,) should be standardised, `shares` (n, k) as `shares_of_points` gives them, every point with a share of some
    item, k at least 2. Maximises the log-likelihood, in which an item's points count by their shares, less
    penalty · slope² / 2, which keeps the slope finite where `x` separates the points. The slope is never negative: 0
    where a negative one would fit better.

    The probability of a point between two cuts a < b is expit(b) · (1 - expit(a)) · (1 - exp(a - b)), so that the
    log-likelihood falls into a binary one for each cut, and a part for the gaps of the cuts alone.
    """
    from scipy.optimize import minimize  # the first use of it takes a tenth of a second

    totals = shares.sum(axis=0)

    def lost(parameters: Array) -> tuple[float, Array]:
        slope, cuts, gaps = _unpacked(parameters)
        at = cuts - slope * x[:, None]
        gained = (shares[:, :-1] * log_expit(at) + shares[:, 1:] * log_expit(-at)).sum()
        gained += totals[1:-1] @ np.log(-np.expm1(-gaps)) - penalty * slope**2 / 2
        by_at = shares[:, :-1] * expit(-at) - shares[:, 1:] * expit(at)
        by_cut = by_at.sum(axis=0)
        by_gap = np.cumsum(by_cut[::-1])[::-1][1:] + totals[1:-1] / np.expm1(gaps)
        by_slope = -(by_at.sum(axis=1) @ x) - penalty * slope
        return -float(gained), -np.concatenate([[by_slope, by_cut.sum()], by_gap * gaps])

    start = logit(np.cumsum(totals)[:-1] / totals.sum())
    packed = np.concatenate([[1.0, start[0]], np.log(np.diff(start))])
    found = minimize(
        lost,
        packed,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, None)] + [(None, None)] * (len(packed) - 1),
        options={"maxiter": 1000, "ftol": 1e-14, "gtol": 1e-9},
    )
    slope, cuts, _ = _unpacked(np.asarray(found.x, dtype=float))
    return slope, cuts


def _unpacked(parameters: Array) -> tuple[float, Array, Array]:
    """Return slope, cuts and their gaps; the gaps are held as logarithms, so that the cuts stay in order."""
    gaps = np.exp(parameters[2:])
    return float(parameters[0]), parameters[1] + np.concatenate([[0.0], np.cumsum(gaps)]), gaps
