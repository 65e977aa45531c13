"""The recorded classifier: labels that another gave the texts, from a file or from a column of the data.

A file is CSV, JSONL or Parquet with a column of texts and one of labels, or JSON nested in any way in which objects
hold both. Its records are joined to the texts by the text itself (but for case, punctuation and spacing), and by the
source where both have one. Where a text was given different labels in different places, the records that lie together
in the file (one object or one source) must hold the same texts as the example's source does; what is still not clear
is a failure.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.cells import missing
from calibrator.columns import OUTPUT, REFERENCE, plain
from calibrator.errors import ConfigError, DataError
from calibrator.records import Failure
from calibrator.studies.labels import label_text
from calibrator.studies.types.base import Answer, Assigned, Example, Labels, Tick, ignored
from calibrator.studies.types.data import read_spelled, separator_of, split_cell
from calibrator.studies.types.reading import named
from calibrator.studies.types.scheme import Scheme, spelling
from calibrator.texts import unusable

METHOD = "recorded"
NOTHING = "nothing is recorded for this text"
DIFFERENT = "different labels are recorded for this text"


@dataclass(frozen=True, slots=True)
class RecordedClassifier:
    """Gives each example what was recorded for it (by its id): entries as they are spelled, or why there are none."""

    id: str
    scheme: Scheme
    recorded: Mapping[str, Sequence[Any] | str]

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example; labels that the scheme does not know are failures."""
        tick(len(examples))
        return tuple(self._answer(e) for e in examples)

    def _answer(self, example: Example) -> Answer:
        if reason := unusable(example.text):
            return Failure(example.id, reason)
        entries = self.recorded.get(example.id, NOTHING)
        found: Labels | str = entries if isinstance(entries, str) else named(entries, self.scheme)
        return Failure(example.id, found) if isinstance(found, str) else Assigned(example.id, found)


@dataclass(frozen=True, slots=True)
class Record:
    """What was recorded for a text; `together` names the records that lie together in the file."""

    text: str
    source: str
    together: str
    entries: tuple[Any, ...]


def recorded_file(place: str, examples: Sequence[Example], scheme: Scheme) -> RecordedClassifier:
    """Return the classifier of `FILE` or `FILE#COLUMN`, the column being that of the labels.

    `examples` are those that it will be asked about. Raises DataError if the file cannot be read or holds no such
    column, and if it has nothing for any of the examples.
    """
    path, _, column = place.partition("#")
    records = read_records(Path(path), column or None)
    found = joined(records, examples)
    if examples and all(entries == NOTHING for entries in found.values()):
        raise DataError("none of its texts is one of those to be classified", file=path)
    return RecordedClassifier(f"{METHOD}:{Path(path).name}{f'#{column}' if column else ''}", scheme, found)


def recorded_column(
    name: str, rows: Mapping[str, Mapping[str, Any]], scheme: Scheme, encoded: Sequence[Any]
) -> RecordedClassifier:
    """Return the classifier of a column of the data; `rows` are by example, `encoded` all cells of the column."""
    separator = separator_of(encoded)
    found: dict[str, Sequence[Any] | str] = {}
    for example, row in rows.items():
        cell = row.get(name)
        nothing = missing(cell) and not isinstance(cell, list)
        found[example] = NOTHING if nothing and not scheme.empty else split_cell(cell, separator)
    return RecordedClassifier(f"{METHOD}:{name}", scheme, found)


def joined(records: Sequence[Record], examples: Sequence[Example]) -> dict[str, Sequence[Any] | str]:
    """Return what is recorded for each example, by its id; a sentence where nothing clear is."""
    by_text: defaultdict[str, list[Record]] = defaultdict(list)
    lying: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for record in records:
        by_text[spelling(record.text)].append(record)
        lying[record.together][spelling(record.text)] += 1
    about: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for example in examples:
        about[example.group][spelling(example.text)] += 1
    found: dict[str, Sequence[Any] | str] = {}
    for example in examples:
        fitting = _same_source(by_text[spelling(example.text)], example)
        if len(_sets(fitting)) > 1:
            fitting = [r for r in fitting if lying[r.together] == about[example.group]] or fitting
        sets = _sets(fitting)
        found[example.id] = fitting[0].entries if len(sets) == 1 else DIFFERENT if sets else NOTHING
    return found


def read_records(path: Path, column: str | None) -> list[Record]:
    """Return what a file records. Raises DataError, with the columns there are, if it is not clear which to read."""
    if path.suffix.lower() == ".json":
        return _nested(path, column)
    data = read_spelled(path, labels=column)
    return [
        Record(e.text, e.source, e.source, labels or ())
        for place, (e, labels) in enumerate(zip(data.examples, data.labels, strict=True))
        if place not in data.gaps
    ]


def _nested(path: Path, column: str | None) -> list[Record]:
    try:
        whole = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError("there is no such file", file=path) from None
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"not readable as JSON: {error}", file=path) from None
    objects = list(_objects(whole))
    text = _text_key(path, objects)
    objects = [(where, o) for where, o in objects if isinstance(o.get(text), str)]
    column = column or _only_list(path, objects)
    if not any(column in o for _, o in objects):
        raise DataError(f"no object with a text has '{column}'", file=path)
    return [Record(o[text], "", where, tuple(o[column])) for where, o in objects if isinstance(o.get(column), list)]


def _objects(value: Any, where: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each object inside a value, with where the one around it lies."""
    waiting = [(value, where)]
    while waiting:
        value, where = waiting.pop()
        if isinstance(value, dict):
            yield where.rpartition("/")[0], value
        parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        waiting += [(part, f"{where}/{key}") for key, part in parts if isinstance(part, dict | list)]


def _text_key(path: Path, objects: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    keys = {plain(str(k)): k for _, o in objects for k, v in o.items() if isinstance(v, str)}
    found = next((keys[n] for n in (*OUTPUT, *REFERENCE) if n in keys), None)
    if found is None:
        raise DataError(f"no entry looks like the text ({', '.join(sorted(map(str, keys.values())))})", file=path)
    return str(found)


def _only_list(path: Path, objects: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    lists = sorted({str(k) for _, o in objects for k, v in o.items() if isinstance(v, list)})
    if len(lists) != 1:
        problem = "several entries are lists" if lists else "no entry is a list"
        raise ConfigError(f"{path}: {problem}; name the labels: recorded:{path}#NAME ({', '.join(lists)})")
    return lists[0]


def _same_source(records: Sequence[Record], example: Example) -> list[Record]:
    of_it = [r for r in records if r.source and spelling(r.source) == spelling(example.source)]
    return of_it or [r for r in records if not (r.source and example.source)]


def _sets(records: Sequence[Record]) -> set[frozenset[str]]:
    return {frozenset(map(label_text, r.entries)) for r in records}
