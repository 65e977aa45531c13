"""Files of rows: what is read is what was there, and what is written is what was read."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibrator.errors import DataError
from calibrator.tables import Table, flatten, read_table, write_table

ROWS = [
    {"text": "a calm answer", "score": "3"},
    {"text": 'with "quotes", commas; semicolons\tand tabs', "score": ""},
    {"text": "two\nlines\r\nand a \r third", "score": "4.50"},
    {"text": "नमस्ते, 你好, Привет, שלום 🌻👩‍🌾", "score": "005"},
    {"text": "  spaces around  ", "score": "n/a"},
]
# Any text that UTF-8 can hold. NUL is left out: a text file with one is taken for a binary file.
TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)


def table_of(rows: list[dict[str, Any]], path: Path) -> Table:
    return Table(path, tuple(rows[0]), tuple(rows), tuple(rows), tuple(range(1, len(rows) + 1)))


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def refused(path: Path, encoding: str | None = None) -> DataError:
    with pytest.raises(DataError) as caught:
        read_table(path, encoding)
    assert str(caught.value).startswith(str(path))
    return caught.value


# -- round trips -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".jsonl", ".ndjson", ".json", ".parquet", ".pq", ".CSV"])
def test_what_is_written_is_read_again(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"data{ending}"
    write_table(path, table_of(ROWS, tmp_path / "made.csv"), {})
    again = read_table(path)
    assert [dict(r) for r in again.rows] == ROWS
    assert again.columns == ("text", "score")


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_any_text_survives_reading_and_writing(texts: list[tuple[str, str]], ending: str, tmp_path: Path) -> None:
    rows = [{"first": a, "second": b} for a, b in texts]
    once, twice = tmp_path / f"once{ending}", tmp_path / f"twice{ending}"
    write_table(once, table_of(rows, once), {})
    read = read_table(once)
    write_table(twice, read, {})
    assert [dict(r) for r in read.rows] == rows
    assert twice.read_bytes() == once.read_bytes()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_a_single_column_keeps_even_an_empty_cell(text: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    write_table(path, table_of([{"text": text}], path), {})
    assert [dict(r) for r in read_table(path).rows] == [{"text": text}]


def test_json_values_keep_their_types(tmp_path: Path) -> None:
    row = {"n": 1, "x": 0.1, "yes": True, "nothing": None, "list": [1, "a"], "deep": {"a": {"b": 2}}}
    path = written(tmp_path / "data.jsonl", json.dumps(row) + "\n")
    write_table(tmp_path / "out.jsonl", read_table(path), {"judge": [2.5]})
    assert json.loads((tmp_path / "out.jsonl").read_text()) == row | {"judge": 2.5}


def test_half_a_surrogate_pair_survives_in_jsonl_and_is_refused_in_csv(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.jsonl", '{"text": "a \\ud800 b"}\n'))
    write_table(tmp_path / "out.jsonl", table, {})
    assert read_table(tmp_path / "out.jsonl").rows == table.rows
    with pytest.raises(DataError, match="surrogate"):
        write_table(tmp_path / "out.csv", table, {})


# -- Parquet -----------------------------------------------------------------------------------------------------------


def test_parquet_keeps_the_types_of_its_columns(tmp_path: Path) -> None:
    columns = {
        "text": pa.array(["a", None], pa.large_string()),
        "count": pa.array([1, None], pa.int32()),
        "votes": pa.array([[1, 2], None], pa.list_(pa.int8())),
        "day": pa.array([date(2024, 5, 1), None], pa.date32()),
        "inputs": pa.array([{"x": "river"}, {"x": None}]),
    }
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet")
    write_table(tmp_path / "out.parquet", table, {"judge": [1.5, None]})
    before, after = (pq.read_table(tmp_path / f"{n}.parquet") for n in ("data", "out"))
    assert after.drop_columns(["judge"]).equals(before)
    assert after.schema.field("judge").type == pa.float64()
    assert table.rows[0]["count"] == 1
    assert table.rows[1]["count"] is None


def test_a_data_frame_with_an_index_keeps_it_as_a_column(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"text": ["a", "b"]}, index=pd.Index(["k1", "k2"], name="key"))
    frame.to_parquet(tmp_path / "data.parquet")
    table = read_table(tmp_path / "data.parquet")
    write_table(tmp_path / "out.parquet", table, {"judge": [1.0, 2.0]})
    assert [r["key"] for r in table.rows] == ["k1", "k2"]
    assert set(pq.read_table(tmp_path / "out.parquet").column_names) == {"key", "text", "judge"}


def test_mixed_types_cannot_be_written_as_parquet_and_leave_nothing_behind(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.jsonl", '{"a": 1}\n{"a": "one"}\n'))
    with pytest.raises(DataError, match=r"out\.parquet: cannot be written as Parquet"):
        write_table(tmp_path / "out.parquet", table, {})
    assert [p.name for p in tmp_path.iterdir()] == ["data.jsonl"]


def test_a_list_in_parquet_becomes_json_in_csv(tmp_path: Path) -> None:
    pq.write_table(pa.table({"turns": [["Привет", "ja"]], "days": [[date(2024, 5, 1)]]}), tmp_path / "data.parquet")
    write_table(tmp_path / "out.csv", read_table(tmp_path / "data.parquet"), {})
    assert dict(read_table(tmp_path / "out.csv").rows[0]) == {"turns": '["Привет", "ja"]', "days": '["2024-05-01"]'}


# -- rows, columns, separators -----------------------------------------------------------------------------------------


def test_rows_of_csv_are_numbered_as_a_spreadsheet_does(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", 'text\n"two\nlines"\n\nlast\n'))
    assert table.row_numbers == (2, 4)


def test_rows_of_jsonl_are_numbered_by_line(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.jsonl", '{"a": 1}\n\n{"a": 2}\n'))
    assert table.row_numbers == (1, 3)


def test_rows_of_json_and_parquet_are_numbered_from_one(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.json", '[{"a": 1}, {"a": 2}]'))
    write_table(tmp_path / "data.parquet", table, {})
    assert table.row_numbers == read_table(tmp_path / "data.parquet").row_numbers == (1, 2)


def test_objects_are_flattened_and_lists_are_not(tmp_path: Path) -> None:
    record = {"inputs": {"source": "a", "meta": {"day": 1}}, "votes": [1, 2]}
    assert flatten(record) == {"inputs.source": "a", "inputs.meta.day": 1, "votes": [1, 2]}
    table = read_table(written(tmp_path / "data.jsonl", json.dumps(record) + "\n"))
    assert table.columns == ("inputs.source", "inputs.meta.day", "votes")
    assert dict(table.records[0]) == record


def test_columns_are_those_of_all_rows(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.jsonl", '{"a": 1}\n{"b": 2}\n'))
    write_table(tmp_path / "out.csv", table, {})
    assert table.columns == ("a", "b")
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,\n,2\n"


@pytest.mark.parametrize("header", ["a;b", '"a, b, c, d";b', "\na;b"], ids=["plain", "commas in quotes", "blank line"])
def test_semicolons_are_seen_and_kept(header: str, tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", f"{header}\nwell, yes;3\n"))
    write_table(tmp_path / "out.csv", table, {"c": [1]})
    assert list(table.rows[0].values()) == ["well, yes", "3"]
    assert read_table(tmp_path / "out.csv").delimiter == ";"


def test_another_ending_has_its_own_separator(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.tsv", "a\tb\n1\t2\n"))
    write_table(tmp_path / "out.csv", table, {})
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,2\n"


@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-16"])
def test_a_byte_order_mark_is_no_part_of_the_first_name(encoding: str | None, tmp_path: Path) -> None:
    content = "\ufeffa,b\n1,2\n".encode("utf-8") if encoding != "utf-16" else "a,b\n1,2\n".encode("utf-16")
    assert read_table(written(tmp_path / "data.csv", content), encoding).columns == ("a", "b")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_ending_is_read(end: str, tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", f"a,b{end}1,2{end}3,4{end}"))
    assert [tuple(r.values()) for r in table.rows] == [("1", "2"), ("3", "4")]


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", f"a\n{'x' * 200_000}\n"))
    assert len(table.rows[0]["a"]) == 200_000


def test_the_encoding_that_was_said_is_used(tmp_path: Path) -> None:
    path = written(tmp_path / "data.csv", "text\ncafé\n".encode("cp1252"))
    assert read_table(path, "cp1252").rows[0]["text"] == "café"


# -- refusals ----------------------------------------------------------------------------------------------------------

BROKEN = {
    "open quote": ("d.csv", 'a,b\n1,2\n"x,3\n4,5\n', 3, "quotation mark"),
    "ragged": ("d.csv", "a,b\n1,2\n\n1\n", 4, "1 fields"),
    "header twice": ("d.csv", "a,a\n1,2\n", 1, "twice"),
    "only blank lines": ("d.csv", "\n\n", None, "no header"),
    "broken line": ("d.jsonl", '{"a": 1}\n\n{"a"\n', 3, "not JSON"),
    "no object": ("d.jsonl", '{"a": 1}\n[1]\n', 2, "JSON object"),
    "endless number": ("d.jsonl", f'{{"a": {"1" * 5000}}}\n', 1, "not readable"),
    "nested too deeply": ("d.jsonl", '{"a":' + "[" * 100_000, None, "nested too deeply"),
    "no lines": ("d.jsonl", "\n\n", None, "no rows"),
    "no list": ("d.json", '{"a": 1}', None, "list of objects"),
    "empty list": ("d.json", "[]", None, "no rows"),
    "broken list": ("d.json", '[{"a": 1},\n{"a"', None, "line 2"),
    "no Parquet": ("d.parquet", "PAR1 and no more PAR1", None, "not readable as Parquet"),
    "no bytes": ("d.parquet", "", None, "0 bytes"),
    "NUL": ("d.csv", "a,b\n1,\0\n", None, "binary"),
}


@pytest.mark.parametrize(("name", "content", "row", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_refused_by_row(name: str, content: str, row: int | None, said: str, tmp_path: Path) -> None:
    error = refused(written(tmp_path / name, content))
    assert error.row == row
    assert said in str(error)


def test_a_parquet_file_with_a_name_twice_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=["a", "a"]), tmp_path / "data.parquet")
    assert "twice" in str(refused(tmp_path / "data.parquet"))


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data.csv").mkdir()
    assert "cannot be read" in str(refused(tmp_path / "data.csv"))


@pytest.mark.parametrize("encoding", ["klingon", "hex"])
def test_an_unknown_encoding_is_refused(encoding: str, tmp_path: Path) -> None:
    assert f"no encoding called '{encoding}'" in str(refused(written(tmp_path / "data.csv", "a\n1\n"), encoding))


# -- writing whole or not at all ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_file_that_is_there_is_kept_when_writing_fails(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = read_table(written(tmp_path / "data.csv", "a\n1\n"))
    out = written(tmp_path / f"out{ending}", "what was there")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(DataError, match="No space left"):
        write_table(out, table, {})
    assert out.read_text() == "what was there"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data.csv", out.name]


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", "a\n1\n"))
    with pytest.raises(DataError, match="cannot be written"):
        write_table(tmp_path / "data.csv" / "out.csv", table, {})


def test_an_unknown_ending_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", "a\n1\n"))
    with pytest.raises(DataError, match="unknown kind of file"):
        write_table(tmp_path / "out.xlsx", table, {})


def test_a_new_folder_is_made(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "data.csv", "a\n1\n"))
    write_table(tmp_path / "new" / "out.csv", table, {})
    assert (tmp_path / "new" / "out.csv").read_text() == "a\n1\n"
