"""Within systems and between them: against the plain figures, and where the two fall apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.evaluation.systems import BySystem, by_system
from calibrator.stats import grouped
from calibrator.stats.correlation import MEASURES, spearman
from calibrator.stats.resampling import group_weights, percentile_interval, resampled

Array = NDArray[np.float64]
QUICK = 200
N = 120
SYSTEMS = [f"s{k % 4}" for k in range(N)]
GROUPS = [f"g{k // 4}" for k in range(N)]  # every group has one text of each system


def drawn(between: float, within: float, seed: int = 0) -> tuple[Array, Array]:
    """Scores and ratings in which systems differ; how far both agree on the systems and on the texts of one."""
    rng = np.random.default_rng(seed)
    system = np.arange(N) % 4
    human = 2.0 * system + rng.normal(size=N)
    scores = between * 2.0 * system + within * (human - 2.0 * system) + 0.3 * rng.normal(size=N)
    return scores, human


def found(scores: Array, human: Array, measure: str = "spearman", seed: int = 0) -> BySystem:
    return by_system(scores, human, SYSTEMS, GROUPS, seed, measure, QUICK)


@pytest.mark.parametrize("measure", list(MEASURES))
def test_figures_are_those_of_plain_numbers(measure: str) -> None:
    scores, human = drawn(0.5, 0.5)
    result, figure = found(scores, human, measure), MEASURES[measure]
    assert result.pooled.value == pytest.approx(float(figure(scores, human)))
    assert (result.within.value, result.defined) == pytest.approx(grouped.within(figure, scores, human, SYSTEMS))
    assert result.between.value == pytest.approx(grouped.between(figure, scores, human, SYSTEMS))
    for line in result.systems:
        own = [k for k in range(N) if SYSTEMS[k] == line.system]
        rest = [k for k in range(N) if SYSTEMS[k] != line.system]
        assert line.items == len(own) == 30
        assert line.figure.value == pytest.approx(float(figure(scores[own], human[own])))
        assert (line.human_mean, line.judge_mean) == pytest.approx((human[own].mean(), scores[own].mean()))
        assert result.without[line.system] == pytest.approx(float(figure(scores[rest], human[rest])))
    for interval in (result.pooled, result.within):
        assert interval.low <= interval.value <= interval.high
    assert (result.measure, result.items, result.groups) == (measure, N, 30)


def test_intervals_are_those_of_the_written_out_resamples() -> None:
    scores, human = drawn(0.5, 0.5)
    weights = group_weights(GROUPS, QUICK, np.random.default_rng(0)).astype(int)
    result = found(scores, human)
    pooled = resampled(spearman, scores, human, weights.astype(float))
    assert result.pooled == percentile_interval(result.pooled.value, pooled)
    within, between = [], []
    for counts in weights:
        rows = np.repeat(np.arange(N), counts)
        names = [SYSTEMS[k] for k in rows]
        within.append(grouped.within(spearman, scores[rows], human[rows], names)[0])
        between.append(grouped.between(spearman, scores[rows], human[rows], names))
    for interval, draws in ((result.within, within), (result.between, between)):
        plain = percentile_interval(interval.value, np.array(draws))
        assert (interval.low, interval.high) == pytest.approx((plain.low, plain.high))


def test_a_judge_that_only_knows_systems_apart_is_found_out() -> None:
    result = found(*drawn(between=1.0, within=0.0))
    assert result.pooled.value > 0.7
    assert result.between.value == 1.0
    assert result.within.low < 0 < result.within.high


def test_a_judge_that_only_knows_texts_apart_is_seen_too() -> None:
    result = found(*drawn(between=0.0, within=1.0))
    assert result.within.low > 0.8
    assert result.pooled.value < result.within.value


def test_a_system_without_order_counts_nowhere_within() -> None:
    scores, human = drawn(0.5, 0.5)
    human[np.arange(N) % 4 == 0] = 3.0
    result = found(scores, human)
    first, *others = result.systems
    assert np.isnan([first.figure.value, first.figure.low]).all()
    assert result.defined == 3
    assert result.within.value == pytest.approx(np.mean([o.figure.value for o in others]))


def test_systems_that_a_resample_does_not_hold_count_in_it_nowhere() -> None:
    scores, human = drawn(0.5, 0.5)
    result = by_system(scores, human, SYSTEMS, SYSTEMS, 0, resamples=QUICK)  # whole systems are drawn
    assert np.isfinite([result.within.low, result.between.low, result.pooled.low]).all()


def test_a_constant_judge_has_no_figures() -> None:
    result = found(np.full(N, 3.1), drawn(0.5, 0.5)[1])
    assert np.isnan([result.pooled.value, result.within.value, result.between.value]).all()
    assert result.defined == 0


def test_one_system_or_one_group_or_nothing_leaves_what_cannot_be_said_nan() -> None:
    scores, human = drawn(0.5, 0.5)
    one = by_system(scores, human, ["s"] * N, GROUPS, 0, resamples=QUICK)
    assert one.within.value == one.pooled.value
    assert np.isnan(one.between.value) and np.isnan(one.without["s"])
    single = by_system(scores, human, SYSTEMS, ["g"] * N, 0, resamples=QUICK)
    assert np.isfinite(single.within.value) and np.isnan([single.within.low, single.pooled.low]).all()
    none = by_system(np.zeros(0), np.zeros(0), [], [], 0, resamples=QUICK)
    assert np.isnan([none.pooled.value, none.within.value, none.between.value]).all()
    with pytest.raises(ValueError, match="120 scores, 119 ratings"):
        by_system(scores, human[1:], SYSTEMS, GROUPS, 0)


def test_one_seed_gives_the_same_figures() -> None:
    scores, human = drawn(0.5, 0.5)
    assert found(scores, human, seed=3) == found(scores, human, seed=3)
    assert found(scores, human, seed=3) != found(scores, human, seed=4)


def test_length_tells_summarisers_apart_rather_than_summaries(real_data: Path) -> None:
    items = prepare(make_config(aspect="relevance", data="dialsummeval", data_dir=real_data)).dataset.items
    scores = np.array([len(i.output) for i in items], dtype=float)
    human = np.array([i.human for i in items], dtype=float)
    result = by_system(scores, human, [i.system or "" for i in items], [i.group for i in items], 0, resamples=QUICK)
    assert len(result.systems) == 14
    assert result.within.value < result.pooled.value < result.between.value
