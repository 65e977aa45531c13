"""Prediction-powered inference: a few human ratings, and a judge's scores of many more items.

What the judge says of the items without a human rating narrows the interval of a mean; what it says of those with one
tells how far to trust it. However bad or biased the judge is, the figure stands for the humans' ratings, never for the
judge's: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023 ("Prediction-Powered Inference"; weight 1) and
Angelopoulos, Duchi and Zrnic 2023 ("PPI++", the weight that makes the variance least). Figures that are no means:
`prediction_powered_bootstrap.py`.

The labelled items must be a random part of all. Who rates only the shortest texts learns nothing here of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from calibrator.stats.resampling import ROUNDING, codes

Array = NDArray[np.float64]
Method = Literal["small", "published"]
METHODS: tuple[Method, ...] = ("small", "published")
FEWEST = 5  # units with labels: with fewer, t quantiles of two degrees of freedom less cost more than a judge can give


@dataclass(frozen=True, slots=True)
class Powered:
    """An estimate from human ratings and a judge's scores, and beside it that from the human ratings alone.

    `weight` is the judge's (lambda of PPI++), 0 to 1: at 0 both estimates are the same. `effective` says how many
    labelled units (items, or groups) the classical estimate would need for the same variance; fewer than there are
    where the correction costs more than the judge gives. An interval is nan where the labels show no spread or are
    fewer than two: nothing is known of it then.
    """

    value: float
    low: float
    high: float
    classical_value: float
    classical_low: float
    classical_high: float
    weight: float
    effective: float


@dataclass(frozen=True, slots=True)
class Parts:
    """What each unit adds to three means less these means: labels (a), their scores (b), the others' scores (c).

    Shape (units,) each, so that the sum of squares is the variance of a mean. `labelled` units hold labels; a figure
    made of several means (`prediction_powered_sum.py`) has the fewest that one of them rests on.
    """

    a: Array
    b: Array
    c: Array
    labelled: int


def powered_mean(
    human: Array,
    judged: Array,
    unlabelled: Array,
    *,
    level: float = 0.95,
    weight: float | None = None,
    method: Method = "small",
    groups: Sequence[str] | None = None,
    unlabelled_groups: Sequence[str] | None = None,
) -> Powered:
    """Return the mean human rating of all items, estimated from `human` and the judge's scores.

    `human` and `judged` (n,) are of the labelled items, `unlabelled` (m,) the judge's scores of the others. The value
    is mean(human) + weight * (mean(unlabelled) - mean(judged)). `weight` None takes the one of the least variance,
    clipped to 0..1; 1 is the original estimate of 2023, 0 the classical one.

    `method` "small" is made for 5 to 100 labels: the weight is the slope of ratings on scores as the labelled items
    have it, the variance takes its two degrees of freedom and its own uncertainty into account (the regression
    estimator in double sampling, Cochran 1977, section 12.6), the interval Student's t with n - 2; n - 1 with a
    weight that is given or 0. "published" is PPI++ as published: normal quantiles, variances divided by n, the weight
    with the variance of all scores; it covers too rarely with few labels (experiments/ppi_coverage.py). The classical
    interval is Student's t in both.

    `groups` (n names) and `unlabelled_groups` (m names) make groups the sampling units, for items that share a source;
    a group may hold both kinds of items. Below `FEWEST` labelled units, or without unlabelled items, a weight that is
    not given is 0. Raises ValueError for other shapes, numbers that are not finite, a level outside 0 to 1, a weight
    below 0 or above 1, an unknown method, groups of one kind of items only, or groups with "published".
    """
    check(human, judged, unlabelled, level, weight)
    if method not in METHODS:
        raise ValueError(f"'{method}' is no method; those there are: {', '.join(METHODS)}")
    if method == "published" and groups is not None:
        raise ValueError("the published interval has no groups; take method 'small'")
    parts = _parts(human, judged, unlabelled, groups, unlabelled_groups)
    mean = float(human.mean()) if len(human) else float("nan")
    if not len(unlabelled) or len(human) < 2:
        return classical(parts, mean, level)
    apart = float(unlabelled.mean() - judged.mean())
    if method == "small":
        return from_parts(parts, mean, apart, level, weight)
    tuned = _published_weight(human, judged, unlabelled) if weight is None else weight
    variance = float((human - tuned * judged).var() / len(human) + tuned**2 * unlabelled.var() / len(unlabelled))
    return _beside(
        classical(parts, mean, level), parts, interval(mean + tuned * apart, variance, level, None), tuned, variance
    )


def classical(parts: Parts, mean: float, level: float) -> Powered:
    """Return the estimate from the human ratings alone."""
    ends = interval(mean, _spread(parts), level, parts.labelled - 1)
    return Powered(*ends, *ends, 0.0, float(parts.labelled))


def from_parts(parts: Parts, mean: float, apart: float, level: float, weight: float | None = None) -> Powered:
    """Return the estimate of method "small" (see `powered_mean`) from what the units add.

    `mean` is that of the human ratings, `apart` that of the other items' scores less that of the labelled ones'.
    """
    tuned = _weight(parts) if weight is None else weight
    fitted = weight is None and tuned > 0
    free = parts.labelled - (2 if fitted else 1)
    variance = _variance(parts, tuned, free)
    if fitted:
        variance += _weights_own(parts, tuned, free) * apart**2
    return _beside(
        classical(parts, mean, level), parts, interval(mean + tuned * apart, variance, level, free), tuned, variance
    )


def _beside(
    alone: Powered, parts: Parts, estimate: tuple[float, float, float], weight: float, variance: float
) -> Powered:
    """Return an estimate with that from the human ratings `alone` beside it."""
    spread = _spread(parts)
    if not spread > 0:
        estimate = (estimate[0], float("nan"), float("nan"))
    gain = spread / variance if variance > 0 and spread > 0 else 1.0
    ends = alone.classical_value, alone.classical_low, alone.classical_high
    return Powered(*estimate, *ends, float(weight), parts.labelled * gain)


def powered_difference(
    human_a: Array,
    judged_a: Array,
    unlabelled_a: Array,
    human_b: Array,
    judged_b: Array,
    unlabelled_b: Array,
    *,
    level: float = 0.95,
    weight: float | None = None,
    method: Method = "small",
    groups: Sequence[str] | None = None,
    unlabelled_groups: Sequence[str] | None = None,
) -> Powered:
    """Return the mean rating of system a less that of b, for two systems whose outputs have the same sources.

    Paired by position: labelled items of a with those of b (n,), the others with the others (m,). It is `powered_mean`
    of the differences; what is easy or hard about a source goes out. Raises ValueError as that does, and for arrays
    that cannot be paired.
    """
    for a, b in ((human_a, human_b), (judged_a, judged_b), (unlabelled_a, unlabelled_b)):
        if a.shape != b.shape:
            raise ValueError(f"two systems must have outputs for the same sources, not {a.shape} and {b.shape}")
    return powered_mean(
        human_a - human_b,
        judged_a - judged_b,
        unlabelled_a - unlabelled_b,
        level=level,
        weight=weight,
        method=method,
        groups=groups,
        unlabelled_groups=unlabelled_groups,
    )


def check(human: Array, judged: Array, unlabelled: Array, level: float, weight: float | None) -> None:
    """Raise ValueError, as `powered_mean` says, unless the arguments are in order."""
    if human.ndim != 1 or human.shape != judged.shape or unlabelled.ndim != 1:
        raise ValueError(
            f"give a rating and a score of each labelled item and scores of the others in one dimension, not "
            f"{human.shape}, {judged.shape} and {unlabelled.shape}"
        )
    if not all(np.isfinite(x).all() for x in (human, judged, unlabelled)):
        raise ValueError("ratings and scores must be finite; leave out the items that have none")
    if not 0 < level < 1:
        raise ValueError(f"a level is between 0 and 1, not {level}")
    if weight is not None and not 0 <= weight <= 1:
        raise ValueError(f"a weight is between 0 and 1, not {weight}")


def _parts(
    human: Array, judged: Array, others: Array, groups: Sequence[str] | None, other_groups: Sequence[str] | None
) -> Parts:
    """Return the units' parts; every item is a unit of its own where there are no groups."""
    size, more = len(human), len(others)
    if (groups is None) != (other_groups is None):
        raise ValueError("give groups for the labelled and for the unlabelled items, or for neither")
    if groups is None or other_groups is None:
        member = np.arange(size + more)
    elif (len(groups), len(other_groups)) != (size, more):
        raise ValueError("there must be a group for every item")
    else:
        member = codes([*groups, *other_groups])
    units = int(member.max()) + 1 if len(member) else 0

    def of(x: Array, where: NDArray[np.int64]) -> Array:
        adds = centred(x) / max(1, len(x))
        return np.asarray(np.bincount(where, weights=adds, minlength=units), dtype=np.float64)

    first, second = member[:size], member[size:]
    # The many unlabelled units lose one degree of freedom too; the few labelled ones get theirs where they are summed.
    held = len(np.unique(second))
    c = of(others, second) * np.sqrt(held / (held - 1) if held > 1 else 1.0)
    return Parts(of(human, first), of(judged, first), c, len(np.unique(first)))


def centred(x: Array) -> Array:
    """Return numbers less their mean: exactly 0 where they are all the same but for rounding."""
    if not len(x) or float(np.ptp(x)) <= ROUNDING * max(1.0, float(np.abs(x).max())):
        return np.zeros(len(x))
    return np.asarray(x - x.mean())


def _spread(parts: Parts) -> float:
    """Return the variance of the mean of the human ratings."""
    free = parts.labelled - 1
    return float((parts.a**2).sum() * parts.labelled / free) if free > 0 else float("nan")


def _weight(parts: Parts) -> float:
    """Return the weight that makes the variance least: a's regression on what moves with the weight, 0 to 1."""
    if parts.labelled < FEWEST:
        return 0.0
    moves = parts.b - parts.c
    size = float(moves @ moves)
    weight = min(1.0, float(parts.a @ moves) / size) if size > 0 else 0.0
    return weight if weight > ROUNDING else 0.0  # what is 0 but for rounding must not cost a degree of freedom


def _variance(parts: Parts, weight: float, free: int) -> float:
    scale = np.sqrt(parts.labelled / free) if free > 0 else float("nan")
    return float(((scale * (parts.a - weight * parts.b) + weight * parts.c) ** 2).sum())


def _weights_own(parts: Parts, weight: float, free: int) -> float:
    """Return the variance of the weight itself: of a slope, from the residuals of the labelled units."""
    size = float((parts.b**2).sum())
    return float(((parts.a - weight * parts.b) ** 2).sum()) / free / size if size > 0 else 0.0


def _published_weight(human: Array, judged: Array, unlabelled: Array) -> float:
    """Return the tuned weight of PPI++ for a mean (as in the package ppi-python), clipped to 0..1."""
    every = float(np.concatenate([judged, unlabelled]).var(ddof=1))
    if not every > 0:
        return 0.0
    together = float(((human - human.mean()) * (judged - judged.mean())).mean())
    return min(1.0, max(0.0, together / ((1 + len(human) / len(unlabelled)) * every)))


def interval(value: float, variance: float, level: float, free: int | None) -> tuple[float, float, float]:
    """Return the value with its interval, Student's t with `free` degrees of freedom or normal; nan without spread."""
    if not variance > 0:
        return value, float("nan"), float("nan")
    tail = (1 + level) / 2
    half = float((ndtri(tail) if free is None else stdtrit(free, tail)) * np.sqrt(variance))
    return value, value - half, value + half
