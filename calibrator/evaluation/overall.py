"""The mean of several aspects against one overall score: which of a judge's two ways to an overall verdict is better?

Jones et al. (2024, table 2) ask a model for five aspects and average them, or for one overall score, and compare both
with the humans. Here the two are compared on the same items, with the paired gain, its interval and its p.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.evaluation.agreement import RESAMPLES, Comparison, compare
from calibrator.evaluation.unified import on_scale, unified
from calibrator.records import Failure, Item, Judgment, Verdict

Array = NDArray[np.float64]
MEAN = "mean of aspects"
SINGLE = "overall score"


@dataclass(frozen=True, slots=True)
class _Given:
    """A judge whose scores are there already, by the ids of the items; nan is a failure."""

    id: str
    mode: str
    scores: Array

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        found = (float(self.scores[int(i.id)]) for i in items)
        return tuple(
            Judgment(i.id, s, self.mode) if np.isfinite(s) else Failure(i.id, "no score")
            for i, s in zip(items, found, strict=True)
        )


def mean_against_overall(
    aspects: Mapping[str, Aspect],
    scores: Mapping[str, Array],
    overall: Aspect,
    single: Array,
    human: Array,
    groups: Sequence[str],
    seed: int,
    resamples: int = RESAMPLES,
    tested: str | None = "spearman",
) -> Comparison:
    """Return how well a judge's mean over `aspects` and its `single` overall score agree with the human overall rating.

    `scores` has the judge's scores (n,) of each aspect by the names of `aspects`; `single` and `human` (n,) are on the
    scale of the aspect `overall`; nan is no score, and items without a rating are left out. The mean is put on that
    scale, so that mae can be compared too, and the better end is the higher one in all three. The comparison's judges
    are `MEAN` and `SINGLE`, its gains those of the mean over the single score, on the items that have both; `tested`
    is the measure that is tested by permutation over `groups` (n names), None for none. Raises ValueError if lengths
    differ or if an aspect has no scores.
    """
    mean = unified(scores, aspects, overall.scale)
    if not len(mean) == len(single) == len(human) == len(groups):
        lengths = f"{len(mean)} means, {len(single)} overall scores, {len(human)} ratings, {len(groups)} groups"
        raise ValueError(f"one of each is needed for an item, there are {lengths}")
    ratings = on_scale(human, overall, overall.scale)
    items = [
        Item(id=str(k), output="", group=groups[k], human=float(ratings[k]))
        for k in np.flatnonzero(np.isfinite(ratings)).tolist()
    ]
    judges = {
        MEAN: _Given(MEAN, f"mean of {len(aspects)} aspects", mean),
        SINGLE: _Given(SINGLE, "as given", on_scale(single, overall, overall.scale)),
    }
    return compare(judges, items, seed, resamples, tested)
