"""Examples for few-shot prompts: those whose sources are nearest to the one to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calibrator.columns import Wanted, plain
from calibrator.errors import ConfigError, DataError
from calibrator.generators.alike import Alike
from calibrator.generators.sources import (
    NONE,
    Source,
    answer_column,
    key_of,
    source_columns,
    text_of,
    told_columns,
    unnamed,
)
from calibrator.generators.wording import Example
from calibrator.tables import Table
from calibrator.texts import unusable

Encode = Callable[[Sequence[str]], Any]  # sentences to an array (sentences, dimensions) of rows of length 1
BLOCK = 512  # sources that are compared with all examples at a time


@dataclass(frozen=True, slots=True)
class Pool:
    """What may be shown: examples, each with a source of its own.

    `groups` are, by the key of a source, those of all rows that have it, also of rows that are no examples. `columns`
    are the columns by role, of which nobody named those in `guessed`.
    """

    examples: tuple[Example, ...]
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    guessed: frozenset[str] = frozenset()

    def told(self) -> str:
        """Return the columns in one line, guesses marked."""
        return told_columns(self.columns, self.guessed)


def named_there(table: Table, own: Wanted, named: Mapping[str, str]) -> Wanted:
    """Return which columns of a table of examples to read: those that were named, where it has them.

    `own` is what is known of the table, `named` the columns by role that the user named for the data ("none" switches
    a guess off). For a role whose column the table does not have, `own` or a guess stands in.
    """
    there = {plain(c) for c in table.columns}
    kept = {role: name for role, name in named.items() if name == NONE or plain(name) in there}
    return replace(
        own,
        source=kept.get("source", own.source),
        reference=kept.get("reference", own.reference),
        group=kept.get("group", own.group),
    )


def read_examples(table: Table, wanted: Wanted, answers: str | None = None) -> Pool:
    """Return the examples of a table: its sources with the texts that answer them, the first for each source.

    `answers` is the column of these, by default that of references, else of outputs. Raises DataError if a column is
    not there, the same is named for both, or no row has both.
    """
    columns = source_columns(table, wanted)
    reference = wanted.reference if wanted.reference not in (None, NONE) else None
    said = answers if answers is not None else reference
    answer = answer_column(table, said, {columns["source"]})
    if answer == columns["source"]:
        raise DataError("is the source of the examples and their answer; name another", file=table.path, column=answer)
    group = columns.get("group")
    read = {"source": columns["source"], "answer": answer} | ({"group": group} if group else {})
    found: dict[str, Example] = {}
    groups: dict[str, set[str]] = {}
    for row in table.rows:
        source, output = text_of(row.get(columns["source"])), text_of(row.get(answer)).strip()
        own = text_of(row.get(group)).strip() if group else ""
        groups.setdefault(key_of(source), set()).update([own] if own else ())
        if unusable(source) is None and unusable(output) is None:
            found.setdefault(key_of(source), Example(source, output, own or None))
    if not found:
        raise DataError("no row has both a source and an answer", file=table.path, column=answer)
    guesses = unnamed(columns, wanted) & read.keys() | (set() if said is not None else {"answer"})
    bound = {key: frozenset(names) for key, names in groups.items()}
    return Pool(tuple(found.values()), bound, read, frozenset(guesses))


def nearest(sources: Sequence[Source], pool: Pool, shots: int, encode: Encode) -> list[list[int]]:
    """Return for each source the places of the `shots` examples nearest to it, the nearest last.

    Nearness is the cosine between the embeddings of the sources. What would show what a reference says is never among
    them: an example whose source is the same or nearly so (see `Alike`), and one that shares a group with it, where a
    source is of all groups that a row with such a text is of. Of two that are as near the earlier is taken.
    Raises ConfigError if `shots` is below 1 or a source has fewer examples than that.
    """
    if shots < 1:
        raise ConfigError(f"--shots: {shots} is no number of examples above 0")
    examples = pool.examples
    rows = np.asarray(encode([e.source for e in examples]), dtype=np.float64)
    barred_for = _Barred(pool)
    places: list[list[int]] = []
    for begin in range(0, len(sources), BLOCK):
        block = sources[begin : begin + BLOCK]
        near = np.asarray(encode([s.text for s in block]), dtype=np.float64) @ rows.T
        for source, likeness in zip(block, near, strict=True):
            barred = barred_for.places(source)
            if len(examples) - len(barred) < shots:
                problem = f"{len(examples) - len(barred)} examples are left for {source.id}, and {shots} are wanted"
                raise ConfigError(f"--shots: {problem}; give more --examples or fewer --shots")
            order = [int(k) for k in np.argsort(-likeness, kind="stable") if int(k) not in barred]
            places.append(order[:shots][::-1])
    return places


class _Barred:
    """The examples that may not be shown beside a source."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        keys = [key_of(e.source) for e in pool.examples]
        self._place = {key: k for k, key in enumerate(keys)}
        self._alike = Alike({*keys, *pool.groups})
        self._members: dict[str, set[int]] = {}
        for k, (key, example) in enumerate(zip(keys, pool.examples, strict=True)):
            for group in {example.group or "", *pool.groups.get(key, ())} - {""}:
                self._members.setdefault(group, set()).add(k)

    def places(self, source: Source) -> set[int]:
        """Return the places of those that may not be shown beside this one."""
        alike = self._alike.to(source.key)
        groups = {source.group or "", *source.groups}.union(*(self._pool.groups.get(key, ()) for key in alike))
        own = {self._place[key] for key in alike if key in self._place}
        return own.union(*(self._members.get(group, ()) for group in groups))
