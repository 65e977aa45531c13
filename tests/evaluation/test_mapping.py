"""The choice of a score map: measured on groups left out of the fit, the simplest within one standard error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.evaluation.mapping import Wanted, choose_map, cross_fitted, map_for, standard_error
from calibrator.records import Failure, Judgment, Verdict
from calibrator.stats.linear import folds_of
from calibrator.stats.mapping import KINDS, IdentityMap, IsotonicMap, LinearMap, OrdinalMap, fit_map
from tests.conftest import make_items

Array = NDArray[np.float64]
SCALE = Scale(1, 5)
N = 400
GROUPS = [f"g{k // 4}" for k in range(N)]


def judged(of_human: str = "line", noise: float = 0.4, seed: int = 0) -> tuple[Array, Array]:
    """Scores from 1 to 5 and ratings that follow from them in a way."""
    rng = np.random.default_rng(seed)
    scores = rng.uniform(1, 5, size=N)
    true = {
        "line": 1.5 + 0.5 * scores,
        "same": scores,
        "step": np.where(scores > 3, 4.5, 1.5),
        "against": 6 - scores,
    }[of_human]
    return scores, np.clip(true + noise * rng.normal(size=N), 1, 5)


def test_what_is_measured_was_not_fitted_to_the_same_group() -> None:
    scores, human = judged()
    crossed = cross_fitted("linear", scores, human, GROUPS, SCALE, seed=3)
    fold = folds_of(GROUPS, 5, np.random.default_rng(3))
    for k in range(5):
        slope, base = np.polyfit(scores[fold != k], human[fold != k], 1)
        assert crossed[fold == k] == pytest.approx(np.clip(base + slope * scores[fold == k], 1, 5))


def test_the_ratings_of_a_group_do_not_touch_its_own_scores() -> None:
    scores, human = judged()
    changed = np.where(np.array(GROUPS) == "g7", 1.0, human)
    mine = np.array(GROUPS) == "g7"
    for kind in KINDS:
        one, two = (cross_fitted(kind, scores, y, GROUPS, SCALE, seed=0) for y in (human, changed))
        assert one[mine].tolist() == two[mine].tolist()
        assert kind == "identity" or (one[~mine] != two[~mine]).any()


def test_a_straight_drift_is_mended_by_a_line() -> None:
    scores, human = judged("line")
    choice = choose_map(scores, human, GROUPS, SCALE)
    assert isinstance(choice.map, LinearMap)
    assert choice.map == fit_map("linear", scores, human, 1, 5).map
    assert [t.kind for t in choice.tried] == list(KINDS)
    assert choice.error("linear").rmse < 0.45 < choice.error("identity").rmse
    assert choice.error("identity").mae == pytest.approx(float(np.abs(scores - human).mean()))
    assert (choice.items, choice.groups, choice.wanted) == (N, 100, "auto")


def test_a_judge_that_is_right_is_left_as_it_is() -> None:
    choice = choose_map(*judged("same"), GROUPS, SCALE)
    assert choice.map == IdentityMap()
    assert choice.reason.startswith("identity ") and "smallest rmse on groups left out" in choice.reason


def test_a_step_is_mended_by_an_isotonic_map() -> None:
    choice = choose_map(*judged("step"), GROUPS, SCALE)
    assert isinstance(choice.map, IsotonicMap)
    assert choice.reason == "isotonic has the smallest rmse on groups left out"


@pytest.mark.parametrize("wanted", ["auto", "linear", "ordinal", "isotonic"])
def test_a_judge_that_runs_against_the_ratings_keeps_its_scores_and_that_is_said(wanted: Wanted) -> None:
    choice = choose_map(*judged("against"), GROUPS, SCALE, wanted)
    assert choice.map == IdentityMap()
    assert "run against the ratings (slope -" in choice.reason
    assert choice.tried[-1].rmse == choice.tried[0].rmse  # no fold fitted one either


@pytest.mark.parametrize(
    ("wanted", "made"), [("linear", LinearMap), ("ordinal", OrdinalMap), ("isotonic", IsotonicMap)]
)
def test_a_kind_that_is_asked_for_is_fitted_whatever_it_gains(wanted: Wanted, made: type) -> None:
    choice = choose_map(*judged("same"), GROUPS, SCALE, wanted)
    assert isinstance(choice.map, made)
    assert [t.kind for t in choice.tried] == ["identity", wanted]
    assert choice.reason == ""


def test_where_most_ratings_are_alike_the_two_errors_choose_differently() -> None:
    """A judge that says 1 of nearly everything has a small mae and is too low on average."""
    rng = np.random.default_rng(0)
    human = np.where(rng.random(N) < 0.3, 3.0, 1.0)
    scores = np.where((human > 1) & (rng.random(N) < 0.3), 2.0, 1.0)
    assert choose_map(scores, human, GROUPS, SCALE, by="mae").map == IdentityMap()
    assert choose_map(scores, human, GROUPS, SCALE, by="rmse").map.kind != "identity"


def test_one_group_leaves_nothing_to_choose_by() -> None:
    scores, human = judged()
    choice = choose_map(scores, human, ["g"] * N, SCALE)
    assert (choice.map, choice.reason) == (
        IdentityMap(),
        "there is one group only, and nothing to leave out to choose by",
    )
    asked = choose_map(scores, human, ["g"] * N, SCALE, "linear")
    assert asked.map.kind == "linear" and math.isnan(asked.error("linear").rmse)


def test_failures_and_items_without_a_rating_do_not_count() -> None:
    items = make_items(120, 30)
    verdicts: list[Verdict] = [Judgment(i.id, 1 + (i.human or 0) / 2, "said") for i in items]
    unrated = [replace(i, human=None) if k < 10 else i for k, i in enumerate(items)]
    failed = [Failure(v.item, "no idea") if k >= 100 else v for k, v in enumerate(verdicts)]
    choice = map_for(failed, unrated, SCALE, "linear")
    assert choice.items == 90
    assert choice.map == map_for(verdicts[10:100], items[10:100], SCALE, "linear").map
    assert choice.map.apply(np.array([2.0, 3.0])) == pytest.approx([2, 4])


def test_nothing_at_all_is_left_as_it_is() -> None:
    choice = choose_map(np.full(30, math.nan), np.ones(30), ["a", "b"] * 15, SCALE)
    assert (choice.map, choice.items) == (IdentityMap(), 0)
    assert choice.reason == "0 items have a score and a rating, and 20 are needed"


def test_the_order_of_the_items_does_not_matter() -> None:
    scores, human = judged("step")
    order = np.random.default_rng(5).permutation(N)
    one = choose_map(scores, human, GROUPS, SCALE)
    two = choose_map(scores[order], human[order], [GROUPS[k] for k in order], SCALE)
    assert one.map == two.map
    assert [t.rmse for t in one.tried] == pytest.approx([t.rmse for t in two.tried])


def test_the_standard_error_is_that_of_groups() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    assert standard_error(x, [str(k) for k in range(40)]) == pytest.approx(x.std(ddof=1) / math.sqrt(40))
    level = rng.normal(size=10)
    doubled = standard_error(np.repeat(level, 4), [f"g{k // 4}" for k in range(40)])
    assert doubled == pytest.approx(level.std(ddof=1) / math.sqrt(10))
    assert math.isnan(standard_error(x, ["one"] * 40))
