"""Systems' scores corrected for the judge's bias with the part that humans labelled: prediction-powered inference.

The judge scores everything, the humans a part; what the judge is off on that part is taken off its mean of the whole.
For scores that are means over items (mean, share, win rate); macro-F1 is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.orders import kendall_test
from calibrator.stats.prediction_powered import Powered, powered_difference, powered_mean
from calibrator.stats.systems import complete, sample_weights
from calibrator.studies.ranking.field import Array, Field, Places, only

MEANS = ("mean", "share", "win rate")
JUDGE_ONLY, LABELS_ONLY, BOTH = "judge only", "labels only", "both"


@dataclass(frozen=True, slots=True)
class SystemPowered:
    """One system: its score by both, that by the judge alone, and by all human labels where only some were used."""

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


@dataclass(frozen=True, slots=True)
class _Sides:
    """Numbers of items (n,) by the humans, where labels are used, and by the judge; nan for none."""

    human: Array
    judged: Array
    every: Array


def labelled_rows(field: Field, judge: str, count: int | None, seed: int) -> Places:
    """Return the items whose human labels are used: all, or `count` of each system drawn by the seed.

    Where all systems have the same sources, the same are drawn for all. Raises ValueError if a system has fewer.
    """
    rows = np.flatnonzero(np.isfinite(field.human) & np.isfinite(field.judges[judge]))
    if count is None:
        return rows
    member, sources = field.member[rows], field.sources_of(rows)
    drawn = sample_weights(member, sources, count, 1, np.random.default_rng(seed), replace=False)[0]
    used: Places = rows[drawn > 0]
    return used


def powered_scores(field: Field, judge: str, labels: Places) -> PoweredScores | None:
    """Return the corrected scores with the human labels of the items `labels`; None where nothing is unlabelled.

    None too for a score that is no mean over items.
    """
    values = field.judges[judge]
    if field.score.name not in MEANS or len(labels) == int(np.isfinite(values).sum()):
        return None
    sides = _Sides(*(_numbers(field, v) for v in (only(field.human, labels), values, field.human)))
    known = np.isfinite(sides.human)
    systems = [_system(field, sides, k) for k in np.unique(field.member[known])]
    some = int(np.isfinite(field.human[np.isfinite(values)]).sum()) > len(labels)
    taus = _taus(systems) if some else {}
    return PoweredScores(judge, tuple(systems), _differences(field, sides, systems), taus)


def _numbers(field: Field, values: Array) -> Array:
    """Return what each item adds to its system's mean, nan where it adds nothing."""
    columns = field.score.columns(values)
    return np.where(columns[:, 1] > 0, columns[:, 0], np.nan)


def _system(field: Field, sides: _Sides, k: int) -> SystemPowered:
    own = field.member == k
    labelled = np.flatnonzero(own & np.isfinite(sides.human) & np.isfinite(sides.judged))
    others = np.flatnonzero(own & ~np.isfinite(sides.human) & np.isfinite(sides.judged))
    grouped = _repeated(field, np.concatenate([labelled, others]))
    found = powered_mean(
        sides.human[labelled],
        sides.judged[labelled],
        sides.judged[others],
        groups=field.sources_of(labelled) if grouped else None,
        unlabelled_groups=field.sources_of(others) if grouped else None,
    )
    return SystemPowered(
        system=field.systems[k],
        labelled=len(labelled),
        unlabelled=len(others),
        judge_only=float(sides.judged[own & np.isfinite(sides.judged)].mean()),
        powered=found,
        truth=float(sides.every[own & np.isfinite(sides.every) & np.isfinite(sides.judged)].mean()),
    )


def _repeated(field: Field, rows: NDArray[np.int64]) -> bool:
    """Whether two of the items have one source."""
    return len(set(field.sources_of(rows))) < len(rows)


def _taus(systems: list[SystemPowered]) -> dict[str, float]:
    truth = np.array([s.truth for s in systems])
    rankings = {
        JUDGE_ONLY: [s.judge_only for s in systems],
        LABELS_ONLY: [s.powered.classical_value for s in systems],
        BOTH: [s.powered.value for s in systems],
    }
    return {name: kendall_test(np.round(scores, 9), np.round(truth, 9))[0] for name, scores in rankings.items()}


def _differences(field: Field, sides: _Sides, systems: list[SystemPowered]) -> tuple[Difference, ...]:
    """Return the differences along the corrected ranking, best first, on the sources that all systems have.

    None where these are not nearly all.
    """
    there = [field.systems.index(s.system) for s in systems]
    judged = np.flatnonzero(np.isfinite(sides.judged) & np.isin(field.member, there))
    judged = judged[complete(field.member[judged], field.sources_of(judged))]
    if not len(judged):
        return ()
    order = sorted(systems, key=lambda s: (-field.sign * s.powered.value, s.system))
    found = []
    for first, second in pairwise(order):
        parts = [_by_source(field, sides, judged, name) for name in (first.system, second.system)]
        (a_human, a_judged), (b_human, b_judged) = parts
        both = np.isfinite(a_human) & np.isfinite(b_human)
        found.append(
            Difference(
                first.system,
                second.system,
                powered_difference(
                    a_human[both], a_judged[both], a_judged[~both], b_human[both], b_judged[both], b_judged[~both]
                ),
            )
        )
    return tuple(found)


def _by_source(field: Field, sides: _Sides, judged: Places, system: str) -> tuple[Array, Array]:
    """Return a system's numbers by humans and judge, in the order of the sources."""
    own = judged[field.member[judged] == field.systems.index(system)]
    own = own[np.argsort([field.sources[k] for k in own], kind="stable")]
    return sides.human[own], sides.judged[own]
