"""Judges joined into one: a regularised fit of their scores, and of criteria, to ratings, or a mean of their ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.criteria import Measured
from calibrator.drafting.criteria import PAIRS_AT_MOST, STEPS_AT_MOST, TERMS_AT_MOST, onto_scale
from calibrator.drafting.fitting import Known, fit, known_of, smoothing_of
from calibrator.drafting.telling import told
from calibrator.drafting.terms import PAIRS, measure_of
from calibrator.judges.panel import Member, rank_among
from calibrator.records import Item, Rubric
from calibrator.stats.linear import LIMIT, bounded_ridge, penalty_by_cv, project

Join = Literal["fit", "ranks"]
KNOTS = 200  # scores that a rank is looked up among, at most
FIRST = 1e6  # how much a judge is preferred to a criterion: all judges are on the panel

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Joined:
    """What a panel is: its members with their weights, and the criteria that it measures itself.

    `measured` holds the base of the panel; it has no steps where the panel measures nothing itself.
    """

    join: Join
    members: tuple[Member, ...]
    measured: Rubric


def join_by_fit(
    names: Sequence[str],
    scores: Array,
    items: Sequence[Item],
    aspect: Aspect,
    measured: Measured | None,
    *,
    by_rank: bool = True,
    negative: bool = False,
    seed: int = 0,
) -> Joined:
    """Return the panel of judges whose `scores` (n, k; nan for none) of rated `items` (n) fit the ratings best.

    With `measured`, criteria stand beside the judges: a smooth fit of all of them takes the noise out of the ratings,
    and the panel is its projection on the judges and a few criteria, as a criteria rubric is (see `drafting.criteria`).
    Without, it is one ridge regression, its penalty cross-validated by group. No judge counts downwards unless
    `negative` says it may: one that runs against the ratings gets the weight 0. Criteria may count either way.
    A score that is missing counts as its judge's mean.
    """
    known = known_of(items, measured or Measured(), by_rank)
    center, spread = _center_and_spread(scores)
    z = np.nan_to_num(np.clip((scores - center) / spread, -LIMIT, LIMIT), nan=0.0)
    least = np.full(z.shape[1], -np.inf if negative else 0.0)
    if measured is None:
        penalty = penalty_by_cv(z, known.target, known.groups, np.random.default_rng(seed))
        weights, base = bounded_ridge(z, known.target, penalty, least)
        return _put(names, known, aspect, z, weights, base, center, spread, ())
    both = replace(known, z=np.column_stack([known.z, z]))
    full = fit(both, np.ones(len(items)), smoothing_of(both, 0.0, products=True), 0.0)
    columns = np.column_stack([z, full.terms])
    favour = np.concatenate([np.full(z.shape[1], FIRST), np.ones(full.terms.shape[1])])
    size = z.shape[1] + TERMS_AT_MOST
    chosen = project(columns, full.fitted, size, favour, rare=len(PAIRS), most=PAIRS_AT_MOST)
    places = [p - z.shape[1] for p in chosen if p >= z.shape[1]]
    while True:
        chosen_columns = np.column_stack([z, full.terms[:, places]])
        free = np.concatenate([least, np.full(len(places), -np.inf)])
        weights, base = bounded_ridge(chosen_columns, full.fitted, 1.0, free)
        joined = _put(names, known, aspect, chosen_columns, weights, base, center, spread, places)
        if len(joined.measured.steps) <= STEPS_AT_MOST:
            return joined
        moved = np.abs(weights[z.shape[1] :]) * full.terms[:, places].std(axis=0)
        places.pop(int(np.argmin(moved)))


def _put(
    names: Sequence[str],
    known: Known,
    aspect: Aspect,
    columns: Array,
    weights: Array,
    base: float,
    center: Array,
    spread: Array,
    places: Sequence[int],
) -> Joined:
    """Return the panel of some weights, put on the scale of the ratings: judges first, then the terms at `places`."""
    slope, level = onto_scale(columns @ weights + base, known.human, aspect)
    count = len(names)
    members = tuple(
        Member(name, _short(w * slope), float(c), float(s))
        for name, w, c, s in zip(names, weights[:count], center, spread, strict=True)
    )
    measures = [
        measure_of(p, float(w) * slope, known.center, known.spread)
        for p, w in zip(places, weights[count:], strict=True)
    ]
    return Joined("fit", members, Rubric(aspect.ref, told(measures, aspect), _short(base * slope + level)))


def join_by_ranks(names: Sequence[str], scores: Array, items: Sequence[Item], aspect: Aspect) -> Joined:
    """Return the panel that counts the rank of every judge's score the same, put on the scale of the ratings.

    Nothing is fitted but the level and the width of the scale, from `scores` (n, k; nan for none) of rated `items` (n);
    the direction is not: where the judges run against the ratings, so does the panel.
    """
    human = np.array([i.human for i in items], dtype=float)
    knots = [_knots(column) for column in scores.T]
    places = [rank_among(c, np.array(k)) for c, k in zip(scores.T, knots, strict=True)]
    standing = np.nan_to_num(np.column_stack(places), nan=0.0)
    slope, level = onto_scale(standing.mean(axis=1), human, aspect)
    share = _short(slope / len(names))
    members = tuple(Member(name, share, knots=k) for name, k in zip(names, knots, strict=True))
    return Joined("ranks", members, Rubric(aspect.ref, (), _short(level)))


def _center_and_spread(scores: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each column (k,) without its gaps; one without two values gets spread 1."""
    count = np.maximum((~np.isnan(scores)).sum(axis=0), 1)
    center = np.nansum(scores, axis=0) / count
    spread = np.sqrt(np.nansum((scores - center) ** 2, axis=0) / count)
    spread = np.where(spread > 1e-9, spread, 1.0)
    return np.array([_short(c) for c in center]), np.array([_short(s) for s in spread])


def _knots(scores: Array) -> tuple[float, ...]:
    """Return the scores in order, or `KNOTS` evenly spaced quantiles of more.

    They are not rounded: of scores that are equal, as many are to count above a knot as below it.
    """
    found = np.sort(scores[~np.isnan(scores)])
    if len(found) > KNOTS:
        found = np.quantile(found, (np.arange(KNOTS) + 0.5) / KNOTS, method="inverted_cdf")
    return tuple(found.tolist()) or (0.0,)


def _short(value: float) -> float:
    return float(f"{value:.6g}")
