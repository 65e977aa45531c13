"""Files of rows: CSV, TSV, JSONL, JSON and Parquet, read to the last cell and written back as they were.

Nested objects are flattened to dotted names (`human.relevance`), lists stay lists. Rows are counted as a spreadsheet
shows them: the first record of a CSV file is row 2, that of every other format row 1.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.errors import DataError

FORMATS = {".csv": "csv", ".tsv": "csv", ".txt": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json"}
FORMATS |= {".parquet": "parquet", ".pq": "parquet"}


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


def read_table(path: Path, encoding: str | None = None) -> Table:
    """Return the rows of a file; the format follows from its ending.

    `encoding` is that of a text file, UTF-8 (with or without a byte order mark) by default. Raises DataError if the
    file is missing, empty, binary, in another encoding or malformed; it names file and row.
    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"unknown kind of file; give one of {', '.join(FORMATS)}", file=path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise DataError("there is no such file", file=path) from None
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror or error}", file=path) from None
    if not content:
        raise DataError("the file is empty (0 bytes)", file=path)
    if kind == "parquet":
        return _read_parquet(path)
    text = _decode(content, path, encoding)
    if kind == "csv":
        return _read_csv(path, text)
    return _read_json(path, text) if kind == "json" else _read_jsonl(path, text)


def _decode(content: bytes, path: Path, encoding: str | None) -> str:
    if encoding is None:
        if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError("the file is UTF-16; save it as UTF-8 or give --encoding utf-16", file=path)
        if b"\0" in content:
            raise DataError("this is a binary file, not text", file=path)
    try:
        return content.decode(encoding or "utf-8-sig")
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
    try:
        numbered = [
            (n, r) for n, r in enumerate(csv.reader(io.StringIO(text), delimiter=delimiter, strict=True), 1) if r
        ]
    except csv.Error as error:
        raise DataError(f"not readable as CSV: {error} (is a quotation mark left open?)", file=path) from None
    finally:
        csv.field_size_limit(previous)
    if not numbered:
        raise DataError("the file has no header and no rows", file=path)
    header = [name.strip() for name in numbered[0][1]]
    for name in header:
        if header.count(name) > 1:
            raise DataError("this column stands in the header twice", file=path, row=1, column=name)
    records = []
    for row, values in numbered[1:]:
        if len(values) != len(header):
            problem = f"has {len(values)} fields where the header has {len(header)}"
            raise DataError(f"{problem}; check quotation marks and separators", file=path, row=row)
        records.append(dict(zip(header, values, strict=True)))
    return _table(path, records, [row for row, _ in numbered[1:]], header, delimiter)


def _delimiter(text: str) -> str:
    first = text.split("\n", 1)[0]
    return max(",;\t", key=first.count)


def _read_jsonl(path: Path, text: str) -> Table:
    records, rows = [], []
    for row, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataError(f"not JSON: {error.msg} at character {error.colno}", file=path, row=row) from None
        if not isinstance(record, dict):
            raise DataError("each line must be a JSON object", file=path, row=row)
        records.append(record)
        rows.append(row)
    return _table(path, records, rows)


def _read_json(path: Path, text: str) -> Table:
    try:
        records = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON: {error.msg} at character {error.colno}", file=path, row=error.lineno) from None
    if not isinstance(records, list) or not all(isinstance(r, dict) for r in records):
        raise DataError("the file must be a JSON list of objects", file=path)
    return _table(path, records, list(range(1, len(records) + 1)))


def _read_parquet(path: Path) -> Table:
    import pandas as pd
    import pyarrow as pa

    try:
        frame = pd.read_parquet(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"not readable as Parquet: {str(error).splitlines()[0]}", file=path) from None
    records = [{str(k): _plain(v) for k, v in r.items()} for r in frame.to_dict("records")]
    return _table(path, records, list(range(1, len(records) + 1)), [str(c) for c in frame.columns])


def _plain(value: Any) -> Any:
    """Return a cell of a data frame as the JSON value it stands for; missing is None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    import pandas as pd

    return None if pd.isna(value) else value


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
    """Return the record with nested objects as dotted names; lists stay lists."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def write_table(path: Path, table: Table, added: Mapping[str, Sequence[Any]]) -> None:
    """Write the rows of `table`, as they came and in their order, with the columns in `added` behind them.

    The format follows from the ending of `path`. The file appears whole or not at all. Raises DataError if the format
    is unknown or the place cannot be written to.
    """
    kind = FORMATS.get(path.suffix.lower())
    if kind is None:
        raise DataError(f"unknown kind of file; give one of {', '.join(FORMATS)}", file=path)
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
        part.unlink(missing_ok=True)
        raise DataError(f"cannot be written: {error.strerror or error}", file=path) from None


def _text(
    kind: str, path: Path, table: Table, added: Mapping[str, Sequence[Any]], records: list[dict[str, Any]]
) -> str:
    if kind == "jsonl":
        return "".join(json.dumps(r, ensure_ascii=False, default=str) + "\n" for r in records)
    if kind == "json":
        return json.dumps(records, ensure_ascii=False, indent=1, default=str) + "\n"
    out = io.StringIO()
    delimiter = "\t" if path.suffix.lower() == ".tsv" else table.delimiter
    writer = csv.DictWriter(out, [*table.columns, *added], delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    for row, i in zip(table.rows, range(len(records)), strict=True):
        values = dict(row) | {k: v[i] for k, v in added.items()}
        writer.writerow(
            {k: "" if v is None else json.dumps(v) if isinstance(v, list) else v for k, v in values.items()}
        )
    return out.getvalue()


def _write_parquet(part: Path, table: Table, added: Mapping[str, Sequence[Any]], records: list[dict[str, Any]]) -> None:
    import pandas as pd

    if FORMATS.get(table.path.suffix.lower()) == "parquet":
        frame = pd.read_parquet(table.path)  # again, so that the types of its columns are kept
        for name, values in added.items():
            frame[name] = list(values)
    else:
        frame = pd.DataFrame(records)
    frame.to_parquet(part, index=False)
