"""Rankings of systems compared: against scipy, against all permutations, and by hand."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from calibrator.stats.orders import kendall_test, pairs_alike, same_top, significant_tau, smallest_p, tau_draws

nan = np.nan
few = settings(deadline=None, max_examples=60)
scores = st.lists(st.integers(0, 5), min_size=2, max_size=7)


@few
@given(st.integers(0, 2**31), st.integers(2, 12))
def test_without_ties_test_and_figure_are_scipys(seed: int, systems: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.permutation(systems).astype(float), rng.permutation(systems).astype(float)
    tau, p = kendall_test(x, y)
    known = stats.kendalltau(x, y, method="exact")
    assert (tau, p) == (pytest.approx(known.statistic), pytest.approx(known.pvalue))


@few
@given(st.integers(0, 2**31))
def test_with_ties_p_is_the_share_of_all_orders_at_least_as_far_from_none(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, 5)).astype(float)
    tau, p = kendall_test(x, y)
    known = stats.kendalltau(x, y).statistic
    assert tau == pytest.approx(known, nan_ok=True)
    if np.isfinite(known):
        orders = [abs(stats.kendalltau(x[list(o)], y).statistic) for o in permutations(range(5))]
        assert p == pytest.approx(np.mean([t >= abs(known) - 1e-9 for t in orders]))


@few
@given(st.integers(0, 2**31), st.integers(2, 8))
def test_tau_of_many_resamples_is_that_of_each(seed: int, systems: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, 6, systems)).astype(float)
    x[0, 0] = nan
    found = tau_draws(x, y)
    for row in range(6):
        there = np.isfinite(x[row])
        known = stats.kendalltau(x[row, there], y[row, there]).statistic if there.sum() > 1 else nan
        assert found[row] == pytest.approx(known, nan_ok=True)


def test_the_published_tau_of_six_systems_with_one_tie() -> None:
    """0.97, as Zheng et al. report it, is the tau-b of six systems of which one of the rankings ties two."""
    tau, p = kendall_test(np.array([1.0, 2, 3, 4, 5, 5]), np.array([1.0, 2, 3, 4, 5, 6]))
    assert round(tau, 2) == 0.97
    assert p < 0.05


def test_smallest_p_and_the_tau_that_is_significant() -> None:
    for systems in range(2, 8):
        order = np.arange(systems, dtype=float)
        assert smallest_p(systems) == pytest.approx(kendall_test(order, order)[1])
        every = [kendall_test(np.array(o, dtype=float), order) for o in permutations(range(systems))]
        enough = [tau for tau, p in every if p < 0.05 and tau > 0]
        assert significant_tau(systems) == pytest.approx(min(enough) if enough else nan, nan_ok=True)


def test_what_is_not_defined() -> None:
    assert np.isnan(kendall_test(np.ones(4), np.arange(4.0))).all()
    assert np.isnan(kendall_test(np.ones(1), np.ones(1))).all()
    assert np.isnan(pairs_alike(np.array([nan, 1.0]), np.array([1.0, 2.0])))


def test_pairs_and_tops_by_hand() -> None:
    assert pairs_alike(np.array([1.0, 2, 3]), np.array([1.0, 3, 2])) == pytest.approx(2 / 3)
    assert pairs_alike(np.array([1.0, 1, 3]), np.array([1.0, 2, 3])) == pytest.approx(2.5 / 3), "a half for a tie"
    assert same_top(np.array([[1.0, 2], [2.0, 2]]), np.array([[0.0, 9]])).tolist() == [1.0, 0.5]
