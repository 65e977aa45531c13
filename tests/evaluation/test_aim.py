"""What a search aims at: a measure over all items, or with part or all of what tells the systems apart taken off."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.evaluation.aim import Aim
from calibrator.records import Failure, Judgment, Verdict
from calibrator.stats.correlation import MEASURES, kendall, objective, pearson, spearman
from calibrator.stats.resampling import group_weights
from tests.conftest import make_items

Array = NDArray[np.float64]
SHARES = (0.0, 0.5, 1.0)
every_aim = pytest.mark.parametrize("measure, share", [(m, s) for m in MEASURES for s in SHARES])


def series(seed: int = 0, n: int = 60) -> tuple[Array, Array, list[str]]:
    """Scores and ratings with ties, of three systems that differ in both."""
    rng = np.random.default_rng(seed)
    systems = [str(s) for s in rng.choice(list("abc"), n)]
    level = np.array(["abc".index(s) for s in systems], dtype=float)
    return rng.integers(1, 6, n) + level, rng.integers(1, 6, n) + 2 * level, systems


@pytest.mark.parametrize("measure", MEASURES)
def test_with_nothing_taken_off_it_is_the_objective(measure: str) -> None:
    scores, human, systems = series()
    assert Aim(measure).value(scores, human, systems) == objective(measure, scores, human)
    assert Aim(measure).value(np.full(60, 3.0), human, systems) == objective(measure, np.full(60, 3.0), human)


def test_centred_by_hand() -> None:
    """Four texts: ranks 1 2 3 4 by the judge and 2 1 3 4 by the humans; each system's mean rank is its place."""
    scores, human, systems = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 4.0]), ["a", "a", "b", "b"]
    # Off by their means (1.5 and 3.5): judge -1/2 1/2 -1/2 1/2, humans 1/2 -1/2 -1/2 1/2: no correlation at all.
    assert Aim(share=1.0).value(scores, human, systems) == pytest.approx(0.0)
    assert Aim().value(scores, human, systems) == pytest.approx(0.8)
    # Half off: about the mean of all judge -1 0 0 1, humans 0 -1 0 1, products 1 out of 2.
    assert Aim(share=0.5).value(scores, human, systems) == pytest.approx(0.5)


def test_who_only_tells_systems_apart_has_nothing_within_them() -> None:
    _, human, systems = series()
    level = np.array(["abc".index(s) for s in systems], dtype=float)
    knows = level + 1e-3 * np.random.default_rng(1).standard_normal(60)
    assert Aim().value(knows, human, systems) > 0.6
    assert abs(Aim(share=1.0).value(knows, human, systems)) < 0.25
    assert Aim(share=1.0).value(level, human, systems) == -1.0  # nothing is left, which is no correlation


def test_the_more_is_taken_off_the_less_the_systems_count() -> None:
    scores, human, systems = series()
    values = [Aim(share=s).value(scores, human, systems) for s in SHARES]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize("share", SHARES)
def test_the_error_in_points_is_left_as_it_is(share: float) -> None:
    scores, human, systems = series()
    assert Aim("mae", share).value(scores, human, systems) == -float(np.abs(scores - human).mean())


def test_correlations_of_figures_and_of_ranks_take_off_the_means_of_those() -> None:
    scores, human, systems = series()
    names = np.array(systems)

    def within(x: Array) -> Array:
        means = {s: x[names == s].mean() for s in "abc"}
        centred: Array = x - np.array([means[s] for s in systems])
        return centred

    def ranked(x: Array) -> Array:
        return np.array([(x < v).sum() + ((x == v).sum() + 1) / 2 for v in x])

    by_figures = pearson(within(scores), within(human))
    by_ranks = pearson(within(ranked(scores)), within(ranked(human)))
    assert Aim("pearson", 1.0).value(scores, human, systems) == pytest.approx(float(by_figures))
    assert Aim("spearman", 1.0).value(scores, human, systems) == pytest.approx(float(by_ranks))
    tau = kendall(np.round(within(ranked(scores)), 6), np.round(within(ranked(human)), 6))
    assert Aim("kendall", 1.0).value(scores, human, systems) == pytest.approx(float(tau))


@every_aim
def test_draws_with_every_item_once_are_the_value(measure: str, share: float) -> None:
    scores, human, systems = series()
    both = np.array([scores, human + scores])
    aim = Aim(measure, share)
    drawn = aim.draws(both, human, systems, np.ones((3, 60)))
    assert drawn.shape == (2, 3)
    for row, x in zip(drawn, both, strict=True):
        assert row == pytest.approx([aim.value(x, human, systems)] * 3)


@pytest.mark.parametrize("measure", MEASURES)
def test_draws_are_the_values_of_the_written_out_resamples(measure: str) -> None:
    scores, human, systems = series()
    weights = group_weights([f"g{k // 4}" for k in range(60)], 20, np.random.default_rng(2))
    drawn = Aim(measure).draws(scores[None], human, systems, weights)[0]
    for value, row in zip(drawn, weights, strict=True):
        places = np.repeat(np.arange(60), row.astype(int))
        assert value == pytest.approx(objective(measure, scores[places], human[places]))


@pytest.mark.parametrize("measure, share", [(m, s) for m in ("spearman", "pearson") for s in (0.5, 1.0)])
def test_what_is_taken_off_is_that_of_all_items_in_every_resample(measure: str, share: float) -> None:
    scores, human, systems = series()
    names = np.array(systems)

    def cut(x: Array) -> Array:
        y = np.array([(x < v).sum() + ((x == v).sum() + 1) / 2 for v in x]) if measure == "spearman" else x
        centred: Array = y - share * (np.array([y[names == s].mean() for s in systems]) - y.mean())
        return centred

    weights = group_weights([f"g{k // 4}" for k in range(60)], 20, np.random.default_rng(2))
    drawn = Aim(measure, share).draws(scores[None], human, systems, weights)[0]
    for value, row in zip(drawn, weights, strict=True):
        places = np.repeat(np.arange(60), row.astype(int))
        assert value == pytest.approx(float(pearson(cut(scores)[places], cut(human)[places])))


@every_aim
def test_over_is_draws_at_the_places_of_the_items(measure: str, share: float) -> None:
    scores, human, systems = series()
    places = np.arange(0, 60, 2)
    weights = np.random.default_rng(3).integers(0, 3, (5, len(places))).astype(float)
    aim, there = Aim(measure, share), [systems[k] for k in places]
    one = aim.over(human, systems)(scores[None, places], places, weights)
    np.testing.assert_array_equal(one, aim.draws(scores[None, places], human[places], there, weights))


def test_what_is_not_defined_is_nan_in_a_draw_and_the_worst_as_a_value() -> None:
    _, human, systems = series()
    same = np.full(60, 2.0)
    for share in SHARES:
        assert np.isnan(Aim(share=share).draws(same[None], human, systems, np.ones((1, 60)))).all()
        assert Aim(share=share).value(same, human, systems) == -1.0


@pytest.mark.parametrize("share", SHARES)
def test_failures_count_for_nothing(share: float) -> None:
    items, rng = make_items(30), np.random.default_rng(4)
    scores = rng.random(30)
    verdicts: list[Verdict | None] = [Judgment(i.id, float(s), "m") for i, s in zip(items, scores, strict=True)]
    verdicts[3], verdicts[7] = Failure(items[3].id, "refused"), None
    kept = [k for k in range(30) if k not in (3, 7)]
    human = np.array([items[k].human for k in kept], dtype=float)
    assert Aim(share=share).of(verdicts, items) == Aim(share=share).value(scores[kept], human, [""] * 28)


def test_one_system_is_no_systems() -> None:
    scores, human, _ = series()
    assert Aim(share=1.0).value(scores, human, [""] * 60) == pytest.approx(float(spearman(scores, human)))
