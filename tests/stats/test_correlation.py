"""Agreement measures against scipy, against the written-out resample, and by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats import correlation
from calibrator.stats.correlation import (
    MEASURES,
    kendall,
    mae,
    normal_scores,
    objective,
    pearson,
    rmse,
    spearman,
    spearman_draws,
    weighted_ranks,
)

Array = NDArray[np.float64]
CORRELATIONS = ("spearman", "kendall", "pearson")
many = settings(deadline=None, max_examples=150)

tied = st.integers(1, 5).map(float)
eighths = st.integers(-8000, 8000).map(lambda k: k / 8)


@st.composite
def two_series(draw: st.DrawFn, least: int = 0) -> tuple[Array, Array]:
    size = draw(st.integers(least, 25))
    x, y = (draw(st.lists(draw(st.sampled_from([tied, eighths])), min_size=size, max_size=size)) for _ in range(2))
    return np.array(x, dtype=float), np.array(y, dtype=float)


@st.composite
def resampled_series(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    x, y = draw(two_series(least=1))
    counts = draw(st.lists(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)), min_size=1, max_size=4))
    return x, y, np.array(counts, dtype=float)


def by_scipy(name: str, x: Array, y: Array) -> float:
    """What scipy says; nan for a constant series, on which it warns."""
    if len(set(x)) < 2 or len(set(y)) < 2:
        return math.nan
    result: Any = {
        "spearman": stats.spearmanr,
        "kendall": lambda a, b: stats.kendalltau(a, b, variant="b"),
        "pearson": stats.pearsonr,
    }[name](x, y)
    return float(result.statistic)


@pytest.mark.parametrize("name", CORRELATIONS)
@many
@given(series=two_series())
@example(series=(np.array([]), np.array([])))
@example(series=(np.array([3.0]), np.array([2.0])))
@example(series=(np.array([0.1] * 7), np.arange(7.0)))
def test_correlations_are_those_of_scipy(name: str, series: tuple[Array, Array]) -> None:
    x, y = series
    assert float(MEASURES[name](x, y)) == pytest.approx(by_scipy(name, x, y), abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", CORRELATIONS)
@many
@given(series=resampled_series())
def test_weights_stand_for_the_written_out_resample(name: str, series: tuple[Array, Array, Array]) -> None:
    x, y, counts = series
    expected = [by_scipy(name, np.repeat(x, row), np.repeat(y, row)) for row in counts.astype(int)]
    assert MEASURES[name](x, y, counts) == pytest.approx(expected, abs=1e-9, nan_ok=True)


@many
@given(series=resampled_series())
def test_weighted_ranks_are_the_ranks_in_the_written_out_resample(series: tuple[Array, Array, Array]) -> None:
    x, _, counts = series
    for row, ranks in zip(counts.astype(int), weighted_ranks(x, counts), strict=True):
        assert np.repeat(ranks, row) == pytest.approx(stats.rankdata(np.repeat(x, row)))


@many
@given(series=resampled_series())
def test_weighted_mae_is_that_of_the_written_out_resample(series: tuple[Array, Array, Array]) -> None:
    x, y, counts = series
    for row, value in zip(counts.astype(int), mae(x, y, counts), strict=True):
        errors = np.abs(np.repeat(x, row) - np.repeat(y, row))
        assert value == pytest.approx(errors.mean() if len(errors) else math.nan, nan_ok=True)


@pytest.mark.parametrize("name", CORRELATIONS)
@many
@given(series=two_series(least=2))
def test_correlations_are_symmetric_and_turn_with_the_sign(name: str, series: tuple[Array, Array]) -> None:
    x, y = series
    value = float(MEASURES[name](x, y))
    assert float(MEASURES[name](y, x)) == pytest.approx(value, nan_ok=True)
    assert float(MEASURES[name](-x, y)) == pytest.approx(-value, abs=1e-12, nan_ok=True)
    assert math.isnan(value) or -1 <= value <= 1


def test_by_hand() -> None:
    # Ranks 1 2 3 4 5 against 2 1 4 3 5: rho = 1 - 6·4 / (5·24), tau = (8 - 2) / 10.
    x, y = np.array([1.0, 2, 3, 4, 5]), np.array([20.0, 10, 40, 30, 90])
    assert float(spearman(x, y)) == pytest.approx(0.8)
    assert float(kendall(x, y)) == pytest.approx(0.6)
    # Deviations -1 0 1 against -2 1 1.
    assert float(pearson(np.array([1.0, 2, 3]), np.array([0.0, 3, 3]))) == pytest.approx(3 / math.sqrt(2 * 6))
    assert float(mae(np.array([1.0, 2, 5]), np.array([2.0, 2, 3]))) == pytest.approx(1.0)


def test_kendall_with_ties_by_hand() -> None:
    # Six pairs: four agree, one is tied in x, one tied in y: tau-b = 4 / sqrt(5 · 5).
    assert float(kendall(np.array([1.0, 1, 2, 3]), np.array([1.0, 2, 3, 3]))) == pytest.approx(0.8)


@pytest.mark.parametrize("name", CORRELATIONS)
@pytest.mark.parametrize("constant", [0.0, 0.1, 1e9, -3.7])
def test_a_constant_series_has_no_correlation(name: str, constant: float) -> None:
    x, y = np.full(11, constant), np.arange(11.0)
    weights = np.vstack([np.ones(11), np.arange(11)])
    assert math.isnan(float(MEASURES[name](x, y)))
    assert math.isnan(float(MEASURES[name](y, x)))
    assert np.isnan(MEASURES[name](x, y, weights)).all()


@pytest.mark.parametrize("name", MEASURES)
def test_a_nan_is_never_ranked_as_a_number(name: str) -> None:
    x, y = np.array([1.0, math.nan, 3, 4]), np.array([1.0, 2, 3, 5])
    assert math.isnan(float(MEASURES[name](x, y)))
    assert np.isnan(MEASURES[name](x, y, np.ones((2, 4)))).all()


@pytest.mark.parametrize("name", MEASURES)
def test_no_items_have_no_figure(name: str) -> None:
    nothing = np.array([])
    assert math.isnan(float(MEASURES[name](nothing, nothing)))
    assert np.isnan(MEASURES[name](nothing, nothing, np.ones((3, 0)))).all()


def test_the_objective_is_larger_for_the_better_judge() -> None:
    human = np.array([1.0, 2, 3, 4, 5])
    close, far = human + np.array([0.1, -0.1, 0, 0.1, -0.1]), human[::-1].copy()
    assert all(objective(name, close, human) > objective(name, far, human) for name in MEASURES)
    assert objective("mae", close, human) == pytest.approx(-0.08)
    assert objective("spearman", close, human) == pytest.approx(1)


@pytest.mark.parametrize("name", CORRELATIONS)
def test_a_judge_that_says_always_the_same_is_never_preferred(name: str) -> None:
    human = np.arange(6.0)
    assert objective(name, np.full(6, 3.0), human) == -1.0
    assert objective(name, np.full(6, 3.0), human) <= objective(name, -human, human)


def test_normal_scores_keep_the_order_and_average_the_ties() -> None:
    y = np.array([3.0, 1, 2, 2, 5])
    scores = normal_scores(y)
    assert stats.rankdata(scores) == pytest.approx(stats.rankdata(y))
    assert scores[2] == scores[3]
    assert scores == pytest.approx(stats.norm.ppf((np.array([4, 1, 2.5, 2.5, 5]) - 0.5) / 5))


@given(st.lists(eighths, min_size=2, max_size=30, unique=True))
def test_normal_scores_without_ties_are_symmetric_about_zero(y: list[float]) -> None:
    scores = np.sort(normal_scores(np.array(y)))
    assert np.isfinite(scores).all()
    assert scores == pytest.approx(-scores[::-1], abs=1e-9)


@many
@given(series=resampled_series())
def test_weighted_rmse_is_that_of_the_written_out_resample(series: tuple[Array, Array, Array]) -> None:
    x, y, counts = series
    for row, value in zip(counts.astype(int), rmse(x, y, counts), strict=True):
        errors = np.repeat(x, row) - np.repeat(y, row)
        assert value == pytest.approx(math.sqrt((errors**2).mean()) if len(errors) else math.nan, nan_ok=True)


def test_rmse_by_hand() -> None:
    # Errors 1, 1, 5, 3: mean square 9.
    x, y = np.array([1.0, 2, 0, 4]), np.array([2.0, 1, 5, 1])
    assert float(rmse(x, y)) == pytest.approx(3.0)
    assert float(rmse(x, y)) > float(mae(x, y))
    assert math.isnan(float(rmse(np.array([]), np.array([]))))
    assert math.isnan(float(rmse(np.array([1.0, math.nan]), np.array([1.0, 2.0]))))


@st.composite
def many_series(draw: st.DrawFn) -> tuple[Array, Array, Array]:
    """Draw scores (k, n), human (n,) and weights (b, n); series may be constant and resamples empty."""
    size = draw(st.integers(0, 15))
    series = [
        draw(st.lists(draw(st.sampled_from([tied, eighths, st.just(3.0)])), min_size=size, max_size=size))
        for _ in range(draw(st.integers(1, 5)))
    ]
    counts = draw(st.lists(st.lists(st.integers(0, 3), min_size=size, max_size=size), min_size=1, max_size=5))
    return np.array(series[1:]).reshape(len(series) - 1, size), np.array(series[0]), np.array(counts, dtype=float)


@many
@given(series=many_series(), block=st.sampled_from([1, 20, 65_536]))
def test_draws_of_many_series_are_those_of_each(series: tuple[Array, Array, Array], block: int) -> None:
    scores, human, weights = series
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "BLOCK", block)
        found = spearman_draws(scores, human, weights)
    assert found.shape == (len(scores), len(weights))
    for row, x in zip(found, scores, strict=True):
        np.testing.assert_allclose(row, spearman(x, human, weights), rtol=0, atol=1e-12)


def test_draws_of_many_items_are_those_of_scipy() -> None:
    rng = np.random.default_rng(11)
    human = rng.integers(1, 6, 400).astype(float)
    scores = np.vstack([human + rng.standard_normal(400), rng.integers(1, 6, 400)])
    counts = rng.multinomial(400, np.full(400, 1 / 400), size=5)
    expected = [[by_scipy("spearman", np.repeat(x, row), np.repeat(human, row)) for row in counts] for x in scores]
    np.testing.assert_allclose(spearman_draws(scores, human, counts.astype(float)), expected, rtol=0, atol=1e-12)


def test_draws_of_a_series_with_a_nan_are_nan_and_of_the_others_not() -> None:
    human = np.array([1.0, 2, 3, 4])
    scores = np.array([[1.0, math.nan, 3, 4], [2.0, 1, 3, 4]])
    found = spearman_draws(scores, human, np.ones((2, 4)))
    assert np.isnan(found[0]).all()
    assert found[1] == pytest.approx([0.8, 0.8])
    assert np.isnan(spearman_draws(scores[:, ::-1], scores[0], np.ones((2, 4)))).all()


def test_pearson_sees_a_small_spread_on_a_large_offset() -> None:
    x, y = 1e11 + np.arange(4.0), np.array([1.0, 3, 2, 5])
    assert float(pearson(x, y)) == pytest.approx(by_scipy("pearson", x, y), abs=1e-9)
    assert pearson(x, y, np.ones((2, 4))) == pytest.approx(by_scipy("pearson", x, y), abs=1e-9)
    rounding = np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    assert math.isnan(float(pearson(rounding, y)))
    assert np.isnan(pearson(x, y, np.array([[0.0, 0, 0, 3], [0, 2, 0, 0]]))).all()
