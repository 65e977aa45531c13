"""Labelled texts from a table: which column is what, how labels are written in a cell, and what recurs."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calibrator.cells import missing, number
from calibrator.columns import OUTPUT, REFERENCE, SOURCE, plain
from calibrator.errors import DataError
from calibrator.studies.labels import label_text, listed, quoted
from calibrator.studies.types.base import Example, Labels
from calibrator.studies.types.scheme import Scheme, spelling
from calibrator.tables import Table, read_table
from calibrator.texts import normalise

# What holds a list is meant before what holds one label.
LABELS = "labels total_types all_types types label type categories category classes class tags intents intent".split()
SEPARATORS = "|;,"
NOBODY = "none"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read: one of labels, or several of 0 and 1, a label each; `guessed` names those nobody named."""

    text: str
    labels: tuple[str, ...]
    source: str | None
    guessed: tuple[str, ...] = ()

    def described(self) -> str:
        """Return the columns in one line, guesses marked."""
        named = {"text": self.text, "labels": ", ".join(map(quoted, self.labels)), "source": self.source}
        told = [f"{k}={v}{' (guessed)' if k in self.guessed else ''}" for k, v in named.items() if v]
        return "; ".join(told)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A table of texts with their labels as they are spelled in it; None in `labels` where a row has none.

    `gaps` are the places of rows that have a 0 or 1 in some columns of labels and nothing in others: what is true of
    them is not known.
    """

    path: Path
    table: Table
    columns: Columns
    examples: tuple[Example, ...]
    labels: tuple[tuple[str, ...] | None, ...]
    gaps: frozenset[int] = frozenset()

    @property
    def found(self) -> Counter[str]:
        """How often each label occurs, as it is spelled."""
        return Counter(label for row in self.labels for label in row or ())


def read_spelled(
    path: Path,
    text: str | None = None,
    labels: str | None = None,
    source: str | None = None,
    *,
    encoding: str | None = None,
    wants_labels: bool = True,
) -> Spelled:
    """Return the texts of a CSV, JSONL or Parquet file with their labels.

    `labels` names a column of lists (JSON, or joined by "|", ";" or ","), or several columns of 0 and 1 by comma;
    `source` "none" means that there is none. Raises DataError if a column that is named or needed is not there.
    """
    table = read_table(path, encoding)
    columns = find_columns(table, text, labels, source, wants_labels=wants_labels)
    texts = [_text(row.get(columns.text)) for row in table.rows]
    sources = [_text(row.get(columns.source)) if columns.source else "" for row in table.rows]
    examples = tuple(
        Example(f"{path.name}:{row}", said, None, of, of or normalise(said) or said, row)
        for said, of, row in zip(texts, sources, table.row_numbers, strict=True)
    )
    if not columns.labels:
        return Spelled(path, table, columns, examples, (None,) * len(examples))
    if len(columns.labels) > 1:
        return Spelled(path, table, columns, examples, *_marks(table, columns.labels))
    return Spelled(path, table, columns, examples, _cells(table, columns.labels[0]))


def labelled(data: Spelled, scheme: Scheme, *, empty: bool) -> tuple[tuple[Example, ...], Counter[str]]:
    """Return the rows that have labels, as the scheme names them, and how often labels occur that it does not know.

    Unknown labels stay in the sets as they are spelled: what is true of a text is true whether it can be said or not.
    An empty cell is a text without a label where `empty` says so, and else a row that nobody has labelled. A row with
    gaps is left out either way.
    """
    kept, unknown = [], Counter[str]()
    for place, (example, row) in enumerate(zip(data.examples, data.labels, strict=True)):
        if place in data.gaps or (row is None and not empty):
            continue
        named = [(label, scheme.find(label)) for label in row or ()]
        unknown.update(label for label, name in named if name is None)
        kept.append(replace(example, labels=frozenset(name or label for label, name in named)))
    return tuple(kept), unknown


@dataclass(frozen=True, slots=True)
class Leak:
    """What stands on both sides: how many test texts, and test sources, recur in what was learnt from."""

    texts: int
    sources: int


def leak(train: Iterable[Example], test: Sequence[Example]) -> Leak:
    """Return how many rows of `test` repeat a text or a source of `train` but for case, punctuation and spacing."""
    seen = list(train)
    sources = {_same(e.source) for e in seen if e.source}
    return Leak(sum(recurring(seen, test)), sum(_same(e.source) in sources for e in test if e.source))


def recurring(train: Iterable[Example], test: Sequence[Example]) -> tuple[bool, ...]:
    """Return for each row of `test` whether its text stands in `train`."""
    texts = {_same(e.text) for e in train}
    return tuple(_same(e.text) in texts for e in test)


def find_columns(
    table: Table, text: str | None, labels: str | None, source: str | None, *, wants_labels: bool = True
) -> Columns:
    """Return which columns to read. Raises DataError, with the nearest names, if one is not there."""
    guessed = []
    if text is None:
        text = _guess(table, (*OUTPUT, *REFERENCE))
        guessed.append("text")
    if source is None:
        source = _guess(table, SOURCE)
        guessed.append("source")
        source = None if source == text else source
    if labels is None and wants_labels:
        labels = _guess_labels(table, {text, source})
        guessed.append("labels")
    if text is None:
        raise DataError(f"no column looks like the text; name it with --text ({_listed(table)})", file=table.path)
    if labels is None and wants_labels:
        raise DataError(f"no column looks like labels; name it with --labels ({_listed(table)})", file=table.path)
    source = None if source == NOBODY and NOBODY not in table.columns else source
    several = _several(table, labels) if labels else ()
    for option, name in (("text", text), *(("labels", n) for n in several), ("source", source)):
        if name is not None and name not in table.columns:
            near = difflib.get_close_matches(name, table.columns, n=3)
            hint = f"did you mean {', '.join(near)}?" if near else _listed(table)
            raise DataError(f"--{option}: there is no column '{name}'; {hint}", file=table.path)
    return Columns(text, several, source, tuple(guessed))


def split_cell(cell: Any, separator: str) -> tuple[str, ...]:
    """Return the labels in a cell: a list, one written as text, or names joined by `separator` ("" for none)."""
    found = listed(cell)
    parts = _parts(cell, separator) if found is None else found
    return tuple(dict.fromkeys(label_text(p) for p in parts if not missing(p)))


def separator_of(cells: Iterable[Any]) -> str:
    """Return what joins labels in a column of texts: "|" if any cell has it, else ";", else ","; "" if none has."""
    said = [c for c in cells if isinstance(c, str) and not c.strip().startswith("[")]
    return next((s for s in SEPARATORS if any(s in c for c in said)), "")


def _cells(table: Table, column: str) -> tuple[tuple[str, ...] | None, ...]:
    separator = separator_of(row.get(column) for row in table.rows)
    return tuple(split_cell(row.get(column), separator) or None for row in table.rows)


def _marks(table: Table, columns: tuple[str, ...]) -> tuple[tuple[tuple[str, ...] | None, ...], frozenset[int]]:
    """Return the labels of each row of 0 and 1, None where there is none, and the places of the rows with gaps."""
    labels: list[tuple[str, ...] | None] = []
    gaps = set()
    for place, (row, at) in enumerate(zip(table.rows, table.row_numbers, strict=True)):
        truths = [_truth(table, row.get(column), at, column) for column in columns]
        if None in truths and any(t is not None for t in truths):
            gaps.add(place)
            labels.append(None)
            continue
        labels.append(tuple(c for c, truth in zip(columns, truths, strict=True) if truth) or None)
    return tuple(labels), frozenset(gaps)


def _truth(table: Table, cell: Any, at: int, column: str) -> bool | None:
    """Return what a cell of 0 or 1 says, None where it is empty. Raises DataError for anything else."""
    if missing(cell):
        return None
    truth = {"true": 1.0, "false": 0.0}.get(str(cell).strip().lower(), number(cell))
    if truth not in (0.0, 1.0):
        problem = f"'{_text(cell)[:40]}' is neither 0 nor 1; one column of labels is named alone"
        raise DataError(problem, file=table.path, row=at, column=column)
    return bool(truth)


def _parts(cell: Any, separator: str) -> list[Any]:
    return cell.split(separator) if isinstance(cell, str) and separator else [cell]


def _text(cell: Any) -> str:
    if missing(cell):
        return ""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()


def _several(table: Table, labels: str) -> tuple[str, ...]:
    if labels in table.columns:
        return (labels,)
    return tuple(dict.fromkeys(part.strip() for part in labels.split(",") if part.strip()))


def _guess(table: Table, names: Sequence[str]) -> str | None:
    known = {plain(c): c for c in reversed(table.columns)}
    return next((known[n] for n in names if n in known), None)


def _guess_labels(table: Table, taken: set[str | None]) -> str | None:
    """Return the column that is called like labels; of several, one that holds lists."""
    known = {plain(c): c for c in table.columns if c not in taken}
    named = [known[n] for n in LABELS if n in known]
    named += [c for p, c in known.items() if c not in named and p.endswith(tuple(f"_{n}" for n in LABELS))]
    lists = [c for c in named if any(isinstance(row.get(c), list) for row in table.rows)]
    return next(iter([*lists, *named]), None)


def _listed(table: Table) -> str:
    return f"columns: {', '.join(table.columns)}"


def _same(text: str) -> str:
    return spelling(text)


def true_labels(examples: Sequence[Example]) -> list[Labels]:
    """Return the labels of examples that all have some. Raises ValueError if one has not been labelled."""
    sets = [e.labels for e in examples]
    if any(s is None for s in sets):
        raise ValueError("an example without labels where labels are needed")
    return [s for s in sets if s is not None]
