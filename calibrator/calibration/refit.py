"""Refit: after the choice is made, the best candidates become one rubric that learns from train and dev together."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.aspects import Aspect
from calibrator.calibration.seeds import seed_for
from calibrator.drafting.base import Drafter
from calibrator.records import Candidate, Item, Rubric


def refit(drafter: Drafter, aspect: Aspect, best: Sequence[Candidate], items: Sequence[Item], seed: int) -> Rubric:
    """Return the rubric to hand over: made of the best candidates (`best[0]` is the winner), fitted to all `items`."""
    return drafter.refit(aspect, [c.rubric for c in best], items, seed_for(seed, "refit"))
