"""The bootstrap over groups: what it draws, how often its intervals hold the truth, what has none."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats import resampling
from calibrator.stats.correlation import Measure, kendall, mae, pearson, spearman
from calibrator.stats.resampling import (
    Interval,
    bca_interval,
    group_weights,
    leave_one_out,
    percentile_interval,
    resampled,
)

Array = NDArray[np.float64]
NAN = float("nan")


def interval(measure: Measure, x: Array, y: Array, weights: Array, level: float = 0.95) -> Interval:
    return percentile_interval(float(measure(x, y)), resampled(measure, x, y, weights), level)


def paired_interval(measure: Measure, x: Array, other: Array, y: Array, weights: Array) -> Interval:
    """Return how much more `x` has of the measure than `other`, on the same resamples."""
    draws = resampled(measure, x, y, weights) - resampled(measure, other, y, weights)
    return percentile_interval(float(measure(x, y)) - float(measure(other, y)), draws)


def test_resamples_worked_out_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(2, 40))
    weights = group_weights([str(k % 9) for k in range(40)], 50, rng)
    whole = [resampled(m, x, y, weights) for m in (spearman, pearson)]
    monkeypatch.setattr(resampling, "PART", 130)
    parts = [resampled(m, x, y, weights) for m in (spearman, pearson)]
    np.testing.assert_array_equal(whole, parts)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from(["a", "b", "ä", "", "a b", "longer name"]), min_size=1, max_size=25), st.integers(0, 99)
)
def test_whole_groups_are_drawn_and_as_many_as_there_are(groups: list[str], seed: int) -> None:
    weights = group_weights(groups, 20, np.random.default_rng(seed))
    assert weights.shape == (20, len(groups))
    first = {g: groups.index(g) for g in groups}
    assert (weights == weights[:, [first[g] for g in groups]]).all(), "items of one group count differently"
    assert (weights[:, list(first.values())].sum(axis=1) == len(first)).all()
    assert (weights == weights.round()).all()
    assert (weights >= 0).all()


def test_one_seed_draws_the_same_and_another_something_else() -> None:
    groups = [f"g{k % 7}" for k in range(30)]
    first, again, other = (group_weights(groups, 50, np.random.default_rng(s)) for s in (1, 1, 2))
    assert (first == again).all()
    assert (first != other).any()


def test_every_group_is_drawn_about_equally_often() -> None:
    weights = group_weights([f"g{k}" for k in range(10)], 4000, np.random.default_rng(0))
    assert weights.mean(axis=0) == pytest.approx(np.ones(10), abs=0.08)


TRUTH, GROUPS, PER_GROUP = 0.5, 40, 5


def correlated_groups(rng: np.random.Generator) -> tuple[Array, Array, list[str]]:
    """Draw judge and human that correlate by TRUTH, half of the variance of each shared within a group."""
    root = np.linalg.cholesky(np.array([[1, TRUTH], [TRUTH, 1]]))
    of_group = np.repeat(rng.standard_normal((GROUPS, 2)) @ root.T, PER_GROUP, axis=0)
    of_item = rng.standard_normal((GROUPS * PER_GROUP, 2)) @ root.T
    x, y = ((of_group + of_item) / math.sqrt(2)).T
    return x, y, [f"g{k // PER_GROUP}" for k in range(GROUPS * PER_GROUP)]


@cache
def simulation() -> tuple[float, float, float, float]:
    """Coverage and mean width of the interval over groups, then of one over items, in 300 repetitions."""
    rng = np.random.default_rng(20)
    rows = []
    for _ in range(300):
        x, y, groups = correlated_groups(rng)
        items = [str(k) for k in range(len(x))]
        for units in (groups, items):
            found = interval(pearson, x, y, group_weights(units, 300, rng))
            rows.append((found.low <= TRUTH <= found.high, found.high - found.low))
    table = np.array(rows, dtype=float)
    (covered, width), (covered_items, width_items) = table[::2].mean(axis=0), table[1::2].mean(axis=0)
    return float(covered), float(width), float(covered_items), float(width_items)


def test_the_interval_holds_the_truth_about_95_times_in_100() -> None:
    covered, _, _, _ = simulation()
    assert 0.90 <= covered <= 0.985


def test_drawing_items_instead_of_correlated_groups_would_promise_too_much() -> None:
    covered, width, covered_items, width_items = simulation()
    assert width > 1.15 * width_items
    assert covered_items < 0.90 < covered


def test_an_interval_holds_its_figure_and_widens_with_the_level() -> None:
    x, y, groups = correlated_groups(np.random.default_rng(3))
    weights = group_weights(groups, 500, np.random.default_rng(4))
    for measure in (spearman, pearson, kendall, mae):
        narrow, wide = (interval(measure, x, y, weights, level) for level in (0.5, 0.95))
        assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
        assert narrow.value == pytest.approx(float(measure(x, y)))


def test_percentiles_by_hand() -> None:
    found = percentile_interval(50.0, np.arange(101.0), level=0.9)
    assert (found.value, found.low, found.high) == (50.0, pytest.approx(5.0), pytest.approx(95.0))


def test_a_paired_gain_is_the_difference_on_the_same_resamples() -> None:
    rng = np.random.default_rng(5)
    x, y, groups = correlated_groups(rng)
    better = x + y
    weights = group_weights(groups, 400, rng)
    gain, loss = paired_interval(pearson, better, x, y, weights), paired_interval(pearson, x, better, y, weights)
    assert gain.value == pytest.approx(float(pearson(better, y) - pearson(x, y)))
    assert 0 < gain.low < gain.value < gain.high
    assert (loss.value, loss.low, loss.high) == pytest.approx((-gain.value, -gain.high, -gain.low))


def test_a_judge_gains_nothing_over_itself() -> None:
    x, y, groups = correlated_groups(np.random.default_rng(6))
    same = paired_interval(spearman, x, x, y, group_weights(groups, 100, np.random.default_rng(7)))
    assert (same.value, same.low, same.high) == (0, 0, 0)


def test_pairing_makes_the_interval_of_two_like_judges_narrower() -> None:
    rng = np.random.default_rng(8)
    x, y, groups = correlated_groups(rng)
    like = x + 0.1 * rng.standard_normal(len(x))
    weights, others = (group_weights(groups, 400, rng) for _ in range(2))
    paired = paired_interval(pearson, x, like, y, weights)
    unpaired = percentile_interval(paired.value, pearson(x, y, weights) - pearson(like, y, others))
    assert paired.high - paired.low < 0.5 * (unpaired.high - unpaired.low)


def test_what_is_not_defined_has_no_interval() -> None:
    x, y, groups = correlated_groups(np.random.default_rng(9))
    weights = group_weights(groups, 50, np.random.default_rng(10))
    constant = np.full(len(x), 3.0)
    for found in (interval(spearman, constant, y, weights), paired_interval(spearman, x, constant, y, weights)):
        assert math.isnan(found.value)
        assert math.isnan(found.low)
        assert math.isnan(found.high)


@pytest.mark.parametrize(
    ("resampled", "defined"),
    [([NAN, 1, 2, 3], True), ([NAN, NAN, 1, 2], True), ([NAN, NAN, NAN, 1], False), ([NAN] * 4, False), ([], False)],
)
def test_undefined_resamples_are_left_out_until_they_are_more_than_half(resampled: list[float], defined: bool) -> None:
    found = percentile_interval(1.5, np.array(resampled, dtype=float))
    assert found.value == 1.5
    assert math.isfinite(found.low) == math.isfinite(found.high) == defined


def test_one_group_has_a_figure_without_spread() -> None:
    x, y = np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])
    found = interval(spearman, x, y, group_weights(["g"] * 4, 30, np.random.default_rng(0)))
    assert (found.low, found.high) == pytest.approx((found.value, found.value))


def test_each_group_is_left_out_once() -> None:
    weights = leave_one_out(["b", "a", "b", "c"])
    assert weights.tolist() == [[1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0]]
    x, y = np.array([1.0, 4, 2, 8]), np.array([1.0, 2, 4, 3])
    assert mae(x, y, weights)[1] == pytest.approx(float(mae(x[[1, 3]], y[[1, 3]])))


def mean_of(x: Array, _: Array, weights: Array) -> Array:
    return np.asarray((weights @ x) / weights.sum(axis=1))


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_bca_is_that_of_scipy_on_single_items(level: float) -> None:
    rng = np.random.default_rng(12)
    x = rng.lognormal(size=60)  # skewed, so that bias and acceleration both count
    items = [str(k) for k in range(60)]
    draws = resampled(mean_of, x, x, group_weights(items, 40_000, rng))
    found = bca_interval(float(x.mean()), draws, mean_of(x, x, leave_one_out(items)), level)
    theirs = stats.bootstrap(
        (x,), np.mean, n_resamples=40_000, confidence_level=level, method="BCa", rng=np.random.default_rng(13)
    ).confidence_interval
    plain = percentile_interval(float(x.mean()), draws, level)
    noise = 0.03 * draws.std()
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=2 * noise)
    assert found.high > plain.high + 3 * noise


def test_bca_is_exactly_that_of_scipy_on_the_same_draws() -> None:
    rng = np.random.default_rng(14)
    x, y = rng.standard_normal((2, 30))
    y += x
    theirs = stats.bootstrap(
        (x, y), lambda a, b: stats.pearsonr(a, b).statistic, n_resamples=500, paired=True, vectorized=False, rng=rng
    )
    without = pearson(x, y, leave_one_out([f"{k:02d}" for k in range(30)]))
    found = bca_interval(float(pearson(x, y)), theirs.bootstrap_distribution, without)
    expected = theirs.confidence_interval
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_bca_without_bias_and_acceleration_is_the_percentile_interval() -> None:
    draws = np.arange(101.0)
    found, plain = bca_interval(50.0, draws, np.array([49.0, 50, 51]), 0.9), percentile_interval(50.0, draws, 0.9)
    assert (found.value, found.low, found.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_bca_moves_towards_where_the_value_lies_among_its_draws() -> None:
    draws, even = np.arange(1001.0), np.array([1.0, 2, 3])
    below, middle, above = (bca_interval(value, draws, even) for value in (400.0, 500.0, 600.0))
    assert below.low < middle.low < above.low
    assert below.high < middle.high < above.high


def test_bca_of_draws_that_are_all_equal_has_no_width() -> None:
    found = bca_interval(1.0, np.ones(50), np.ones(8))
    assert (found.value, found.low, found.high) == (1.0, 1.0, 1.0)


def test_bca_of_a_judge_without_error_has_no_width() -> None:
    y = np.random.default_rng(15).standard_normal(40)
    groups = [str(k // 2) for k in range(40)]
    x, weights = 0.1 + 0.3 * y, group_weights(groups, 200, np.random.default_rng(16))
    found = bca_interval(float(pearson(x, y)), pearson(x, y, weights), pearson(x, y, leave_one_out(groups)))
    assert (found.low, found.high) == pytest.approx((1.0, 1.0))


@pytest.mark.parametrize(
    ("value", "draws", "jackknife"),
    [
        (NAN, [1.0, 2, 3], [1.0, 2, 3]),
        (1.5, [NAN, NAN, NAN, 1], [1.0, 2, 3]),
        (1.5, [1.0, 2, 3], [NAN, NAN, 1]),
        (1.5, [1.0, 2, 3], []),
        (1.5, [], [1.0, 2]),
        (4.0, [1.0, 2, 3], [1.0, 2, 3]),  # above all of its draws
        (0.0, [1.0, 2, 3], [1.0, 2, 3]),
    ],
)
def test_bca_is_nan_where_it_is_not_defined(value: float, draws: list[float], jackknife: list[float]) -> None:
    found = bca_interval(value, np.array(draws), np.array(jackknife))
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@cache
def missed(method: str) -> tuple[float, float]:
    """How often the truth lies below and above intervals of a correlation of 0.8 from 30 groups of 2."""
    rng = np.random.default_rng(21)
    below = above = 0
    for _ in range(300):
        x = np.repeat(rng.standard_normal(30), 2)
        y = np.repeat(0.8 * x[::2] + 0.6 * rng.standard_normal(30), 2)
        groups = [f"g{k // 2}" for k in range(60)]
        draws = resampled(pearson, x, y, group_weights(groups, 400, rng))
        value = float(pearson(x, y))
        plain = percentile_interval(value, draws)
        found = plain if method == "percentile" else bca_interval(value, draws, pearson(x, y, leave_one_out(groups)))
        below += found.low > 0.8
        above += found.high < 0.8
    return below / 300, above / 300


def test_bca_misses_the_truth_about_equally_often_on_both_sides() -> None:
    plain, corrected = missed("percentile"), missed("bca")
    assert sum(corrected) <= 0.10
    assert abs(corrected[0] - corrected[1]) <= abs(plain[0] - plain[1]) + 0.02


def test_no_items_have_no_weights() -> None:
    weights = group_weights([], 7, np.random.default_rng(0))
    assert weights.shape == (7, 0)
    assert np.isnan(resampled(pearson, np.empty(0), np.empty(0), weights)).all()
