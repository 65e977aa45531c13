"""The recorded judge: what stands in the data is the score, and all else is a failure with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from calibrator.aspects import Scale
from calibrator.judges.recorded import RecordedJudge, goes_by
from calibrator.records import Failure, Item, Judgment
from tests.conftest import make_items

SCALE = Scale(1, 5)


def recorded(scores: Sequence[float | None], name: str = "P") -> list[Item]:
    """Return items with what the judge `name` gave them."""
    return [replace(i, recorded={name: s}) for i, s in zip(make_items(len(scores)), scores, strict=True)]


def test_the_score_is_the_recorded_one_to_the_last_digit() -> None:
    scores = [1.0, 3.3333333333333335, 5.0]
    judge = RecordedJudge("P", SCALE)
    assert judge.judge(recorded(scores)) == tuple(Judgment(f"i{k}", s, "recorded") for k, s in enumerate(scores))
    assert (judge.id, judge.name, judge.mode) == ("recorded:P", "P", "recorded")


@pytest.mark.parametrize("scale", [SCALE, None])
def test_a_missing_score_is_a_failure(scale: Scale | None) -> None:
    (empty,) = RecordedJudge("P", scale).judge(recorded([None]))
    (unasked,) = RecordedJudge("P", scale).judge(recorded([4.0], "Q"))
    assert empty == unasked == Failure("i0", "no recorded score")


def test_what_was_recorded_for_an_empty_text_is_no_judgment() -> None:
    empty = replace(recorded([4.0])[0], output=" ")
    assert RecordedJudge("P", SCALE).judge([empty]) == (Failure("i0", "empty text"),)


@pytest.mark.parametrize("score", [-1.0, 0.0, 0.999, 5.001, 50.0])
def test_a_score_off_the_scale_is_a_failure_which_names_the_scale(score: float) -> None:
    (verdict,) = RecordedJudge("P", SCALE).judge(recorded([score]))
    assert verdict == Failure("i0", "a recorded score off the scale 1-5")


@pytest.mark.parametrize("score", [-1.0, 0.0, 5.001, 1e9])
def test_without_a_scale_any_number_is_a_score(score: float) -> None:
    (verdict,) = RecordedJudge("P", None).judge(recorded([score]))
    assert verdict == Judgment("i0", score, "recorded")


def test_of_several_recorded_judges_each_gives_its_own() -> None:
    item = replace(make_items(1)[0], recorded={"P": 2.0, "Q": 4.0})
    assert [RecordedJudge(n, SCALE).judge([item]) for n in "PQ"] == [
        (Judgment("i0", 2.0, "recorded"),),
        (Judgment("i0", 4.0, "recorded"),),
    ]


@pytest.mark.parametrize(
    "scores, expected",
    [
        ([1, 2, 5, 3.5], True),
        ([4] * 9 + [-1], True),  # nine of ten: a failure that a program wrote as a number
        ([4] * 8 + [-1, -1], True),
        ([4] * 6 + [3] + [-1, 0, -1], True),  # two marks for no answer, however often there was none
        ([1, 3, 5] + [-1] * 30, True),
        ([4] * 5 + [-1] * 6, False),  # most of them: nothing tells that the rest are scores on this scale
        ([4] * 7 + [-2, -1, 0], False),
        ([2, 4, 4, 6, 7, 7, 6], False),  # above the scale: another one
        ([1.0] + [0.0] * 20, False),  # a measure from 0 to 1
        ([0.1, 0.4, 0.9], False),
        ([30.0, 80.0], False),
        ([None] * 50 + [3.0], True),  # only what is there counts
        ([None] * 5 + [0.2], False),
        ([None, None], True),
        ([], True),
    ],
)
def test_a_judge_goes_by_the_scale_where_nearly_all_its_scores_lie_on_it(
    scores: list[float | None], expected: bool
) -> None:
    assert goes_by(SCALE, "P", recorded(scores)) is expected
