"""From the columns of a table to the field that is ranked by labels, and the labels that occur together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrator.cells import missing
from calibrator.columns import GROUP, SOURCE, SYSTEM, find, plain
from calibrator.errors import ConfigError, DataError
from calibrator.stats.labels import co_occurrence, majority
from calibrator.stats.systems import SystemScore, macro_f1_score, share_score
from calibrator.studies.labels import label_text, listed
from calibrator.studies.ranking.field import Array, Field, members
from calibrator.studies.ranking.result import CoOccurrence
from calibrator.studies.ranking.shared_labels import check_shared
from calibrator.studies.ranking.study import About
from calibrator.tables import Table
from calibrator.texts import digest, digest_set, normalise

TRUE, FALSE = frozenset({"1", "true", "yes", "y"}), frozenset({"0", "false", "no", "n"})
MOST_LABELS = 50  # different ones in a column: more are a text or a number


@dataclass(frozen=True, slots=True)
class LabelColumns:
    """The columns of a table that hold labels: of annotators, of judges, and what was intended, "" for none.

    `label` is the one whose share is a system's score where nothing was intended. `system` and `source` None are
    guessed by their usual names; without a source every row is one of its own.
    """

    human: tuple[str, ...]
    judges: tuple[str, ...]
    intended: str = ""
    label: str = ""
    system: str | None = None
    source: str | None = None


def labelled_field(table: Table, asked: LabelColumns) -> tuple[Field, tuple[str, ...]]:
    """Return what judges and annotators labelled, and what must be known of it.

    The humans' label is the majority of the annotators', none where two labels are equally frequent. A system's score
    is the macro-F1 of its labels against those intended, or the share of its items that have one label.

    Raises DataError if a column is not there, holds no labels or several in a cell; ConfigError if it is not said what
    the score is of, if a column is named twice, and if one shares no label with those that it is compared with.
    """
    _check_named(table, asked)
    named = {name: _cells(table, find(table, name)) for name in (*asked.human, *asked.judges)}
    intended = _cells(table, find(table, asked.intended)) if asked.intended else None
    strange = check_shared(
        {name: named[name] for name in asked.human},
        {name: named[name] for name in asked.judges},
        {asked.intended: intended} if intended is not None else {},
    )
    every = {v for cells in [*named.values(), *([intended] if intended else [])] for v in cells if v is not None}
    labels = tuple(sorted(every))
    system = _role(table, asked.system, SYSTEM, "system")
    if system is None:
        raise ConfigError("the data names no systems; name the column that says what generated a text: --system")
    source = _role(table, asked.source, (*GROUP, *SOURCE), "source", taken=system)
    names = [_text(row.get(system)) for row in table.rows]
    kept = [k for k, name in enumerate(names) if name]
    told = [f"{len(names) - len(kept)} rows name no system and are left out"] if len(kept) < len(names) else []
    if not kept:
        raise ConfigError(f"column '{system}' names no systems; name another: --system")
    systems, member = members([names[k] for k in kept])
    sources = tuple(_source(table, source, k) for k in kept)
    annotators = np.array([_numbers(named[name], labels)[kept] for name in asked.human])
    human = majority(annotators)
    told += [*_told(annotators, human, source), *strange]
    field = Field(
        systems=systems,
        member=member,
        sources=sources,
        human=human,
        judges={name: _numbers(named[name], labels)[kept] for name in asked.judges},
        score=_score(asked, labels, None if intended is None else _numbers(intended, labels)[kept]),
        annotators=annotators,
        raters=asked.human,
    )
    return _with_intended(field, intended, labels, kept), tuple(told)


def labels_digest(table: Table, asked: LabelColumns) -> str:
    """Return what tells apart the rows that are ranked on: their systems and sources, and what humans labelled.

    The ledger of looks knows these rows by it, as it knows a test side of ratings by its digest; the order of rows
    does not count. Raises as `labelled_field` does for columns that cannot be read.
    """
    system = _role(table, asked.system, SYSTEM, "system")
    source = _role(table, asked.source, (*GROUP, *SOURCE), "source", taken=system)
    named = (*asked.human, *((asked.intended,) if asked.intended else ()))
    labels = list(zip(*(_cells(table, find(table, name)) for name in named), strict=True))
    return digest_set(
        digest([[_text(row.get(column)) for column in (system, source) if column], said])
        for row, said in zip(table.rows, labels, strict=True)
        if any(label is not None for label in said[: len(asked.human)])
    )


def described(table: Table, asked: LabelColumns) -> str:
    """Return which columns are read, in one line, guesses marked."""
    system = _role(table, asked.system, SYSTEM, "system")
    source = _role(table, asked.source, (*GROUP, *SOURCE), "source", taken=system)
    parts = [f"human={', '.join(asked.human)}", f"judges={', '.join(asked.judges)}"]
    parts += [f"intended={asked.intended}"] if asked.intended else []
    for role, column, said in (("system", system, asked.system), ("source", source, asked.source)):
        parts += [f"{role}={column}{'' if said else ' (guessed)'}"] if column else []
    return "; ".join(parts)


def _check_named(table: Table, asked: LabelColumns) -> None:
    """Raise ConfigError unless there are annotators and judges, and each column is named once."""
    if not asked.human or not asked.judges:
        raise ConfigError("ranking by labels takes both: --human-labels COL[,COL] and --judge-labels COL[,COL]")
    roles = [(name, "--human-labels") for name in asked.human] + [(name, "--judge-labels") for name in asked.judges]
    roles += [(asked.intended, "--intended")] if asked.intended else []
    seen: dict[str, str] = {}
    for name, option in roles:
        column = find(table, name)
        if column in seen:
            where = f"in {option} twice" if seen[column] == option else f"in {seen[column]} and in {option}"
            raise ConfigError(f"{option}: column '{column}' stands {where}; it would be compared with itself")
        seen[column] = option


def _with_intended(field: Field, intended: list[str | None] | None, labels: Sequence[str], kept: list[int]) -> Field:
    """Return the field without the figures of items for which nothing was intended: they count in no macro-F1."""
    if intended is None:
        return field
    there = np.isfinite(_numbers(intended, labels)[kept])
    if not there.any():
        raise ConfigError("--intended: no item has a label there")
    return Field(
        field.systems,
        field.member,
        field.sources,
        np.where(there, field.human, np.nan),
        {name: np.where(there, values, np.nan) for name, values in field.judges.items()},
        field.score,
        np.where(there, field.annotators, np.nan),
        field.raters,
    )


def _score(asked: LabelColumns, labels: Sequence[str], intended: Array | None) -> SystemScore:
    if intended is not None:
        if asked.label:
            raise ConfigError("--label: with --intended a system's score is the macro-F1; leave one of the two out")
        return macro_f1_score(intended, np.arange(len(labels), dtype=float))
    label = _label(asked.label)
    if not label and set(labels) <= TRUE | FALSE:
        label = next((v for v in labels if v in TRUE), "")
    if label not in labels:
        wrong = f"no column holds '{label}'" if label else "it is not said whose share is a system's score"
        listed = ", ".join(labels[:20])
        raise ConfigError(f"--label: {wrong}; labels there: {listed} (or name --intended for the macro-F1)")
    return share_score(float(labels.index(label)))


def _told(annotators: Array, human: Array, source: str | None) -> list[str]:
    rated = (~np.isnan(annotators)).any(axis=0)
    tied = int((rated & np.isnan(human)).sum())
    told = []
    if tied:
        told.append(
            f"{tied} of {int(rated.sum())} labelled items have no majority among the annotators and are left out"
        )
    if source is None:
        told.append("no column of sources is known (--source): every row is taken to have its own")
    return told


def _cells(table: Table, column: str) -> list[str | None]:
    """Return the labels of a column, None where there is none.

    Raises DataError if it holds no labels, too many different ones, or several in a cell.
    """
    found = [_one(table, row.get(column), at, column) for row, at in zip(table.rows, table.row_numbers, strict=True)]
    different = {v for v in found if v is not None}
    if not different:
        raise DataError("holds no labels", file=table.path, column=column)
    if len(different) > MOST_LABELS:
        raise DataError(f"holds {len(different)} different values, which are no labels", file=table.path, column=column)
    return found


def _one(table: Table, cell: Any, at: int, column: str) -> str | None:
    """Return the one label of a cell, also that of a list of one; None for none. Raises DataError for several."""
    parts = listed(cell)
    labels = list(dict.fromkeys(_label(p) for p in ([cell] if parts is None else parts) if not missing(p)))
    if len(labels) > 1:
        shown = ", ".join(f"'{label[:40]}'" for label in labels[:3])
        problem = f"a list of {len(labels)} labels ({shown}) where systems are ranked by one; name a column with one"
        raise DataError(problem, file=table.path, row=at, column=column)
    return labels[0] if labels else None


def _label(cell: Any) -> str:
    return label_text(cell).lower()


def _numbers(cells: Sequence[str | None], labels: Sequence[str]) -> Array:
    place = {label: float(k) for k, label in enumerate(labels)}
    return np.array([np.nan if c is None else place[c] for c in cells], dtype=float)


def _text(cell: Any) -> str:
    return "" if missing(cell) else str(cell).strip()


def _role(table: Table, said: str | None, usual: Sequence[str], role: str, taken: str | None = None) -> str | None:
    """Return the column in a role, guessed by the usual names where nobody named it."""
    if said == "none":
        return None
    if said:
        return find(table, said)
    there = {plain(c): c for c in reversed(table.columns) if c != taken}
    return next((there[name] for name in usual if name in there), None)


def _source(table: Table, column: str | None, row: int) -> str:
    text = _text(table.rows[row].get(column)) if column else ""
    return normalise(text) or text or f"row {table.row_numbers[row]}"


def about_labels(table: Table, asked: LabelColumns, name: str, told: tuple[str, ...]) -> About:
    """Return what the field is, in words."""
    what = f"against {asked.intended}" if asked.intended else f"share of '{asked.label}'" if asked.label else "share"
    labels = digest([asked.human, asked.judges, asked.intended, asked.label])[:8]
    return About(
        name=asked.intended or asked.label or "labels",
        data=name,
        side=f"all labelled rows ({', '.join(asked.human)}; {what})",
        kind="labels",
        signature=f"columns:{labels}",
        cautions=told,
    )


def occurring_together(table: Table, names: Sequence[str]) -> CoOccurrence:
    """Return how many rows have both of two labels, of the columns named.

    A column of lists gives its entries, one of yes and no (also 1 and 0, true and false) its own name where it says
    yes, any other `column=value`. Rows without any label in these columns count as items too. Raises DataError if a
    column is not there or holds no labels.
    """
    columns = [find(table, name) for name in names]
    kinds = {column: _kind(table, column) for column in columns}
    sets = [frozenset(label for c in columns for label in _labels_of(row, c, kinds[c])) for row in table.rows]
    order = {label: k for k, label in enumerate(columns)}
    counts = Counter(label for labels in sets for label in labels)
    labels = sorted(counts, key=lambda label: (order.get(label, len(order)), label))
    if len(labels) > MOST_LABELS:
        raise ConfigError(f"--co-occurrence: {len(labels)} different labels are too many for a table")
    found = co_occurrence(sets, labels)
    return CoOccurrence(labels=tuple(labels), counts=tuple(map(tuple, found.tolist())), items=len(sets))


def _kind(table: Table, column: str) -> str:
    values = [v for row in table.rows if not missing(v := row.get(column))]
    if not values:
        raise DataError("holds no labels", file=table.path, column=column)
    if any(listed(v) is not None for v in values):
        return "list"
    return "yes or no" if {_label(v) for v in values} <= TRUE | FALSE else "value"


def _labels_of(row: Mapping[str, Any], column: str, kind: str) -> list[str]:
    cell = row.get(column)
    if missing(cell):
        return []
    if kind == "list":
        parts = listed(cell)
        return [label_text(entry) for entry in ([cell] if parts is None else parts) if not missing(entry)]
    if kind == "yes or no":
        return [column] if _label(cell) in TRUE else []
    return [f"{column}={_label(cell)}"]
