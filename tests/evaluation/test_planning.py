"""What is planned must come true: predicted widths against those of a bootstrap."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.criteria import measure
from calibrator.evaluation.planning import (
    SIZES,
    cross_validated,
    design_effect,
    expected_interval,
    half_width,
    labels_for,
    outlook,
    pilot,
    standard_error,
)
from calibrator.stats.correlation import spearman
from calibrator.stats.resampling import group_weights, percentile_interval, resampled
from tests.conftest import make_items

Array = NDArray[np.float64]
QUICK = 300


def bootstrapped(x: Array, y: Array, groups: Sequence[str], seed: int) -> float:
    """The half-width of the interval that a bootstrap over groups gives."""
    draws = resampled(spearman, x, y, group_weights(groups, 500, np.random.default_rng(seed)))
    return half_width(percentile_interval(float(spearman(x, y)), draws))


def related(n: int, r: float, rng: np.random.Generator) -> tuple[Array, Array]:
    x = rng.normal(size=n)
    return x, r * x + math.sqrt(1 - r * r) * rng.normal(size=n)


@pytest.mark.parametrize(("n", "r"), [(60, 0.3), (150, 0.6), (400, 0.8)])
def test_the_width_is_that_of_simulated_items_that_stand_alone(n: int, r: float) -> None:
    rng = np.random.default_rng(0)
    alone = [str(k) for k in range(n)]
    widths = [bootstrapped(*related(n, r, rng), alone, seed) for seed in range(20)]
    rho = 6 / math.pi * math.asin(r / 2)  # Spearman's rho of a bivariate normal (Pearson 1907)
    assert half_width(expected_interval(rho, n)) == pytest.approx(np.mean(widths), rel=0.1)


def test_the_width_is_that_of_simulated_items_in_groups() -> None:
    """Both series have a part that the eight items of a group share, so that eight are worth less than eight alone."""
    rng = np.random.default_rng(0)

    def sample(groups: int) -> tuple[Array, Array, list[str]]:
        common, own = related(groups, 0.8, rng), related(groups * 8, 0.5, rng)
        x, y = (np.repeat(c, 8) + 0.7 * o for c, o in zip(common, own, strict=True))
        return x, y, [str(k // 8) for k in range(groups * 8)]

    x, y, groups = sample(200)
    weights = group_weights(groups, 500, rng)
    rho = float(spearman(x, y))
    effect = design_effect(rho, resampled(spearman, x, y, weights), len(x))
    assert effect > 2
    widths = [bootstrapped(*sample(40), seed) for seed in range(20)]
    assert half_width(expected_interval(rho, 320, effect)) == pytest.approx(np.mean(widths), rel=0.2)
    assert half_width(expected_interval(rho, 320)) < 0.8 * np.mean(widths)


@pytest.mark.parametrize(
    ("data", "aspect", "n"),
    [("cseval", "relevance", 100), ("cseval", "coherence", 300), ("dialsummeval", "relevance", 280)],
)
def test_the_width_is_that_of_subsamples_of_real_data(real_data: Path, data: str, aspect: str, n: int) -> None:
    items = prepare(make_config(aspect=aspect, data=data, data_dir=real_data)).dataset.items
    human = np.array([i.human for i in items], dtype=float)
    groups = [i.group for i in items]
    tried = pilot(items, 0, QUICK)
    predicted = cross_validated(measure(items), human, groups, np.random.default_rng(0))
    widths = []
    for seed in range(12):
        order = np.random.default_rng(seed).permutation(sorted(set(groups)))
        place = {g: k for k, g in enumerate(order)}
        taken = sorted(range(len(items)), key=lambda k: place[groups[k]])[:n]
        widths.append(bootstrapped(predicted[taken], human[taken], [groups[k] for k in taken], seed))
    foreseen = half_width(expected_interval(tried.rho.value, n, tried.design_effect))
    assert foreseen == pytest.approx(np.mean(widths), rel=0.2)


def test_the_standard_error_is_that_of_bonett_and_wright() -> None:
    assert standard_error(0.0, 28) == pytest.approx(1 / 5)
    assert standard_error(0.8, 103) == pytest.approx(math.sqrt(1.32) / 10)
    assert standard_error(0.0, 28, 4.0) == pytest.approx(2 / 5)
    assert math.isnan(standard_error(0.5, 3))


@pytest.mark.parametrize("rho", [-0.5, 0.0, 0.3, 0.6, 0.95])
@pytest.mark.parametrize("effect", [1.0, 2.5, math.nan])
def test_the_labels_needed_are_the_fewest(rho: float, effect: float) -> None:
    needed = labels_for(rho, 0.05, effect)
    assert needed is not None
    assert half_width(expected_interval(rho, needed, effect)) <= 0.05
    assert needed == 4 or half_width(expected_interval(rho, needed - 1, effect)) > 0.05


def test_what_makes_no_sense_is_not_defined() -> None:
    assert math.isnan(expected_interval(0.5, 3).low)
    assert math.isnan(expected_interval(math.nan, 100).low)
    assert math.isnan(expected_interval(1.0, 100).low)
    assert labels_for(math.nan, 0.05) is None
    with pytest.raises(ValueError, match="± 0"):
        labels_for(0.5, 0)
    draws = np.array([0.5, math.nan, math.nan, math.nan])
    assert math.isnan(design_effect(0.5, draws, 100))
    assert math.isnan(design_effect(math.nan, draws, 100))
    assert design_effect(0.5, np.full(100, 0.5), 100) == 1.0


def test_the_pilot_never_saw_the_group_it_predicts() -> None:
    """Ratings that only tell groups apart cannot be foreseen for a new group."""
    items = make_items(120, groups=12)
    texts = [replace(i, output=f"word{i.group}") for i in items]
    by_group = {g: k for k, g in enumerate(sorted({i.group for i in items}))}
    told = [replace(i, human=float(by_group[i.group] % 5)) for i in texts]
    assert abs(pilot(told, 0, QUICK).rho.value) < 0.3
    assert pilot(items, 0, QUICK).rho.value > 0.3


def test_an_outlook_holds_together() -> None:
    known = make_items(140, groups=40)
    found = outlook(known, 60, 0, resamples=QUICK)
    assert found.expected == found.pilot.rho.value and not found.said
    assert (found.pilot.items, found.pilot.groups, found.test_labels) == (140, 40, 60)
    assert found.pilot.design_effect >= 1
    halves = [half_width(found.widths[n]) for n in SIZES]
    assert halves == sorted(halves, reverse=True)
    assert halves[SIZES.index(50)] > half_width(found.own) > halves[SIZES.index(100)]
    assert found.needed is not None and found.rated == math.ceil(found.needed / 0.3)
    assert found == outlook(known, 60, 0, resamples=QUICK)


def test_what_the_user_expects_takes_the_pilots_place() -> None:
    known = make_items(140, groups=40)
    said, more = (outlook(known, 60, 0, r, resamples=QUICK) for r in (0.5, 0.9))
    assert said.expected == said.own.value == 0.5 and said.said
    assert said.pilot == more.pilot
    assert said.needed is not None and more.needed is not None and more.needed < said.needed
    assert outlook(known, 60, 0, 0.5, own_test_file=True, resamples=QUICK).rated is None


def test_items_that_measure_alike_have_no_pilot_but_a_plan() -> None:
    alike = [replace(i, output="The same words.", source="The same.", key="k") for i in make_items(60)]
    found = outlook(alike, 20, 0, resamples=QUICK)
    assert math.isnan(found.expected) and found.needed is None and math.isnan(found.own.low)
    said = outlook(alike, 20, 0, 0.5, resamples=QUICK)
    assert said.needed == labels_for(0.5, 0.05, said.pilot.design_effect)


@pytest.mark.parametrize(("count", "groups"), [(9, 3), (49, 20), (200, 9), (60, 1)])
def test_a_small_pilot_says_nothing(count: int, groups: int) -> None:
    known = make_items(count, groups)
    found = outlook(known, 40, 0, resamples=QUICK)
    assert found.pilot.too_small and (found.pilot.items, found.pilot.groups) == (count, groups)
    assert np.isnan([found.expected, found.pilot.rho.value, found.pilot.design_effect, found.own.low]).all()
    assert found.needed is None and found.rated is None
    said = outlook(known, 40, 0, 0.5, resamples=QUICK)
    assert said.needed == labels_for(0.5, 0.05)
    assert said.own == expected_interval(0.5, 40)


def test_fifty_items_in_ten_groups_are_a_pilot() -> None:
    found = outlook(make_items(50, 10), 20, 0, resamples=QUICK)
    assert not found.pilot.too_small
    assert math.isfinite(found.expected) and found.needed is not None
