"""The humans beside the judges: their own rows, a judge against one of them, and whether it may take their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.calibration.result import figure, rounded
from calibrator.comparison.result import JudgeRow, ReplacementPart
from calibrator.evaluation.humans import against_one, human_rows
from calibrator.evaluation.replacement import NoReplacement, replacement
from calibrator.judges.frozen_parts import Figure
from calibrator.records import Item, Verdict

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class People:
    """The rows of the humans, empty where no item has two ratings, and how many annotators differ."""

    rows: tuple[JudgeRow, ...]
    annotators: int


def human_lines(items: Sequence[Item], seed: int, resamples: int) -> People:
    """Return the rows of the humans on the items that all full judges are compared on."""
    found = human_rows(items, seed, resamples)
    rows = tuple(
        JudgeRow(
            name=row.name,
            family="human",
            mode="human",
            figures={measure: figure(i) for measure, i in row.figures.items()},
            items=row.items,
            coverage=round(row.items / len(items), 4),
            cost=None,
        )
        for row in found
    )
    return People(rows, max((row.annotators for row in found), default=0))


def one_figure(scores: Array, items: Sequence[Item], seed: int, resamples: int) -> Figure | None:
    """Return the Spearman of a judge's scores (n,) against one annotator, mean of all; None without two ratings."""
    found = against_one(scores, items, seed, resamples)
    return None if found is None else figure(found)


def replacement_part(
    verdicts: Sequence[Verdict], items: Sequence[Item], scale: Scale, epsilon: float, seed: int
) -> tuple[ReplacementPart | None, tuple[str, ...]]:
    """Return whether a judge may take a human's place, None if that can't be told, and what a reader must know."""
    found = replacement(verdicts, items, scale, epsilon, seed=seed)
    if isinstance(found, NoReplacement):
        return None, ()
    given = found.as_given or found.test
    part = ReplacementPart(
        omega=rounded(found.omega),
        omega_given=rounded(given.omega),
        advantage=rounded(found.rho),
        z=rounded(found.z),
        passed=found.passed,
    )
    return part, found.cautions
