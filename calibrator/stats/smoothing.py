"""A regularised fit of columns and of their products in pairs, by kernel ridge regression.

With p columns there are p² / 2 products, more than rated items as a rule. The polynomial kernel weighs all of them
without naming one; `linear.project` then finds the few that matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.grouped import centred
from calibrator.stats.linear import PENALTIES, best_by_cv, ridge

Array = NDArray[np.float64]

PRODUCTS = 0.02  # what a product of two columns counts in the kernel beside a column


@dataclass(frozen=True, slots=True)
class Smoothing:
    """How a fit is regularised: the penalty, and what products count beside columns (0: a plain ridge)."""

    penalty: float
    products: float = 0.0


CHOICES = (*(Smoothing(p) for p in PENALTIES), Smoothing(100.0, PRODUCTS), Smoothing(300.0, PRODUCTS))


def smoothed(
    z: Array, y: Array, smoothing: Smoothing, importance: Array | None = None, at: Array | None = None
) -> Array:
    """Return what a fit of `y` (n,) on the columns `z` (n, p) gives at the rows of `at` (m, p), by default `z`.

    Kernel ridge regression (Saunders, Gammerman and Vovk 1998) with the kernel a·b + products · (a·b)²; an item counts
    as often as its `importance` (n,), 1 by default.
    """
    s = np.ones(len(y)) if importance is None else importance
    where = z if at is None else at
    if not smoothing.products:
        weights, base = ridge(z, y, smoothing.penalty, s)
        line: Array = where @ weights + base
        return line
    mean = float(s @ y / s.sum())
    dual = np.linalg.solve(_kernel(z, z, smoothing) + np.diag(smoothing.penalty / s), y - mean)
    fitted: Array = _kernel(where, z, smoothing) @ dual + mean
    return fitted


def _kernel(a: Array, b: Array, smoothing: Smoothing) -> Array:
    inner = a @ b.T
    result: Array = inner + smoothing.products * inner**2
    return result


def smoothing_by_cv(
    z: Array,
    y: Array,
    groups: Sequence[str],
    rng: np.random.Generator,
    choices: Sequence[Smoothing] = CHOICES,
    folds: int = 5,
) -> Smoothing:
    """Return the choice whose cross-validated predictions, whole groups left out, have the highest Spearman with `y`.

    The first of equals. With fewer than two groups there is nothing to leave out, and the largest penalty is returned.
    """

    def predict(known: NDArray[np.bool_], new: NDArray[np.bool_], choice: Smoothing) -> Array:
        return smoothed(z[known], y[known], choice, at=z[new])

    return best_by_cv(choices, max(choices, key=lambda c: c.penalty), predict, y, groups, rng, folds)


def centred_columns(z: Array, groups: Sequence[str], share: float) -> Array:
    """Return `z` (n, p) with every column centred within groups as `grouped.centred` does."""
    return np.column_stack([centred(column, groups, share) for column in z.T]) if z.shape[1] else z
