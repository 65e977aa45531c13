"""Agreement of several raters: Krippendorff's alpha, the kappas of Fleiss and Cohen, and the Spearman-Brown formula.

1 is perfect agreement, 0 what chance gives, below 0 less than that. What is not defined (all ratings alike, nothing
rated twice, an infinite rating among those that count) is nan, never 0.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


def krippendorff_alpha(ratings: Array, level: Level) -> float:
    """Return Krippendorff's alpha, 1 at most (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    `ratings` has shape (raters, items), nan where a rater did not rate an item; items rated less than twice do not
    count. `level` says what differs: "nominal" whether two ratings are the same, "ordinal" how many ratings lie between
    them, "interval" by how much they differ, "ratio" by how much relative to their sum. nan where no item was rated
    twice, all such ratings are alike or one is infinite. Raises ValueError for another shape or level, and for negative
    ratings at level "ratio".
    """
    if ratings.ndim != 2:
        raise ValueError(f"ratings must have the shape (raters, items), not {ratings.shape}")
    if level not in LEVELS:
        raise ValueError(f"'{level}' is no level; those there are: {', '.join(LEVELS)}")
    rated = ~np.isnan(ratings)
    pairable = ratings[:, rated.sum(axis=0) > 1]
    filled = ~np.isnan(pairable)
    values, place = np.unique(pairable[filled], return_inverse=True)
    if level == "ratio" and len(values) > 1 and values[0] < 0:
        raise ValueError("ratings at level 'ratio' cannot be negative")
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan")
    counts = np.zeros((pairable.shape[1], len(values)))
    np.add.at(counts, (np.nonzero(filled)[1], place), 1.0)
    # The coincidence matrix: how often two ratings of one item are c and k, each item weighing as many as it has.
    share = counts / (counts.sum(axis=1, keepdims=True) - 1)
    coincidences = share.T @ counts - np.diag(share.sum(axis=0))
    marginal = counts.sum(axis=0)
    apart = _apart(values, marginal, level)
    observed, expected = (coincidences * apart).sum(), marginal @ apart @ marginal
    return float(1 - (marginal.sum() - 1) * observed / expected)


def _apart(values: Array, marginal: Array, level: Level) -> Array:
    """Return the squared differences of the values, shape (v, v), as the level has them."""
    if level == "nominal":
        return 1 - np.eye(len(values))
    if level == "interval":
        return np.asarray(np.subtract.outer(values, values) ** 2)
    if level == "ratio":
        total = np.add.outer(values, values)
        return np.asarray((np.subtract.outer(values, values) / np.where(total > 0, total, 1.0)) ** 2)
    middle = np.cumsum(marginal) - marginal / 2  # ratings below a value and half of those on it
    return np.asarray(np.subtract.outer(middle, middle) ** 2)


def fleiss_kappa(counts: Array) -> float:
    """Return the kappa of Fleiss (1971, equation 7) for nominal ratings, 1 at most.

    `counts` has shape (items, categories): how many raters put an item into a category; every item has equally many
    raters. nan with less than two raters, without items, if all ratings are of one category, or with a count that is
    nan or infinite. Raises ValueError for another shape, negative counts, or items with different numbers of raters.
    """
    if counts.ndim != 2 or (counts < 0).any():
        raise ValueError("counts must have the shape (items, categories) and not be negative")
    raters = counts.sum(axis=1)
    if not len(counts) or not np.isfinite(counts).all() or raters[0] < 2:
        return float("nan")
    if (raters != raters[0]).any():
        raise ValueError("every item must have equally many raters; krippendorff_alpha takes ratings with gaps")
    agreed = float(((counts * (counts - 1)).sum(axis=1) / (raters * (raters - 1))).mean())
    by_chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    return _beyond(1 - agreed, 1 - by_chance)


def cohen_kappa(a: Array, b: Array, weights: Literal["linear", "quadratic"] | None = None) -> float:
    """Return the kappa of two raters (Cohen 1960; weighted: Cohen 1968), -1 to 1.

    `a` and `b` have shape (n,); items that one of them did not rate (nan) do not count. `weights` None: ratings are the
    same or not; "linear" or "quadratic": a disagreement counts by the difference of the two ratings or its square, so
    that a point of the scale that nobody used still keeps its neighbours apart. nan without items, if both raters
    always say the same one thing, or with an infinite rating of an item that both rated. Raises ValueError for other
    shapes or weights.
    """
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(f"two raters must have rated the same items, not {a.shape} and {b.shape}")
    if weights not in (None, "linear", "quadratic"):
        raise ValueError(f"'{weights}' are no weights; give linear, quadratic or None")
    both = ~(np.isnan(a) | np.isnan(b))
    if not both.any() or not (np.isfinite(a[both]).all() and np.isfinite(b[both]).all()):
        return float("nan")
    values, place = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    first, second = place.reshape(2, -1)
    apart = np.abs(np.subtract.outer(values, values))
    cost = 1 - np.eye(len(values)) if weights is None else apart if weights == "linear" else apart**2
    shares = [np.bincount(p, minlength=len(values)) / both.sum() for p in (first, second)]
    return _beyond(float(cost[first, second].mean()), float(shares[0] @ cost @ shares[1]))


def quadratic_weighted_kappa(a: Array, b: Array) -> float:
    """Return Cohen's kappa with quadratic weights, -1 to 1; arguments and gaps as in `cohen_kappa`.

    The weights are the squared differences of the ratings, so this is also Lin's concordance correlation (1989).
    """
    return cohen_kappa(a, b, "quadratic")


def _beyond(observed: float, expected: float) -> float:
    """Return how much less disagreement there is than chance would give, as a share of that."""
    return 1 - observed / expected if expected > 1e-12 else float("nan")


def spearman_brown(r: float, k: float) -> float:
    """Return the reliability of the mean of `k` raters where that of one is `r` (Spearman 1910; Brown 1910).

    k r / (1 + (k - 1) r); k below 1 gives that of a part of the raters. nan where r is nan, k is not positive, or the
    denominator is not (r far below 0).
    """
    below = 1 + (k - 1) * r
    return k * r / below if k > 0 and below > 0 else float("nan")


def mean_difference(x: Array) -> float:
    """Return how far two of the numbers in `x`, shape (n,), are apart on average (Gini's mean difference, 1912).

    It is what two ratings differ by if they have nothing to do with each other. nan with less than two numbers or a nan
    among them.
    """
    size = len(x)
    if size < 2 or np.isnan(x).any():
        return float("nan")
    places = 2 * np.arange(1, size + 1) - size - 1
    return float(2 * (places * np.sort(x)).sum() / (size * (size - 1)))
