"""Drafting: which exemplars and which temperature for each Monte-Carlo trial, and which drafts are worth scoring."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from calibrator.aspects import Aspect
from calibrator.calibration.seeds import seed_for
from calibrator.drafting.base import DraftRequest
from calibrator.drafting.sampling import sample_exemplars
from calibrator.records import Item, Rubric
from calibrator.texts import normalise


def draft_requests(
    aspect: Aspect,
    items: Sequence[Item],
    shots: Sequence[float],
    trials: int,
    temperature: tuple[float, float],
    seed: int,
) -> tuple[DraftRequest, ...]:
    """Return `trials` requests for each few-shot size; each trial has a seed of its own and so its own exemplars."""
    requests = []
    for size in shots:
        for trial in range(trials):
            own = seed_for(seed, "draft", size, trial)
            rng = np.random.default_rng(own)
            exemplars = sample_exemplars(items, size, rng)
            requests.append(DraftRequest(aspect, exemplars, float(rng.uniform(*temperature)), own))
    return tuple(requests)


def likeness(rubric: Rubric) -> frozenset[tuple[str, int]]:
    """Return what near-duplicates share.

    That is the sentences of the steps in normal form; where steps are measured, the criteria with their weights to a
    twentieth of the greatest.
    """
    measures = [m for s in rubric.steps for m in s.measures]
    if not measures:
        return frozenset((normalise(s.text), 0) for s in rubric.steps)
    most = max(abs(m.weight) for m in measures) or 1.0
    return frozenset((m.criterion, round(20 * m.weight / most)) for m in measures)


def distinct(rubrics: Iterable[tuple[str, Rubric]]) -> list[tuple[str, Rubric]]:
    """Return the named rubrics without near-duplicates of an earlier one."""
    seen = set()
    kept = []
    for name, rubric in rubrics:
        key = likeness(rubric)
        if key not in seen:
            seen.add(key)
            kept.append((name, rubric))
    return kept
