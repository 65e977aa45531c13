"""What the scripts on CSEval's recorded columns share: the rows of a file, and how a figure is printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cseval_published import ASPECTS
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.audit.subject import numbers_of
from calibrator.stats.resampling import Interval
from calibrator.tables import read_table
from calibrator.texts import normalise

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file: columns of numbers (n,) by name, nan where empty, and the group and system of each row."""

    numbers: Mapping[str, Array]
    groups: list[str]
    systems: list[str]

    def human(self, aspect: Aspect) -> Array:
        return on_scale(self.numbers[f"{aspect.name}_score"], aspect)

    def judged(self, judge: str, aspect: Aspect) -> Array:
        """Return a judge's scores, nan for failures; a metric has one column for all aspects."""
        own = self.numbers.get(f"{judge}/{aspect.name}")
        return self.numbers[judge] if own is None else on_scale(own, aspect)

    def has(self, judge: str) -> bool:
        return judge in self.numbers or f"{judge}/{ASPECTS[0]}" in self.numbers


def on_scale(scores: Array, aspect: Aspect) -> Array:
    """Return the scores with nan for what is off the aspect's scale; its direction stays."""
    with np.errstate(invalid="ignore"):
        return np.where((scores >= aspect.scale.low) & (scores <= aspect.scale.high), scores, np.nan)


def read(path: Path) -> Rows:
    table = read_table(path)
    groups, systems = ([str(row.get(c) or "") for row in table.rows] for c in ("hatespeech", "source"))
    return Rows(numbers_of(table), [normalise(g) for g in groups], systems)


def table(header: Sequence[str], lines: Sequence[Sequence[object]]) -> None:
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for line in lines:
        print("| " + " | ".join(map(str, line)) + " |")
    print(flush=True)


def shown(interval: Interval, sign: str = "") -> str:
    return f"{interval.value:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


def beside(ours: float, theirs: float | None) -> str:
    return f"{ours:.3f} / {'–' if theirs is None else f'{theirs:.3f}'}"


def scored_by_all(rows: Rows, judges: Sequence[str], aspect: Aspect) -> NDArray[np.int64]:
    known = np.isfinite(rows.human(aspect))
    for judge in judges:
        known &= np.isfinite(rows.judged(judge, aspect))
    return np.flatnonzero(known)
