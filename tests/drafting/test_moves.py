"""The embedded drafter's moves, against a search of all terms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.criteria import CRITERIA
from calibrator.drafting.fitting import Fit, Known
from calibrator.drafting.moves import MOVES, add, calibrate, modify, paraphrase
from calibrator.drafting.terms import SINGLES, TERMS

COUNT = len(CRITERIA)
PAIR = COUNT + 7  # some product


def fitted(seed: int = 0, rows: int = 1500, constant: tuple[int, ...] = ()) -> Fit:
    """A fit on random columns, whose values are the sum of the first ten, the earlier the weightier, and a little."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((rows, COUNT))
    z[:, constant] = 0.0
    z[:, 10:] *= rng.uniform(0.5, 2, COUNT - 10)
    line = z[:, :10] @ 0.7 ** np.arange(10) + 0.1 * rng.standard_normal(rows)
    ones = np.ones(COUNT)
    known = Known(z, 0 * ones, ones, line, line, tuple(map(str, range(rows))), ("",) * rows)
    return Fit(known, line, rng.uniform(0.5, 2, rows))


def lot(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def correlation(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return abs(float(np.corrcoef(a, b)[0, 1]))


def test_the_moves_are_those_of_the_paper() -> None:
    assert list(MOVES) == ["modify", "paraphrase", "add", "calibrate"]


@pytest.mark.parametrize("name", MOVES)
def test_a_move_leaves_its_arguments_and_takes_no_term_twice(name: str) -> None:
    fit = fitted()
    for places in ([], [3], [0, 1, PAIR], list(range(24))):
        before, values = list(places), fit.terms.copy()
        found = MOVES[name](places, fit, 24, lot())
        assert places == before and (fit.terms == values).all()
        assert len(set(found)) == len(found) <= 24
        assert set(found) <= set(range(len(TERMS)))
        assert MOVES[name](places, fit, 24, lot()) == found


def test_modify_keeps_the_terms() -> None:
    assert modify([4, PAIR, 2], fitted(), 24, lot()) == [4, PAIR, 2]


@pytest.mark.parametrize("seed", range(8))
def test_paraphrase_puts_the_most_like_unused_term_of_the_same_kind_in_place_of_one(seed: int) -> None:
    fit, places = fitted(seed), [4, PAIR, 2, 9]
    found = paraphrase(places, fit, 24, lot(seed))
    changed = [k for k in range(4) if found[k] != places[k]]
    assert len(found) == 4 and len(changed) == 1
    old, new = places[changed[0]], found[changed[0]]
    kin = [k for k in range(len(TERMS)) if k not in places and (k < COUNT) == (old < COUNT)]
    assert new == max(kin, key=lambda k: correlation(fit.terms[:, k], fit.terms[:, old]))


def test_paraphrase_draws_the_term_by_lot() -> None:
    fit, places = fitted(), [4, PAIR, 2, 9]
    outcomes = {tuple(paraphrase(places, fit, 24, lot(seed))) for seed in range(40)}
    assert len(outcomes) == len(places)


def test_paraphrase_takes_the_twin_of_a_term() -> None:
    fit = fitted()
    fit.known.z[:, 20] = -fit.known.z[:, 4]  # the terms are made when they are first asked for
    assert paraphrase([4], fit, 24, lot()) == [20]


def residual(fit: Fit, places: list[int]) -> NDArray[np.float64]:
    weights, base = fit.weights(places)
    return fit.fitted - fit.terms[:, places] @ weights - base


def test_add_takes_the_criterion_that_goes_most_with_what_is_missed() -> None:
    for seed in range(5):
        fit, places = fitted(seed), [0, 2, PAIR]
        *kept, new = add(places, fit, 24, lot())
        assert kept == places
        missed = fit.importance * residual(fit, places)
        unused = [k for k in range(len(SINGLES)) if k not in places]
        assert new == max(unused, key=lambda k: abs(float(fit.terms[:, k] @ missed)))
        assert new == 1  # the weightiest that is not there


def test_add_looks_most_at_the_items_that_count_most() -> None:
    fit = fitted()
    few = np.arange(1500) < 150
    line = np.where(few, fit.known.z[:, 3], fit.known.z[:, 5])  # the few follow one criterion, the many another
    assert add([], Fit(fit.known, line, np.ones(1500)), 24, lot()) == [5]
    assert add([], Fit(fit.known, line, np.where(few, 30.0, 1.0)), 24, lot()) == [3]


def test_add_begins_an_empty_rubric() -> None:
    assert add([], fitted(), 24, lot()) == [0]


def test_add_to_a_full_rubric_lets_the_weakest_term_go() -> None:
    fit, places = fitted(), [9, 0, 1, 25]
    weights, _ = fit.weights(places)
    weakest = places[int(np.argmin(np.abs(weights)))]
    assert weakest == 25
    assert add(places, fit, 4, lot()) == [9, 0, 1, 2]
    assert add(places, fit, 5, lot()) == [9, 0, 1, 25, 2]


def test_add_does_nothing_where_every_criterion_is_there_and_never_takes_a_constant_one() -> None:
    every = list(range(COUNT))
    assert add(every, fitted(), 99, lot()) == every
    fit = fitted(constant=(0, 1))
    assert add([], fit, 24, lot()) == [2]
    others = [k for k in every if k not in (0, 1)]
    assert add(others, fit, 99, lot()) == others


def test_calibrate_lets_the_weakest_term_go_but_not_the_last() -> None:
    fit = fitted()
    assert calibrate([9, 0, 25, 1], fit, 24, lot()) == [9, 0, 1]
    assert calibrate([25], fit, 24, lot()) == [25]
    assert calibrate([], fit, 24, lot()) == []
