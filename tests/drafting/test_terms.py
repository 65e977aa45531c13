"""Terms: what stands where, and what it comes to on items."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from calibrator.criteria import CRITERIA
from calibrator.drafting.terms import PAIRS, SINGLES, TERMS, measure_of, place_of, term_values
from calibrator.records import Factor, Measure

COUNT = len(CRITERIA)
NAMES = [c.name for c in CRITERIA]
Z = np.random.default_rng(0).standard_normal((6, COUNT))


def test_every_criterion_and_every_pair_of_two_stand_once_the_criteria_first() -> None:
    assert TERMS == SINGLES + PAIRS
    assert len(SINGLES) == COUNT
    assert len(PAIRS) == COUNT * (COUNT - 1) // 2
    assert {frozenset(t) for t in PAIRS} == {frozenset(p) for p in combinations(range(COUNT), 2)}
    assert len(set(TERMS)) == len(TERMS)


def test_the_values_are_the_columns_and_their_products() -> None:
    values, before = term_values(Z), Z.copy()
    assert values.shape == (6, len(TERMS))
    for place, term in enumerate(TERMS):
        assert values[:, place] == pytest.approx(np.prod([Z[:, j] for j in term], axis=0))
    assert (before == Z).all()


def test_some_places_have_the_values_they_have_among_all() -> None:
    places = [COUNT + 5, 2, len(TERMS) - 1, 0, COUNT]
    assert (term_values(Z, places) == term_values(Z)[:, places]).all()
    assert term_values(Z, [1, 0]).shape == (6, 2)
    assert term_values(Z, []).shape == (6, 0)


def test_a_place_and_its_measure_stand_for_one_another() -> None:
    center, spread = np.arange(COUNT) / 7, 1 + np.arange(COUNT) / 3
    for place, term in enumerate(TERMS):
        measure = measure_of(place, 0.25, center, spread)
        assert place_of(measure) == place
        factors = [(measure.criterion, measure.center, measure.spread)]
        if measure.times:
            factors.append((measure.times.criterion, measure.times.center, measure.times.spread))
        assert factors == [(NAMES[j], center[j], spread[j]) for j in term]
        assert measure.weight == 0.25


def test_a_product_is_the_same_whichever_factor_stands_first() -> None:
    one = Measure(NAMES[4], 1, 0, 1, Factor(NAMES[9], 0, 1))
    other = Measure(NAMES[9], 1, 0, 1, Factor(NAMES[4], 0, 1))
    assert place_of(one) == place_of(other) >= COUNT


def test_a_weight_is_rounded_to_six_figures() -> None:
    assert measure_of(0, -0.123456789, np.zeros(COUNT), np.ones(COUNT)).weight == -0.123457


def test_an_unknown_criterion_has_no_place() -> None:
    with pytest.raises(KeyError, match="sparkle"):
        place_of(Measure("sparkle", 1, 0, 1))
    with pytest.raises(KeyError, match="sparkle"):
        place_of(Measure(NAMES[0], 1, 0, 1, Factor("sparkle", 0, 1)))
