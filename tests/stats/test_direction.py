"""Ranks that run both ways are told from ranks that are noisy, weak or unrelated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.stats.correlation import ranks
from calibrator.stats.direction import Directions, directions

Array = NDArray[np.float64]


def found_in(
    noise: float, turned: float, seed: int, groups: int = 44, size: int = 5, unrelated: float = 0.0
) -> Directions:
    """Rank groups of `size` rows by their merit with noise; a share is turned round, another ranked at random."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(size=(groups, size))
    ranked = merit + noise * rng.normal(size=merit.shape)
    ranked[: round(groups * turned)] *= -1
    free = round(groups * unrelated)
    ranked[groups - free :] = rng.normal(size=(free, size))
    rank = np.concatenate([ranks(r) for r in ranked])
    scores = np.column_stack([merit.ravel() + rng.normal(size=merit.size) / 2 for _ in range(4)])
    rows = [np.arange(k * size, (k + 1) * size) for k in range(groups)]
    return directions(rank, scores, rows, rng)


@pytest.mark.parametrize("turned", [0.3, 0.5, 0.7])
@pytest.mark.parametrize(("size", "level"), [(4, 0.05), (5, 0.001), (8, 0.001)])
def test_ranks_that_run_both_ways_are_found(turned: float, size: int, level: float) -> None:
    found = [found_in(0.4, turned, seed, size=size).p for seed in range(10)]
    assert sum(p < level for p in found) >= 9


def test_groups_of_three_can_be_told_too() -> None:
    assert all(found_in(0.2, 0.4, seed, groups=80, size=3).p < 0.01 for seed in range(5))


@pytest.mark.parametrize("noise", [0.0, 0.5, 1.0, 3.0, 1e6])
@pytest.mark.parametrize("unrelated", [0.0, 0.5])
def test_one_direction_is_never_called_two(noise: float, unrelated: float) -> None:
    """Whatever the strength: at a level of 0.05 at most one in twenty, of 0.001 none of these."""
    found = [found_in(noise, 0.0, seed, unrelated=unrelated).p for seed in range(60)]
    assert sum(p < 0.05 for p in found) <= 6
    assert min(found) > 0.001


def test_the_signs_are_those_of_the_groups() -> None:
    found = found_in(0.0, 0.25, seed=1, groups=20)
    signs = np.sign(found.signs)
    assert abs(signs[:5].sum()) >= 4
    assert np.sign(signs[:5].sum()) == -np.sign(signs[5:].sum())


def test_scores_that_say_nothing_give_no_answer() -> None:
    rows = [np.arange(5 * k, 5 * k + 5) for k in range(12)]
    rank = np.tile(np.arange(5.0), 12)
    found = directions(rank, np.full((60, 2), 3.0), rows, np.random.default_rng(0))
    assert found.p == 1
    assert all(math.isnan(s) for s in found.signs)
    nothing = directions(rank, np.full((60, 1), math.nan), rows, np.random.default_rng(0))
    assert nothing.p == 1


def test_gaps_do_not_count() -> None:
    rng = np.random.default_rng(3)
    merit = rng.normal(size=(30, 5))
    turn = np.where(np.arange(30) % 2, 1.0, -1.0)[:, None]
    rank = np.concatenate([ranks(r) for r in merit * turn])
    scores = np.column_stack([merit.ravel(), merit.ravel()])
    scores[::3, 1] = math.nan
    rows = [np.arange(5 * k, 5 * k + 5) for k in range(30)]
    assert directions(rank, scores, rows, rng).p < 1e-6
