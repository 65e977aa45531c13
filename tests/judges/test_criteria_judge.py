"""The embedded judge's arithmetic, by hand."""

from __future__ import annotations

import math

import pytest

from calibrator.aspects import Scale
from calibrator.errors import RubricError
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Item, Judgment, Measure, Rubric, Step


def _score(output: str, *measures: Measure, base: float = 3.0) -> float:
    rubric = Rubric("neutral/relevance", (Step("Look.", measures),), base)
    verdict = CriteriaJudge(rubric, Scale(1, 5)).judge([Item(id="a", output=output, source="A bridge over a river.")])[
        0
    ]
    assert isinstance(verdict, Judgment)
    return verdict.score


def test_a_weighted_sum_of_standardised_criteria() -> None:
    # length = log(1 + 7 words) = log 8; question = 1
    by_hand = 3.0 + 0.5 * (math.log(8) - 1.0) / 2.0 + (-0.25) * (1.0 - 0.5) / 0.5
    measures = Measure("length", 0.5, 1.0, 2.0), Measure("question", -0.25, 0.5, 0.5)
    assert _score("Is there a bridge over the river?", *measures) == pytest.approx(by_hand, abs=1e-12)


def test_a_criterion_counts_no_further_than_three_standard_deviations() -> None:
    assert _score("one two three", Measure("length", 0.5, 0.0, 1e-3)) == pytest.approx(3.0 + 0.5 * 3)


def test_the_score_is_clipped_to_the_scale() -> None:
    assert _score("one two three", Measure("length", 9.0, 0.0, 0.1)) == 5.0
    assert _score("one two three", Measure("length", -9.0, 0.0, 0.1)) == 1.0


def test_a_rubric_in_free_text_is_refused_with_the_way_out() -> None:
    with pytest.raises(RubricError, match="needs an LLM judge"):
        CriteriaJudge(Rubric("neutral/relevance", (Step("Is it clear?"),)), Scale(1, 5))


def test_an_unknown_criterion_is_refused_by_name() -> None:
    with pytest.raises(RubricError, match="'sparkle'"):
        CriteriaJudge(Rubric("a", (Step("Look.", (Measure("sparkle", 1, 0, 1),)),)), Scale(1, 5))
