"""What the further tables share: cells, the full judges of a table, and the items of several aspects joined."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.comparison.clusters import clusters
from calibrator.comparison.compare import Looked
from calibrator.comparison.result import JudgeRow
from calibrator.errors import ConfigError, DataError
from calibrator.evaluation.agreement import scores_of
from calibrator.judges.frozen_parts import Figure
from calibrator.records import Item
from calibrator.stats.resampling import Interval

Array = NDArray[np.float64]
Cell = str | float | int | None
SHORT = {"spearman": "rho", "kendall": "tau", "pearson": "r", "mae": "MAE"}


def spanned(figure: Interval | Figure, sign: str = "") -> str | None:
    """Return a figure with its interval as the text of a cell, None where it is not defined."""
    value, low, high = (None if v is None or not math.isfinite(v) else v for v in _ends(figure))
    if value is None:
        return None
    ends = ", ".join("–" if end is None else f"{end:{sign}.3f}" for end in (low, high))
    return f"{value:{sign}.3f} [{ends}]"


def _ends(figure: Interval | Figure) -> tuple[float | None, ...]:
    return figure.value, figure.low, figure.high


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, by comma."""
    return ", ".join(f"'{name}'" for name in names)


@dataclass(frozen=True, slots=True)
class Field:
    """The full judges of a table by name, on the items that all of them scored.

    `scores` (n,) each; `unscaled` are those of them whose scores are not on the aspect's scale, `partial` the judges
    that are left out, since they scored only a part.
    """

    items: tuple[Item, ...]
    scores: Mapping[str, Array]
    unscaled: tuple[str, ...]
    partial: tuple[str, ...]

    @property
    def human(self) -> Array:
        """The ratings (n,)."""
        return np.array([i.human for i in self.items], dtype=float)

    @property
    def groups(self) -> list[str]:
        """The group of each item."""
        return [i.group for i in self.items]

    def able(self, measure: str) -> dict[str, Array]:
        """Return the scores of the judges that a measure can be told of: mae only of those on the scale."""
        return {n: s for n, s in self.scores.items() if measure != "mae" or n not in self.unscaled}

    def notes(self, measure: str) -> list[str]:
        """Return who is left out, and why."""
        told = []
        if self.partial:
            told.append(f"Left out, as they scored only a part of the test side: {listed(self.partial)}.")
        if measure == "mae" and self.unscaled:
            told.append(f"Left out, as their scores are not on the aspect's scale: {listed(self.unscaled)}.")
        return told


def field_of(looked: Looked) -> Field:
    """Return the full judges of a table on the items that all of them scored, in the order of its rows."""
    rows = judge_rows(looked)
    full = [r for r in rows if not r.partial]
    scores = {r.name: scores_of(looked.verdicts[r.name]) for r in full}
    common = np.ones(len(looked.items), dtype=bool)
    for given in scores.values():
        common &= np.isfinite(given)
    return Field(
        items=tuple(i for i, there in zip(looked.items, common.tolist(), strict=True) if there),
        scores={name: given[common] for name, given in scores.items()},
        unscaled=tuple(r.name for r in full if "mae" not in r.figures),
        partial=tuple(r.name for r in rows if r.partial),
    )


def judge_rows(looked: Looked) -> list[JudgeRow]:
    """Return the rows of a table that are judges, not humans."""
    return [r for r in looked.table.rows if r.name in looked.verdicts]


@dataclass(frozen=True, slots=True)
class Joint:
    """The items that stand on the test side of every aspect, with what was given to them in each.

    `aspects`, `human` and the scores of each judge are by `suite/name`, with numbers (n,) each; the judges are those
    that stand in every table with scores on the aspects' scales, `full` those of them that are full in every one.
    `groups` has a name for each item: items that share a group in any aspect share it here.
    """

    aspects: Mapping[str, Aspect]
    human: Mapping[str, Array]
    scores: Mapping[str, Mapping[str, Array]]
    full: tuple[str, ...]
    groups: tuple[str, ...]


def joint(looked: Sequence[Looked], option: str) -> Joint:
    """Return the aspects' items joined by row and content; `option` is who asks for it, for messages.

    Raises ConfigError for fewer than two aspects, DataError if no item stands on every test side.
    """
    if len(looked) < 2:
        raise ConfigError(f"{option}: it takes several aspects; name them with --aspect, by comma")
    places = [{(i.row, i.key): k for k, i in enumerate(one.items)} for one in looked]
    common = [key for key in places[0] if all(key in p for p in places)]
    if not common:
        raise DataError(f"{option}: no item stands on the test side of every aspect", file=looked[0].table.data)
    order = [[p[key] for key in common] for p in places]
    refs = [f"{one.table.aspect.suite}/{one.table.aspect.name}" for one in looked]
    rows = [{r.name: r for r in judge_rows(one) if "mae" in r.figures} for one in looked]
    names = [name for name in rows[0] if all(name in r for r in rows)]
    given = {n: {ref: scores_of(one.verdicts[n]) for ref, one in zip(refs, looked, strict=True)} for n in names}
    groups = [
        [(k, one.items[place[key]].group) for k, (one, place) in enumerate(zip(looked, places, strict=True))]
        for key in common
    ]
    return Joint(
        aspects={ref: one.table.aspect.aspect() for ref, one in zip(refs, looked, strict=True)},
        human={
            ref: np.array([one.items[k].human for k in own], dtype=float)
            for ref, one, own in zip(refs, looked, order, strict=True)
        },
        scores={n: {ref: given[n][ref][own] for ref, own in zip(refs, order, strict=True)} for n in names},
        full=tuple(n for n in names if not any(r[n].partial for r in rows)),
        groups=tuple(clusters(groups)),
    )


def turned(aspects: Iterable[Aspect]) -> str:
    """Return in words which aspects are turned round, so that more is better in all; "" if none is."""
    names = [a.name for a in aspects if a.better == "lower"]
    return f"; turned round, as less is better: {', '.join(names)}" if names else ""
