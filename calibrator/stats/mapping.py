"""Score maps: rising functions that put a judge's scores on the scale of the human ratings.

A judge may have the order right and the numbers wrong: all too high, too wide, bent. A map mends the numbers. It never
turns the order round, and where it makes two scores equal it says so here: beyond the ends of the scale ("linear"),
beyond the outermost knots ("isotonic"). Where the scores run against the ratings there is no such map, and none is
fitted: the sign is never turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from calibrator.stats.ordinal import proportional_odds, shares_of_points

Array = NDArray[np.float64]
Kind = Literal["identity", "linear", "ordinal", "isotonic"]
Numbers = dict[str, str | float | list[float]]
KINDS: tuple[Kind, ...] = get_args(Kind)  # the simplest first
FEWEST = 20  # items that a map is fitted to
MOST_POINTS = 11  # of the scale in an ordinal fit
PENALTY = 0.1  # of the ordinal slope, per standard deviation of the scores: less than a single item tells


class ScoreMap(Protocol):
    """A rising function from a judge's scores to the human scale."""

    @property
    def kind(self) -> Kind:
        """Its kind, one of `KINDS`."""

    def apply(self, scores: Array) -> Array:
        """Return the mapped scores, of the same shape; nan stays nan."""

    def numbers(self) -> Numbers:
        """Return its plain form, for a file; `map_from_numbers` makes the very same map of it."""


@dataclass(frozen=True, slots=True)
class IdentityMap:
    """Leaves every score as it is."""

    kind: Kind = "identity"

    def apply(self, scores: Array) -> Array:
        """Return the scores."""
        return np.array(scores, dtype=float)

    def numbers(self) -> Numbers:
        """Return the plain form."""
        return {"kind": self.kind}


@dataclass(frozen=True, slots=True)
class LinearMap:
    """base + slope · score, cut off at the ends `low` and `high` of the scale."""

    base: float
    slope: float
    low: float
    high: float
    kind: Kind = "linear"

    def __post_init__(self) -> None:
        if not (np.isfinite([self.base, self.slope, self.low, self.high]).all() and self.low < self.high):
            raise ValueError("a linear map needs numbers, and low below high")
        if self.slope <= 0:
            raise ValueError(f"a map rises: its slope is above 0, not {self.slope:g}")

    def apply(self, scores: Array) -> Array:
        """Return the mapped scores."""
        return np.asarray(np.clip(self.base + self.slope * np.asarray(scores, dtype=float), self.low, self.high))

    def numbers(self) -> Numbers:
        """Return the plain form."""
        return {"kind": self.kind, "base": self.base, "slope": self.slope, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class IsotonicMap:
    """Straight lines between knots, each `scores` (rising) with its `values` (rising); flat beyond the outermost."""

    scores: tuple[float, ...]
    values: tuple[float, ...]
    kind: Kind = "isotonic"

    def __post_init__(self) -> None:
        if len(self.scores) != len(self.values) or len(self.scores) < 2:
            raise ValueError("an isotonic map needs two knots at least, and a value at each")
        for numbers in (self.scores, self.values):
            if not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
                raise ValueError("the knots of an isotonic map rise, scores and values")

    def apply(self, scores: Array) -> Array:
        """Return the mapped scores."""
        return np.asarray(np.interp(np.asarray(scores, dtype=float), self.scores, self.values))

    def numbers(self) -> Numbers:
        """Return the plain form."""
        return {"kind": self.kind, "scores": list(self.scores), "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class OrdinalMap:
    """The mean rating by a cumulative logit model: P(rating ≤ points[j]) = expit(cuts[j] - slope · score)."""

    slope: float
    cuts: tuple[float, ...]
    points: tuple[float, ...]
    kind: Kind = "ordinal"

    def __post_init__(self) -> None:
        if len(self.points) != len(self.cuts) + 1 or len(self.points) < 2:
            raise ValueError("an ordinal map needs two points at least, and one cut less than points")
        for numbers in (self.cuts, self.points):
            if not np.isfinite(numbers).all() or (np.diff(numbers) <= 0).any():
                raise ValueError("the cuts and points of an ordinal map rise")
        if not (np.isfinite(self.slope) and self.slope > 0):
            raise ValueError(f"a map rises: its slope is above 0, not {self.slope:g}")

    def apply(self, scores: Array) -> Array:
        """Return the mapped scores."""
        given = np.asarray(scores, dtype=float)
        mean = np.full(given.shape, self.points[-1])
        # Summed one by one: a matrix product may round differently for another number of scores.
        for cut, gap in zip(self.cuts, np.diff(self.points).tolist(), strict=True):
            mean = mean - gap * expit(cut - self.slope * given)
        return np.asarray(np.clip(mean, self.points[0], self.points[-1]))

    def numbers(self) -> Numbers:
        """Return the plain form."""
        return {"kind": self.kind, "slope": self.slope, "cuts": list(self.cuts), "points": list(self.points)}


@dataclass(frozen=True, slots=True)
class Fit:
    """A map that was fitted; where it could not be, the identity with the `reason`."""

    map: ScoreMap
    reason: str = ""


def map_from_numbers(numbers: Mapping[str, object]) -> ScoreMap:
    """Return the map of a plain form. Raises ValueError, which says what is wrong with it, if it is none."""
    given = {k: tuple(v) if isinstance(v, list | tuple) else v for k, v in numbers.items() if k != "kind"}
    kinds = {"identity": IdentityMap, "linear": LinearMap, "ordinal": OrdinalMap, "isotonic": IsotonicMap}
    kind = numbers.get("kind")
    if not isinstance(kind, str) or kind not in kinds:
        raise ValueError(f"'{kind}' is no kind of score map; those there are: {', '.join(KINDS)}")
    try:
        made: ScoreMap = kinds[kind](**given)
    except TypeError:
        raise ValueError(f"these are not the numbers of a map of kind {kind}: {', '.join(given) or 'none'}") from None
    return made


def fit_map(kind: Kind, scores: Array, human: Array, low: float, high: float, step: float = 1.0) -> Fit:
    """Return a map of a kind from `scores` to `human` ratings, both (n,); items where either is nan do not count.

    `low` and `high` are the ends of the scale of the ratings, `step` the distance of its points. "linear": least
    squares. "ordinal": `stats.ordinal`, on the points of the scale, on `MOST_POINTS` evenly spaced ones where it has
    more. "isotonic": see `isotonic`. The identity, with the reason, where there are fewer than `FEWEST` items, all
    scores or ratings are alike, or the scores do not rise with the ratings.
    """
    both = np.isfinite(scores) & np.isfinite(human)
    x, y = np.asarray(scores, dtype=float)[both], np.asarray(human, dtype=float)[both]
    order = np.lexsort((y, x))  # so that sums are rounded alike, whatever order the items are in
    x, y = x[order], y[order]
    if kind == "identity":
        return Fit(IdentityMap())
    if reason := _unfit(x, y):
        return Fit(IdentityMap(), reason)
    if kind == "linear":
        slope = _slope(x, y)
        return Fit(LinearMap(float(y.mean() - slope * x.mean()), slope, low, high))
    if kind == "isotonic":
        return _isotonic(x, y, low, high)
    return _ordinal(x, y, np.linspace(low, high, min(MOST_POINTS, 1 + max(1, round((high - low) / step)))))


def _unfit(x: Array, y: Array) -> str:
    """Return why no map can be fitted, empty if one can."""
    if len(x) < FEWEST:
        return f"{len(x)} items have a score and a rating, and {FEWEST} are needed"
    if np.ptp(x) <= 1e-9 * max(1.0, float(np.abs(x).max())):
        return "all scores are alike"
    if np.ptp(y) <= 1e-9 * max(1.0, float(np.abs(y).max())):
        return "all ratings are alike"
    slope = _slope(x, y)
    if slope <= 0:
        return f"the scores run against the ratings (slope {slope:.3g}), and a map does not turn a judge round"
    return ""


def _slope(x: Array, y: Array) -> float:
    dx = x - x.mean()
    return float(dx @ (y - y.mean()) / (dx @ dx))


def isotonic(x: Array, y: Array) -> tuple[Array, Array, Array]:
    """Return the blocks of the isotonic regression of `y` on `x`: their mean x, their value, and how many items.

    The non-decreasing step function with the least squared error (pool adjacent violators; Ayer et al. 1955); items
    with the same x are one. Values rise from block to block.
    """
    from scipy.optimize import isotonic_regression

    at, place = np.unique(x, return_inverse=True)
    count = np.bincount(place).astype(np.float64)
    fitted = isotonic_regression(np.bincount(place, y) / count, weights=count).x
    # Rounding may leave two blocks that are equal, or a step of 1e-16, apart.
    block = np.concatenate([[0], np.cumsum(np.diff(fitted) > 1e-12 * np.abs(fitted).max())])
    items: Array = np.bincount(block, weights=count).astype(np.float64)
    middle, value = (np.bincount(block, weights=count * v) / items for v in (at, fitted))
    return middle, value, items


def _isotonic(x: Array, y: Array, low: float, high: float) -> Fit:
    """Return the map through the middles of the blocks (centred isotonic regression; Oron and Flournoy 2017).

    A step function would make all scores of a block equal, and lose what order the judge has within it.
    """
    middle, value, _ = isotonic(x, np.clip(y, low, high))
    if len(middle) < 2:  # for rounding alone: a fit is flat where the slope of the line is not above 0
        return Fit(IdentityMap(), "the best rising function of the scores is flat")
    return Fit(IsotonicMap(tuple(middle.tolist()), tuple(value.tolist())))


def _ordinal(x: Array, y: Array, points: Array) -> Fit:
    shares = shares_of_points(y, points)
    used = shares.sum(axis=0) > 1e-9  # a point that no rating touches has no probability
    if used.sum() < 2:
        return Fit(IdentityMap(), "all ratings are alike")
    slope, cuts = proportional_odds((x - x.mean()) / x.std(), shares[:, used], PENALTY)
    if slope <= 0:
        return Fit(IdentityMap(), "the scores do not rise with the ratings in the ordinal fit")
    slope = slope / float(x.std())
    cuts = cuts + slope * float(x.mean())
    return Fit(OrdinalMap(slope, tuple(cuts.tolist()), tuple(points[used].tolist())))
