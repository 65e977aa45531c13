"""Measures that look at the top of a list first: what a judge ranks highly counts for more than the order of the rest.

Both take two series of shape (n,) and return a float; what is not defined is nan, never 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
PAIRS = 2_000_000  # worked out at a time, so that memory grows with n, not with n²


def weighted_kendall(x: Array, y: Array) -> float:
    """Return the weighted tau of Vigna (2015, "A weighted correlation index for rankings with ties"), -1 to 1.

    A pair of items weighs 1 / rank of the one + 1 / rank of the other (additive hyperbolic weights), ranks from 1 for
    the highest. The mean of two figures: items ranked by `x`, ties by `y`, and the reverse. Not defined for a constant
    series, with fewer than two items, or with a nan or an infinite number.
    """
    if len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    # Weights add, so what an item adds up over its pairs is all that is needed, and is the same for both rankings.
    agree, untied_x, untied_y = _pairs(x, y)
    figures = [_tau(1 / (1 + _place(*by)), agree, untied_x, untied_y) for by in ((x, y), (y, x))]
    return float(np.mean(figures))


def _pairs(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return for each item its concordant less its discordant pairs, and its pairs that are untied in x, and in y."""
    agree, untied_x, untied_y = (np.empty(len(x)) for _ in range(3))
    rows = max(1, PAIRS // len(x))
    for start in range(0, len(x), rows):
        part = slice(start, start + rows)
        sign_x, sign_y = np.sign(x[part, None] - x), np.sign(y[part, None] - y)
        agree[part] = np.einsum("ij,ij->i", sign_x, sign_y)
        untied_x[part], untied_y[part] = np.abs(sign_x).sum(axis=1), np.abs(sign_y).sum(axis=1)
    return agree, untied_x, untied_y


def _place(first: Array, then: Array) -> Array:
    """Return each item's place from 0 for the highest, by `first` and, where that is tied, by `then`."""
    place = np.empty(len(first))
    place[np.lexsort((then, first))[::-1]] = np.arange(len(first))
    return place


def _tau(weight: Array, agree: Array, untied_x: Array, untied_y: Array) -> float:
    scale = float(weight @ untied_x) * float(weight @ untied_y)
    return float(np.clip(weight @ agree / np.sqrt(scale), -1.0, 1.0)) if scale > 0 else float("nan")


def ndcg(relevance: Array, score: Array, at: int | None = None) -> float:
    """Return the normalised discounted cumulative gain, 0 to 1 (Järvelin and Kekäläinen 2002).

    `relevance`, 0 or more, is the gain itself (linear, not 2^relevance - 1): ratings from 1 up should have the lowest
    mark of their scale taken off first, or the worst list has much gain too. `at` looks at so many places only, from
    1; all by default. The place k counts 1 / log2(k + 1); items of one score share the places they take, which is the
    mean over all orders of them (McSherry and Najork 2008). Not defined where nothing is relevant, with fewer than two
    items, or with a nan. Raises ValueError for a negative relevance or an `at` below 1.
    """
    if at is not None and at < 1:
        raise ValueError(f"ndcg looks at 1 place at least, not {at}")
    if (relevance < 0).any():
        raise ValueError("ndcg needs relevances of 0 or more; take off the lowest mark of the scale")
    if len(relevance) < 2 or np.isnan(relevance).any() or np.isnan(score).any():
        return float("nan")
    discount = 1 / np.log2(np.arange(2.0, len(relevance) + 2))
    discount[len(discount) if at is None else at :] = 0.0
    ideal = float(np.sort(relevance)[::-1] @ discount)
    return _gain(relevance, score, discount) / ideal if ideal > 0 else float("nan")


def _gain(relevance: Array, score: Array, discount: Array) -> float:
    _, value = np.unique(-score, return_inverse=True)
    count = np.bincount(value)
    last = np.cumsum(count)
    through = np.concatenate([[0.0], np.cumsum(discount)])
    shared = (through[last] - through[last - count]) / count
    return float(np.bincount(value, weights=relevance) @ shared)
