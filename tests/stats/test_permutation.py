"""The paired permutation test: its level, its power, every permutation of a small case; and Holm's adjustment."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats.correlation import Measure, kendall, mae, pearson, ranks, rmse, spearman
from calibrator.stats.permutation import Common, holm, paired_permutation

Array = NDArray[np.float64]
FITTING: list[tuple[Measure, Common]] = [
    (spearman, "ranks"),
    (kendall, "ranks"),
    (pearson, "standard"),
    (mae, "raw"),
    (rmse, "raw"),
]


def on_scale(x: Array, common: Common) -> Array:
    return {"ranks": ranks(x), "standard": np.asarray(stats.zscore(x)), "raw": x}[common]


def every_permutation(measure: Measure, common: Common, x: Array, other: Array, y: Array, groups: list[str]) -> float:
    """The exact p: all ways for groups to change places."""
    a, b = on_scale(x, common), on_scale(other, common)
    names = sorted(set(groups))
    differences = []
    for swaps in product([False, True], repeat=len(names)):
        mask = np.array([swaps[names.index(g)] for g in groups])
        first, second = np.where(mask, b, a), np.where(mask, a, b)
        differences.append(abs(float(measure(first, y)) - float(measure(second, y))))
    return float(np.mean(np.array(differences) >= differences[0] - 1e-12))


@pytest.mark.parametrize(("measure", "common"), FITTING)
def test_p_is_that_of_all_permutations(measure: Measure, common: Common) -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(1, 6, 18).astype(float)
    x, other = y + rng.standard_normal(18), y + 2 * rng.standard_normal(18)
    groups = [f"g{k // 3}" for k in range(18)]
    exact = every_permutation(measure, common, x, other, y, groups)
    found = paired_permutation(measure, x, other, y, groups, 20_000, np.random.default_rng(2), common)
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000) + 1e-4)
    assert exact > 1 / 40


def two_judges(rng: np.random.Generator, better: float = 0.0) -> tuple[Array, Array, Array, list[str]]:
    """Two judges of 30 groups of 4, whose errors are alike within a group; the first errs less by `better`."""

    def errors() -> Array:
        return np.repeat(rng.standard_normal(30), 4) + rng.standard_normal(120)

    y = np.repeat(rng.standard_normal(30), 4) + rng.standard_normal(120)
    return y + (1 - better) * errors(), y + errors(), y, [f"g{k // 4}" for k in range(120)]


@pytest.mark.parametrize(("measure", "common"), [FITTING[0], FITTING[3]])
def test_p_values_of_judges_that_are_equally_good_are_uniform(measure: Measure, common: Common) -> None:
    rng = np.random.default_rng(3)
    p = np.array([paired_permutation(measure, *two_judges(rng), 199, rng, common) for _ in range(400)])
    assert stats.kstest(p, "uniform").pvalue > 0.01
    assert 0.02 <= (p <= 0.05).mean() <= 0.085


def test_exchanging_items_of_correlated_groups_would_find_too_much() -> None:
    rng = np.random.default_rng(4)
    small = 0
    for _ in range(150):
        x, other, y, _ = two_judges(rng)
        offset = np.repeat(rng.standard_normal(30), 4) * 2  # all items of a group fare alike with the first judge
        items = [str(k) for k in range(120)]
        small += paired_permutation(mae, x + offset, other + np.roll(offset, 4), y, items, 199, rng, "raw") <= 0.05
    assert small / 150 > 0.1


def test_a_better_judge_is_found() -> None:
    rng = np.random.default_rng(5)
    found = [paired_permutation(spearman, *two_judges(rng, better=0.5), 199, rng) for _ in range(40)]
    assert np.mean(np.array(found) <= 0.05) > 0.8


@pytest.mark.parametrize(("measure", "common"), FITTING[:3])
def test_the_scale_of_a_judge_does_not_matter_where_the_measure_ignores_it(measure: Measure, common: Common) -> None:
    x, other, y, groups = two_judges(np.random.default_rng(6), better=0.3)
    one, two = (
        paired_permutation(measure, scores, other, y, groups, 300, np.random.default_rng(7), common)
        for scores in (x, 40 + 10 * x)
    )
    assert one == pytest.approx(two)


def test_the_judges_are_interchangeable() -> None:
    x, other, y, groups = two_judges(np.random.default_rng(8), better=0.2)
    one, two = (
        paired_permutation(spearman, a, b, y, groups, 300, np.random.default_rng(9))
        for a, b in ((x, other), (other, x))
    )
    assert one == two


def test_a_judge_does_not_differ_from_itself_and_one_group_shows_nothing() -> None:
    x, other, y, groups = two_judges(np.random.default_rng(10), better=0.5)
    rng = np.random.default_rng(11)
    assert paired_permutation(spearman, x, x, y, groups, 50, rng) == 1
    assert paired_permutation(spearman, x, other, y, ["one"] * 120, 50, rng) == 1


def test_p_is_never_0_and_is_nan_where_there_is_no_difference_to_test() -> None:
    rng = np.random.default_rng(12)
    y = np.arange(60.0)
    groups = [str(k) for k in range(60)]
    assert paired_permutation(spearman, y, rng.permutation(y), y, groups, 99, rng) == pytest.approx(1 / 100)
    constant = np.full(60, 3.0)
    for x, other in ((constant, y), (y, constant), (np.full(60, math.nan), y)):
        assert math.isnan(paired_permutation(pearson, x, other, y, groups, 9, rng, "standard"))
    nothing = np.array([])
    assert math.isnan(paired_permutation(spearman, nothing, nothing, nothing, [], 9, rng))


def test_permutations_in_which_a_measure_is_not_defined_count_as_large() -> None:
    # Exchanging one of the two items leaves a judge that says 1 twice.
    x, other, y = np.array([1.0, 2]), np.array([2.0, 1]), np.array([1.0, 2])
    found = paired_permutation(pearson, x, other, y, ["a", "b"], 200, np.random.default_rng(13), "raw")
    assert found == 1


def test_holm_by_hand() -> None:
    # 0.01 · 4, 0.02 · 3, 0.03 · 2 raised to the one before, 0.5 · 1.
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([0.4, 0.6]) == pytest.approx([0.8, 0.8])
    assert holm([0.9, 0.8]) == [1, 1]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_a_nan_is_no_test() -> None:
    found = holm([0.02, math.nan, 0.03])
    assert math.isnan(found[1])
    assert [found[0], found[2]] == pytest.approx(holm([0.02, 0.03]))
    assert math.isnan(holm([math.nan])[0])


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_lies_between_the_p_values_and_bonferroni_and_keeps_their_order(p: list[float]) -> None:
    adjusted = holm(p)
    for one, value in zip(p, adjusted, strict=True):
        assert one <= value <= min(1.0, len(p) * one) + 1e-12
    order = np.argsort(p, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1].tolist())
