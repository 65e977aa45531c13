"""Human ratings that equal a judge's column, and those that only agree with one."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from calibrator.audit.copies import copy_findings
from calibrator.audit.whole import quick_findings
from calibrator.columns import Wanted, map_columns
from tests.audit.tables import Row, agreeing, annotated, rated, relevance, severities, subject, table_of

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


def unanimous(names: tuple[str, ...], form: str, digits: int | None = None, gaps: bool = False) -> list[Row]:
    """Rows whose `score` is the mean or median of these columns, each of which is equal to it in most rows."""
    rng = np.random.default_rng(3)
    given = np.repeat(np.array(SCORES)[None], len(names), axis=0)
    for k in range(0, 200, 13):
        given[rng.integers(len(names)), k] = rng.integers(1, 6)
    shown = given.copy()
    if gaps:
        shown[0, ::7] = np.nan
    scores = np.asarray(np.nanmean(shown, axis=0) if form == "mean" else np.nanmedian(shown, axis=0))
    rows = rated((scores if digits is None else np.round(scores, digits)).tolist(), "score")
    for name, column in zip(names, shown, strict=True):
        for row, value in zip(rows, column, strict=True):
            row[name] = "" if np.isnan(value) else value
    return rows


@pytest.mark.parametrize("names", [("r1", "r2", "r3"), ("anna", "ben", "cleo"), ("rater1", "rater2", "cleo")])
@pytest.mark.parametrize(("form", "digits"), [("mean", None), ("mean", 0), ("mean", 2), ("median", None)])
@pytest.mark.parametrize("gaps", [False, True])
def test_the_columns_a_score_is_made_of_are_its_annotators(
    names: tuple[str, ...], form: str, digits: int | None, gaps: bool
) -> None:
    rows = unanimous(names, form, digits, gaps)
    found = copy_findings(subject(rows))
    assert severities(found) == ["warning"], found
    assert f"--score {','.join(names)}" in found[0].message
    table = table_of(rows)
    told = quick_findings(table, map_columns(table, Wanted(), relevance()), relevance())
    assert "grave" not in severities(told)


def test_a_judge_beside_the_annotators_is_still_named() -> None:
    rows = unanimous(("anna", "ben", "cleo"), "median")
    for row in rows:
        row["gpt-4/relevance"] = row["score"]
    found = copy_findings(subject(rows))
    assert sorted(severities(found)) == ["grave", "warning"]
    assert "'anna'" not in next(f.message for f in found if f.severity == "grave")


@pytest.mark.parametrize("names", [("gpt-4/1", "gpt-4/2", "gpt-4/3"), ("judge_a", "judge_b", "judge_c")])
def test_the_mean_of_several_judges_is_a_judges(names: tuple[str, ...]) -> None:
    assert severities(copy_findings(subject(unanimous(names, "median")))) == ["grave"]


def test_a_copy_of_one_column_is_not_made_of_several() -> None:
    rows = unanimous(("anna", "ben", "cleo"), "median")
    for row in rows:
        row["score"] = row["ben"]
    found = copy_findings(subject(rows))
    assert severities(found) == ["grave"]
    assert "'ben' in 200 of 200 rows" in found[0].message


@pytest.mark.parametrize(
    "name", ["score_raw", "score_orig", "score_mean", "relevance", "human_relevance_1", "relevance_score_original"]
)
@pytest.mark.parametrize("column", ["score", "relevance_score"])
def test_the_same_name_in_another_form_is_a_repetition(name: str, column: str) -> None:
    rows = rated(list(SCORES), column)
    for row, value in zip(rows, SCORES, strict=True):
        row[name] = value
    table = table_of(rows)
    mapped = map_columns(table, Wanted(score=(column,)), relevance())
    assert "grave" not in severities(quick_findings(table, mapped, relevance()))
    assert "grave" not in severities(copy_findings(subject(rows)))


def test_a_machines_score_is_no_other_form_of_the_rating() -> None:
    for name in ("model_score", "judge_score", "auto-relevance", "gpt-4/relevance_score"):
        assert severities(copy_findings(subject(with_judge(SCORES, list(SCORES), name)))) == ["grave"], name


@pytest.mark.parametrize("name", ["coherence_score_a1", "coherence_2", "rater1_coherence", "coherence_score"])
def test_another_aspects_ratings_are_no_judges(name: str) -> None:
    rows = with_judge(SCORES, list(SCORES), name)
    table = table_of(rows)
    told = quick_findings(table, map_columns(table, Wanted(), relevance()), relevance())
    assert [f.severity for f in told if f.check == "copies"] == ["warning"]
    found = copy_findings(subject(rows))
    assert set(severities(found)) == {"warning"}
    assert "another aspect" in found[0].message
