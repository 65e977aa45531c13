"""Copies within a file and between two."""

from __future__ import annotations

import numpy as np

from calibrator.audit.duplicates import duplicate_findings, overlap_findings
from tests.audit.tables import Row, rows_of, severities, subject


def paired(rows: list[Row], k: int, text: str, source: str | None = None) -> None:
    rows[k]["output"] = text
    if source is not None:
        rows[k]["input"] = source


LONG = "the garden by the river has a window to the market and a door to the street"


def test_a_file_without_copies_raises_nothing() -> None:
    assert duplicate_findings(subject(rows_of(150, 40))) == []


def test_repeated_rows_are_counted_with_their_differing_ratings() -> None:
    rows = rows_of(60)
    rows.append({**rows[0], "output": f"  {str(rows[0]['output']).upper()}", "relevance_score": 5})
    rows.append({**rows[1]})
    rows[0]["relevance_score"] = 1
    found = duplicate_findings(subject(rows))
    assert severities(found) == ["note"]
    assert found[0].count == 2
    assert found[0].rows == (62, 63)
    assert "relevance ratings that differ in 1 of 2 pairs" in found[0].message


def test_ratings_of_one_text_that_agree_no_better_than_by_chance_are_a_warning() -> None:
    rng = np.random.default_rng(0)
    rows = rows_of(120, 40)
    again = [{**r, "relevance_score": int(rng.integers(1, 6))} for r in rows]
    rows = [{**r, "relevance_score": int(rng.integers(1, 6))} for r in rows]
    assert "warning" in severities(duplicate_findings(subject([*rows, *again])))
    assert severities(duplicate_findings(subject([*rows, *rows]))) == ["note"]


def test_a_text_below_several_sources_is_a_note_and_a_short_one_is_nothing() -> None:
    rows = rows_of(60)
    paired(rows, 0, LONG)
    paired(rows, 1, LONG.title())
    paired(rows, 2, LONG.replace("market", "harbour"))
    found = duplicate_findings(subject(rows))
    assert severities(found) == ["note"]
    assert "1 text in several groups (first in rows 2, 3)" in found[0].message
    assert "1 pair of nearly the same text" in found[0].message
    for k in (0, 1, 2):
        paired(rows, k, "I do not know.")
    assert duplicate_findings(subject(rows)) == []


def test_nearly_the_same_source_in_two_groups() -> None:
    rows = rows_of(200, 100)
    paired(rows, 0, "first of two answers", LONG)
    paired(rows, 1, "another thing was said", LONG + " now")
    found = duplicate_findings(subject(rows))
    assert severities(found) == ["note"]
    assert "1 pair of groups has nearly the same source (first in rows 2, 3)" in found[0].message
    joined = [{**r, "group": "one" if k < 2 else f"g{k}"} for k, r in enumerate(rows)]
    assert duplicate_findings(subject(joined)) == []


def test_many_of_them_are_a_warning() -> None:
    rows = rows_of(40, 40)
    for k in range(0, 10, 2):
        paired(rows, k, f"answer number {k}", f"{LONG} {k * 'x'}y and {k * 'z'}q")
        paired(rows, k + 1, f"reply with {k}", f"{LONG} {k * 'x'}y and {k * 'z'}q too")
    assert "warning" in severities(duplicate_findings(subject(rows)))


def test_two_files_with_nothing_in_common() -> None:
    assert overlap_findings(subject(rows_of(seed=1)), subject(rows_of(seed=2), "test.csv")) == []


def test_what_two_files_share_is_counted() -> None:
    train, test = rows_of(60, seed=1), rows_of(60, seed=2)
    test[0] = {**train[0], "output": str(train[0]["output"]).upper()}
    paired(test, 1, "another answer to the same", str(train[1]["input"]))
    paired(train, 5, "an answer", LONG)
    paired(test, 5, "a reply", LONG + " now")
    paired(train, 6, LONG.replace("river", "sea"))
    paired(test, 6, LONG.replace("river", "lake"))
    found = overlap_findings(subject(train, "train.csv"), subject(test, "test.csv"))
    assert severities(found) == ["grave", "grave", "warning", "note"]
    assert [f.count for f in found] == [1, 2, 1, 1]
    assert all(f.file == "test.csv" and "train.csv" in f.message for f in found)
    assert "1 of its 60 items stand in train.csv too (first in row 2)" in found[0].message
    assert found[2].rows == (7,)
    assert found[3].rows == (8,)


def test_files_without_ratings_and_without_sources_are_compared_too() -> None:
    train = [{"text": f"{LONG} and then {k * 'x'}a"} for k in range(20)]
    test = [{"text": f"a quite different line about {k * 'y'}b things"} for k in range(20)]
    test[3] = train[4]
    found = overlap_findings(subject(train, "train.csv"), subject(test, "test.csv"))
    assert "grave" in severities(found)
    assert duplicate_findings(subject(test)) == []
