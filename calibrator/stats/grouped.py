"""Agreement where items belong together: within groups, between groups, and with part of the groups taken out.

A judge may find the better of two answers to one prompt (within) and yet not know which prompts are answered well
(between), or the other way round; one correlation over all items mixes the two. Groups may be systems as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.resampling import codes

Array = NDArray[np.float64]
Figure = Callable[[Array, Array], Array | float]


def within(measure: Figure, x: Array, y: Array, groups: Sequence[str]) -> tuple[float, int]:
    """Return the mean of a measure over the groups in which it is defined, and how many those are.

    `x`, `y` (n,) and `groups` (n names). Every such group counts the same, whatever its size ("summary level" of
    Fabbri et al. 2021, SummEval). A correlation is not defined in a group of one item or with one rating only; where it
    is defined in no group, the mean is nan and the number 0.
    """
    member = codes(groups)
    # Sorted once: picking each group out of all items would take groups · n steps.
    order = np.argsort(member, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(member[order])) + 1) if len(order) else []
    figures = np.array([float(measure(x[part], y[part])) for part in parts])
    defined = figures[np.isfinite(figures)]
    return (float(defined.mean()) if len(defined) else float("nan")), len(defined)


def between(measure: Figure, x: Array, y: Array, groups: Sequence[str]) -> float:
    """Return a measure on the groups' means ("system level" of Fabbri et al. 2021 where the groups are systems).

    `x`, `y` (n,) and `groups` (n names). nan where the measure is not defined, as with fewer than two groups.
    """
    return float(measure(group_means(x, groups), group_means(y, groups)))


def group_means(x: Array, groups: Sequence[str]) -> Array:
    """Return the mean of `x` (n,) in each group, in the order of the groups' names, shape (g,)."""
    member = codes(groups)
    return np.bincount(member, weights=x) / np.bincount(member)


def centred(x: Array, groups: Sequence[str], share: float) -> Array:
    """Return `x` (n,) with a share, 0 to 1, of what its group's mean differs from the mean of all taken off.

    0 leaves `x` as it is; 1 leaves no difference between groups. A nan makes its group nan, and unless the share is 0,
    all others through the mean of all. Raises ValueError for a share outside 0 to 1.
    """
    if not 0 <= share <= 1:
        raise ValueError(f"a share is between 0 and 1, not {share}")
    if share == 0 or not len(x):
        return x.copy()
    result: Array = x - share * (group_means(x, groups)[codes(groups)] - x.mean())
    return result
