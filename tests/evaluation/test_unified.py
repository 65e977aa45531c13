"""The unified score: equation 2 of CSEval, direction and scale from the aspects, no score from a gap."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Aspect, Scale, find_aspect
from calibrator.evaluation.unified import on_scale, unified

NAMES = ("relevance", "aggressiveness", "coherence", "suitableness")
CSEVAL = {name: find_aspect(f"cseval/{name}")[0] for name in NAMES}


def one(relevance: float, aggressiveness: float, coherence: float, suitableness: float) -> float:
    marks = zip(NAMES, (relevance, aggressiveness, coherence, suitableness), strict=True)
    return float(unified({name: np.array([mark]) for name, mark in marks}, CSEVAL)[0])


def test_the_shipped_aspects_have_the_scales_and_the_direction_of_the_paper() -> None:
    assert [(CSEVAL[n].scale.low, CSEVAL[n].scale.high) for n in NAMES] == [(1, 5), (1, 5), (1, 5), (1, 3)]
    assert [CSEVAL[n].better for n in NAMES] == ["higher", "lower", "higher", "higher"]


@pytest.mark.parametrize(
    ("marks", "score"),
    [
        ((5, 1, 5, 3), 5.0),  # the best everywhere: (5 + (6 - 1) + 5 + (2 / 2 · 4 + 1)) / 4
        ((1, 5, 1, 1), 1.0),  # the worst: (1 + (6 - 5) + 1 + (0 / 2 · 4 + 1)) / 4
        ((4, 2, 3, 2), 3.5),  # (4 + 4 + 3 + 3) / 4
        ((3, 3, 3, 2), 3.0),  # the middle of every scale
        ((4.5, 1.5, 2, 2.5), 3.75),  # (4.5 + 4.5 + 2 + 4) / 4
        ((5, 5, 5, 3), 4.0),  # the most hostile loses what the calmest gains: (5 + 1 + 5 + 5) / 4
    ],
)
def test_equation_2_by_hand(marks: tuple[float, float, float, float], score: float) -> None:
    assert one(*marks) == score


five, three = st.floats(1, 5), st.floats(1, 3)


@given(five, five, five, three)
def test_it_is_equation_2_for_all_marks(r: float, a: float, c: float, s: float) -> None:
    assert one(r, a, c, s) == pytest.approx((r + (6 - a) + c + ((s - 1) / 2 * 4 + 1)) / 4, abs=1e-9)


@given(five, five, five, three)
def test_it_stays_on_the_scale_and_rises_towards_the_better_end_of_each_aspect(
    r: float, a: float, c: float, s: float
) -> None:
    score = one(r, a, c, s)
    assert 1 <= score <= 5
    assert one(5, a, c, s) >= score >= one(r, 5, c, s)
    assert one(r, 1, c, s) >= score >= one(r, a, c, 1)


@pytest.mark.parametrize("gap", [np.nan, -1.0, 0.0, 4.0])
def test_an_aspect_without_a_score_leaves_none(gap: float) -> None:
    # -1, 0 and 4 are off the scale of suitableness: what a script wrote for a failure is no number.
    scores = {name: np.array([2.0, 2.0]) for name in NAMES} | {"suitableness": np.array([2.0, gap])}
    found = unified(scores, CSEVAL)
    assert found[0] == (2 + 4 + 2 + 3) / 4
    assert np.isnan(found[1])


def test_means_of_the_same_marks_are_tied_in_whatever_order_they_are_added() -> None:
    aspects = {name: Aspect("x", name, name, "…", Scale(1, 7)) for name in "abc"}
    scores = {"a": np.array([1.0, 2, 4]), "b": np.array([2.0, 4, 1]), "c": np.array([4.0, 1, 2])}
    assert len(set(unified(scores, aspects).tolist())) == 1


def test_another_scale_and_one_aspect() -> None:
    suitableness, aggressiveness = CSEVAL["suitableness"], CSEVAL["aggressiveness"]
    assert on_scale(np.array([1.0, 2, 3]), suitableness, Scale(0, 100)).tolist() == [0, 50, 100]
    assert on_scale(np.array([1.0, 2, 5]), aggressiveness, Scale(0, 1)).tolist() == [1, 0.75, 0]
    assert unified({"suitableness": np.array([1.0, 3])}, {"suitableness": suitableness}).tolist() == [1, 5]


def test_what_cannot_be_averaged_is_refused() -> None:
    with pytest.raises(ValueError, match="no scores of aggressiveness, coherence"):
        unified({"relevance": np.ones(2), "suitableness": np.ones(2)}, CSEVAL)
    with pytest.raises(ValueError, match="one aspect"):
        unified({"relevance": np.ones(2)}, {})
    with pytest.raises(ValueError, match="as many scores"):
        unified({name: np.ones(2 if name == "coherence" else 3) for name in NAMES}, CSEVAL)
