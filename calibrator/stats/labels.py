"""Labels of several annotators: the majority, the kappa of each pair, and which labels occur together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.agreement import cohen_kappa, fleiss_kappa

Array = NDArray[np.float64]


def majority(labels: Array) -> Array:
    """Return the most frequent label of each item, shape (n,), of `labels` (annotators, n), nan for none.

    nan where nobody labelled the item, or where two labels are equally frequent.
    """
    values = np.unique(labels[~np.isnan(labels)])
    if not len(values):
        return np.full(labels.shape[1], np.nan)
    counts = (labels[:, :, None] == values).sum(axis=0)
    most = counts.max(axis=1)
    clear = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
    return np.where(clear, values[counts.argmax(axis=1)], np.nan)


def kappa_matrix(labels: Array, weights: str | None = None) -> Array:
    """Return Cohen's kappa of each pair of annotators, shape (a, a), of `labels` (a, n); the diagonal is 1.

    Items that one of the two did not label (nan) do not count. `weights` as in `stats.agreement.cohen_kappa`.
    """
    size = len(labels)
    found = np.eye(size)
    for i in range(size):
        for j in range(i):
            found[i, j] = found[j, i] = cohen_kappa(labels[i], labels[j], weights)  # type: ignore[arg-type]
    return found


def fleiss_of(labels: Array) -> tuple[float, int]:
    """Return the kappa of Fleiss of `labels` (a, n) over the items that all annotators labelled, and their number."""
    whole = labels[:, ~np.isnan(labels).any(axis=0)]
    values = np.unique(whole)
    counts = (whole[:, :, None] == values).sum(axis=0).astype(float)
    return fleiss_kappa(counts), whole.shape[1]


def co_occurrence(sets: Sequence[frozenset[str]], names: Sequence[str]) -> NDArray[np.int64]:
    """Return how many items have both of two labels, shape (l, l), of `sets` of an item's labels; the diagonal: one.

    Labels that are not among `names` do not count.
    """
    has = np.array([[name in labels for name in names] for labels in sets], dtype=np.int64).reshape(-1, len(names))
    both: NDArray[np.int64] = has.T @ has
    return both
