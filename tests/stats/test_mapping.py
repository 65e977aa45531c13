"""Score maps: against other programs and hand-worked cases; they rise, stay on the scale, turn no judge round."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrator.stats.correlation import spearman
from calibrator.stats.mapping import (
    FEWEST,
    KINDS,
    IdentityMap,
    IsotonicMap,
    Kind,
    LinearMap,
    OrdinalMap,
    ScoreMap,
    fit_map,
    isotonic,
    map_from_numbers,
)
from calibrator.stats.ordinal import proportional_odds, shares_of_points

Array = NDArray[np.float64]
FITTED: tuple[Kind, ...] = ("linear", "ordinal", "isotonic")
many = settings(deadline=None, max_examples=60)


def drawn(
    n: int = 300, seed: int = 0, noise: float = 1.0, judge: Callable[[Array], Array] | None = None
) -> tuple[Array, Array]:
    """Ratings 1 to 5 and the scores of a judge that sees what they come from."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(size=n)
    human = np.clip(np.round(3 + merit + noise * rng.normal(size=n)), 1, 5)
    return (merit if judge is None else judge(merit)), human


def map_of(kind: Kind, scores: Array, human: Array) -> ScoreMap:
    fit = fit_map(kind, scores, human, 1, 5)
    assert fit.reason == "" and fit.map.kind == kind
    return fit.map


def test_linear_is_the_least_squares_line() -> None:
    scores, human = drawn(noise=0.5)
    made = map_of("linear", scores, human)
    assert isinstance(made, LinearMap)
    slope, base = np.polyfit(scores, human, 1)
    assert (made.slope, made.base) == (pytest.approx(slope), pytest.approx(base))
    inside = (base + slope * scores > 1) & (base + slope * scores < 5)
    assert made.apply(scores)[inside] == pytest.approx((base + slope * scores)[inside])
    assert made.apply(np.array([-100.0, 100.0])).tolist() == [1, 5]


def test_blocks_of_an_isotonic_fit_by_hand() -> None:
    # 3 before 2 is turned round: both are 2.5; the two ratings of x = 4 are one of 5.
    x, y = np.array([1.0, 2, 3, 4, 4]), np.array([1.0, 3, 2, 4, 6])
    middle, value, items = isotonic(x, y)
    assert (middle.tolist(), value.tolist(), items.tolist()) == ([1, 2.5, 4], [1, 2.5, 5], [1, 2, 2])


def test_isotonic_blocks_have_the_values_of_scikit_learn() -> None:
    from sklearn.isotonic import IsotonicRegression

    for seed, judge in enumerate((None, np.round, lambda m: np.round(m, 1))):
        scores, human = drawn(seed=seed, judge=judge)
        middle, value, items = isotonic(scores, human)
        theirs = IsotonicRegression().fit_transform(scores, human)
        assert np.repeat(value, items.astype(int)) == pytest.approx(np.sort(theirs))
        assert (np.diff(middle) > 0).all() and (np.diff(value) > 0).all()


def test_an_isotonic_map_keeps_the_order_within_a_block_and_is_flat_beyond_the_outermost_knots() -> None:
    made = IsotonicMap((1.0, 2.5, 4.0), (1.0, 2.5, 5.0))
    assert made.apply(np.array([0.0, 1, 2, 3, 4, 9])) == pytest.approx([1, 1, 2, 2.5 + 2.5 / 3, 5, 5])


def test_ratings_between_two_points_count_at_both() -> None:
    shares = shares_of_points(np.array([1.0, 2.25, 5.0, 7.0]), np.arange(1.0, 6))
    assert shares.tolist() == [[1, 0, 0, 0, 0], [0, 0.75, 0.25, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1]]


def test_proportional_odds_is_that_of_statsmodels() -> None:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    scores, human = drawn(seed=3)
    slope, cuts = proportional_odds(scores, shares_of_points(human, np.arange(1.0, 6)), 0.0)
    model = OrderedModel(human, scores[:, None], distr="logit")
    theirs = model.fit(method="bfgs", disp=False, gtol=1e-8, maxiter=1000)
    assert slope == pytest.approx(theirs.params[0], abs=1e-4)
    assert cuts == pytest.approx(model.transform_threshold_params(theirs.params)[1:-1], abs=1e-4)
    mean = map_of("ordinal", scores, human).apply(scores)
    assert mean == pytest.approx(theirs.predict() @ np.arange(1.0, 6), abs=0.01)  # but for the small penalty


def test_a_fractional_rating_is_as_good_as_raters_who_disagree() -> None:
    """Each item rated twice, once a point higher: the mean of the two gives the same fit as the two items, halved."""
    scores, human = drawn(seed=5)
    low, high = np.clip(human, 1, 4), np.clip(human, 1, 4) + 1
    points = np.arange(1.0, 6)
    one = proportional_odds(scores, shares_of_points((low + high) / 2, points), 0.2)
    both = np.concatenate([shares_of_points(low, points), shares_of_points(high, points)])
    two = proportional_odds(np.tile(scores, 2), both, 0.4)
    assert one[0] == pytest.approx(two[0], abs=1e-5)
    assert one[1] == pytest.approx(two[1], abs=1e-5)


def test_scores_that_separate_the_ratings_leave_the_ordinal_map_finite() -> None:
    human = np.repeat([1.0, 2, 4, 5], 10)
    made = map_of("ordinal", human * 10, human)
    assert isinstance(made, OrdinalMap)
    assert made.points == (1, 2, 4, 5)  # nobody rated 3
    assert made.apply(np.array([10.0, 20, 40, 50])) == pytest.approx([1, 2, 4, 5], abs=0.1)


def test_a_scale_of_many_points_is_fitted_on_eleven() -> None:
    rng = np.random.default_rng(0)
    human = rng.uniform(0, 100, size=400)
    fit = fit_map("ordinal", human + rng.normal(0, 20, size=400), human, 0, 100)
    assert isinstance(fit.map, OrdinalMap)
    assert fit.map.points == tuple(float(p) for p in range(0, 101, 10))


@pytest.mark.parametrize("kind", FITTED)
def test_a_judge_that_runs_against_the_ratings_is_not_turned_round(kind: Kind) -> None:
    scores, human = drawn()
    fit = fit_map(kind, -scores, human, 1, 5)
    assert fit.map == IdentityMap()
    assert "run against the ratings (slope -" in fit.reason
    assert fit.map.apply(-scores).tolist() == (-scores).tolist()


@pytest.mark.parametrize("kind", FITTED)
def test_what_cannot_be_fitted_is_left_as_it_is_and_says_why(kind: Kind) -> None:
    scores, human = drawn()
    few = np.where(np.arange(len(scores)) < FEWEST - 1, scores, math.nan)
    for x, y, why in (
        (few, human, f"{FEWEST - 1} items have a score and a rating, and {FEWEST} are needed"),
        (np.full(300, 3.1), human, "all scores are alike"),
        (scores, np.full(300, 2.0), "all ratings are alike"),
    ):
        fit = fit_map(kind, x, y, 1, 5)
        assert (fit.map, fit.reason) == (IdentityMap(), why)


def test_the_ordinal_fit_may_fall_where_a_line_still_rises() -> None:
    # One point off counts less than three for the line; in the ordinal fit points are only before or behind another.
    scores, human = np.repeat([0.2, 0.0, 0.9], [50, 45, 5]), np.repeat([1.0, 2.0, 5.0], [50, 45, 5])
    assert fit_map("linear", scores, human, 1, 5).reason == ""
    fit = fit_map("ordinal", scores, human, 1, 5)
    assert (fit.map, fit.reason) == (IdentityMap(), "the scores do not rise with the ratings in the ordinal fit")


@pytest.mark.parametrize("kind", FITTED)
def test_gaps_do_not_count_and_the_order_of_the_items_does_not_matter(kind: Kind) -> None:
    scores, human = drawn()
    order = np.random.default_rng(1).permutation(300)
    gaps = np.full(5, math.nan)
    more = fit_map(kind, np.concatenate([scores[order], gaps]), np.concatenate([human[order], gaps]), 1, 5)
    assert more.map == fit_map(kind, scores, human, 1, 5).map


@many
@given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(FITTED),
    n=st.integers(FEWEST, 80),
    width=st.sampled_from([0.001, 1.0, 40.0]),
    shift=st.sampled_from([-50.0, 0.0, 3.0]),
    points=st.sampled_from([0, 3, 10]),
)
def test_every_map_rises_and_stays_on_the_scale(
    seed: int, kind: Kind, n: int, width: float, shift: float, points: int
) -> None:
    rng = np.random.default_rng(seed)
    merit = rng.normal(size=n)
    scores = np.round(merit * points) / points if points else merit
    scores = shift + width * scores
    human = np.clip(np.round(3 + merit + 2 * rng.normal(size=n), int(rng.integers(2))), 1, 5)
    fit = fit_map(kind, scores, human, 1, 5)
    if fit.reason:
        assert fit.map == IdentityMap()
        return
    new = np.sort(shift + width * rng.normal(size=200) * 2)
    mapped = fit.map.apply(new)
    assert ((mapped >= 1) & (mapped <= 5)).all()
    assert (np.diff(mapped) >= 0).all()
    again = fit.map.apply(scores)
    # Whatever the map ties lies beyond its ends; all other scores keep their order, so rank correlation is the same.
    inside = (again > again.min()) & (again < again.max())
    if inside.sum() > 2 and np.ptp(scores[inside]) > 0:
        assert spearman(again[inside], human[inside]) == pytest.approx(
            spearman(scores[inside], human[inside]), nan_ok=True
        )


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_come_back_as_the_very_same_map(kind: Kind) -> None:
    scores, human = drawn(seed=7)
    made = fit_map(kind, scores, human, 1, 5).map
    assert map_from_numbers(json.loads(json.dumps(made.numbers()))) == made
    assert map_from_numbers(yaml.safe_load(yaml.safe_dump(made.numbers()))) == made


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_score_gets_none(kind: Kind) -> None:
    scores, human = drawn()
    mapped = fit_map(kind, scores, human, 1, 5).map.apply(np.array([0.5, math.nan]))
    assert np.isfinite(mapped[0]) and np.isnan(mapped[1])


@pytest.mark.parametrize(
    ("numbers", "why"),
    [
        ({"kind": "cubic"}, "'cubic' is no kind of score map"),
        ({}, "'None' is no kind"),
        ({"kind": "linear", "base": 1.0}, "not the numbers of a map of kind linear: base"),
        ({"kind": "linear", "base": 5.0, "slope": -1.0, "low": 1.0, "high": 5.0}, "a map rises"),
        ({"kind": "linear", "base": math.nan, "slope": 1.0, "low": 1.0, "high": 5.0}, "needs numbers"),
        ({"kind": "isotonic", "scores": [1.0, 2.0], "values": [2.0, 1.0]}, "knots of an isotonic map rise"),
        ({"kind": "isotonic", "scores": [1.0], "values": [2.0]}, "two knots at least"),
        ({"kind": "ordinal", "slope": 0.0, "cuts": [0.0], "points": [1.0, 2.0]}, "a map rises"),
        ({"kind": "ordinal", "slope": 1.0, "cuts": [1.0, 0.0], "points": [1.0, 2.0, 3.0]}, "cuts and points"),
        ({"kind": "ordinal", "slope": 1.0, "cuts": [1.0], "points": [1.0]}, "one cut less than points"),
    ],
)
def test_numbers_that_are_no_map_are_refused(numbers: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        map_from_numbers(numbers)
