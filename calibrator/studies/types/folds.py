"""Parts of labelled texts that share no group and hold the labels in like proportion.

Iterative stratification for several labels (Sechidis, Tsoumakas and Vlahavas 2011; the library
`iterative-stratification`) deals out rows one by one and knows no groups. So it is given the groups as rows: each
bears every label that one of its texts bears, and marks for how many texts it has, so that parts are alike in the
number of texts too. What it balances is therefore the number of groups with a label, not of texts; where groups are
small, as with a few answers to one post, that is nearly the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrator.errors import DataError
from calibrator.hub import required
from calibrator.stats.resampling import codes
from calibrator.studies.types.base import Array, Example, indicators
from calibrator.studies.types.data import true_labels

Places = NDArray[np.int64]
EXTRA, WANTS = "studies", "stratification by labels"
FEWEST = 4  # groups that can be parted


def holdout(
    examples: Sequence[Example], names: Sequence[str], share: float, seed: int
) -> tuple[tuple[Example, ...], tuple[Example, ...]]:
    """Return the examples in two parts that share no group; the second has about `share` (0 to 1) of the groups.

    Raises DataError if there are fewer than `FEWEST` groups, ModelMissing if the library is not installed.
    """
    library: Any = required("iterstrat.ml_stratifiers", EXTRA, WANTS)
    rows, member = _groups(examples, names)
    split = library.MultilabelStratifiedShuffleSplit(n_splits=1, test_size=share, random_state=seed)
    _, second = next(split.split(np.zeros(len(rows)), rows))
    behind = np.isin(member, second)
    first = tuple(e for e, there in zip(examples, behind, strict=True) if not there)
    return first, tuple(e for e, there in zip(examples, behind, strict=True) if there)


def folds(examples: Sequence[Example], names: Sequence[str], count: int, seed: int) -> list[tuple[Places, Places]]:
    """Return for each of `count` folds (fewer where there are fewer groups) the places to learn from and to try on.

    Raises DataError if there are fewer than `FEWEST` groups, ModelMissing if the library is not installed.
    """
    library: Any = required("iterstrat.ml_stratifiers", EXTRA, WANTS)
    rows, member = _groups(examples, names)
    split = library.MultilabelStratifiedKFold(n_splits=min(count, len(rows) // 2), shuffle=True, random_state=seed)
    parts = [np.isin(member, held) for _, held in split.split(np.zeros(len(rows)), rows)]
    return [(np.flatnonzero(~held), np.flatnonzero(held)) for held in parts if held.any() and not held.all()]


def _groups(examples: Sequence[Example], names: Sequence[str]) -> tuple[Array, Places]:
    """Return what stands for each group (groups, labels and marks of its size), and the group of each example."""
    member = codes([e.group for e in examples])
    count = int(member.max()) + 1 if len(member) else 0
    if count < FEWEST:
        raise DataError(f"{count} groups (sources, or texts) with labels are too few to be parted; {FEWEST} are needed")
    borne = np.zeros((count, len(names)))
    np.maximum.at(borne, member, indicators(true_labels(examples), names))
    sizes = np.bincount(member)
    marks = np.stack([sizes == 1, sizes == 2, sizes > 2], axis=1).astype(float)
    return np.concatenate([borne, marks], axis=1).astype(np.int64), member
