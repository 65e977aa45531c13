"""The one regularised linear fit: ridge regression, its penalty by cross-validation, its projection on few columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import spearman
from calibrator.stats.resampling import codes

Array = NDArray[np.float64]
Choice = TypeVar("Choice")

PENALTIES = (10.0, 30.0, 100.0, 300.0)
LIMIT = 3.0  # standard deviations beyond which a column counts no more


def center_and_spread(x: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column of `x` (n, p); a constant column gets spread 1."""
    spread = x.std(axis=0)
    return x.mean(axis=0), np.where(spread > 1e-9, spread, 1.0)


def standardise(x: Array, center: Array, spread: Array) -> Array:
    """Return (x - center) / spread, limited to ±`LIMIT`."""
    return np.clip((x - center) / spread, -LIMIT, LIMIT)


def ridge(z: Array, y: Array, penalty: float, importance: Array | None = None) -> tuple[Array, float]:
    """Return weights (p,) and base of the ridge regression of `y` (n,) on `z` (n, p); the base is not penalised.

    Minimises Σ importance_i (y_i - base - z_i · weights)² + penalty · |weights|² (Hoerl and Kennard 1970).
    """
    s = np.ones(len(y)) if importance is None else importance
    mean_z, mean_y = (s @ z) / s.sum(), float(s @ y / s.sum())
    dz = z - mean_z
    gram = (dz * s[:, None]).T @ dz + penalty * np.eye(z.shape[1])
    weights = np.linalg.solve(gram, dz.T @ (s * (y - mean_y)))
    return weights, mean_y - float(mean_z @ weights)


def bounded_ridge(z: Array, y: Array, penalty: float, least: Array) -> tuple[Array, float]:
    """Return weights (p,) and base of the ridge regression of `y` (n,) on `z` (n, p), no weight below its `least` (p,).

    As `ridge`, with bounds: 0 for a column that may only count upwards, -inf for one that is free (non-negative least
    squares on the rows of the penalty too; Lawson and Hanson 1974, by `scipy.optimize.lsq_linear`).
    """
    from scipy.optimize import lsq_linear

    if not z.shape[1] or np.isneginf(least).all():
        return ridge(z, y, penalty)
    mean_z, mean_y = z.mean(axis=0), float(y.mean())
    rows = np.vstack([z - mean_z, np.sqrt(penalty) * np.eye(z.shape[1])])
    target = np.concatenate([y - mean_y, np.zeros(z.shape[1])])
    found = lsq_linear(rows, target, bounds=(least, np.inf), method="bvls").x
    weights: Array = np.maximum(found, least)  # rounding may leave one below its bound by a hair
    return weights, mean_y - float(mean_z @ weights)


def folds_of(groups: Sequence[str], folds: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the fold of each item, 0 to folds - 1, whole groups together."""
    member = codes(groups)
    count = int(member.max()) + 1
    of_group = np.empty(count, dtype=np.int64)
    of_group[rng.permutation(count)] = np.arange(count) % folds
    result: NDArray[np.int64] = of_group[member]
    return result


def penalty_by_cv(
    z: Array,
    y: Array,
    groups: Sequence[str],
    rng: np.random.Generator,
    penalties: Sequence[float] = PENALTIES,
    folds: int = 5,
) -> float:
    """Return the penalty whose cross-validated predictions, whole groups left out, have the highest Spearman with `y`.

    With fewer than two groups there is nothing to leave out, and the largest penalty is returned.
    """

    def predict(known: NDArray[np.bool_], new: NDArray[np.bool_], penalty: float) -> Array:
        weights, base = ridge(z[known], y[known], penalty)
        line: Array = z[new] @ weights + base
        return line

    return best_by_cv(penalties, max(penalties), predict, y, groups, rng, folds)


def best_by_cv(
    choices: Sequence[Choice],
    otherwise: Choice,
    predict: Callable[[NDArray[np.bool_], NDArray[np.bool_], Choice], Array],
    y: Array,
    groups: Sequence[str],
    rng: np.random.Generator,
    folds: int,
) -> Choice:
    """Return the choice whose cross-validated predictions, whole groups left out, have the highest Spearman with `y`.

    `predict` is given which items are known, which are to be predicted, and a choice. The first of equals; `otherwise`
    with fewer than two groups, or where no choice has a Spearman.
    """
    fold = folds_of(groups, folds, rng)
    if len(np.unique(fold)) < 2:
        return otherwise
    best, best_value = otherwise, -np.inf
    for choice in choices:
        predicted = np.empty(len(y))
        for k in np.unique(fold):
            predicted[fold == k] = predict(fold != k, fold == k, choice)
        value = float(spearman(predicted, y))
        if value > best_value:
            best, best_value = choice, value
    return best


def project(
    z: Array, target: Array, size: int, favour: Array | None = None, rare: int = 0, most: int = 0, penalty: float = 1.0
) -> list[int]:
    """Return at most `size` columns of `z` that together reproduce `target` best, in the order they were taken.

    Forward selection on the fitted values of a full model rather than on the ratings themselves: the full model has
    already taken the noise out (projection predictive selection; Piironen, Paasiniemi and Vehtari 2020). A column's
    gain is multiplied by `favour` (p,), all 1 by default. Of the last `rare` columns at most `most` are taken. Columns
    that add nothing are not taken.
    """
    prefer = np.ones(z.shape[1]) if favour is None else favour
    dz, dy = z - z.mean(axis=0), target - target.mean()
    gram, moment = dz.T @ dz, dz.T @ dy
    size_of = np.diag(gram)
    barred = size_of <= 1e-9
    chosen: list[int] = []
    while len(chosen) < size:
        if sum(c >= z.shape[1] - rare for c in chosen) >= most:
            barred[z.shape[1] - rare :] = True
        # What a column would add to what the chosen ones explain: its part that they do not hold, squared.
        inverse = np.linalg.inv(gram[np.ix_(chosen, chosen)] + penalty * np.eye(len(chosen)))
        across = gram[:, chosen]
        missed = moment - across @ (inverse @ moment[chosen])
        own = size_of + penalty - np.einsum("ij,jk,ik->i", across, inverse, across, optimize=True)
        gains = np.where(barred, -np.inf, missed**2 / np.maximum(own, penalty) * prefer)
        best = int(np.argmax(gains))
        if gains[best] <= 1e-9:
            break
        chosen.append(best)
        barred[best] = True
    return chosen
