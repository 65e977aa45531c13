"""What a calibration works with: who drafts, how a rubric becomes a judge, and where it starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calibrator.aspects import Aspect
from calibrator.criteria import Measured
from calibrator.drafting.base import Drafter
from calibrator.drafting.criteria import CriteriaDrafter, uncalibrated
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Item, Rubric


@dataclass(frozen=True, slots=True)
class Method:
    """A way of calibrating. `start` gives the uncalibrated rubric from the texts of items, never their ratings."""

    name: str
    drafter: Drafter
    judge: Callable[[Rubric], Judge]
    start: Callable[[Sequence[Item]], Rubric]


def embedded(aspect: Aspect, objective: str) -> Method:
    """Return the embedded method: criteria judge and criteria drafter, sharing what they measured."""
    measured = Measured()
    return Method(
        name="criteria",
        drafter=CriteriaDrafter(objective, measured),
        judge=lambda rubric: CriteriaJudge(rubric, aspect.scale, measured),
        start=lambda items: uncalibrated(aspect, items, measured),
    )
