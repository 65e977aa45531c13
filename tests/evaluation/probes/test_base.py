"""Intervals over groups, and verdicts beside others."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from calibrator.evaluation.probes.base import beside, mean_of, over_groups, ratio_of, rho_of
from calibrator.records import Failure, Judgment
from tests.conftest import make_items
from tests.evaluation.probes.making import LOWER, by_human, probing


def test_a_mean_over_groups_of_one_has_the_interval_of_a_bootstrap_over_items() -> None:
    x = np.random.default_rng(3).normal(size=200)
    found = over_groups(mean_of(x), [str(k) for k in range(200)], 0, 4000)
    assert found.value == pytest.approx(x.mean())
    error = x.std() / math.sqrt(200)
    assert found.low == pytest.approx(x.mean() - 1.96 * error, abs=0.02)
    assert found.high == pytest.approx(x.mean() + 1.96 * error, abs=0.02)


def test_items_that_go_together_widen_the_interval() -> None:
    x = np.repeat(np.random.default_rng(3).normal(size=20), 10)
    alone = over_groups(mean_of(x), [str(k) for k in range(200)], 0, 2000)
    together = over_groups(mean_of(x), [str(k // 10) for k in range(200)], 0, 2000)
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_with_one_group_there_is_no_interval_and_without_items_no_figure() -> None:
    found = over_groups(mean_of(np.array([1.0, 2.0])), ["a", "a"], 0, 200)
    assert found.value == 1.5 and math.isnan(found.low) and math.isnan(found.high)
    assert math.isnan(over_groups(mean_of(np.zeros(0)), [], 0, 200).value)


def test_a_ratio_counts_each_case_of_an_item_once() -> None:
    found = over_groups(ratio_of(np.array([1.0, 0.0]), np.array([1.0, 3.0])), ["a", "b"], 0, 200)
    assert found.value == 0.25


def test_rho_is_that_of_scipy() -> None:
    draw = np.random.default_rng(5)
    x, y = draw.integers(1, 6, 60).astype(float), draw.normal(size=60)
    expected = stats.spearmanr(x, y).statistic
    assert over_groups(rho_of(x, y), [str(k) for k in range(60)], 0, 100).value == pytest.approx(expected)


@pytest.mark.parametrize(("aspect", "shift"), [(None, 0.5), (LOWER, -0.5)])
def test_a_shift_is_towards_the_better_end_and_failures_are_left_out(aspect: object, shift: float) -> None:
    items = make_items(10, 5)
    subject = probing(by_human, items, LOWER) if aspect else probing(by_human, items)
    moved = [Judgment(i.id, by_human(i) + 0.5, "rule") for i in items]
    line = beside(subject, "moved", subject.scores, [Failure(items[0].id, "lost"), *moved[1:]])
    assert line.figures["shift"].value == pytest.approx(shift)
    assert line.figures["change"].value == pytest.approx(0.5)
    assert line.figures["rho"].value == pytest.approx(1.0)
    assert (line.items, line.failures) == (9, {"lost": 1})
