"""The overall assessment: shares of own scales, what costs most first, and no number where a score is missing."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Aspect, Scale
from calibrator.studies.assessment import NOTHING, assess, summary

ASPECTS = {
    "clear": Aspect("x", "clear", "Clear", "…", Scale(1, 3)),
    "moving": Aspect("x", "moving", "Moving", "…", Scale(0, 1)),
    "rude": Aspect("x", "rude", "Rude", "…", Scale(1, 5), "lower"),
}


def test_by_hand() -> None:
    # Clear 2 of 1-3 is a half, moving is there, rude 2 of 5-1 is three quarters: the mean is 0.75.
    found = assess({"clear": 2, "moving": 1, "rude": 2}, ASPECTS)
    assert dict(found.shares) == {"clear": 0.5, "moving": 1.0, "rude": 0.75}
    assert found.overall == pytest.approx(0.75)
    assert [(g.aspect, g.score, g.best, round(g.lost, 9)) for g in found.improve] == [
        ("clear", 2, 3, round(0.5 / 3, 9)),
        ("rude", 2, 1, round(0.25 / 3, 9)),
    ]
    assert found.in_words() == "improve: clear (2 of 3), rude (2 of 1)"
    assert found.in_words(1) == "improve: clear (2 of 3)"


def test_weights_change_the_overall_and_the_order() -> None:
    scores = {"clear": 2.0, "moving": 1.0, "rude": 2.0}
    found = assess(scores, ASPECTS, {"rude": 4})
    assert found.overall == pytest.approx((0.5 + 1 + 4 * 0.75) / 6)
    assert [g.aspect for g in found.improve] == ["rude", "clear"]
    without = assess(scores, ASPECTS, {"clear": 0, "rude": 0})
    assert (without.overall, without.improve) == (1, ())
    assert without.in_words() == f"improve: {NOTHING}"


def test_what_has_no_score_is_named_and_there_is_no_overall() -> None:
    for missing in ({}, {"moving": math.nan}, {"moving": 2.0}):  # absent, nan, off its scale
        found = assess({"clear": 1.0, "rude": 1.0} | missing, ASPECTS)
        assert found.missing == ("moving",)
        assert math.isnan(found.overall)
        assert found.in_words() == "improve: clear (1 of 3); no score: moving"
    assert assess({}, ASPECTS).in_words() == "improve: not known; no score: clear, moving, rude"
    assert assess({"clear": 3.0, "rude": 1.0}, ASPECTS, {"moving": 0}).overall == 1


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3), st.lists(st.floats(0.1, 9), min_size=3, max_size=3))
def test_the_overall_is_one_less_what_is_lost(shares: list[float], weights: list[float]) -> None:
    ends = {n: (a.scale.low, a.scale.high) if a.better == "higher" else (a.scale.high, a.scale.low)
            for n, a in ASPECTS.items()}  # fmt: skip
    scores = {n: lo + s * (hi - lo) for (n, (lo, hi)), s in zip(ends.items(), shares, strict=True)}
    found = assess(scores, ASPECTS, dict(zip(ASPECTS, weights, strict=True)))
    assert found.overall == pytest.approx(1 - sum(g.lost for g in found.improve))
    assert [g.lost for g in found.improve] == sorted((g.lost for g in found.improve), reverse=True)


def test_ties_stand_in_the_order_of_the_aspects() -> None:
    found = assess({"clear": 1, "moving": 0, "rude": 5}, ASPECTS)
    assert [g.aspect for g in found.improve] == list(ASPECTS)
    assert found.overall == 0


def test_a_summary_counts_each_text_once() -> None:
    texts = [
        {"clear": 1.0, "moving": 1.0, "rude": 1.0},
        {"clear": 2.0, "moving": 0.0, "rude": 1.0},
        {"clear": 3.0, "moving": math.nan, "rude": 5.0},
        {"clear": 3.0, "moving": 1.0, "rude": 1.0},
    ]
    found = summary(texts, ASPECTS)
    assert (found.texts, found.complete) == (4, 3)
    assert dict(found.means) == pytest.approx({"clear": 2.25, "moving": 2 / 3, "rude": 2.0})
    assert found.overall == pytest.approx((2 / 3 + 0.5 + 1) / 3)
    assert dict(found.first) == {("clear",): 1, ("moving",): 1}
    assert math.isnan(summary([], ASPECTS).overall)


def test_components_that_cost_a_text_the_same_are_first_together() -> None:
    low, tie = {"clear": 1.0, "moving": 1.0, "rude": 1.0}, {"clear": 1.0, "moving": 0.0, "rude": 2.0}
    best = {"clear": 3.0, "moving": 1.0, "rude": 1.0}
    found = summary([tie, low, tie, best], ASPECTS)
    assert dict(found.first) == {("clear",): 1, ("clear", "moving"): 2}
    weights = {"clear": 0.1 * 3, "rude": 0.6}  # 0.3 and half of 0.6, but for rounding
    found = summary([{"clear": 1.0, "moving": 1.0, "rude": 3.0}], ASPECTS, weights)
    assert list(found.first) == [("clear", "rude")]


@pytest.mark.parametrize(
    ("scores", "weights", "says"),
    [
        ({"tall": 1.0}, None, "no aspect tall"),
        ({"clear": 1.0}, {"tall": 1.0}, "no aspect tall"),
        ({"clear": 1.0}, {"clear": -1.0}, "not negative"),
        ({"clear": 1.0}, {"clear": math.nan}, "finite"),
        ({"clear": 1.0}, dict.fromkeys(ASPECTS, 0.0), "not all 0"),
    ],
)
def test_what_cannot_be_assessed_says_why(
    scores: dict[str, float], weights: dict[str, float] | None, says: str
) -> None:
    with pytest.raises(ValueError, match=says):
        assess(scores, ASPECTS, weights)


def test_without_an_aspect_there_is_no_assessment() -> None:
    with pytest.raises(ValueError, match="needs an aspect"):
        assess({}, {})
