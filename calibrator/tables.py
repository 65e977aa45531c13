"""Files of rows: CSV, TSV, JSONL, JSON and Parquet, read to the last cell and written back as they were.

Nested objects are flattened to dotted names (`human.relevance`), lists stay lists. Rows are counted as a spreadsheet
shows them: the first record of a CSV file is row 2, that of every other format row 1.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from calibrator.errors import DataError

FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
FORMATS |= {".parquet": "parquet", ".pq": "parquet"}
SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a file. `records` are the rows as they came, `rows` the same with nested names flattened.

    `row_numbers[i]` is where row i stands in its file.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    records: tuple[Mapping[str, Any], ...]
    row_numbers: tuple[int, ...]
    delimiter: str = ","


def kind_of(path: Path) -> str:
    """Return the format that the ending of `path` stands for. Raises DataError, with those there are, for another."""
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"unknown kind of file; give one of {', '.join(FORMATS)}", file=path)
    return kind


def read_table(path: Path, encoding: str | None = None) -> Table:
    """Return the rows of a file; the format follows from its ending.

    `encoding` is that of a text file, UTF-8 (with or without a byte order mark) by default. Raises DataError if the
    file is missing, empty, binary, in another encoding or malformed; it names file and row.
    """
    kind = kind_of(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from None
    if not content:
        raise DataError("the file is empty (0 bytes)", file=path)
    if kind == "parquet":
        return _read_parquet(path, content)
    text = _decode(content, path, encoding)
    if kind == "csv":
        return _read_csv(path, text)
    try:
        return _read_json(path, text) if kind == "json" else _read_jsonl(path, text)
    except RecursionError:
        raise DataError("its lists or objects are nested too deeply", file=path) from None


def _decode(content: bytes, path: Path, encoding: str | None) -> str:
    if encoding is None:
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError("the file is UTF-16; save it as UTF-8 or give --encoding utf-16", file=path)
        if b"\0" in content:
            raise DataError("this is a binary file, not text", file=path)
    try:
        return content.decode(encoding or "utf-8").removeprefix("\ufeff")
    except LookupError:
        raise DataError(f"there is no encoding called '{encoding}'", file=path) from None
    except UnicodeError as error:
        start = getattr(error, "start", 0)
        row = content[:start].count(b"\n") + 1
        hint = "give the right --encoding" if encoding else "save it as UTF-8 or give --encoding, e.g. cp1252"
        problem = f"not readable as {encoding or 'UTF-8'} (byte {start}, line {row}); {hint}"
        raise DataError(problem, file=path) from None


def _read_csv(path: Path, text: str) -> Table:
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(text)
    previous = csv.field_size_limit(sys.maxsize)  # the module's own limit of 128 KiB is below a long document
    read: list[list[str]] = []
    try:
        read.extend(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except csv.Error as error:
        problem = f"not readable as CSV: {error} (is a quotation mark left open in this row?)"
        raise DataError(problem, file=path, row=len(read) + 1) from None
    finally:
        csv.field_size_limit(previous)
    numbered = [(row, values) for row, values in enumerate(read, 1) if values]
    if not numbered:
        raise DataError("the file has no header and no rows", file=path)
    header = [name.strip() for name in numbered[0][1]]
    _refuse_repeated(header, path, row=numbered[0][0])
    records = []
    for row, values in numbered[1:]:
        if len(values) != len(header):
            problem = f"has {len(values)} fields where the header has {len(header)}"
            raise DataError(f"{problem}; check quotation marks and separators", file=path, row=row)
        records.append(dict(zip(header, values, strict=True)))
    return _table(path, records, [row for row, _ in numbered[1:]], header, delimiter)


def _refuse_repeated(header: Sequence[str], path: Path, row: int | None = None) -> None:
    for name in header:
        if header.count(name) > 1:
            raise DataError("this column stands in the header twice", file=path, row=row, column=name)


def _delimiter(text: str) -> str:
    """What separates the names of the header most often, those in quotation marks left aside."""
    first = re.split(r"[\r\n]", text.lstrip(), maxsplit=1)[0]
    return max(SEPARATORS, key=re.sub(r'"[^"]*"', "", first).count)


def _read_jsonl(path: Path, text: str) -> Table:
    records, rows = [], []
    for row, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"not JSON: {error.msg} at character {error.colno}", file=path, row=row) from None
        except ValueError as error:  # a number of thousands of digits
            raise DataError(f"not readable as JSON: {error}", file=path, row=row) from None
        if not isinstance(record, dict):
            raise DataError("each line must be a JSON object", file=path, row=row)
        records.append(record)
        rows.append(row)
    if not records:
        raise DataError("the file has no rows", file=path)
    return _table(path, records, rows)


def _read_json(path: Path, text: str) -> Table:
    try:
        records = json.loads(text)
    except ValueError as error:
        raise DataError(f"not JSON: {error}", file=path) from None
    if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
        raise DataError("the file must be a JSON list of objects", file=path)
    if not records:
        raise DataError("the file has no rows", file=path)
    return _table(path, records, list(range(1, len(records) + 1)))


def _read_parquet(path: Path, content: bytes) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # Not through pandas, which hides the column that was an index and turns whole numbers with gaps into floats.
        file = pq.ParquetFile(pa.BufferReader(content))
        header = file.schema_arrow.names
        _refuse_repeated(header, path)
        records = file.read().to_pylist()
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"not readable as Parquet: {str(error).splitlines()[0]}", file=path) from None
    return _table(path, records, list(range(1, len(records) + 1)), header)


def _table(
    path: Path,
    records: list[dict[str, Any]],
    rows: list[int],
    header: Sequence[str] | None = None,
    delimiter: str = ",",
) -> Table:
    flat = [flatten(r) for r in records]
    columns = dict.fromkeys(header or ()) if header and not any(map(_nested, records[:1])) else {}
    for row in flat:
        columns.update(dict.fromkeys(row))
    return Table(path, tuple(columns), tuple(flat), tuple(records), tuple(rows), delimiter)


def _nested(record: Mapping[str, Any]) -> bool:
    return any(isinstance(v, dict) for v in record.values())


def flatten(record: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return the record with nested objects as dotted names.

    A list of objects with the same entries (`annotations: [{fluency: 4}, {fluency: 5}]`) becomes a list for each entry;
    other lists stay as they are.
    """
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        elif _is_table(value):
            flat |= {f"{prefix}{key}.{entry}": [v[entry] for v in value] for entry in value[0]}
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _is_table(value: Any) -> bool:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return False
    return all(isinstance(v, dict) and v.keys() == value[0].keys() for v in value)


def write_table(path: Path, table: Table, added: Mapping[str, Sequence[Any]]) -> None:
    """Write the rows of `table`, as they came and in their order, with the columns in `added` behind them.

    The format follows from the ending of `path`. The file appears whole or not at all. Raises DataError if the format
    is unknown or the place cannot be written to.
    """
    kind = kind_of(path)
    records = [dict(r) | {k: v[i] for k, v in added.items()} for i, r in enumerate(table.records)]
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if kind == "parquet":
            _write_parquet(part, table, added, records)
        else:
            part.write_text(_text(kind, path, table, added, records), encoding="utf-8", newline="")
        part.replace(path)
    except OSError as error:
        raise DataError(f"cannot be written: {error.strerror or error}", file=path) from None
    except UnicodeEncodeError:
        problem = "the texts hold characters that are none (half a surrogate pair)"
        raise DataError(f"cannot be written as {kind}: {problem}; write .jsonl", file=path) from None
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _text(
    kind: str, path: Path, table: Table, added: Mapping[str, Sequence[Any]], records: list[dict[str, Any]]
) -> str:
    if kind == "jsonl":
        return "".join(_json(r) + "\n" for r in records)
    if kind == "json":
        return _json(records, indent=1) + "\n"
    same_kind = path.suffix.lower() == table.path.suffix.lower()
    delimiter = "\t" if path.suffix.lower() == ".tsv" else table.delimiter if same_kind else ","
    names = [*table.columns, *added]
    odd = any(c in name for name in names for c in SEPARATORS)  # or it could not be told what separates the names
    lines = [_csv_line(names, delimiter, csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL)]
    for i, row in enumerate(table.rows):
        values = dict(row) | {k: v[i] for k, v in added.items()}
        lines.append(_csv_line([_cell(values.get(name)) for name in names], delimiter))
    return "".join(lines)


def _json(value: Any, indent: int | None = None) -> str:
    """Return a value as JSON, its letters as they are, unless they cannot be written as UTF-8."""
    plain = json.dumps(value, ensure_ascii=False, default=str, indent=indent)
    try:
        plain.encode()
    except UnicodeEncodeError:
        return json.dumps(value, default=str, indent=indent)
    return plain


def _cell(value: Any) -> Any:
    return "" if value is None else _json(value) if isinstance(value, list) else value


def _csv_line(values: Sequence[Any], delimiter: str, quoting: Literal[0, 1] = csv.QUOTE_MINIMAL) -> str:
    """Return one record; every line break inside a cell is quoted, which Python before 3.13 does for `\\r\\n` only."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerow(values)
    return out.getvalue().removesuffix("\r\n") + "\n"


def _write_parquet(part: Path, table: Table, added: Mapping[str, Sequence[Any]], records: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        if kind_of(table.path) == "parquet":
            whole = pq.ParquetFile(pa.BufferReader(table.path.read_bytes())).read()  # again: its types are kept
            for name, values in added.items():
                whole = whole.append_column(name, pa.array(list(values)))
        else:
            columns = dict.fromkeys(name for r in records for name in r)
            whole = pa.table({name: pa.array([r.get(name) for r in records]) for name in columns})
        pq.write_table(whole, part)
    except (pa.ArrowException, OverflowError) as error:
        problem = f"cannot be written as Parquet: {str(error).splitlines()[0]}; write .jsonl"
        raise DataError(problem, file=part.with_name(part.name[1:].removesuffix(".part"))) from None
