"""The trial procedure: sizes and samples are the published ones, figures those of plain correlations on them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrator.evaluation.trials import SEEDS, Trials, run_trials, sample, sample_sizes
from calibrator.stats.correlation import spearman
from calibrator.stats.resampling import group_weights, percentile_interval, resampled

Array = NDArray[np.float64]
N = 260
GROUPS = [f"g{k // 4}" for k in range(N)]
QUICK = 200


def drawn(seed: int = 0, noise: float = 1.0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, N).astype(float)
    return np.round(human + noise * rng.standard_normal(N)), human


def found(measure: str = "spearman", seed: int = 0) -> Trials:
    (good, human), (poor, _) = drawn(), drawn(noise=4.0)
    return run_trials({"good": good, "poor": poor}, human, GROUPS, seed, measure, resamples=QUICK)


def test_sizes_of_the_paper() -> None:
    # Its sizes are 100, 600, 1100 and so on, 13 in all: 6,100 items.
    assert sample_sizes(6100) == tuple(range(100, 6101, 500))
    # From 100 to 917 in 12 equal steps of 68 1/12.
    assert sample_sizes(917) == (100, 168, 236, 304, 372, 440, 508, 577, 645, 713, 781, 849, 917)


@given(st.integers(1, 2000))
def test_sizes_rise_from_100_or_half_of_the_items_to_all(items: int) -> None:
    sizes = sample_sizes(items)
    assert len(sizes) == 13
    assert sizes[0] == (100 if items >= 200 else (items + 1) // 2)
    assert sizes[-1] == items
    assert list(sizes) == sorted(sizes)
    steps = np.diff(sizes)
    assert steps.max() - steps.min() <= 1


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [1, 100, 168, 917])
def test_samples_are_those_of_pandas(size: int, seed: int) -> None:
    rows = pd.DataFrame({"row": range(917)}).sample(size, random_state=seed)
    assert sample(917, size, seed).tolist() == rows["row"].tolist()


def test_figures_are_those_of_scipy_on_the_samples() -> None:
    result, (good, human) = found(), drawn()
    assert (result.items, result.groups, result.seeds) == (N, 65, (1, 2, 3))
    figures = [
        [float(stats.spearmanr(good[p], human[p]).statistic) for p in (sample(N, size, s) for s in SEEDS)]
        for size in result.sizes
    ]
    own = result.judges["good"]
    assert np.array(own.figures) == pytest.approx(np.array(figures))
    assert (own.mean, own.deviation) == pytest.approx((np.mean(figures), np.std(figures, ddof=1)))
    assert own.defined == 39
    assert own.figures[-1] == pytest.approx([own.whole.value] * 3)  # the whole set, three times


def test_tau_is_scipys() -> None:
    result, (good, human) = found("kendall"), drawn()
    first = sample(N, result.sizes[0], 1)
    assert result.judges["good"].figures[0][0] == pytest.approx(stats.kendalltau(good[first], human[first]).statistic)
    assert result.measure == "kendall"


def test_the_interval_is_that_of_the_bootstrap_over_groups() -> None:
    result, (good, human) = found(), drawn()
    weights = group_weights(GROUPS, QUICK, np.random.default_rng(0))
    plain = percentile_interval(float(spearman(good, human)), resampled(spearman, good, human, weights))
    own = result.judges["good"].whole
    assert (own.value, own.low, own.high) == pytest.approx((plain.value, plain.low, plain.high))


def test_the_deviation_is_no_standard_error() -> None:
    # With sizes near the whole only, the deviation goes to 0, whatever the data; the interval stays as it is.
    good, human = drawn()
    near = run_trials({"good": good}, human, GROUPS, 0, sizes=range(N - 12, N + 1), resamples=QUICK).judges["good"]
    wide = found().judges["good"]
    assert near.deviation < wide.deviation / 4
    assert near.deviation < (near.whole.high - near.whole.low) / 20
    assert near.whole == wide.whole


def test_judges_are_compared_on_the_items_that_all_of_them_scored() -> None:
    (good, human), (poor, _) = drawn(), drawn(noise=4.0)
    holed = good.copy()
    holed[[3, 70]] = np.nan
    both = run_trials({"holed": holed, "poor": poor}, human, GROUPS, 0, resamples=QUICK)
    kept = [k for k in range(N) if k not in (3, 70)]
    alone = run_trials({"poor": poor[kept]}, human[kept], [GROUPS[k] for k in kept], 0, resamples=QUICK)
    assert both.items == N - 2
    assert both.judges["poor"] == alone.judges["poor"]
    assert both.delta("holed", "poor") == both.judges["holed"].mean - alone.judges["poor"].mean > 0.2


def test_what_is_not_defined_is_nan() -> None:
    _, human = drawn()
    constant = run_trials({"constant": np.full(N, 3.0)}, human, GROUPS, 0, resamples=QUICK).judges["constant"]
    assert np.isnan([constant.mean, constant.deviation, constant.whole.value]).all() and constant.defined == 0
    one_group = run_trials({"good": drawn()[0]}, human, ["g"] * N, 0, resamples=QUICK).judges["good"]
    assert np.isfinite(one_group.mean) and np.isnan(one_group.whole.low)
    nothing = run_trials({"good": np.full(N, np.nan)}, human, GROUPS, 0, resamples=QUICK)
    assert nothing.items == 0 and np.isnan(nothing.judges["good"].mean)


def test_one_seed_gives_the_same_figures_and_touches_the_interval_only() -> None:
    assert found(seed=3) == found(seed=3)
    assert found(seed=3).judges["good"].figures == found(seed=4).judges["good"].figures
    assert found(seed=3).judges["good"].whole != found(seed=4).judges["good"].whole


def test_what_does_not_fit_is_refused() -> None:
    good, human = drawn()
    with pytest.raises(ValueError, match=r"\[259, 260\]"):
        run_trials({"good": good}, human[1:], GROUPS, 0)
    with pytest.raises(ValueError, match="a sample of 261 cannot be drawn from 260 items"):
        run_trials({"good": good}, human, GROUPS, 0, sizes=[10, 261])
