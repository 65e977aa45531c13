"""Corrected win rates: comparisons of two systems on a source are what is labelled, and every rival counts the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.prediction_powered import Powered
from calibrator.stats.prediction_powered_sum import Term, powered_sum
from calibrator.stats.resampling import codes
from calibrator.stats.systems import WIN_RATE, wins
from calibrator.studies.ranking.field import Array, Field, Places, Sides, only

MOST_TOLD = 3  # pairs of systems that a caution names


@dataclass(frozen=True, slots=True)
class WinRates:
    """The win rates of a field's systems `there`, those that have items both labelled and judged.

    `human`, `judged` and `more` (n, k) hold what share of each system's items an item beats: by the humans and by the
    judge on the same labelled items, and by the judge where the former are nan.
    """

    field: Field
    sides: Sides
    there: Places
    human: Array
    judged: Array
    more: Array

    @classmethod
    def of(cls, field: Field, sides: Sides) -> WinRates:
        """Return the comparisons of the labelled items and the others."""
        both = np.flatnonzero(np.isfinite(sides.human) & np.isfinite(sides.judged))
        there, place = np.unique(field.member[both]), codes(field.sources)
        scored = only(sides.judged, np.flatnonzero(np.isin(field.member, there)))
        human, judged, every = (
            wins(v, field.member, place) for v in (only(sides.human, both), only(sides.judged, both), scored)
        )
        return cls(field, sides, there, human, judged, np.where(np.isfinite(human), np.nan, every))

    def plain(self, values: Array, rows: Places) -> float:
        """Return the win rate of one system, whose items are `rows`, among those there, on what the judge scored."""
        among = np.isin(self.field.member, self.there) & np.isfinite(self.sides.judged)
        columns = self.field.score.columns(only(values, np.flatnonzero(among)))
        return float(self.field.score.figure(columns[rows].sum(axis=0)))

    def system(self, labelled: Places, others: Places) -> Powered:
        """Return the corrected win rate of one system's items."""
        rows = np.concatenate([labelled, others])
        return powered_sum(self._terms(rows, 1.0))

    def gap(self, first: Places, second: Places) -> Powered:
        """Return the corrected win rate of the first system's items less that of the second's."""
        return powered_sum([*self._terms(first, 1.0), *self._terms(second, -1.0)])

    def counts(self, rows: Places) -> tuple[int, int]:
        """Return from how many sources a system's comparisons are labelled, and not, with the rival that has fewest."""
        terms = self._terms(rows, 1.0)
        return min((len(set(t.groups)), len(set(t.unlabelled_groups) - set(t.groups))) for t in terms)

    def _terms(self, rows: Places, sign: float) -> list[Term]:
        rivals = self.there[self.there != self.field.member[rows[0]]]
        return [self._term(rows, int(rival), sign / len(rivals)) for rival in rivals]

    def _term(self, rows: Places, rival: int, times: float) -> Term:
        known = rows[np.isfinite(self.human[rows, rival])]
        rest = rows[np.isfinite(self.more[rows, rival])]
        names = self.field.sources_of
        human, judged, more = self.human[known, rival], self.judged[known, rival], self.more[rest, rival]
        return Term(times, human, judged, more, names(known), names(rest))


def never_met(field: Field, rows: Places) -> list[str]:
    """Return what must be said of systems whose win rate is not defined on the items `rows`: a rival it never met."""
    if field.score.name != WIN_RATE:
        return []
    met = _met(field.member[rows], field.sources_of(rows), len(field.systems))
    apart = [pair for pair in combinations(np.unique(field.member[rows]).tolist(), 2) if not met[pair]]
    if not apart:
        return []
    without = ", ".join(field.systems[k] for k in sorted({k for pair in apart for k in pair}))
    pairs = "; ".join(f"{field.systems[a]} and {field.systems[b]}" for a, b in apart[:MOST_TOLD])
    more = f"; and {len(apart) - MOST_TOLD} more pairs" if len(apart) > MOST_TOLD else ""
    return [f"no win rate by the humans for {without}: no source with ratings of both of two systems ({pairs}{more})"]


def _met(member: Places, sources: Sequence[str], systems: int) -> NDArray[np.bool_]:
    """Return which two systems have items of one source, shape (k, k)."""
    place = codes(sources)
    there = np.zeros((int(place.max()) + 1 if len(place) else 0, systems))
    there[place, member] = 1.0
    return np.asarray(there.T @ there > 0)
