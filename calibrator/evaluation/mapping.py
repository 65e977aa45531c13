"""Which score map a judge is given: every kind measured on groups that it was not fitted to, and one chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.evaluation.agreement import scores_of
from calibrator.records import Item, Verdict
from calibrator.stats.correlation import mae, rmse
from calibrator.stats.linear import folds_of
from calibrator.stats.mapping import KINDS, IdentityMap, Kind, ScoreMap, fit_map
from calibrator.stats.resampling import codes

Array = NDArray[np.float64]
Wanted = Literal["identity", "linear", "ordinal", "isotonic", "auto"]
By = Literal["rmse", "mae"]
AUTO: Literal["auto"] = "auto"
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Tried:
    """A kind of map: its errors on groups that were left out of its fit, in points of the scale; nan: not known.

    `reason` is why it cannot be fitted to all items, empty if it can.
    """

    kind: Kind
    mae: float
    rmse: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MapChoice:
    """The map that a judge is given, fitted to all `items` that have a score, in `groups`.

    `wanted` is what was asked for, `reason` why the map is not of that kind or, where the choice was free, why it is
    the one it is. `tried` are the kinds that were measured, the identity (the judge as it is) first.
    """

    wanted: Wanted
    map: ScoreMap
    reason: str
    tried: tuple[Tried, ...]
    items: int
    groups: int

    def error(self, kind: Kind) -> Tried:
        """Return what was measured of a kind."""
        return next(t for t in self.tried if t.kind == kind)


def map_for(
    verdicts: Sequence[Verdict | None],
    items: Sequence[Item],
    scale: Scale,
    wanted: Wanted = AUTO,
    seed: int = 0,
    by: By = "rmse",
) -> MapChoice:
    """Return the map for a judge by its verdicts on rated items; failures and items without a rating do not count.

    The items must not be those that the judge itself was fitted to, on which its scores are better than elsewhere. See
    `choose_map`.
    """
    human = np.array([math.nan if i.human is None else i.human for i in items], dtype=float)
    return choose_map(scores_of(verdicts), human, [i.group for i in items], scale, wanted, seed, by)


def choose_map(
    scores: Array,
    human: Array,
    groups: Sequence[str],
    scale: Scale,
    wanted: Wanted = AUTO,
    seed: int = 0,
    by: By = "rmse",
) -> MapChoice:
    """Return the map of `scores` on `human`, both (n,) with nan for what is missing, of the `wanted` kind.

    Errors are measured by cross-fitting: every item's score is mapped by a map fitted to the other folds, whole groups
    together. "auto" takes the simplest kind (in the order of `KINDS`) whose error `by` is not above the smallest by
    more than one standard error of the difference, which is by groups (the rule of one standard error; Breiman et al.
    1984). By "rmse" what is compared are squared errors, which a map to the mean rating makes small; by "mae" absolute
    ones, which are smallest for the median: where most ratings are alike, a judge that gives this one to all may have
    the smaller mae and yet be wrong on average.
    """
    both = np.isfinite(scores) & np.isfinite(human)
    x, y = np.asarray(scores, dtype=float)[both], np.asarray(human, dtype=float)[both]
    names = [g for g, kept in zip(groups, both, strict=True) if kept]
    kinds = KINDS if wanted == AUTO else tuple(dict.fromkeys((KINDS[0], wanted)))
    fits = {kind: fit_map(kind, x, y, scale.low, scale.high, scale.step) for kind in kinds}
    crossed = {kind: cross_fitted(kind, x, y, names, scale, seed) for kind in kinds}
    tried = tuple(Tried(k, float(mae(crossed[k], y)), float(rmse(crossed[k], y)), fits[k].reason) for k in kinds)
    if wanted != AUTO:
        kind, reason = wanted, fits[wanted].reason
    else:
        usable = {k: crossed[k] for k in kinds if not fits[k].reason}
        why = fits["linear"].reason if len(usable) == 1 else ""
        kind, reason = (KINDS[0], why) if why else _simplest(usable, y, names, by)
    found = IdentityMap() if not len(x) else fits[kind].map
    return MapChoice(wanted, found, reason, tried, len(x), len(set(names)))


def cross_fitted(kind: Kind, scores: Array, human: Array, groups: Sequence[str], scale: Scale, seed: int) -> Array:
    """Return the scores (n,), each by a map of a kind that was fitted to the ratings of other groups.

    Where none can be fitted to these, the scores are left as they are. With fewer than two groups nothing can be left
    out, and all are nan, but for the identity, which is not fitted.
    """
    if kind == KINDS[0]:
        return np.array(scores, dtype=float)
    mapped = np.full(len(scores), math.nan)
    if len(set(groups)) < 2:
        return mapped
    fold = folds_of(groups, FOLDS, np.random.default_rng(seed))
    for k in np.unique(fold):
        out = fold == k
        fitted = fit_map(kind, scores[~out], human[~out], scale.low, scale.high, scale.step).map
        mapped[out] = fitted.apply(scores[out])
    return mapped


def _simplest(crossed: dict[Kind, Array], y: Array, groups: Sequence[str], by: By) -> tuple[Kind, str]:
    """Return the simplest kind within one standard error of the best, and why it is that one."""
    if len(set(groups)) < 2:
        return KINDS[0], "there is one group only, and nothing to leave out to choose by"
    losses = {k: (m - y) ** 2 if by == "rmse" else np.abs(m - y) for k, m in crossed.items()}
    best = min(losses, key=lambda k: float(losses[k].mean()))
    for kind, loss in losses.items():  # in the order of KINDS
        more = loss - losses[best]
        if kind == best or float(more.mean()) <= standard_error(more, groups):
            break
    if kind == best:
        return kind, f"{kind} has the smallest {by} on groups left out"
    near = f"within one standard error of the smallest {by} on groups left out, that of {best}"
    return kind, f"{kind} is the simplest {near}"


def standard_error(x: Array, groups: Sequence[str]) -> float:
    """Return the standard error of the mean of `x` (n,), whole groups being drawn; nan with fewer than two groups."""
    member = codes(groups)
    sums = np.bincount(member, x - x.mean())
    count = len(sums)
    return float(np.sqrt(count / (count - 1) * (sums @ sums)) / len(x)) if count > 1 else math.nan
