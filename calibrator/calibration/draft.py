"""Drafting: which exemplars and which temperature for each Monte-Carlo trial, and which drafts are worth scoring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import numpy as np

from calibrator.aspects import Aspect
from calibrator.calibration.seeds import seed_for
from calibrator.drafting.base import DraftRequest
from calibrator.drafting.sampling import sample_exemplars
from calibrator.judges.wording import in_words
from calibrator.records import Item, Rubric
from calibrator.texts import normalise

SHARED = 0.85  # of their pairs of words, from which on two rubrics are one


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


def measured_alike(one: Rubric, other: Rubric) -> bool:
    """Whether two rubrics hold the same criteria with the same weights, to a twentieth of the greatest."""
    return _measures(one) == _measures(other)


def worded_alike(one: Rubric, other: Rubric) -> bool:
    """Whether two rubrics say nearly the same: of all pairs of neighbouring words, at least `SHARED` are in both."""
    mine, others = _pairs(one), _pairs(other)
    return len(mine & others) >= SHARED * len(mine | others)


def _measures(rubric: Rubric) -> frozenset[tuple[str, str | None, int]]:
    measures = [m for s in rubric.steps for m in s.measures]
    most = max((abs(m.weight) for m in measures), default=0.0) or 1.0
    return frozenset(
        (m.criterion, m.times.criterion if m.times else None, round(20 * m.weight / most)) for m in measures
    )


def _pairs(rubric: Rubric) -> frozenset[tuple[str, str]]:
    return frozenset(pair for sentence in in_words(rubric) for pair in pairwise(("", *normalise(sentence).split(), "")))


def distinct(
    rubrics: Iterable[tuple[str, Rubric]], alike: Callable[[Rubric, Rubric], bool]
) -> list[tuple[str, Rubric]]:
    """Return the named rubrics without near-duplicates of an earlier one."""
    kept: list[tuple[str, Rubric]] = []
    for name, rubric in rubrics:
        if not any(alike(rubric, earlier) for _, earlier in kept):
            kept.append((name, rubric))
    return kept
