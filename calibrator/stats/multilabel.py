"""Agreement of label sets: an item may bear several labels, and so may what a classifier says of it.

The five figures of Saha et al. 2024 (CrowdCounter, appendix F.2, equations 1 to 5) and a few in common use beside them.
`truth` and `said` are (n, L) arrays of 0 and 1, a row for each item and a column for each of the L labels; `weights`,
(n,) or (resamples, n), is how often each item counts, once each where it is None. The figures have the shape of
`weights` without its last axis, and lie between 0 and 1.

**Precision and recall.** With Y the true labels of an item and Z those said, as the appendix names them for its
Hamming loss, its equation 2 is |Y ∩ Z| / |Z| and its equation 3 |Y ∩ Z| / |Y|, which is what everybody calls
precision and recall (Godbole and Sarawagi 2004): `precision` and `recall` here. The sentences above the equations
have it the other way round, precision per actual label and recall per predicted one: `precision_paper` and
`recall_paper` follow the sentences, and are `recall` and `precision` under each other's name. F1 is the same either
way. The figures of the paper's Table 3 fit the formulas.

**Where nothing is said or nothing is true**, |Z| or |Y| is 0 and the paper is silent. Here an item with neither is
right (1 in accuracy, precision and recall, 0 in loss), and one with only one of them is wrong (0, whichever of the
two is empty). So every item counts, and a classifier gains nothing by silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Measure = Callable[[Array, Array, "Array | None"], Array]


def accuracy(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the mean of |Y ∩ Z| / |Y ∪ Z| (equation 1; the Jaccard index of each item)."""
    return _mean(_share(truth * said, np.maximum(truth, said), truth, said), weights)


def precision(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the mean of |Y ∩ Z| / |Z|: which part of the labels said is right (equation 2)."""
    return _mean(_share(truth * said, said, truth, said), weights)


def recall(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the mean of |Y ∩ Z| / |Y|: which part of the true labels is found (equation 3)."""
    return _mean(_share(truth * said, truth, truth, said), weights)


def precision_paper(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return what the sentence above equation 2 calls precision: per actual label, in common use the recall."""
    return recall(truth, said, weights)


def recall_paper(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return what the sentence above equation 3 calls recall: per predicted label, in common use the precision."""
    return precision(truth, said, weights)


def f1(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the harmonic mean of `precision` and `recall` (equation 4); 0 where both are 0.

    Of the two means over the items, not the mean of each item's own: that is `sample_f1`.
    """
    p, r = precision(truth, said, weights), recall(truth, said, weights)
    both: Array = 2 * p * r / np.where(p + r > 0, p + r, 1.0)
    return both


def hamming_loss(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the mean of |Y Δ Z| / L (equation 5): the part of all decisions, label by label, that is wrong."""
    return _mean(np.abs(truth - said).mean(axis=1), weights)


def hamming_score(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return 1 - `hamming_loss`: the part of all decisions that is right.

    The paper names a Hamming score and defines and reports the loss only; others call `accuracy` by that name.
    """
    return 1 - hamming_loss(truth, said, weights)


def exact_match(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the part of the items whose label sets are the same."""
    return _mean((truth == said).all(axis=1).astype(float), weights)


def sample_f1(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the mean of each item's own F1, 2 |Y ∩ Z| / (|Y| + |Z|)."""
    return _mean(_share(2 * truth * said, truth + said, truth, said), weights)


def label_f1(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the F1 of each label, 2 TP / (2 TP + FP + FN), with a last axis of length L.

    nan for a label that is neither true nor said of any item.
    """
    counts = np.ones(len(truth)) if weights is None else weights
    both, either = counts @ (truth * said), counts @ (truth + said)
    each: Array = np.where(either > 0, 2 * both / np.where(either > 0, either, 1.0), np.nan)
    return each


def macro_f1(truth: Array, said: Array, weights: Array | None = None) -> Array:
    """Return the mean of `label_f1` over the labels for which it is defined, nan where it is for none."""
    each = label_f1(truth, said, weights)
    defined = np.isfinite(each)
    count = defined.sum(axis=-1)
    total = np.where(defined, each, 0.0).sum(axis=-1)
    mean: Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


# By the names they have in files and tables; the paper's five first.
MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "hamming_loss": hamming_loss,
        "accuracy": accuracy,
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "precision_paper": precision_paper,
        "recall_paper": recall_paper,
        "hamming_score": hamming_score,
        "exact_match": exact_match,
        "sample_f1": sample_f1,
        "macro_f1": macro_f1,
    }
)
LOWER_IS_BETTER = frozenset({"hamming_loss"})


def _share(part: Array, whole: Array, truth: Array, said: Array) -> Array:
    """Return for each item the sum of `part` over that of `whole`; see the module on what is empty."""
    shared, of = part.sum(axis=1), whole.sum(axis=1)
    right = (truth.sum(axis=1) + said.sum(axis=1) == 0).astype(float)
    shares: Array = np.where(of > 0, shared / np.where(of > 0, of, 1.0), right)
    return shares


def _mean(values: Array, weights: Array | None) -> Array:
    """Return the weighted mean of `values` (n,); nan where there is nothing to count."""
    counts = np.ones(len(values)) if weights is None else weights
    total = np.asarray(counts.sum(axis=-1))
    mean: Array = np.where(total > 0, (counts @ values) / np.where(total > 0, total, 1.0), np.nan)
    return mean
