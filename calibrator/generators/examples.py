"""Examples for few-shot prompts: those whose sources are nearest to the one to answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calibrator.columns import GROUP, Wanted
from calibrator.errors import ConfigError, DataError
from calibrator.generators.sources import Source, answer_column, guessed, source_columns, text_of
from calibrator.generators.wording import Example
from calibrator.tables import Table
from calibrator.texts import normalise, unusable

Encode = Callable[[Sequence[str]], Any]  # sentences to an array (sentences, dimensions) of rows of length 1
BLOCK = 512  # sources that are compared with all examples at a time


def read_examples(table: Table, wanted: Wanted, answers: str | None = None) -> tuple[Example, ...]:
    """Return the examples of a table: its sources with the texts that answer them, the first for each source.

    `answers` is the column of these, by default that of references, else of outputs. Raises DataError if a column is
    not there, or no row has both.
    """
    columns = source_columns(table, wanted)
    column = answer_column(table, answers)
    group = columns.get("group") or guessed(table, GROUP, {columns["source"], column})
    found: dict[str, Example] = {}
    for row in table.rows:
        source, output = text_of(row.get(columns["source"])), text_of(row.get(column)).strip()
        if unusable(source) is None and unusable(output) is None:
            own = text_of(row.get(group)).strip() if group else ""
            found.setdefault(normalise(source), Example(source, output, own or None))
    if not found:
        raise DataError("no row has both a source and an answer", file=table.path, column=column)
    return tuple(found.values())


def nearest(sources: Sequence[Source], examples: Sequence[Example], shots: int, encode: Encode) -> list[list[int]]:
    """Return for each source the places of the `shots` examples nearest to it, the nearest last.

    Nearness is the cosine between the embeddings of the sources. An example with the same source, or of the same
    group, is never among them: it would show what a reference says. Of two that are as near the earlier is taken.
    Raises ConfigError if `shots` is below 1 or a source has fewer examples than that.
    """
    if shots < 1:
        raise ConfigError(f"--shots: {shots} is no number of examples above 0")
    rows = np.asarray(encode([e.source for e in examples]), dtype=np.float64)
    own = {normalise(e.source): k for k, e in enumerate(examples)}
    members: dict[str, list[int]] = {}
    for k, example in enumerate(examples):
        if example.group is not None:
            members.setdefault(example.group, []).append(k)
    places: list[list[int]] = []
    for begin in range(0, len(sources), BLOCK):
        block = sources[begin : begin + BLOCK]
        near = np.asarray(encode([s.text for s in block]), dtype=np.float64) @ rows.T
        for source, likeness in zip(block, near, strict=True):
            barred = {own[key] for key in (normalise(source.text),) if key in own}
            barred.update(members.get(source.group or "", ()))
            if len(examples) - len(barred) < shots:
                problem = f"{len(examples) - len(barred)} examples are left for {source.id}, and {shots} are wanted"
                raise ConfigError(f"--shots: {problem}; give more --examples or fewer --shots")
            order = [int(k) for k in np.argsort(-likeness, kind="stable") if int(k) not in barred]
            places.append(order[:shots][::-1])
    return places
