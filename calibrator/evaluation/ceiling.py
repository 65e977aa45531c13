"""How far humans agree with each other, and so how far a judge can agree with them: the noise ceiling.

Ratings of one item are a true quality and each annotator's error. With annotators that are equally reliable and whose
errors do not go together, the correlation r of two of them is the reliability of one, the mean of k of them has the
reliability k·r / (1 + (k - 1)·r) (Spearman 1910; Brown 1910), and whoever knows the true quality correlates with that
mean as the square root of its reliability (attenuation; Spearman 1904). All of this is exact for Pearson's r and
a good approximation for Spearman's rho, which is used here. Annotators who make the same error (a guideline misread by
all, ratings copied) make the ceiling too high.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.evaluation.raters import Ratings, group_draws, mean_of, mean_without, most_items, ratings_by
from calibrator.records import Item
from calibrator.stats.agreement import spearman_brown
from calibrator.stats.correlation import weighted_correlation, weighted_ranks
from calibrator.stats.resampling import PART, Interval, percentile_interval

Array = NDArray[np.float64]
RESAMPLES = 2000
RIVALS = {"one": "pairwise", "rest": "rest", "mean": "reachable"}  # what a judge's figure is a share of


@dataclass(frozen=True, slots=True)
class Ceiling:
    """How far the annotators agree, all in Spearman's rho, -1 to 1, with 95 % intervals by bootstrap over groups.

    `pairwise`: one annotator against another, mean of all pairs. `against_rest`: one annotator against the mean of the
    others, mean of all. `reachable`: what a judge that knew the true quality would reach against the mean of all, 0 to
    1. `pairs` has each pair by the numbers of their columns, from 0 up: where they differ much, the annotators are not
    equally reliable and `reachable` is rough. `items` and `groups` count what was used, `annotators` how many there
    are that differ; `copies` are pairs of columns that are alike in every item, of which the second counts as no
    annotator of its own. `left_out` is how many items with two or more ratings have them from another set.
    `shuffled` says that the ratings were sorted within the items, so that a column is no annotator, and were put in an
    order by lot.
    """

    pairwise: Interval
    against_rest: Interval
    reachable: Interval
    pairs: Mapping[tuple[int, int], float]
    items: int
    groups: int
    annotators: int
    copies: tuple[tuple[int, int], ...]
    left_out: int
    shuffled: bool


@dataclass(frozen=True, slots=True)
class Share:
    """A judge beside the annotators, against the same ratings; Spearman's rho and ratios, with 95 % intervals.

    `one`: the judge against one annotator, mean of all; `one_share`: that over one annotator against another. If the
    annotators are equally reliable, it is the judge's correlation with the true quality over that of one annotator,
    so that 1 means: as good as one of them. `rest` and `rest_share`: the same against the mean of all annotators but
    one, each in turn, where the one left out is the judge's rival (as in Calderon, Reichart and Dror 2025). `mean`
    and `mean_share`: the judge against the mean of all, over what is reachable there; an estimate of its correlation
    with the true quality.

    The judge against the mean of all over one annotator against another is not offered: the mean is the easier mark,
    being less noisy than one annotator, and the ratio would flatter the judge by up to √k.
    """

    one: Interval
    one_share: Interval
    rest: Interval
    rest_share: Interval
    mean: Interval
    mean_share: Interval
    items: int


def ceiling(items: Sequence[Item], seed: int, resamples: int = RESAMPLES) -> Ceiling | None:
    """Return how far the annotators of `items` agree; None if fewer than two annotators rated the same items.

    Used are the items that were rated by one and the same set of annotators, the set (of two or more) with the most
    items, of two with as many the larger; so a pair is the same two annotators in every item. Items that other sets
    rated are left out. Where an item does not say who its `raters` are, its k-th rating is taken to be by the k-th
    annotator, as it is where a column stands for no one: if many annotators share the work in no fixed order, a column
    is a mixture, their severity counts as noise, and the figures are those of one annotator drawn by lot against
    another. Figures that are not defined, as where one annotator gave all items the same rating, are nan.
    """
    ratings = ratings_by(items, most_items(items), seed)
    if ratings is None:
        return None
    groups = [items[i].group for i in ratings.places]
    point = _humans(ratings, np.ones((1, len(groups))))
    draws = _humans(ratings, group_draws(groups, resamples, seed))
    several = sum(len(i.ratings) > 1 for i in items)
    number = ratings.columns
    return Ceiling(
        pairwise=_interval("pairwise", point, draws),
        against_rest=_interval("rest", point, draws),
        reachable=_interval("reachable", point, draws),
        pairs={(number[i], number[j]): float(point[f"{i},{j}"][0]) for i, j in combinations(range(len(number)), 2)},
        items=len(groups),
        groups=len(set(groups)),
        annotators=len(number),
        copies=ratings.copies,
        left_out=several - len(groups),
        shuffled=ratings.shuffled,
    )


def share(items: Sequence[Item], scores: Array, seed: int, resamples: int = RESAMPLES) -> Share | None:
    """Return how near a judge comes to the annotators of `items`; `scores` has shape (len(items),), nan for a failure.

    Judge and annotators are compared on those items that `ceiling` would use and the judge scored, on the same
    resamples. None if fewer than two annotators rated the same items. A share is nan where the interval of what it is a
    share of is not wholly above 0: a ratio to what may be nothing says nothing.
    Raises ValueError if there are not as many scores as items.
    """
    if len(scores) != len(items):
        raise ValueError(f"{len(scores)} scores for {len(items)} items")
    scored = [k for k in range(len(items)) if np.isfinite(scores[k])]
    kept = [items[k] for k in scored]
    ratings = ratings_by(kept, most_items(items), seed)
    if ratings is None:
        return None
    judged = np.asarray(scores, dtype=float)[scored][ratings.places]
    groups = [kept[i].group for i in ratings.places]
    point = _judged(ratings, judged, np.ones((1, len(groups))))
    draws = _judged(ratings, judged, group_draws(groups, resamples, seed))
    return Share(
        one=_interval("one", point, draws),
        one_share=_share("one", point, draws),
        rest=_interval("rest", point, draws),
        rest_share=_share("rest", point, draws),
        mean=_interval("mean", point, draws),
        mean_share=_share("mean", point, draws),
        items=len(groups),
    )


def _interval(name: str, point: Mapping[str, Array], draws: Mapping[str, Array]) -> Interval:
    return percentile_interval(float(point[name][0]), draws[name])


def _share(name: str, point: Mapping[str, Array], draws: Mapping[str, Array]) -> Interval:
    """Return the judge's figure over that of its rival; nan where the interval of the rival's is not above 0."""
    if not _interval(RIVALS[name], point, draws).low > 0:
        return Interval(math.nan, math.nan, math.nan)
    return _interval(f"{name}_share", point, draws)


def _humans(ratings: Ratings, weights: Array) -> dict[str, Array]:
    """Return the annotators' figures in each resample, each of shape (b,), those of pairs under "i,j"."""
    k = ratings.values.shape[1]
    rests = [mean_without(ratings, j) for j in range(k)]
    parts = []
    for part in _cut(weights, 2 * k):
        own = [weighted_ranks(ratings.values[:, j], part) for j in range(k)]
        pairs = {f"{i},{j}": weighted_correlation(own[i], own[j], part) for i, j in combinations(range(k), 2)}
        rest = [weighted_correlation(own[j], weighted_ranks(rests[j], part), part) for j in range(k)]
        parts.append({**pairs, "pairwise": mean_of(list(pairs.values())), "rest": mean_of(rest)})
    found = {name: np.concatenate([p[name] for p in parts]) for name in parts[0]}
    # Below 0, where chance may take it, the best estimate of a reliability is 0.
    single = np.maximum(found["pairwise"], 0.0)
    reliability = [spearman_brown(float(r), ratings.effective) for r in single]
    return {**found, "reachable": np.sqrt(np.array(reliability))}


def _judged(ratings: Ratings, judged: Array, weights: Array) -> dict[str, Array]:
    """Return the judge's figures and shares, and what they are shares of, in each resample, each of shape (b,)."""
    k = ratings.values.shape[1]
    marks = {
        "one": [ratings.values[:, j] for j in range(k)],
        "rest": [mean_without(ratings, j) for j in range(k)],
        "mean": [ratings.values @ ratings.counts / ratings.counts.sum()],
    }
    parts = []
    for part in _cut(weights, 2):
        own = weighted_ranks(judged, part)
        parts.append(
            {
                m: mean_of([weighted_correlation(own, weighted_ranks(x, part), part) for x in xs])
                for m, xs in marks.items()
            }
        )
    judge = {name: np.concatenate([p[name] for p in parts]) for name in marks}
    humans = _humans(ratings, weights)
    shares = {f"{name}_share": _ratio(judge[name], humans[rival]) for name, rival in RIVALS.items()}
    rivals = {rival: humans[rival] for rival in RIVALS.values()}
    return {**judge, **shares, **rivals}


def _cut(weights: Array, series: int) -> list[Array]:
    """Return the resamples in parts, so that so many series of ranks stay below some `PART` numbers."""
    rows = max(1, PART // max(1, series * weights.shape[1]))
    return [weights[k : k + rows] for k in range(0, len(weights), rows)]


def _ratio(figure: Array, whole: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Array = np.where(whole > 0, figure / whole, np.nan)
    return ratio
