"""Reliability curve and calibration error: by hand, on judges whose error is known, and the bias of few items."""

from __future__ import annotations

import math

import numpy as np
import pytest

from calibrator.stats.reliability import IN_A_BIN, quantile_bins, reliability

nan = math.nan


def test_a_case_by_hand() -> None:
    # Two bins of ten. Scores 1 (six times) and 2: mean 1.4, ratings mean 2. Scores 4 and 5: mean 4.5, ratings mean 4.
    scores = np.array([1.0] * 6 + [2.0] * 4 + [4.0] * 5 + [5.0] * 5)
    human = np.array([1.0, 3] * 5 + [4.0] * 10)
    found = reliability(scores, human)
    assert [(b.low, b.high, b.items, b.score, b.human.value) for b in found.bins] == [
        (1, 2, 10, pytest.approx(1.4), 2),
        (4, 5, 10, 4.5, 4),
    ]
    assert found.error == pytest.approx((10 * 0.6 + 10 * 0.5) / 20)
    # Residuals about the bins' means: ratings less scores, squares summed, over 20 - 2.
    rest = np.concatenate([human[:10] - scores[:10] - 0.6, human[10:] - scores[10:] + 0.5])
    spread = math.sqrt(float(rest @ rest) / 18)
    assert found.by_chance == pytest.approx(spread * math.sqrt(2 / (math.pi * 10)))


def test_equal_scores_share_a_bin_and_bins_hold_about_as_many_items() -> None:
    rng = np.random.default_rng(0)
    assert np.bincount(quantile_bins(rng.normal(size=1000))).tolist() == [100] * 10
    scores = rng.integers(1, 6, size=500).astype(float)
    bins = quantile_bins(scores)
    assert len(set(zip(scores.tolist(), bins.tolist(), strict=True))) == 5 == bins.max() + 1
    assert (np.diff(bins[np.argsort(scores)]) >= 0).all()


def test_a_crowd_of_equal_scores_leaves_no_rest_of_a_bin() -> None:
    scores = np.concatenate([np.full(52, 1.0), 2 + np.arange(223.0)])
    sizes = np.bincount(quantile_bins(scores)).tolist()
    assert sizes[0] == 52 and set(sizes[1:]) == {24, 25} and len(sizes) == 10


def test_few_items_have_few_bins() -> None:
    for n in (1, IN_A_BIN, 3 * IN_A_BIN, 30 * IN_A_BIN):
        assert quantile_bins(np.arange(float(n))).max() + 1 == min(10, max(1, n // IN_A_BIN))


def test_a_judge_that_is_off_by_half_a_point_has_that_error() -> None:
    rng = np.random.default_rng(0)
    scores = rng.uniform(1, 4, size=20_000)
    human = scores + 0.5 + rng.normal(size=20_000)
    found = reliability(scores, human)
    assert found.error == pytest.approx(0.5, abs=0.02)
    assert all(b.human.value - b.score == pytest.approx(0.5, abs=0.1) for b in found.bins)


def test_the_error_of_a_right_judge_on_few_items_is_what_chance_gives() -> None:
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        scores = rng.uniform(1, 5, size=100)
        found.append(reliability(scores, scores + rng.normal(size=100)))
    errors, by_chance = (np.mean([getattr(f, name) for f in found]) for name in ("error", "by_chance"))
    assert errors == pytest.approx(by_chance, rel=0.03)
    assert errors > 0.2  # far from the 0 that it would be with many


def test_intervals_are_over_groups_and_hold_the_mean() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(size=300)
    level = np.repeat(rng.normal(size=30), 10)
    human = scores + level + 0.1 * rng.normal(size=300)
    one = reliability(scores, human, [f"g{k // 10}" for k in range(300)], 500, np.random.default_rng(1))
    single = reliability(scores, human, [f"i{k}" for k in range(300)], 500, np.random.default_rng(1))
    assert all(b.human.low < b.human.value < b.human.high for b in one.bins)
    widths = [np.mean([b.human.high - b.human.low for b in r.bins]) for r in (one, single)]
    assert widths[0] == pytest.approx(2 * 1.96 * 1 / math.sqrt(20), rel=0.5)  # about 20 groups reach into a bin
    assert [b.human.value for b in one.bins] == [b.human.value for b in single.bins]


def test_without_groups_there_is_no_interval() -> None:
    scores = np.arange(40.0)
    for found in (
        reliability(scores, scores),
        reliability(scores, scores, ["one"] * 40, 100, np.random.default_rng(0)),
    ):
        assert all(math.isnan(b.human.low) and math.isnan(b.human.high) for b in found.bins)
        assert (found.error, found.by_chance) == (0, 0)


def test_gaps_do_not_count_and_nothing_is_not_a_number() -> None:
    scores, human = np.array([1.0, 2, nan, 4]), np.array([1.0, nan, 3, 4])
    found = reliability(scores, human, ["a", "b", "c", "d"], 10, np.random.default_rng(0))
    assert [(b.items, b.score) for b in found.bins] == [(2, 2.5)]
    empty = reliability(np.array([nan]), np.array([1.0]))
    assert empty.bins == () and math.isnan(empty.error) and math.isnan(empty.by_chance)
    assert math.isnan(reliability(np.array([1.0]), np.array([2.0])).by_chance)


def test_no_bins_are_refused() -> None:
    with pytest.raises(ValueError, match="one bin at least"):
        reliability(np.arange(3.0), np.arange(3.0), bins=0)
