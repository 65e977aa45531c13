"""Tests by permutation: are two judges of the same items equally good, and how sure is one of many such tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import Measure, ranks
from calibrator.stats.resampling import codes, resampled

Array = NDArray[np.float64]
Common = Literal["ranks", "standard", "raw"]
EPSILON = 1e-12  # rounding leaves differences that are equal a little apart


def paired_permutation(
    measure: Measure,
    x: Array,
    other: Array,
    y: Array,
    groups: Sequence[str],
    permutations: int,
    rng: np.random.Generator,
    common: Common = "ranks",
) -> float:
    """Return the two-sided p, above 0 to 1, of measure(x, y) - measure(other, y) if the two judges were exchangeable.

    `x`, `other` and `y` (n,): the scores of two judges and of the humans; `groups`, n names. In each permutation the
    two judges' scores trade places in about half of the groups, all items of a group together (Good 2005, chapter 3),
    and p = (1 + those whose difference is at least as large) / (permutations + 1), which is never 0 (Phipson and Smyth
    2010). One in which a measure is not defined counts as large. nan if the difference itself is not defined.

    Scores can trade places only where they mean the same. `common` puts the two judges on one scale first: "ranks", the
    rank of a score among all of its judge (for spearman and kendall, which it leaves as they are); "standard", mean 0
    and standard deviation 1 (for pearson, likewise); "raw", as they are (for mae and rmse).
    """
    mine, others = (_on_common_scale(scores, common) for scores in (x, other))
    difference = float(measure(mine, y)) - float(measure(others, y))
    if not np.isfinite(difference):
        return float("nan")
    member = codes(groups)
    swapped = rng.integers(2, size=(permutations, int(member.max()) + 1)).astype(float)[:, member]
    # Each item stands in the list twice, once with each judge's score; the weights say which of them counts.
    scores, human = np.concatenate([mine, others]), np.concatenate([y, y])
    first = resampled(measure, scores, human, np.hstack([1 - swapped, swapped]))
    second = resampled(measure, scores, human, np.hstack([swapped, 1 - swapped]))
    smaller = np.abs(first - second) < abs(difference) - EPSILON
    return float((1 + permutations - smaller.sum()) / (permutations + 1))


def _on_common_scale(scores: Array, common: Common) -> Array:
    if common == "raw":
        return scores
    if common == "ranks":
        return ranks(scores)
    spread = float(scores.std())
    standard: Array = (scores - scores.mean()) / (spread if spread > 0 else 1.0)
    return standard


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted for how many they are (Holm 1979), in the order given.

    The smallest is multiplied by their number, the next by one less, and so on; none becomes smaller than one before it
    or larger than 1. Calling those below 0.05 significant then errs once or more in at most one family of tests in
    twenty. A nan stays nan and does not count as a test.
    """
    given = np.asarray(p, dtype=float)
    tests = np.flatnonzero(np.isfinite(given))
    order = tests[np.argsort(given[tests], kind="stable")]
    adjusted = np.full(len(given), np.nan)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * np.arange(len(order), 0, -1)), 1.0)
    return [float(value) for value in adjusted]
