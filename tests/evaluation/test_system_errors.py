"""Errors by system: of its mean and of its items, hand-worked and against written-out resamples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import mean_absolute_error

from calibrator.catalog import open_source
from calibrator.evaluation.system_errors import SystemErrors, system_errors
from calibrator.stats.resampling import group_weights

Array = NDArray[np.float64]
N, QUICK = 120, 200
SYSTEMS = [f"s{k % 4}" for k in range(N)]
GROUPS = [f"g{k // 4}" for k in range(N)]


def drawn(seed: int = 0) -> tuple[Array, Array]:
    """Ratings, and a judge that is kinder to the later systems."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, N).astype(float)
    return human + 0.5 * (np.arange(N) % 4) - 0.5 + rng.normal(size=N), human


def found(scores: Array, human: Array, seed: int = 0) -> SystemErrors:
    return system_errors(scores, human, SYSTEMS, GROUPS, seed, QUICK)


def test_by_hand() -> None:
    # "a": +1 and -1, which cancel in the mean; "b": +2, +1 and 0.
    scores, human = np.array([3.0, 2, 5, 4, 3]), np.array([2.0, 3, 3, 3, 3])
    result = system_errors(scores, human, list("aabbb"), list("uvuvw"), 0, QUICK)
    a, b = result.systems
    assert (a.system, a.items, a.bias.value, a.mean_error.value, a.item_error.value) == ("a", 2, 0, 0, 1)
    assert (b.system, b.items, b.bias.value, b.mean_error.value, b.item_error.value) == ("b", 3, 1, 1, 1)
    assert (result.mean_error.value, result.item_error.value) == (0.5, 1)
    assert (result.items, result.groups) == (5, 3)


def test_figures_are_plain_ones_and_a_judge_that_is_too_strict_has_a_bias_below_0() -> None:
    scores, human = drawn()
    result = found(scores, human)
    for k, line in enumerate(result.systems):
        own = np.arange(N) % 4 == k
        assert line.item_error.value == pytest.approx(mean_absolute_error(human[own], scores[own]))
        assert line.bias.value == pytest.approx(scores[own].mean() - human[own].mean())
        assert line.mean_error.value == pytest.approx(abs(line.bias.value))
    assert result.systems[0].bias.high < 0 < result.systems[3].bias.low
    assert result.mean_error.value == pytest.approx(np.mean([s.mean_error.value for s in result.systems]))
    assert result.item_error.value == pytest.approx(np.mean([s.item_error.value for s in result.systems]))


def test_intervals_are_those_of_the_written_out_resamples() -> None:
    scores, human = drawn()
    groups = [f"g{k // 7}" for k in range(N)]  # in some resamples a system has more items than in others
    result = system_errors(scores, human, SYSTEMS, groups, 0, QUICK)
    means, items = [], []
    for counts in group_weights(groups, QUICK, np.random.default_rng(0)).astype(int):
        rows = np.repeat(np.arange(N), counts)
        own = [rows[rows % 4 == k] for k in range(4)]
        means.append(np.mean([abs(scores[r].mean() - human[r].mean()) for r in own if len(r)]))
        items.append(np.mean([np.abs(scores[r] - human[r]).mean() for r in own if len(r)]))
    for interval, draws in ((result.mean_error, means), (result.item_error, items)):
        assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.floats(1, 5), st.floats(1, 5), st.sampled_from("abc")), min_size=1, max_size=12))
def test_the_mean_is_never_further_off_than_its_items(rows: list[tuple[float, float, str]]) -> None:
    scores, human, systems = zip(*rows, strict=True)
    groups = [str(k) for k in range(len(rows))]
    result = system_errors(np.array(scores), np.array(human), systems, groups, 0, 20)
    for line in result.systems:
        assert line.mean_error.value <= line.item_error.value + 1e-12
    assert result.mean_error.value <= result.item_error.value + 1e-12


def test_systems_that_a_resample_does_not_hold_count_in_it_nowhere() -> None:
    scores, human = drawn()
    result = system_errors(scores, human, SYSTEMS, SYSTEMS, 0, QUICK)  # whole systems are drawn
    for line in result.systems:
        assert (line.bias.low, line.bias.high) == pytest.approx((line.bias.value, line.bias.value))
    assert result.mean_error.low < result.mean_error.value < result.mean_error.high


def test_one_group_or_nothing_leaves_what_cannot_be_said_nan() -> None:
    scores, human = drawn()
    single = system_errors(scores, human, SYSTEMS, ["g"] * N, 0, QUICK)
    assert np.isfinite(single.mean_error.value) and np.isnan(single.mean_error.low)
    none = system_errors(np.zeros(0), np.zeros(0), [], [], 0, QUICK)
    assert none.systems == () and np.isnan([none.mean_error.value, none.item_error.value]).all()
    with pytest.raises(ValueError, match="120 scores, 119 ratings"):
        system_errors(scores, human[1:], SYSTEMS, GROUPS, 0)


def test_one_seed_gives_the_same_figures() -> None:
    scores, human = drawn()
    assert found(scores, human, 3) == found(scores, human, 3) != found(scores, human, 4)


def test_a_recorded_judge_of_dialogues_is_off_by_less_in_the_mean_than_in_its_items(real_data: Path) -> None:
    rows = open_source("topical-chat", real_data).table.rows
    judged = [(r.get("recorded.claude-3-haiku/overall1-5.overall"), r) for r in rows]
    kept = [(float(s), r) for s, r in judged if s is not None]
    scores = np.array([s for s, _ in kept])
    human = np.array([float(r["human.overall"]) for _, r in kept])
    systems, groups = ([str(r[c]) for _, r in kept] for c in ("system", "group"))
    result = system_errors(scores, human, systems, groups, 0, QUICK)
    assert (len(result.systems), result.items, result.groups) == (6, 359, 60)
    assert result.mean_error.high < result.item_error.low
