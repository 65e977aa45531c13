"""Whether a rank runs the same way in every group, judged by other scores of the same rows."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import ranks

Array = NDArray[np.float64]
STRONG = 1 / 6  # what of all orders of a group may be as extreme as one that counts; three rows have no rarer order
ALL_ORDERS = 6  # groups up to this size are compared with all their orders, larger ones with `DRAWN` of them
DRAWN = 1000
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Directions:
    """How a rank runs in the groups: `signs` holds their rank correlation with the consensus, nan where undefined.

    `p` is the probability of so many strong groups of the rarer direction (see `directions`); 1 where there are none.
    """

    signs: tuple[float, ...]
    p: float


def directions(rank: Array, scores: Array, groups: list[NDArray[np.int64]], rng: np.random.Generator) -> Directions:
    """Test whether the direction of `rank`, shape (n,), differs between `groups` (rows of each).

    `scores`, shape (n, m) with nan for gaps, are other scores of the same rows; which way they run need not be known.
    They are centred within groups, and their first principal component is the consensus. A group is strong upwards if
    its Spearman correlation of rank and consensus is among the highest sixth of those of all orders of the rank, and
    strong downwards if among the lowest.

    Suppose the rank ran upwards, or had nothing to do with the scores, in every group. Then a group that is not strong
    upwards is strong downwards no more often than among all orders of its rank that are not strong upwards: this holds
    wherever stronger relations favour higher correlations (a monotone likelihood ratio, as of orders with
    probabilities that rise exponentially with the correlation). So the number of groups that are strong downwards is at
    most a sum of independent draws with these shares (Poisson-binomial), however the strength differs between groups.
    The same the other way round; when both counts are beyond chance, no one direction explains them. `p` is the larger
    of the two tails (an intersection-union test, Berger 1982). The scores decide its power and never its level.
    """
    consensus = _consensus(scores, groups)
    found = [_compared(rank[rows], consensus[rows], rng) for rows in groups]
    chances = np.array([f[1:3] for f in found]).reshape(-1, 2)
    strong = np.array([f[3:5] for f in found], dtype=bool).reshape(-1, 2)
    tails = []
    for side, reverse in ((0, 1), (1, 0)):
        left = ~strong[:, reverse]
        tails.append(_at_least(int(strong[:, side].sum()), chances[left, side] / (1 - chances[left, reverse])))
    return Directions(tuple(f[0] for f in found), max(tails))


def _consensus(scores: Array, groups: list[NDArray[np.int64]]) -> Array:
    """Return the first principal component of the scores within the groups, shape (n,); gaps count as the mean."""
    centred = np.zeros_like(scores)
    for rows in groups:
        filled = ~np.isnan(scores[rows])
        mean = np.where(filled, scores[rows], 0.0).sum(axis=0) / np.maximum(filled.sum(axis=0), 1)
        centred[rows] = np.where(filled, scores[rows] - mean, 0.0)
    spread = np.sqrt((centred**2).mean(axis=0))
    centred = centred[:, spread > SLACK] / spread[spread > SLACK]
    if not centred.shape[1]:
        return np.zeros(len(scores))
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ vectors[:, -1])


def _compared(rank: Array, score: Array, rng: np.random.Generator) -> tuple[float, float, float, bool, bool]:
    """Return the correlation of a group, the chances of a strong one (up, down), and whether it is one (up, down)."""
    x, y = (ranks(np.round(v, 9)) for v in (rank, score))
    x, y = x - x.mean(), y - y.mean()
    size = math.sqrt(float(x @ x) * float(y @ y))
    if size < SLACK:
        return math.nan, 0.0, 0.0, False, False
    orders = np.sort(x[_orders(len(x), rng)] @ y / size)
    rho = float(x @ y) / size
    above = 1 - np.searchsorted(orders, orders - SLACK) / len(orders)
    below = np.searchsorted(orders, orders + SLACK, side="right") / len(orders)
    chance_up, chance_down = (float(t[t <= STRONG + SLACK].max(initial=0.0)) for t in (above, below))
    up = 1 - np.searchsorted(orders, rho - SLACK) / len(orders) <= STRONG + SLACK
    down = np.searchsorted(orders, rho + SLACK, side="right") / len(orders) <= STRONG + SLACK
    return rho, chance_up, chance_down, bool(up), bool(down)


def _orders(size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    if size <= ALL_ORDERS:
        return np.array(list(itertools.permutations(range(size))), dtype=np.int64)
    return rng.permuted(np.tile(np.arange(size), (DRAWN, 1)), axis=1)


def _at_least(count: int, chances: Array) -> float:
    """Return the probability of `count` or more successes of independent draws with these chances."""
    spread = np.ones(1)
    for chance in chances:
        spread = np.convolve(spread, [1 - chance, chance])
    return float(spread[count:].sum()) if count else 1.0
