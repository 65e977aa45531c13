"""Agreement within and between groups, and ratings with part of the groups taken out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrator.stats.correlation import MEASURES, mae, pearson, spearman
from calibrator.stats.grouped import between, centred, group_means, within

Array = NDArray[np.float64]


@st.composite
def grouped(draw: st.DrawFn) -> tuple[Array, Array, list[str]]:
    size = draw(st.integers(1, 25))
    value = st.integers(1, 5).map(float)
    x, y = (np.array(draw(st.lists(value, min_size=size, max_size=size))) for _ in range(2))
    return x, y, draw(st.lists(st.sampled_from("abcde"), min_size=size, max_size=size))


@pytest.mark.parametrize("name", MEASURES)
@settings(deadline=None)
@given(series=grouped())
def test_within_and_between_are_those_of_a_plain_loop(name: str, series: tuple[Array, Array, list[str]]) -> None:
    x, y, groups = series
    masks = [np.array(groups) == g for g in sorted(set(groups))]
    figures = [float(MEASURES[name](x[m], y[m])) for m in masks]
    defined = [f for f in figures if math.isfinite(f)]
    mean, count = within(MEASURES[name], x, y, groups)
    assert count == len(defined)
    assert mean == pytest.approx(np.mean(defined) if defined else math.nan, nan_ok=True)
    means = [np.array([v[m].mean() for m in masks]) for v in (x, y)]
    assert between(MEASURES[name], x, y, groups) == pytest.approx(float(MEASURES[name](*means)), abs=1e-9, nan_ok=True)


def test_within_and_between_can_be_opposed() -> None:
    # In each group the judge turns the order round, and yet the better group has the higher scores.
    x, y = np.array([1.0, 2, 3, 7, 8, 9]), np.array([3.0, 2, 1, 9, 8, 7])
    groups = ["a", "a", "a", "b", "b", "b"]
    assert within(spearman, x, y, groups) == (pytest.approx(-1), 2)
    assert between(spearman, x, y, groups) == pytest.approx(1)
    assert float(spearman(x, y)) > 0


def test_groups_in_which_nothing_is_defined_do_not_count() -> None:
    x, y = np.array([1.0, 2, 5, 3, 3]), np.array([1.0, 2, 5, 1, 2])
    groups = ["a", "a", "alone", "same", "same"]
    assert within(pearson, x, y, groups) == (pytest.approx(1), 1)
    assert within(mae, x, y, groups) == (pytest.approx((0 + 0 + 1.5) / 3), 3)


def test_what_is_nowhere_defined_is_nan() -> None:
    x = np.array([1.0, 2, 3])
    mean, count = within(pearson, x, x, ["a", "b", "c"])
    assert math.isnan(mean)
    assert count == 0
    assert math.isnan(between(pearson, x, x, ["a", "a", "a"]))
    nothing = np.array([])
    assert math.isnan(within(pearson, nothing, nothing, [])[0])
    assert math.isnan(between(pearson, nothing, nothing, []))


def test_a_nan_spoils_its_own_group_only() -> None:
    x, y = np.array([1.0, math.nan, 1, 2]), np.array([1.0, 2, 1, 2])
    assert within(spearman, x, y, ["a", "a", "b", "b"]) == (pytest.approx(1), 1)


def test_centred_by_hand() -> None:
    x, groups = np.array([1.0, 3, 6, 10]), ["b", "b", "a", "a"]
    assert group_means(x, groups).tolist() == [8, 2]
    assert centred(x, groups, 0).tolist() == x.tolist()
    assert centred(x, groups, 1) == pytest.approx([4, 6, 3, 7])
    assert centred(x, groups, 0.5) == pytest.approx([2.5, 4.5, 4.5, 8.5])


@settings(deadline=None)
@given(grouped(), st.floats(0, 1))
def test_centring_keeps_the_mean_and_the_differences_within(
    series: tuple[Array, Array, list[str]], share: float
) -> None:
    x, _, groups = series
    result = centred(x, groups, share)
    assert result.mean() == pytest.approx(x.mean())
    spread, before = (np.ptp(group_means(v, groups)) for v in (result, x))
    assert spread == pytest.approx((1 - share) * before, abs=1e-9)
    for g in set(groups):
        mine = np.array(groups) == g
        assert result[mine] - result[mine][0] == pytest.approx(x[mine] - x[mine][0])


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        centred(np.ones(2), ["a", "b"], share)


def test_nothing_is_centred_to_nothing() -> None:
    assert len(centred(np.array([]), [], 0.7)) == 0
