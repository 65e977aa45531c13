"""What is ranked, and what judges and humans gave it: the same for scores and for labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.systems import SystemScore, system_scores

Array = NDArray[np.float64]
Places = NDArray[np.int64]
ENOUGH = 0.95  # of the rated items: a judge that scored fewer is held against the humans on its own items


@dataclass(frozen=True, slots=True)
class Field:
    """Items of several systems with what judges and humans gave them; n items, k systems.

    `member` (n,) is the place of each item's system in `systems`, `sources` (n) what it was made from. `human` (n,) is
    the humans' figure, nan where an item is not rated; `annotators` (a, n) that of each annotator, named in `raters`.
    `judges` holds the figures of each judge (n,), nan for none. `score` makes a system's score of them, and `sign` is
    -1 where less is better.
    """

    systems: tuple[str, ...]
    member: Places
    sources: tuple[str, ...]
    human: Array
    judges: Mapping[str, Array]
    score: SystemScore
    annotators: Array
    raters: tuple[str, ...] = ()
    sign: float = 1.0

    def scores(self, values: Array, weights: Array) -> Array:
        """Return each system's score (b, k) of values (n,) with weights (b, n)."""
        return system_scores(self.score, values, self.member, len(self.systems), weights)

    def plain_scores(self, values: Array, rows: Places | None = None) -> Array:
        """Return each system's score (k,) of values (n,), of the items of `rows` alone if they are given."""
        kept = values if rows is None else only(values, rows)
        return np.asarray(self.scores(kept, np.ones((1, len(kept))))[0])

    def common(self) -> Places:
        """Return the rated items that every full judge scored: one that scored nearly all of those that are rated."""
        rated = np.isfinite(self.human)
        there = rated.copy()
        for values in self.judges.values():
            if self.full(values):
                there &= np.isfinite(values)
        return np.flatnonzero(there)

    def full(self, values: Array) -> bool:
        """Whether a judge scored enough of the rated items to be compared with others on the same."""
        rated = np.isfinite(self.human)
        return bool(np.isfinite(values[rated]).sum() >= ENOUGH * rated.sum())

    def rows_of(self, values: Array) -> Places:
        """Return the items that a judge is held against the humans on."""
        if self.full(values):
            return self.common()
        return np.flatnonzero(np.isfinite(self.human) & np.isfinite(values))

    def sources_of(self, rows: Places) -> list[str]:
        """Return the sources of some items."""
        return [self.sources[k] for k in rows]


@dataclass(frozen=True, slots=True)
class Sides:
    """Numbers or labels of items (n,) by the humans where these are used, by the judge, and by all humans."""

    human: Array
    judged: Array
    every: Array


def only(values: Array, rows: Places) -> Array:
    """Return the values (n,), nan but for those in `rows`."""
    kept = np.full(len(values), np.nan)
    kept[rows] = values[rows]
    return kept


def members(names: Sequence[str]) -> tuple[tuple[str, ...], Places]:
    """Return the systems in the order of their names, and each item's place among them."""
    systems = tuple(sorted(set(names)))
    place = {name: k for k, name in enumerate(systems)}
    return systems, np.array([place[name] for name in names], dtype=np.int64)
