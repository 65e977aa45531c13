"""Annotators: how well they agree, and who does not rate as the others do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrator.audit.annotators import agreement_of, annotator_findings
from calibrator.audit.findings import Finding
from calibrator.stats.agreement import krippendorff_alpha
from tests.audit.tables import Row, agreeing, annotated, rated, rows_of, severities, subject


def found_in(rows: list[Row]) -> list[Finding]:
    seen = subject(rows)
    return annotator_findings(seen, [a for r in seen.rated if (a := agreement_of(r))])


def test_annotators_who_agree_raise_nothing() -> None:
    for seed in range(5):
        assert found_in(annotated(agreeing(seed=seed, noise=1.2))) == []


def test_the_agreement_is_that_of_the_statistics() -> None:
    ratings = agreeing()
    ratings[2, ::3] = math.nan
    got = agreement_of(subject(annotated(ratings)).rated[0])
    assert got is not None
    assert (got.annotators, got.items, got.level) == (3, 120, "ordinal")
    assert got.alpha == pytest.approx(krippendorff_alpha(ratings, "ordinal"))
    assert 0.6 < got.kappa < 1
    assert got.rest > got.spearman > 0.6


def test_ratings_of_many_values_are_taken_as_measured() -> None:
    ratings = np.round(agreeing() * 0.9 + np.random.default_rng(0).uniform(size=(3, 120)) * 0.09, 2)
    got = agreement_of(subject(annotated(ratings)).rated[0])
    assert got is not None
    assert got.level == "interval"


def test_one_rating_a_row_has_no_agreement() -> None:
    assert agreement_of(subject(rows_of()).rated[0]) is None
    assert found_in(rows_of()) == []


def test_an_annotator_with_the_scale_turned_round_is_grave() -> None:
    ratings = agreeing()
    ratings[1] = 6 - ratings[1]
    found = found_in(annotated(ratings))
    assert ("grave", "relevance_a2") in [(f.severity, f.column) for f in found]
    assert all(f.column == "relevance_a2" for f in found if f.severity == "grave")


def test_an_annotator_who_rates_at_random_is_a_warning() -> None:
    ratings = agreeing(raters=4, items=300)
    ratings[3] = np.random.default_rng(5).integers(1, 6, size=300)
    assert [(f.severity, f.column) for f in found_in(annotated(ratings))] == [("warning", "relevance_a4")]


def test_an_annotator_who_always_says_the_same_is_a_warning() -> None:
    ratings = agreeing()
    ratings[0] = 4
    found = found_in(annotated(ratings))
    assert [(f.severity, f.column) for f in found] == [("warning", "relevance_a1")]
    assert "gives 4 in 120 of 120" in found[0].message


def test_where_all_say_mostly_the_same_nobody_is_blamed() -> None:
    rng = np.random.default_rng(2)
    ratings = np.where(rng.uniform(size=(3, 200)) < 0.96, 1.0, 3.0)
    assert "relevance_a1" not in [f.column for f in found_in(annotated(ratings))]


def test_a_point_that_one_never_gives_is_a_note() -> None:
    ratings = agreeing()
    ratings[2] = np.where(ratings[2] == 5, 4, ratings[2])
    found = found_in(annotated(ratings))
    assert [(f.severity, f.column) for f in found] == [("note", "relevance_a3")]
    assert "never gives 5" in found[0].message


def test_two_annotators_who_never_differ_are_a_warning() -> None:
    ratings = agreeing()
    ratings[2] = ratings[1]
    found = found_in(annotated(ratings))
    assert [(f.severity, f.column) for f in found] == [("warning", "relevance_a2")]
    assert "relevance_a3 in all 120 items" in found[0].message


def test_a_mean_that_is_none_is_found() -> None:
    rows = annotated(agreeing())
    for row in rows:
        given = [float(str(row[f"relevance_a{k}"])) for k in (1, 2, 3)]
        row["relevance_score"] = round(sum(given) / 3, 2)
    assert found_in(rows) == []
    rows[4]["relevance_score"] = 6 - float(str(rows[4]["relevance_score"])) + 0.1
    found = found_in(rows)
    assert severities(found) == ["warning"]
    assert found[0].rows == (6,)


def test_no_agreement_at_all_is_a_warning_and_a_shifted_scale_a_note() -> None:
    noise = np.random.default_rng(0).integers(1, 6, size=(3, 200)).astype(float)
    assert "hardly more than by chance" in " ".join(
        f.message for f in found_in(annotated(noise)) if f.severity == "warning"
    )
    shifted = np.array([[1.0, 1, 2] * 40, [5.0, 5, 4] * 40, [3.0, 3, 3.0] * 40])
    shifted[1] = shifted[0] + 3
    shifted[2] = shifted[0] + 2
    assert [f.severity for f in found_in(annotated(shifted)) if "common order" in f.message] == ["note"]


def test_lists_of_annotators_are_named_by_their_place() -> None:
    ratings = agreeing()
    ratings[1] = 6 - ratings[1]
    rows = rated([json_list(column) for column in ratings.T], "annotators.relevance")
    assert "annotators.relevance[1]" in [f.column for f in found_in(rows)]


def json_list(values: np.ndarray) -> list[float]:
    return [float(v) for v in values]
