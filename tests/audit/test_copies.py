"""Human ratings that equal a judge's column, and those that only agree with one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from calibrator.audit.copies import copy_findings
from tests.audit.tables import Row, agreeing, annotated, rated, severities, subject

Judge = Callable[[list[float]], list[object]]


def with_judge(scores: list[float], judged: list[object], name: str = "gpt-4/relevance") -> list[Row]:
    rows = rated(list(scores))
    for row, value in zip(rows, judged, strict=True):
        row[name] = value
    return rows


SCORES = [float(1 + (k * k) % 5) for k in range(200)]


@pytest.mark.parametrize("swapped", [0, 4, 18])
def test_a_copied_judge_is_found_and_named(swapped: int) -> None:
    judged: list[object] = [6 - s if k < swapped and s != 3 else s for k, s in enumerate(SCORES)]
    found = copy_findings(subject(with_judge(SCORES, judged)))
    assert severities(found) == ["grave"]
    assert "'gpt-4/relevance'" in found[0].message
    assert "of 200 rows" in found[0].message
    assert found[0].column == "relevance_score"


def test_a_copy_is_found_where_the_judge_scored_only_some_rows() -> None:
    judged: list[object] = [s if k % 3 == 0 else "" for k, s in enumerate(SCORES)]
    found = copy_findings(subject(with_judge(SCORES, judged)))
    assert "in 67 of 67 rows" in found[0].message


def test_a_judge_that_agrees_well_is_none() -> None:
    rng = np.random.default_rng(0)
    judged = [float(np.clip(s + rng.choice([-1, 0, 1], p=[0.1, 0.8, 0.1]), 1, 5)) for s in SCORES]
    assert sum(a == b for a, b in zip(SCORES, judged, strict=True)) > 150
    assert copy_findings(subject(with_judge(SCORES, list(judged)))) == []


def test_two_columns_that_mostly_say_one_are_none() -> None:
    rng = np.random.default_rng(1)
    human = [float(v) for v in rng.choice([1, 2, 3], size=400, p=[0.95, 0.03, 0.02])]
    judged: list[object] = [float(v) for v in rng.choice([1, 2, 3], size=400, p=[0.97, 0.02, 0.01])]
    assert np.mean(np.array(human) == np.array(judged)) > 0.9
    assert copy_findings(subject(with_judge(human, judged))) == []


def test_of_two_values_all_must_be_equal_in_many_rows() -> None:
    human = [float(k % 2 + 1) for k in range(100)]
    wrong: list[object] = [2.0 if k == 0 else v for k, v in enumerate(human)]
    assert copy_findings(subject(with_judge(human, wrong))) == []
    assert severities(copy_findings(subject(with_judge(human, list(human))))) == ["grave"]
    assert copy_findings(subject(with_judge(human[:40], list(human[:40])))) == []


@pytest.mark.parametrize("name", ["human_mean", "annotator", "gold_score", "label"])
def test_the_same_ratings_by_another_name_are_a_note(name: str) -> None:
    found = copy_findings(subject(with_judge(SCORES, list(SCORES), name)))
    assert severities(found) == ["note"]


def test_an_annotator_who_took_the_judges_scores_is_found() -> None:
    ratings = agreeing()
    rows = annotated(ratings)
    for row, value in zip(rows, ratings[1], strict=True):
        row["some-model/relevance"] = value
    found = copy_findings(subject(rows))
    assert [(f.severity, f.column) for f in found] == [("grave", "relevance_a2")]


def test_two_aspects_with_the_same_ratings_are_a_warning() -> None:
    rows = with_judge(SCORES, list(SCORES), "coherence_score")
    found = copy_findings(subject(rows))
    assert severities(found) == ["warning"]
    assert "another aspect" in found[0].message
