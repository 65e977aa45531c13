"""Weighted tau against scipy, normalised gain against scikit-learn, both by hand and where they are not defined."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats import ranking
from calibrator.stats.ranking import ndcg, weighted_kendall

Array = NDArray[np.float64]
many = settings(deadline=None, max_examples=150)
marks = st.integers(0, 5).map(float)


@st.composite
def two_series(draw: st.DrawFn, least: int = 2) -> tuple[Array, Array]:
    size = draw(st.integers(least, 20))
    fine = st.integers(-800, 800).map(lambda k: k / 8)
    x = draw(st.lists(marks, min_size=size, max_size=size))
    y = draw(st.lists(draw(st.sampled_from([marks, fine])), min_size=size, max_size=size))
    return np.array(x), np.array(y)


@many
@given(two_series())
def test_weighted_tau_is_that_of_scipy(series: tuple[Array, Array]) -> None:
    x, y = series
    varied = len(set(x)) > 1 and len(set(y)) > 1
    expected = float(stats.weightedtau(x, y).statistic) if varied else math.nan
    assert weighted_kendall(x, y) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    assert weighted_kendall(y, x) == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_weighted_tau_worked_out_in_parts_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.integers(1, 6, 50).astype(float), rng.standard_normal(50)
    whole = weighted_kendall(x, y)
    monkeypatch.setattr(ranking, "PAIRS", 130)
    assert weighted_kendall(x, y) == whole


@many
@given(two_series(), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(series: tuple[Array, Array], random: object) -> None:
    x, y = series
    order = np.arange(len(x))
    random.shuffle(order)  # type: ignore[attr-defined]
    assert weighted_kendall(x[order], y[order]) == pytest.approx(weighted_kendall(x, y), abs=1e-12, nan_ok=True)
    assert ndcg(x[order], y[order], 3) == pytest.approx(ndcg(x, y, 3), abs=1e-12, nan_ok=True)


def test_weighted_tau_by_hand() -> None:
    # Ranks by x: 1 2 3, weights 1, 1/2, 1/3; pairs weigh 3/2 (disagree), 4/3, 5/6 (agree): (13/6 - 9/6) / (22/6).
    # By y the first two change places, and the same pairs weigh 3/2, 5/6, 4/3.
    assert weighted_kendall(np.array([3.0, 2, 1]), np.array([2.0, 3, 1])) == pytest.approx(4 / 22)
    # The same exchange at the bottom of the list costs less: 5/6 of 22/6.
    assert weighted_kendall(np.array([3.0, 2, 1]), np.array([3.0, 1, 2])) == pytest.approx(12 / 22)
    assert weighted_kendall(np.arange(7.0), np.arange(7.0)) == pytest.approx(1)
    assert weighted_kendall(np.arange(7.0), -np.arange(7.0)) == pytest.approx(-1)


@pytest.mark.parametrize("x", [[], [1.0], [2.0, 2.0], [1.0, math.nan, 3.0]])
def test_weighted_tau_is_nan_where_it_is_not_defined(x: list[float]) -> None:
    assert math.isnan(weighted_kendall(np.array(x), np.arange(float(len(x)))))
    assert math.isnan(weighted_kendall(np.arange(float(len(x))), np.array(x)))


@many
@given(two_series(), st.sampled_from([None, 1, 2, 5, 100]))
def test_ndcg_is_that_of_scikit_learn(series: tuple[Array, Array], at: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    relevance, score = series
    expected = metrics.ndcg_score([relevance], [score], k=at) if relevance.any() else math.nan
    assert ndcg(relevance, score, at) == pytest.approx(expected, abs=1e-9, nan_ok=True)


def test_ndcg_by_hand() -> None:
    # Gains 3 2 0 in the order 2 3 0: (2 + 3 / log2 3) / (3 + 2 / log2 3).
    relevance = np.array([3.0, 2, 0])
    by_log = 1 / math.log2(3)
    assert ndcg(relevance, np.array([5.0, 9, 1])) == pytest.approx((2 + 3 * by_log) / (3 + 2 * by_log))
    assert ndcg(relevance, np.array([5.0, 9, 1]), at=1) == pytest.approx(2 / 3)
    assert ndcg(relevance, np.array([3.0, 2, 1])) == pytest.approx(1)


def test_ties_share_the_gain_of_all_their_orders() -> None:
    # The first two share places 1 and 2: each (1 + 1 / log2 3) / 2 of its gain.
    relevance, score = np.array([3.0, 1, 0]), np.array([4.0, 4, 1])
    by_log = 1 / math.log2(3)
    assert ndcg(relevance, score) == pytest.approx(4 * (1 + by_log) / 2 / (3 + by_log))
    constant = np.full(4, 2.0)
    gains = np.array([3.0, 1, 0, 2])
    orders = [ndcg(gains, np.array(order, dtype=float), 2) for order in permutations(range(4))]
    assert ndcg(gains, constant, 2) == pytest.approx(np.mean(orders))


def test_ndcg_is_nan_where_it_is_not_defined() -> None:
    two = np.array([1.0, 2])
    assert math.isnan(ndcg(np.array([]), np.array([])))
    assert math.isnan(ndcg(np.array([3.0]), np.array([1.0])))
    assert math.isnan(ndcg(np.zeros(2), two))
    assert math.isnan(ndcg(np.array([1.0, math.nan]), two))
    assert math.isnan(ndcg(two, np.array([1.0, math.nan])))


def test_ndcg_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(ValueError, match="lowest mark"):
        ndcg(np.array([1.0, -1]), np.array([1.0, 2]))
    with pytest.raises(ValueError, match="1 place"):
        ndcg(np.array([1.0, 2]), np.array([1.0, 2]), at=0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_an_infinite_number_has_no_weighted_tau(infinite: float) -> None:
    x, y = np.array([1.0, infinite, infinite, 2]), np.arange(4.0)
    assert np.isnan(weighted_kendall(x, y)) and np.isnan(weighted_kendall(y, x))
