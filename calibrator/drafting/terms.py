"""What a criteria rubric is a sum of: standardised criteria, and products of two of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.criteria import CRITERIA
from calibrator.records import Factor, Measure

Array = NDArray[np.float64]
Term = tuple[int, ...]  # one column of the criteria, or two that are multiplied

SINGLES: tuple[Term, ...] = tuple((j,) for j in range(len(CRITERIA)))
PAIRS: tuple[Term, ...] = tuple(combinations(range(len(CRITERIA)), 2))
TERMS = SINGLES + PAIRS
_PLACE = {term: place for place, term in enumerate(TERMS)}
_COLUMN = {c.name: j for j, c in enumerate(CRITERIA)}


def term_values(z: Array, places: list[int] | None = None) -> Array:
    """Return the terms at some places of `TERMS`, all by default, of standardised criteria `z` (n, p); shape (n, t)."""
    terms = TERMS if places is None else [TERMS[k] for k in places]
    first = [t[0] for t in terms]
    values: Array = z[:, first]
    pairs = [k for k, t in enumerate(terms) if len(t) == 2]
    values[:, pairs] *= z[:, [terms[k][1] for k in pairs]]
    return values


def place_of(measure: Measure) -> int:
    """Return the place in `TERMS` of what a measure measures."""
    factors = [measure.criterion] + ([measure.times.criterion] if measure.times else [])
    return _PLACE[tuple(sorted(_COLUMN[name] for name in factors))]


def measure_of(place: int, weight: float, center: Array, spread: Array) -> Measure:
    """Return the measure of a term, from center and spread of all criteria, shape (p,) each."""
    first, *second = TERMS[place]
    times = Factor(CRITERIA[second[0]].name, float(center[second[0]]), float(spread[second[0]])) if second else None
    return Measure(CRITERIA[first].name, float(f"{weight:.6g}"), float(center[first]), float(spread[first]), times)
