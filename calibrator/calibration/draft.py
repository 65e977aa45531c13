"""Drafting: which exemplars and which temperature for each Monte-Carlo trial, and which drafts are worth scoring."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from calibrator.aspects import Aspect
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


def seed_for(seed: int, *purpose: object) -> int:
    """Return a seed for one purpose of a run, so that no step's chance depends on how often another drew."""
    return int.from_bytes(hashlib.sha256(repr((seed, *purpose)).encode()).digest()[:8], "big")


def likeness_key(rubric: Rubric) -> frozenset[str]:
    """Return what two near-duplicates share: the set of their steps' sentences in normal form."""
    return frozenset(normalise(s.text) for s in rubric.steps)


def distinct(rubrics: Iterable[tuple[str, Rubric]]) -> list[tuple[str, Rubric]]:
    """Return the named rubrics without those whose steps say what an earlier one's say."""
    seen: set[frozenset[str]] = set()
    kept = []
    for name, rubric in rubrics:
        key = likeness_key(rubric)
        if key not in seen:
            seen.add(key)
            kept.append((name, rubric))
    return kept
