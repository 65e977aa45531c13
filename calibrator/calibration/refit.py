"""Refit: after the choice is made, the best candidates become one rubric that learns from train and dev together."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.aspects import Aspect
from calibrator.calibration.method import Refit
from calibrator.calibration.seeds import seed_for
from calibrator.records import Candidate, Item, Rubric


def refit(fitted: Refit | None, aspect: Aspect, best: Sequence[Candidate], items: Sequence[Item], seed: int) -> Rubric:
    """Return the rubric to hand over: made of the best candidates (`best[0]` is the winner), fitted to all `items`.

    Where there is nothing to fit, the winner is handed over as it was chosen.
    """
    if fitted is None:
        return best[0].rubric
    return fitted(aspect, [c.rubric for c in best], items, seed_for(seed, "refit"))
