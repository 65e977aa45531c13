"""Refinement: the worst disagreements of a candidate, and the requests that show them to the drafter."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator.aspects import Aspect, Scale
from calibrator.calibration.seeds import seed_for
from calibrator.drafting.base import RefineRequest
from calibrator.records import Candidate, Disagreement, Item, Judgment
from calibrator.stats.correlation import ranks

SHOWN = 3
APART = 0.5  # of the scale: annotators whose ratings of an item lie so far apart disagree on it


def worst_disagreements(candidate: Candidate, items: Sequence[Item], count: int = SHOWN) -> tuple[Disagreement, ...]:
    """Return the items on which judge and humans differ most in points (Auto-CSEval, section 4)."""
    found = [d for d, _ in _both(candidate, items)]
    found.sort(key=lambda d: (-abs(d.gap), d.item.key, d.item.id))
    return tuple(found[:count])


def telling_disagreements(
    candidate: Candidate, items: Sequence[Item], scale: Scale, count: int = SHOWN
) -> tuple[Disagreement, ...]:
    """Return the items on which judge and humans differ most in rank, those on which humans are of one mind first.

    A judge that is a point too high throughout orders the items well; its ranks show where it does not. Where the
    annotators lie half the scale apart, the mean of their ratings teaches nothing.
    """
    found = _both(candidate, items)
    if not found:
        return ()
    judged, human = (
        ranks(np.array(v, dtype=float)) for v in zip(*((d.judged, d.human) for d, _ in found), strict=True)
    )
    gaps = ((judged - human) / max(1, len(found) - 1)).tolist()
    ranked = [
        (apart >= APART * (scale.high - scale.low), Disagreement(d.item, d.judged, d.human, gap))
        for (d, apart), gap in zip(found, gaps, strict=True)
    ]
    ranked.sort(key=lambda pair: (pair[0], -abs(pair[1].gap), pair[1].item.key, pair[1].item.id))
    return tuple(d for _, d in ranked[:count])


def _both(candidate: Candidate, items: Sequence[Item]) -> list[tuple[Disagreement, float]]:
    """Return all items with a score and a rating, and how far the ratings of each lie apart in points."""
    return [
        (
            Disagreement(item, v.score, item.human, v.score - item.human),
            max(item.ratings, default=0.0) - min(item.ratings, default=0.0),
        )
        for item, v in zip(items, candidate.verdicts, strict=True)
        if isinstance(v, Judgment) and item.human is not None
    ]


def refine_requests(
    aspect: Aspect,
    candidate: Candidate,
    worst: tuple[Disagreement, ...],
    exemplars: Sequence[Item],
    moves: Sequence[str],
    count: int,
    temperature: tuple[float, float],
    seed: int,
) -> tuple[RefineRequest, ...]:
    """Return `count` requests for one candidate, which show its `worst` disagreements; the moves take turns."""
    requests = []
    for trial in range(count):
        own = seed_for(seed, "refine", candidate.name, trial)
        drawn = float(np.random.default_rng(own).uniform(*temperature))
        move = moves[trial % len(moves)]
        requests.append(RefineRequest(aspect, candidate.rubric, move, worst, tuple(exemplars), drawn, own))
    return tuple(requests)
