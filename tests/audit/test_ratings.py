"""Ratings off the scale, ratings that are none, scales hardly used."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calibrator.aspects import Scale
from calibrator.audit.ratings import rating_findings
from calibrator.audit.subject import entries, number
from calibrator.errors import DataError
from tests.audit.tables import rated, relevance, rows_of, severities, subject


def test_plain_ratings_raise_nothing() -> None:
    assert rating_findings(subject(rows_of())) == []


def test_every_rating_off_the_scale_is_counted_and_the_first_are_named() -> None:
    rows = rows_of(200)
    for k in (3, 7, 8, 9):
        rows[k]["relevance_score"] = 0
    found = rating_findings(subject(rows))
    assert severities(found) == ["grave"]
    assert found[0].count == 4
    assert found[0].rows == (5, 9, 10)
    assert (
        "4 of 200 ratings are outside the scale 1-5 of relevance (0 in 4; first in rows 5, 9, 10)" in found[0].message
    )
    assert found[0].message.startswith("data.csv, column 'relevance_score': ")


def test_a_guessed_scale_that_many_ratings_leave_is_a_wrong_guess() -> None:
    scores = [20 * (k % 6) for k in range(60)]
    found = rating_findings(subject(rated(scores)))
    assert "warning" in severities(found)
    assert "grave" not in severities(found)
    assert "--scale" in found[0].message
    said = rating_findings(subject(rated(scores), aspect=relevance()))
    assert severities(said)[0] == "grave"
    wide = replace(relevance(), scale=Scale(0, 100))
    assert rating_findings(subject(rated(scores), aspect=wide)) == []


def test_words_among_the_ratings_are_found_and_missing_ones_are_not() -> None:
    rows = rows_of(60)
    rows[0]["relevance_score"], rows[1]["relevance_score"] = "good", True
    rows[2]["relevance_score"], rows[3]["relevance_score"], rows[4]["relevance_score"] = "", "n/a", None
    found = rating_findings(subject(rows))
    assert severities(found) == ["grave"]
    assert (found[0].count, found[0].rows) == (2, (2, 3))


def test_a_column_of_words_with_the_name_of_an_aspect_is_no_rating() -> None:
    assert subject(rated(["good", "bad"] * 30, column="relevance")).rated == ()


def test_annotators_are_read_one_by_one() -> None:
    rows = rated(
        ["[1, 9, 3]" if k == 5 else f"[{1 + k % 5}, 2, {1 + k % 4}]" for k in range(60)], "annotators.relevance"
    )
    found = rating_findings(subject(rows))
    assert severities(found) == ["grave"]
    assert "1 of 180 ratings" in found[0].message
    assert found[0].rows == (7,)


@pytest.mark.parametrize(
    ("scores", "severity", "said"),
    [
        ([3] * 40, "grave", "all 40 ratings are 3"),
        ([1] * 38 + [5] * 2, "warning", "38 of 40 ratings are 1"),
        ([1, 2, 3] * 20, "warning", "only 1-3 of the scale 1-5 is used"),
        ([1, 5] * 4, "warning", "8 rated rows are too few"),
        ([""] * 40, "warning", "no rating that can be used"),
    ],
)
def test_scales_hardly_used(scores: list[object], severity: str, said: str) -> None:
    found = rating_findings(subject(rated(scores), aspect=relevance()))
    assert [f.severity for f in found if said in f.message] == [severity]


def test_a_lopsided_scale_is_not_called_unused() -> None:
    assert rating_findings(subject(rated([1] * 70 + [2, 3, 4, 4, 3, 2] * 5))) == []


def test_a_named_column_without_an_aspect_is_its_own_scale() -> None:
    found = subject(rated([0, 40, 100] * 20, "mark"), score=("mark",))
    assert found.rated[0].scale == Scale(0, 100)
    assert rating_findings(found) == []


def test_a_column_that_is_not_there_is_an_error_of_the_users() -> None:
    with pytest.raises(DataError, match="no such column"):
        subject(rows_of(), score=("marks",))
    with pytest.raises(DataError, match="looks like the rating"):
        subject([{"input": "a", "output": "b"}], aspect=relevance())


def test_cells() -> None:
    assert entries("[1, 2]") == [1, 2]
    assert entries("[1, 2") == ["[1, 2"]
    assert [number(c) for c in ("4.5", 3, True, "x", None)] == [4.5, 3.0, None, None, None]
