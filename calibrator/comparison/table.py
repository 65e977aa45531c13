"""The table of a comparison: judges by their verdicts on the same items, with what tells them apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.calibration.result import figure, rounded
from calibrator.comparison.result import FAMILIES, JudgeRow, PairLine
from calibrator.evaluation.agreement import failures_of, gain_of, p_of, scores_of
from calibrator.judges.frozen_parts import Figure
from calibrator.records import Item, Verdict
from calibrator.stats.correlation import MEASURES
from calibrator.stats.permutation import holm
from calibrator.stats.resampling import group_weights, percentile_interval, resampled

FULL = 0.95  # of the test side: who scored less is compared on its own part
FEWEST = 3  # items in common: on fewer, two judges are not compared
LEVEL = 0.05
SMALLEST = 5  # of the smallest p-values that permutations can show: these are worked out by more of them
MOST_PERMUTATIONS = 40_000

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Entry:
    """A judge as it stands on the test side; see `result.JudgeRow`."""

    name: str
    family: str
    mode: str
    verdicts: tuple[Verdict, ...]
    on_scale: bool = True
    model: str | None = None
    known: int = 0
    cost: float | None = 0.0
    seconds: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """All entries on the same items.

    `common` are the places of the items that every full judge scored; `rows` stand in the order of their families.
    """

    rows: tuple[JudgeRow, ...]
    pairs: tuple[PairLine, ...]
    common: tuple[int, ...]


class Side:
    """The test side with its resamples, which all figures of a table share."""

    def __init__(self, items: Sequence[Item], seed: int, resamples: int) -> None:
        self.items, self.seed, self.resamples = items, seed, resamples
        self.human = np.array([i.human for i in items], dtype=float)
        self.groups = [i.group for i in items]
        self._weights = group_weights(self.groups, resamples, np.random.default_rng(seed))
        self._drawn: dict[tuple[str, bytes, bytes], Array] = {}

    def draws(self, measure: str, scores: Array, places: NDArray[np.int64]) -> Array:
        """Return a measure of scores (n,) at some places in each resample; nan with fewer than two groups."""
        if len({self.groups[p] for p in places}) < 2:
            return np.full(self.resamples, np.nan)
        key = (measure, scores.tobytes(), places.tobytes())
        if key not in self._drawn:  # a judge is compared with many
            weights = self._weights[:, places]
            self._drawn[key] = resampled(MEASURES[measure], scores[places], self.human[places], weights)
        return self._drawn[key]

    def figure(self, measure: str, scores: Array, places: NDArray[np.int64]) -> Figure:
        """Return a measure of scores (n,) at some places, with its interval."""
        value = float(MEASURES[measure](scores[places], self.human[places])) if len(places) else math.nan
        return figure(percentile_interval(value, self.draws(measure, scores, places)))


def compared(entries: Sequence[Entry], side: Side, measure: str) -> Compared:
    """Return the rows of all entries, and every two of them beside each other in a measure.

    Full judges, those that scored `FULL` of the test side, are compared on the items that all of them scored; a judge
    that scored less, on those of these that it scored, where the full judges stand beside it.
    """
    scores = {e.name: scores_of(e.verdicts) for e in entries}
    there = {name: np.isfinite(s) for name, s in scores.items()}
    full = [e for e in entries if there[e.name].mean() >= FULL]
    shared = np.all([there[e.name] for e in full], axis=0) if full else np.ones(len(side.items), dtype=bool)
    common = np.flatnonzero(shared)
    own = {e.name: common if e in full else np.flatnonzero(shared & there[e.name]) for e in entries}
    pairs = _pairs(entries, scores, own, side, measure)
    better = _better(pairs)
    rows = []
    for e in sorted(entries, key=lambda e: FAMILIES.index(e.family)):
        partial, places = e not in full, own[e.name]
        beside = {f.name: side.figure(measure, scores[f.name], places) for f in full} if partial and len(places) else {}
        rows.append(
            JudgeRow(
                name=e.name,
                family=e.family,
                mode=e.mode,
                model=e.model,
                figures={m: side.figure(m, scores[e.name], places) for m in MEASURES if e.on_scale or m != "mae"},
                items=len(places),
                coverage=round(float(there[e.name].mean()), 4),
                partial=partial,
                beside=beside,
                failures=failures_of(e.verdicts),
                better_than=tuple(better.get(e.name, ())),
                judgments=len(e.verdicts),
                known=e.known,
                cost=e.cost,
                seconds=e.seconds,
                notes=e.notes,
            )
        )
    return Compared(tuple(rows), pairs, tuple(common.tolist()))


def _pairs(
    entries: Sequence[Entry],
    scores: Mapping[str, Array],
    own: Mapping[str, NDArray[np.int64]],
    side: Side,
    measure: str,
) -> tuple[PairLine, ...]:
    """Return every two judges beside each other.

    With many pairs a small p must be known closely to stay small when it is adjusted for all of them. So one that is
    among the smallest that so few permutations can show is worked out anew by others, and as many as that takes.
    """
    lines: list[PairLine] = []
    again: list[tuple[int, _Two]] = []
    for a, b in combinations(entries, 2):
        places = np.intersect1d(own[a.name], own[b.name])
        if len(places) < FEWEST or (measure == "mae" and not (a.on_scale and b.on_scale)):
            continue
        two = _Two(a.name, b.name, scores[a.name], scores[b.name], places)
        lines.append(_pair(two, side, measure))
        if (lines[-1].p or 1.0) <= SMALLEST / (side.resamples + 1):
            again.append((len(lines) - 1, two))
    wanted = min(MOST_PERMUTATIONS, math.ceil(SMALLEST * len(lines) / LEVEL))
    for place, two in again if wanted > side.resamples else ():
        p = rounded(_p(two, side, measure, wanted, side.seed + 1))
        lines[place] = lines[place].model_copy(update={"p": p})
    adjusted = holm([math.nan if line.p is None else line.p for line in lines])
    return tuple(line.model_copy(update={"adjusted": rounded(p)}) for line, p in zip(lines, adjusted, strict=True))


@dataclass(frozen=True, slots=True)
class _Two:
    """Two judges by name with their scores (n,), and the places of the items that both are compared on."""

    first: str
    second: str
    mine: Array
    other: Array
    places: NDArray[np.int64]


def _pair(two: _Two, side: Side, measure: str) -> PairLine:
    human = side.human[two.places]
    both = (two.mine, two.other)
    values = [float(MEASURES[measure](scores[two.places], human)) for scores in both]
    draws = [side.draws(measure, scores, two.places) for scores in both]
    defined = all(map(math.isfinite, values))
    p = _p(two, side, measure, side.resamples, side.seed) if defined else math.nan
    gain = gain_of(measure, values[0], values[1], draws[0], draws[1])
    return PairLine(
        first=two.first, second=two.second, items=len(two.places), gain=figure(gain), p=rounded(p), adjusted=None
    )


def _p(two: _Two, side: Side, measure: str, permutations: int, seed: int) -> float:
    groups = [side.groups[k] for k in two.places]
    human = side.human[two.places]
    return p_of(measure, two.mine[two.places], two.other[two.places], human, groups, permutations, seed)


def _better(pairs: Sequence[PairLine]) -> dict[str, list[str]]:
    """Return whom each judge exceeds significantly."""
    found: dict[str, list[str]] = {}
    for line in pairs:
        if line.adjusted is not None and line.adjusted < LEVEL and line.gain.value:
            winner, loser = (line.first, line.second) if line.gain.value > 0 else (line.second, line.first)
            found.setdefault(winner, []).append(loser)
    return found
