"""What is answered: the texts of one column of any table, each once unless asked otherwise."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibrator.calibration.seeds import seed_for
from calibrator.cells import missing
from calibrator.columns import GROUP, IDENTIFIER, OUTPUT, REFERENCE, SOURCE, Wanted, find, plain
from calibrator.errors import ConfigError, DataError
from calibrator.tables import Table
from calibrator.texts import digest, normalise, unusable

NONE = "none"
_ONLY = "text"  # what a table of nothing but sources may call them


@dataclass(frozen=True, slots=True)
class Source:
    """A text to answer.

    `repeat` is how often the same text stood above it, `required` what its row says of the type or the attributes that
    the answer should have. `group` is None where the table has none; `groups` are those of all rows with this text.
    `row` is its place in the file.
    """

    id: str
    text: str
    reference: str | None = None
    group: str | None = None
    required: tuple[str, ...] = ()
    repeat: int = 0
    groups: frozenset[str] = frozenset()
    row: int = 0

    @property
    def key(self) -> str:
        """What two sources share that are the same but for case, accents, punctuation and spacing."""
        return key_of(self.text)


@dataclass(frozen=True, slots=True)
class Read:
    """What was read: the sources, the columns by role, how many rows there were, and what was left out, in words.

    `guessed` are the roles whose columns nobody named.
    """

    sources: tuple[Source, ...]
    columns: Mapping[str, str]
    rows: int
    left_out: tuple[str, ...] = ()
    guessed: frozenset[str] = frozenset()

    def told(self) -> str:
        """Return the columns in one line, guesses marked."""
        return told_columns(self.columns, self.guessed)


def read_sources(table: Table, wanted: Wanted, *, required: str | None = None, each_row: bool = False) -> Read:
    """Return the texts to answer; `required` is the column that says what each answer should be.

    Rows with the same source (and the same requirement) are one, the first of them, unless `each_row`. Rows without a
    word in them are left out. Raises DataError, with the nearest names, for a column that is not there, and if there
    is nothing to answer.
    """
    columns = source_columns(table, wanted)
    if required is not None:
        columns["required"] = find(table, required)
    read = [_source(columns, row, values) for row, values in zip(table.row_numbers, table.rows, strict=True)]
    usable = [s for s in read if unusable(s.text) is None]
    left_out = [f"{len(read) - len(usable)} rows have no word to answer"] if len(usable) < len(read) else []
    if required is not None and (unsaid := sum(not s.required for s in usable)):
        left_out.append(f"{unsaid} rows do not say what is required")
        usable = [s for s in usable if s.required]
    if not usable:
        raise DataError("there is no text to answer", file=table.path, column=columns["source"])
    usable = _with_groups(usable)
    first: dict[object, Source] = {}
    for source in usable:
        first.setdefault((source.key, source.required), source)
    kept = usable if each_row else list(first.values())
    if len(kept) < len(usable):
        left_out.append(f"{len(usable) - len(kept)} rows repeat a source, which is answered once (--each-row: again)")
    return Read(_told_apart(kept), columns, len(read), tuple(left_out), unnamed(columns, wanted))


def chosen(sources: Sequence[Source], limit: int | None, seed: int) -> tuple[Source, ...]:
    """Return `limit` of the sources in their order, drawn by the seed; all where there are no more.

    Raises ConfigError if `limit` is below 1.
    """
    if limit is None or limit >= len(sources):
        return tuple(sources)
    if limit < 1:
        raise ConfigError(f"--limit: {limit} is no number of sources above 0")
    places = random.Random(seed_for(seed, "limit")).sample(range(len(sources)), limit)
    return tuple(sources[k] for k in sorted(places))


def source_columns(table: Table, wanted: Wanted) -> dict[str, str]:
    """Return the columns of source, reference, group and id by role, said or guessed by the usual names.

    Raises DataError if none looks like the source. A column of other texts is never taken for it.
    """
    found: dict[str, str] = {}
    roles = (("source", SOURCE), ("reference", REFERENCE), ("group", GROUP), ("id", IDENTIFIER))
    for role, usual in roles:
        said = getattr(wanted, "identifier" if role == "id" else role)
        column = find(table, said) if said not in (None, NONE) else None
        if said is None:
            column = guessed(table, usual, set(found.values()))
        if column is None and role == "source" and said is None:
            column = next((c for c in table.columns if plain(c) == _ONLY), None)
            column = table.columns[0] if column is None and len(table.columns) == 1 else column
        if column is not None:
            found[role] = column
    if "source" not in found:
        raise DataError(f"no column looks like the source; name it with --source ({_listed(table)})", file=table.path)
    return found


def unnamed(columns: Mapping[str, str], wanted: Wanted) -> frozenset[str]:
    """Return the roles among those of `source_columns` that nobody named."""
    roles = {"source": wanted.source, "reference": wanted.reference, "group": wanted.group, "id": wanted.identifier}
    return frozenset(role for role, said in roles.items() if said is None and role in columns)


def told_columns(columns: Mapping[str, str], guesses: Iterable[str]) -> str:
    """Return columns by role in one line, guesses marked."""
    marked = set(guesses)
    return "; ".join(f"{role}={column}{' (guessed)' if role in marked else ''}" for role, column in columns.items())


def answer_column(table: Table, said: str | None, taken: Iterable[str] = ()) -> str:
    """Return the column of answers to learn from: `said`, else a reference, else an output that is not taken.

    Raises DataError if there is none.
    """
    column = find(table, said) if said is not None else guessed(table, [*REFERENCE, *OUTPUT], set(taken))
    if column is None:
        problem = f"no column looks like an answer; name it with --answers ({_listed(table)})"
        raise DataError(problem, file=table.path)
    return column


def guessed(table: Table, usual: Sequence[str], taken: set[str]) -> str | None:
    """Return the first column that has a usual name and is not taken, None if there is none."""
    free = {plain(c): c for c in reversed(table.columns) if c not in taken}
    return next((free[name] for name in usual if name in free), None)


def key_of(text: str) -> str:
    """Return what two sources share that are the same but for case, accents, punctuation and spacing."""
    return normalise(text) or text.strip()


def text_of(value: Any) -> str:
    """Return a cell as a text; the strings of a list are its lines."""
    if missing(value):
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _source(columns: Mapping[str, str], row: int, values: Mapping[str, Any]) -> Source:
    def text(role: str) -> str:
        return text_of(values.get(columns[role])).strip() if role in columns else ""

    cell = values.get(columns["required"]) if "required" in columns else None
    return Source(
        text("id") or str(row),
        text("source"),
        text("reference") or None,
        text("group") or None,
        _required(cell),
        row=row,
    )


def _with_groups(sources: Sequence[Source]) -> list[Source]:
    """Return the sources with the groups of all rows that have the same text."""
    groups: dict[str, set[str]] = {}
    for source in sources:
        groups.setdefault(source.key, set()).update([source.group] if source.group is not None else ())
    return [replace(s, groups=frozenset(groups[s.key])) for s in sources]


def _required(cell: Any) -> tuple[str, ...]:
    """Return the names in a cell: a list, a JSON list, or names joined by +, commas or semicolons."""
    if isinstance(cell, str) and cell.strip().startswith("["):
        try:
            cell = json.loads(cell)
        except ValueError:
            cell = cell.strip().strip("[]")
    if isinstance(cell, list):
        return tuple(str(c).strip() for c in cell if str(c).strip())
    for mark in ("+", ";"):
        cell = text_of(cell).replace(mark, ",")
    return tuple(part.strip(" '\"") for part in str(cell).split(",") if part.strip(" '\""))


def _told_apart(sources: Sequence[Source]) -> tuple[Source, ...]:
    """Return the sources with ids of their own and with how often the same was asked above."""
    counts = Counter(s.id for s in sources)
    repeats: Counter[tuple[str, tuple[str, ...]]] = Counter()
    result = []
    for place, source in enumerate(sources, 1):
        key = (source.key, source.required)
        own = source.id if counts[source.id] == 1 else f"{digest(source.text)[:8]}-{place}"
        result.append(replace(source, id=own, repeat=repeats[key]))
        repeats[key] += 1
    return tuple(result)


def _listed(table: Table, most: int = 20) -> str:
    more = f" and {len(table.columns) - most} more" if len(table.columns) > most else ""
    return f"columns: {', '.join(table.columns[:most])}{more}"
