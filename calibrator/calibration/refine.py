"""Refinement: the worst disagreements of a candidate, and the requests that show them to the drafter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator.aspects import Aspect
from calibrator.calibration.seeds import seed_for
from calibrator.drafting.base import RefineRequest
from calibrator.records import Candidate, Disagreement, Item, Judgment

SHOWN = 3


def worst_disagreements(candidate: Candidate, items: Sequence[Item], count: int = SHOWN) -> tuple[Disagreement, ...]:
    """Return the items on which judge and humans differ most in absolute value (Auto-CSEval, section 4)."""
    found = [
        Disagreement(item, verdict.score, item.human)
        for item, verdict in zip(items, candidate.verdicts, strict=True)
        if isinstance(verdict, Judgment) and item.human is not None
    ]
    found.sort(key=lambda d: (-abs(d.judged - d.human), d.item.key, d.item.id))
    return tuple(found[:count])


def refine_requests(
    aspect: Aspect,
    candidate: Candidate,
    dev: Sequence[Item],
    exemplars: Sequence[Item],
    moves: Sequence[str],
    count: int,
    temperature: tuple[float, float],
    seed: int,
) -> tuple[RefineRequest, ...]:
    """Return `count` requests for one candidate; the moves take turns."""
    worst = worst_disagreements(candidate, dev)
    requests = []
    for trial in range(count):
        own = seed_for(seed, "refine", candidate.name, trial)
        drawn = float(np.random.default_rng(own).uniform(*temperature))
        move = moves[trial % len(moves)]
        requests.append(RefineRequest(aspect, candidate.rubric, move, worst, tuple(exemplars), drawn, own))
    return tuple(requests)
