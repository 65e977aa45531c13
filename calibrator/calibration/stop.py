"""Stopping: the one rule that says whether another round of refinement is worth while."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator.calibration.races.base import units_of
from calibrator.evaluation.agreement import scores_of, systems_of
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Item
from calibrator.stats.resampling import group_weights

SURE = 0.9
RESAMPLES = 1000


def gained(before: Candidate, after: Candidate, items: Sequence[Item], aim: Aim, seed: int) -> bool:
    """Whether the best candidate after a round betters the one before it by more than noise.

    It does if it has the higher objective in at least `SURE` of the bootstrap resamples of dev, paired, over groups
    (over items where these are few; see `races.base.units_of`).
    """
    scores = np.array([scores_of(before.verdicts), scores_of(after.verdicts)])
    both = np.flatnonzero(np.isfinite(scores).all(axis=0)).tolist()
    if after.name == before.name or not both:
        return False
    shared = [items[k] for k in both]
    human = np.array([i.human for i in shared], dtype=float)
    weights = group_weights(units_of([i.group for i in shared]), RESAMPLES, np.random.default_rng(seed))
    draws = aim.draws(scores[:, both], human, systems_of(shared), weights)
    return bool((draws[1] > draws[0]).mean() >= SURE)
