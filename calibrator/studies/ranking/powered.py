"""Systems' scores corrected for the judge's bias with the part that humans labelled: prediction-powered inference.

The judge scores everything, the humans a part; what the judge is off on that part is taken off its mean of the whole.
Scores that are means over items (mean, share) have a formula, and so do win rates, which are means over comparisons
(see `win_rates.py`); macro-F1 is none (see `figures.py`). Figures that have bounds are cut off there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrator.errors import ConfigError
from calibrator.stats.orders import kendall_test
from calibrator.stats.prediction_powered import Powered, powered_difference, powered_mean
from calibrator.stats.systems import WIN_RATE, complete, drawn_sources, sample_weights, whole_sources
from calibrator.studies.ranking.field import Array, Field, Places, Sides, only
from calibrator.studies.ranking.figures import MOST_RESAMPLES, Figures
from calibrator.studies.ranking.win_rates import WinRates

MEANS = ("mean", "share", WIN_RATE)
JUDGE_ONLY, LABELS_ONLY, BOTH = "judge only", "labels only", "both"


@dataclass(frozen=True, slots=True)
class SystemPowered:
    """One system: its score by both, that by the judge alone, and by all human labels where only some were used.

    `labelled` and `unlabelled` count items; for a win rate sources, of the comparisons with the rival that has fewest.
    """

    system: str
    labelled: int
    unlabelled: int
    judge_only: float
    powered: Powered
    truth: float


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more the first of two systems has."""

    first: str
    second: str
    powered: Powered


@dataclass(frozen=True, slots=True)
class PoweredScores:
    """All systems by one judge; `taus` of the rankings with that by all human labels, empty if only those are known.

    `differences` are those of each system and the next in the corrected ranking, where all have the same sources.
    """

    judge: str
    systems: tuple[SystemPowered, ...]
    differences: tuple[Difference, ...]
    taus: Mapping[str, float]


class Corrected(Protocol):
    """What is corrected: scores that are means, or other figures."""

    def plain(self, values: Array, rows: Places) -> float:
        """Return the score of some items by the humans or by the judge alone."""

    def system(self, labelled: Places, others: Places) -> Powered:
        """Return the corrected score of one system's items, those that humans labelled and the others."""

    def gap(self, first: Places, second: Places) -> Powered:
        """Return the corrected score of one system less that of another, of items that are paired by position."""


@dataclass(frozen=True, slots=True)
class Means:
    """The scores of a field that are means; `sides` holds what each item adds to its system's."""

    field: Field
    sides: Sides

    def plain(self, values: Array, rows: Places) -> float:
        """Return the mean of some items."""
        return float(values[rows].mean())

    def system(self, labelled: Places, others: Places) -> Powered:
        """Return the corrected mean of one system's items."""
        grouped = _repeated(self.field, np.concatenate([labelled, others]))
        return powered_mean(
            self.sides.human[labelled],
            self.sides.judged[labelled],
            self.sides.judged[others],
            groups=self.field.sources_of(labelled) if grouped else None,
            unlabelled_groups=self.field.sources_of(others) if grouped else None,
        )

    def gap(self, first: Places, second: Places) -> Powered:
        """Return the corrected mean of the first less that of the second, of pairs."""
        (a_human, a_judged), (b_human, b_judged) = (
            (self.sides.human[rows], self.sides.judged[rows]) for rows in (first, second)
        )
        both = np.isfinite(a_human) & np.isfinite(b_human)
        return powered_difference(
            a_human[both], a_judged[both], a_judged[~both], b_human[both], b_judged[both], b_judged[~both]
        )


def labelled_rows(field: Field, judge: str, count: int | None, seed: int) -> Places:
    """Return the items whose human labels are used: all, or `count` of each system drawn by the seed.

    Where all systems have the same sources, the same are drawn for all; for win rates so many whole sources, since an
    item without its rivals says nothing. Raises ValueError if a system has fewer, ConfigError if there are fewer such
    sources.
    """
    rows = np.flatnonzero(np.isfinite(field.human) & np.isfinite(field.judges[judge]))
    if count is None:
        return rows
    member, sources = field.member[rows], field.sources_of(rows)
    if field.score.name == WIN_RATE:
        return _whole(field, rows[whole_sources(member, sources)], judge, count, seed)
    drawn = sample_weights(member, sources, count, 1, np.random.default_rng(seed), replace=False)[0]
    used: Places = rows[drawn > 0]
    return used


def _whole(field: Field, rows: Places, judge: str, count: int, seed: int) -> Places:
    sources = field.sources_of(rows)
    if (most := len(set(sources))) < count:
        problem = f"only {most} sources have a rating and a score by {judge} for every system"
        raise ConfigError(f"--labelled {count}: {problem}; win rates need whole sources (--by mean does not)")
    used: Places = rows[drawn_sources(sources, count, np.random.default_rng(seed))]
    return used


def powered_scores(
    field: Field, judge: str, labels: Places, seed: int = 0, resamples: int = MOST_RESAMPLES
) -> PoweredScores | None:
    """Return the corrected scores with the human labels of the items `labels`.

    None where nothing is unlabelled, and where no system has a score by these labels. Scores that are no means are
    drawn `resamples` times, `MOST_RESAMPLES` at most, by the seed.
    """
    values = np.where(_undecided(field), np.nan, field.judges[judge])
    if len(labels) == int(np.isfinite(values).sum()):
        return None
    sides = Sides(only(field.human, labels), values, field.human)
    scores: Corrected
    if field.score.name == WIN_RATE:
        scores = WinRates.of(field, sides)
        if len(scores.there) < 2:
            return None
    elif field.score.name in MEANS:
        sides = Sides(*(_numbers(field, v) for v in (sides.human, sides.judged, sides.every)))
        scores = Means(field, sides)
    else:
        scores = Figures(field, sides, seed, resamples)
    known = np.isfinite(sides.human)
    systems = [_system(field, sides, scores, k) for k in np.unique(field.member[known])]
    if not any(np.isfinite(s.powered.value) for s in systems):
        return None
    some = int(np.isfinite(field.human[np.isfinite(values)]).sum()) > len(labels)
    taus = _taus(systems) if some else {}
    return PoweredScores(judge, tuple(systems), _differences(field, sides, scores, systems), taus)


def _undecided(field: Field) -> NDArray[np.bool_]:
    """Return which items annotators labelled in vain, as in a tie: they stand for no item that nobody labelled."""
    return np.asarray(np.isfinite(field.annotators).any(axis=0) & ~np.isfinite(field.human))


def _numbers(field: Field, values: Array) -> Array:
    """Return what each item adds to its system's mean, nan where it adds nothing."""
    columns = field.score.columns(values)
    return np.where(columns[:, 1] > 0, columns[:, 0], np.nan)


def _system(field: Field, sides: Sides, scores: Corrected, k: int) -> SystemPowered:
    judged = (field.member == k) & np.isfinite(sides.judged)
    labelled = np.flatnonzero(judged & np.isfinite(sides.human))
    others = np.flatnonzero(judged & ~np.isfinite(sides.human))
    counts = len(labelled), len(others)
    if isinstance(scores, WinRates):
        counts = scores.counts(np.flatnonzero(judged))
    return SystemPowered(
        system=field.systems[k],
        labelled=counts[0],
        unlabelled=counts[1],
        judge_only=scores.plain(sides.judged, np.flatnonzero(judged)),
        powered=_bounded(scores.system(labelled, others), *field.score.bounds),
        truth=scores.plain(sides.every, np.flatnonzero(judged & np.isfinite(sides.every))),
    )


def _bounded(found: Powered, least: float, most: float) -> Powered:
    """Return an estimate with values and ends cut off at the least and the greatest that there can be."""
    ends = ("value", "low", "high", "classical_value", "classical_low", "classical_high")
    return replace(found, **{end: float(np.clip(getattr(found, end), least, most)) for end in ends})


def _repeated(field: Field, rows: NDArray[np.int64]) -> bool:
    """Whether two of the items have one source."""
    return len(set(field.sources_of(rows))) < len(rows)


def _taus(systems: list[SystemPowered]) -> dict[str, float]:
    """Return the taus by ranking, of the systems that have a score in all."""
    systems = [s for s in systems if np.isfinite([s.truth, s.judge_only, s.powered.value]).all()]
    truth = np.array([s.truth for s in systems])
    rankings = {
        JUDGE_ONLY: [s.judge_only for s in systems],
        LABELS_ONLY: [s.powered.classical_value for s in systems],
        BOTH: [s.powered.value for s in systems],
    }
    return {name: kendall_test(np.round(scores, 9), np.round(truth, 9))[0] for name, scores in rankings.items()}


def _differences(field: Field, sides: Sides, scores: Corrected, systems: list[SystemPowered]) -> tuple[Difference, ...]:
    """Return the differences along the corrected ranking, best first, on the sources that all systems have.

    None where these are not nearly all.
    """
    there = [field.systems.index(s.system) for s in systems]
    judged = np.flatnonzero(np.isfinite(sides.judged) & np.isin(field.member, there))
    judged = judged[complete(field.member[judged], field.sources_of(judged))]
    if not len(judged):
        return ()
    known = [s for s in systems if np.isfinite(s.powered.value)]
    order = sorted(known, key=lambda s: (-field.sign * s.powered.value, s.system))
    least, most = field.score.bounds
    apart = most - least
    found = []
    for a, b in pairwise(order):
        gap = scores.gap(*(_by_source(field, judged, s.system) for s in (a, b)))
        found.append(Difference(a.system, b.system, _bounded(gap, -apart, apart)))
    return tuple(found)


def _by_source(field: Field, judged: Places, system: str) -> Places:
    """Return a system's items in the order of the sources."""
    own = judged[field.member[judged] == field.systems.index(system)]
    ordered: Places = own[np.argsort([field.sources[k] for k in own], kind="stable")]
    return ordered
