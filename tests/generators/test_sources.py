"""What is answered: columns, repeated and empty rows, ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calibrator.columns import Wanted
from calibrator.errors import DataError
from calibrator.generators.sources import chosen, read_sources, source_columns
from calibrator.tables import Table


def table(*rows: dict[str, Any]) -> Table:
    return Table(Path("t.csv"), tuple(rows[0]), rows, rows, tuple(range(2, len(rows) + 2)))


@pytest.mark.parametrize(
    ("columns", "found"),
    [
        ("id hatespeech counterspeech other", {"source": "hatespeech", "reference": "counterspeech", "id": "id"}),
        ("Prompt doc_id response", {"source": "Prompt", "group": "doc_id"}),
        ("text label", {"source": "text"}),
        ("anything", {"source": "anything"}),
        ("inputs.dialogue inputs.response", {"source": "inputs.dialogue"}),
    ],
)
def test_columns_are_guessed(columns: str, found: dict[str, str]) -> None:
    assert source_columns(table(dict.fromkeys(columns.split(), "x")), Wanted()) == found


def test_guesses_are_marked_where_columns_are_told() -> None:
    rows = table({"prompt": "A walk.", "doc_id": "x", "kind": "a"})
    named = read_sources(rows, Wanted(source="prompt"), required="kind")
    assert named.told() == "source=prompt; group=doc_id (guessed); required=kind"
    assert read_sources(rows, Wanted(group="none")).told() == "source=prompt (guessed)"


def test_a_source_is_of_the_groups_of_all_its_rows() -> None:
    rows = table(*({"prompt": p, "group": g} for p, g in [("Walk.", "a"), ("walk", "b"), ("Run.", ""), ("WALK!", "")]))
    sources = read_sources(rows, Wanted()).sources
    assert [(s.group, s.groups, s.row) for s in sources] == [("a", {"a", "b"}, 2), (None, frozenset(), 4)]


def test_an_output_is_never_taken_for_a_source() -> None:
    with pytest.raises(DataError, match="no column looks like the source; name it with --source"):
        source_columns(table({"output": "a", "kind": "b"}), Wanted())
    assert source_columns(table({"output": "a", "kind": "b"}), Wanted(source="kind")) == {"source": "kind"}
    assert "reference" not in source_columns(table({"prompt": "a", "reference": "b"}), Wanted(reference="none"))


def test_a_source_is_answered_once() -> None:
    rows = table(
        {"prompt": "A walk.", "reference": "one"},
        {"prompt": "a  WALK", "reference": "two"},
        {"prompt": " ?! ", "reference": "three"},
        {"prompt": None, "reference": "four"},
        {"prompt": "Another walk.", "reference": ""},
    )
    read = read_sources(rows, Wanted())
    assert [(s.text, s.reference, s.repeat) for s in read.sources] == [
        ("A walk.", "one", 0),
        ("Another walk.", None, 0),
    ]
    assert read.rows == 5
    assert read.left_out == (
        "2 rows have no word to answer",
        "1 rows repeat a source, which is answered once (--each-row: again)",
    )
    again = read_sources(rows, Wanted(), each_row=True)
    assert [(s.reference, s.repeat) for s in again.sources] == [("one", 0), ("two", 1), (None, 0)]


@pytest.mark.parametrize(
    "cell", ["warm+dry", "warm; dry", "warm, dry", '["warm", "dry"]', ["warm", "dry"], "['warm', 'dry']", " warm,,dry+"]
)
def test_what_a_row_requires_may_be_written_in_many_ways(cell: object) -> None:
    rows = table({"prompt": "walk", "kind": cell}, {"prompt": "run", "kind": "warm"}, {"prompt": "sit", "kind": None})
    read = read_sources(rows, Wanted(), required="kind")
    assert [s.required for s in read.sources] == [("warm", "dry"), ("warm",)]
    assert read.left_out == ("1 rows do not say what is required",)


def test_the_same_source_with_another_requirement_is_another_task() -> None:
    rows = table(*({"prompt": "walk", "kind": kind} for kind in ("a", "b", "a")))
    assert [s.required for s in read_sources(rows, Wanted(), required="kind").sources] == [("a",), ("b",)]


def test_ids_are_unique() -> None:
    rows = table(*({"id": i, "prompt": p} for i, p in [("x", "one"), ("x", "two"), ("y", "three"), ("", "four")]))
    ids = [s.id for s in read_sources(rows, Wanted()).sources]
    assert len(set(ids)) == 4 and ids[2] == "y" and ids[3] == "5"  # the row's number where there is no id


def test_nothing_to_answer_is_an_error() -> None:
    with pytest.raises(DataError, match="there is no text to answer"):
        read_sources(table({"prompt": "..."}), Wanted())


def test_a_choice_keeps_the_order_and_follows_from_the_seed() -> None:
    sources = read_sources(table(*({"prompt": f"walk {k}"} for k in range(50))), Wanted()).sources
    some = chosen(sources, 10, 3)
    assert list(some) == sorted(some, key=sources.index) and len(set(some)) == 10
    assert some == chosen(sources, 10, 3) != chosen(sources, 10, 4)
    assert chosen(sources, None, 3) == chosen(sources, 99, 3) == sources
