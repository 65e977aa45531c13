"""What is audited: a table with its texts, its ratings read around every fault, and its other numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.cells import entries, missing, number
from calibrator.columns import Mapped
from calibrator.records import Item
from calibrator.tables import Table

Array = NDArray[np.float64]
Known = Literal["said", "guessed", "data"]
NUMERIC = 0.9  # of the filled cells of a column of numbers


@dataclass(frozen=True, slots=True)
class Fault:
    """A cell that is no rating: `value` is the number off the scale, None where the cell holds no number."""

    row: int
    column: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Rated:
    """The ratings of one aspect, row by row; nan where there is none or none that can be used.

    `human`, shape (rows,), is the rating or the mean of the annotators. `annotators`, shape (raters, rows), is what
    each of them gave, of shape (0, rows) where there are none; `means` says that `human` is a column of its own beside
    them. `known` says where the scale is from: the user or the data set ("said"), the name of the column ("guessed"),
    or the lowest and highest rating ("data").
    """

    aspect: str
    scale: Scale
    known: Known
    mapped: Mapped
    human: Array
    annotators: Array
    names: tuple[str, ...]
    means: bool
    faults: tuple[Fault, ...]

    @property
    def column(self) -> str:
        """The column of the rating, the annotators' columns where there is none."""
        return self.mapped.score or ", ".join(self.mapped.annotators)


@dataclass(frozen=True, slots=True)
class Subject:
    """A table under audit. `items` stand in the order of its rows; `numbers` are its columns of numbers, (rows,)."""

    name: str
    table: Table
    mapped: Mapped
    items: tuple[Item, ...]
    rated: tuple[Rated, ...]
    numbers: Mapping[str, Array]

    @property
    def rows(self) -> tuple[int, ...]:
        """Where the items stand in their file."""
        return self.table.row_numbers


def read_ratings(table: Table, aspect: str, scale: Scale | None, known: Known, mapped: Mapped) -> Rated:
    """Return the ratings of an aspect; what cannot be used is among the faults, and nothing is raised.

    Without a scale (None) it goes from the lowest to the highest rating.
    """
    faults: list[Fault] = []
    lists: list[list[float]] = []
    human = np.full(len(table.rows), np.nan)
    for k, (row, values) in enumerate(zip(table.row_numbers, table.rows, strict=True)):
        given = [(c, e) for c in mapped.annotators for e in entries(values.get(c))]
        lists.append([_rating(row, column, entry, scale, faults) for column, entry in given])
        if mapped.score is not None:
            human[k] = _rating(row, mapped.score, values.get(mapped.score), scale, faults)
    annotators = np.full((max(map(len, lists), default=0), len(lists)), np.nan)
    for k, ratings in enumerate(lists):
        annotators[: len(ratings), k] = ratings
    if mapped.score is None:
        human = _means(annotators)
    own = len(mapped.annotators) == len(annotators)
    names = mapped.annotators if own else tuple(f"{mapped.annotators[0]}[{k}]" for k in range(len(annotators)))
    means = mapped.score is not None and len(annotators) > 0
    return Rated(aspect, scale or _range(human), known, mapped, human, annotators, names, means, tuple(faults))


def _means(annotators: Array) -> Array:
    """Return the mean of the annotators of each row, nan where there are none."""
    filled = ~np.isnan(annotators)
    count = filled.sum(axis=0)
    return np.where(count > 0, np.where(filled, annotators, 0.0).sum(axis=0) / np.maximum(count, 1), np.nan)


def _range(human: Array) -> Scale:
    rated = human[~np.isnan(human)]
    return Scale(float(rated.min()), float(rated.max())) if len(rated) else Scale(0, 1)


def _rating(row: int, column: str, cell: Any, scale: Scale | None, faults: list[Fault]) -> float:
    if missing(cell):
        return math.nan
    value = number(cell)
    if value is not None and math.isnan(value):
        return math.nan
    if value is None or not (math.isfinite(value) if scale is None else scale.holds(value)):
        faults.append(Fault(row, column, value))
        return math.nan
    return value


def numbers_of(table: Table) -> dict[str, Array]:
    """Return the columns of numbers, each of shape (rows,) with nan for what is missing or is no finite number."""
    found = {}
    for column in table.columns:
        cells = [row.get(column) for row in table.rows]
        read = [math.nan if missing(c) else number(c) for c in cells]
        filled = sum(not missing(c) for c in cells)
        usable = [v is not None and math.isfinite(v) for v in read]
        if filled and sum(usable) >= NUMERIC * filled:
            found[column] = np.array([v if ok else math.nan for v, ok in zip(read, usable, strict=True)], dtype=float)
    return found
