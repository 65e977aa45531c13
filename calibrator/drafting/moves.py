"""The embedded drafter's moves, an operator each: from the terms of a rubric to those of the next."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from calibrator.drafting.fitting import Fit
from calibrator.drafting.terms import SINGLES, TERMS

Move = Callable[[list[int], Fit, int, np.random.Generator], list[int]]


def modify(places: list[int], fit: Fit, size: int, rng: np.random.Generator) -> list[int]:
    """Keep the terms: only their weights change, as the disagreements count more."""
    return places


def paraphrase(places: list[int], fit: Fit, size: int, rng: np.random.Generator) -> list[int]:
    """Put one term, drawn by lot, in other words: the unused one that is most like it on the items takes its place."""
    unused = _unused(places, fit)
    if not (places and unused):
        return places
    old = places[int(rng.integers(len(places)))]
    kin = [k for k in unused if len(TERMS[k]) == len(TERMS[old])] or unused
    z = fit.terms - fit.terms.mean(axis=0)
    likeness = np.abs(z[:, kin].T @ z[:, old]) / np.linalg.norm(z[:, kin], axis=0)
    new = kin[int(np.argmax(likeness))]
    return [new if place == old else place for place in places]


def add(places: list[int], fit: Fit, size: int, rng: np.random.Generator) -> list[int]:
    """Add the criterion that explains most of what the rubric misses, in place of the weakest term if it is full."""
    unused = [k for k in _unused(places, fit) if k < len(SINGLES)]
    if not unused:
        return places
    kept = [p for p in places if p != fit.weakest(places)] if len(places) >= size else places
    weights, base = fit.weights(kept)
    missed = fit.importance * (fit.fitted - fit.terms[:, kept] @ weights - base)
    return [*kept, unused[int(np.argmax(np.abs(fit.terms[:, unused].T @ missed)))]]


def calibrate(places: list[int], fit: Fit, size: int, rng: np.random.Generator) -> list[int]:
    """Let the weakest term go, so that the others take its part of the scale."""
    return [p for p in places if p != fit.weakest(places)] if len(places) > 1 else places


MOVES: Mapping[str, Move] = {"modify": modify, "paraphrase": paraphrase, "add": add, "calibrate": calibrate}


def _unused(places: list[int], fit: Fit) -> list[int]:
    return [k for k in range(len(TERMS)) if k not in places and fit.terms[:, k].std() > 1e-9]
