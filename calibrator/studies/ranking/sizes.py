"""With how many human labels for each system does a judge's ranking hold? (Zheng et al., appendix C)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.orders import significant_tau, tau_draws
from calibrator.stats.resampling import codes
from calibrator.stats.systems import complete, sample_weights, system_scores
from calibrator.studies.ranking.agree import LEVEL
from calibrator.studies.ranking.field import Array, Field, Places, only

PUBLISHED = (10, 25, 50, 75, 90, 100)
REPEATS = 1000
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
HOLDS = 0.8  # of the draws: as often as a study is to come to a verdict of trust (Cohen's power)
OUTER, INNER = 200, 200  # draws that a verdict is made of, and the resamples that its interval is made of
PART = 4_000_000  # numbers at a time


@dataclass(frozen=True, slots=True)
class SizeLine:
    """Kendall's tau with `size` human labels of each system.

    `subsets` are quantiles (`QUANTILES`) over random subsets of the labels there are, the judge's scores on all items,
    as published: it narrows to a point as the subsets come to be all there are. `anew` are the lower end, the median
    and the upper end of the 90 % interval where the items are drawn with replacement, for judge and humans alike: what
    other labels of that number might give; `significant` is the share of these draws whose tau is large enough for
    p < 0.05 (that of rankings without ties), and `trusted` the share of draws of which the whole verdict is trust: the
    interval of resamples of the draw lies above the threshold too. nan where `significant` alone is below `HOLDS`.

    `extrapolated` says that a system has fewer labels: there are no subsets then, and draws hold items repeatedly.
    nan where tau is not defined.
    """

    size: int
    subsets: tuple[float, ...]
    anew: tuple[float, float, float]
    significant: float
    trusted: float
    extrapolated: bool = False


@dataclass(frozen=True, slots=True)
class Fewest:
    """How many labels every system has, at least; `systems` are those that have no more, if others do."""

    labels: int
    systems: tuple[str, ...]


def fewest(field: Field, rows: Places) -> Fewest:
    """Return how many of the items `rows` every rated system has, and which systems set that limit."""
    whole = complete(field.member[rows], field.sources_of(rows))
    counts = np.bincount(field.member[rows[whole] if len(whole) else rows], minlength=len(field.systems))
    there = counts[counts > 0]
    if not len(there):
        return Fewest(0, ())
    least = int(there.min())
    limiting = tuple(field.systems[k] for k in np.flatnonzero(counts == least)) if there.max() > least else ()
    return Fewest(least, limiting)


def sizes_tried(most: int, wanted: Sequence[int] = PUBLISHED) -> tuple[int, ...]:
    """Return the sizes to try where every system has `most` labels: those wanted, and all there are by default."""
    every = [most] if 1 < most < max(PUBLISHED) and tuple(wanted) == PUBLISHED else []
    return tuple(sorted({*wanted, *every}))


def size_lines(
    field: Field, judge: str, sizes: Sequence[int], repeats: int, seed: int, threshold: float = 0.0
) -> tuple[SizeLine, ...]:
    """Return tau by the number of human labels of each system, and how often a verdict of trust would come of it."""
    values = field.judges[judge]
    rows = field.rows_of(values)
    return tuple(_line(field, values, rows, size, repeats, seed, threshold) for size in sizes)


def _line(field: Field, values: Array, rows: Places, size: int, repeats: int, seed: int, threshold: float) -> SizeLine:
    member, sources = field.member[rows], field.sources_of(rows)
    rng = np.random.default_rng([seed, size])
    beyond = size > fewest(field, rows).labels
    subsets = tuple(float("nan") for _ in QUANTILES)
    if not beyond:
        subsets = _subsets(field, values, rows, sample_weights(member, sources, size, repeats, rng, replace=False))
    weights = sample_weights(member, sources, size, repeats, rng, replace=True)
    drawn = _Drawn.of(field, values, rows)
    taus = drawn.taus(weights)
    ends = _quantiles(taus, ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
    enough = taus >= significant_tau(len(np.unique(member))) - 1e-9
    trusted = float("nan")
    if enough.mean() >= HOLDS:
        which = np.flatnonzero(enough)[:OUTER]
        trusted = float(enough.mean() * _above(drawn, weights[which], size, threshold, rng).mean())
    return SizeLine(size, subsets, (ends[0], ends[1], ends[2]), float(enough.mean()), trusted, beyond)


def _subsets(field: Field, values: Array, rows: Places, drawn: Array) -> tuple[float, ...]:
    """Return quantiles of tau between the judge on all that it scored, rated or not, and humans on subsets."""
    weights = np.zeros((len(drawn), len(values)))
    weights[:, rows] = drawn
    rated = np.unique(field.member[rows])
    human = field.scores(only(field.human, rows), weights)
    return _quantiles(tau_draws(field.plain_scores(values)[None, rated], human[:, rated]), QUANTILES)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The items that a judge is held against the humans on, measured once: taus of many draws come of it.

    Each of `strata` holds items that are drawn by themselves: those of a system; or there is one, of the sources that
    all systems have. `place` (n,) says which unit of its stratum, source or item, an item belongs to.
    """

    field: Field
    member: Places
    human: Array
    judged: Array
    strata: tuple[Places, ...]
    place: Places

    @classmethod
    def of(cls, field: Field, values: Array, rows: Places) -> _Drawn:
        human, judged = (field.score.columns(only(v, rows))[rows] for v in (field.human, values))
        member, sources = field.member[rows], field.sources_of(rows)
        whole = complete(member, sources)
        if len(whole):
            place = np.zeros(len(rows), dtype=np.int64)
            place[whole] = codes([sources[i] for i in whole.tolist()])
            return cls(field, member, human, judged, (whole,), place)
        strata = tuple(np.flatnonzero(member == k) for k in np.unique(member))
        place = np.zeros(len(rows), dtype=np.int64)
        for own in strata:
            place[own] = np.arange(len(own))
        return cls(field, member, human, judged, strata, place)

    def taus(self, weights: Array) -> Array:
        """Return tau of each draw, shape (b,); weights (b, n) say how often each item is in it."""
        human, judged = (self._scores(columns, weights) for columns in (self.human, self.judged))
        return tau_draws(judged, human)

    def _scores(self, columns: Array, weights: Array) -> Array:
        known = replace(self.field.score, columns=lambda _: columns)
        scores = system_scores(known, self.human[:, 0], self.member, len(self.field.systems), weights)
        return np.asarray(scores[:, np.unique(self.member)])

    def again(self, weights: Array, size: int, rng: np.random.Generator) -> Array:
        """Return resamples of a draw (n,), shape (`INNER`, n): of its sources, or of its items of each system."""
        drawn = np.zeros((INNER, len(self.member)))
        for own in self.strata:
            counts = np.zeros(int(self.place[own].max()) + 1)
            counts[self.place[own]] = weights[own]
            drawn[:, own] = rng.multinomial(size, counts / size, size=INNER)[:, self.place[own]]
        return drawn


def _above(drawn: _Drawn, weights: Array, size: int, threshold: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return of which draws (b, n) the 90 % interval of tau lies above the threshold, shape (b,)."""
    part = max(1, PART // (INNER * max(1, weights.shape[1])))
    lows = []
    for start in range(0, len(weights), part):
        resamples = np.concatenate([drawn.again(w, size, rng) for w in weights[start : start + part]])
        taus = drawn.taus(resamples).reshape(-1, INNER)
        lows += [_quantiles(row, ((1 - LEVEL) / 2,))[0] for row in taus]
    above: NDArray[np.bool_] = np.array(lows) > threshold
    return above


def _quantiles(draws: Array, at: Sequence[float]) -> tuple[float, ...]:
    defined = draws[np.isfinite(draws)]
    if len(defined) * 2 < len(draws) or not len(defined):
        return tuple(float("nan") for _ in at)
    return tuple(float(v) for v in np.quantile(defined, at))


def needed(lines: Sequence[SizeLine]) -> SizeLine | None:
    """Return the fewest labels with which a verdict of trust comes of `HOLDS` of the draws, None if it does of none.

    It must for all larger sizes too.
    """
    found = None
    for line in reversed(lines):
        if not line.trusted >= HOLDS:
            break
        found = line
    return found
