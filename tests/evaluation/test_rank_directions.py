"""Which way ranks run: rankings are told apart, reversed ones are found, and mere disagreement is none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from calibrator.evaluation.rank_directions import marks, mirrored, rankings_of

Array = NDArray[np.float64]


def drawn(count: int, turned: int, noise: float = 0.4, seed: int = 0, size: int = 5) -> tuple[Array, Array, list[str]]:
    """Ranks from 1, the best, in the first `turned` rankings from 1, the worst; three witnesses; the rankings."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(size=(count, size))
    rank = stats.rankdata(-(merit + noise * rng.normal(size=merit.shape)), axis=1)
    rank[:turned] = size + 1 - rank[:turned]
    witnesses = merit.reshape(-1, 1) + rng.normal(size=(count * size, 3)) / 3
    return rank.ravel(), witnesses, [f"r{k:02}" for k in range(count) for _ in range(size)]


def test_rankings_of_a_group_are_told_apart_where_a_rank_comes_again() -> None:
    groups = ["a"] * 3 + ["b"] * 6 + ["a"] * 2 + ["c"] * 3
    rank = np.array([2.0, 1, 3, 1, 3, 2, 2, 1, 3, 2, 1, 1, 2, 2])
    assert rankings_of(rank, groups) == ["a"] * 3 + ["b"] * 3 + ["b #2"] * 3 + ["a #2"] * 2 + ["c"] * 3  # ties: one


def test_ranks_from_0_and_gaps() -> None:
    assert rankings_of(np.array([0.0, 1, 2, 2, 0, 1]), ["a"] * 6) == ["a"] * 3 + ["a #2"] * 3
    assert rankings_of(np.array([1.0, math.nan, 2, 2, 1]), ["a"] * 5) == ["a"] * 3 + ["a #2"] * 2
    assert rankings_of(np.full(2, math.nan), ["a"] * 2) == ["a"] * 2
    assert rankings_of(np.zeros(0), []) == []


@pytest.mark.parametrize("poor", [False, True])
def test_reversed_rankings_are_found_and_the_witnesses_tell_which_they_are(poor: bool) -> None:
    rank, witnesses, rankings = drawn(60, 20)
    found = marks(6 - rank if poor else rank, witnesses, rankings, "highest" if poor else "lowest")
    true = {f"r{k:02}" for k in range(20)}
    assert found.p < 1e-6
    assert len(set(found.reversed) & true) >= 18
    assert len(set(found.reversed) - true) <= 2
    assert found.reversed == found.against


def test_the_more_frequent_way_is_not_taken_for_the_right_one() -> None:
    rank, witnesses, rankings = drawn(60, 45)
    assert 43 <= len(marks(rank, witnesses, rankings).reversed) <= 47


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("noise", [0.0, 1.0, 1e6])
def test_a_rank_that_runs_one_way_has_no_marks_however_well_the_witnesses_know_it(noise: float, seed: int) -> None:
    rank, witnesses, rankings = drawn(60, 0, noise, seed)
    assert marks(rank, witnesses, rankings).reversed == ()


def test_the_wrong_end_called_best_shows_as_all_against_and_none_reversed() -> None:
    rank, witnesses, rankings = drawn(40, 0)
    found = marks(rank, witnesses, rankings, "highest")
    assert len(found.against) >= 39
    assert found.reversed == () and found.p == 1


def test_a_correlation_is_that_of_scipy() -> None:
    rank, witnesses, rankings = drawn(12, 0)
    found = marks(rank, witnesses[:, :1], rankings)
    for k, name in enumerate(dict.fromkeys(rankings)):
        own = slice(5 * k, 5 * k + 5)
        assert found.agreement[name] == pytest.approx(stats.spearmanr(-rank[own], witnesses[own, 0]).statistic)


def test_gaps_pairs_and_no_witness() -> None:
    rank, witnesses, rankings = drawn(20, 0)
    rank[0:3] = math.nan  # two are left of the first ranking
    witnesses[5:10] = math.nan  # nobody says anything of the second
    found = marks(rank, witnesses, rankings)
    assert "r00" not in found.agreement
    assert math.isnan(found.agreement["r01"])
    assert marks(rank, np.zeros((100, 0)), rankings).against == ()
    assert marks(np.full(100, math.nan), witnesses, rankings).p == 1


def test_systems_that_stand_the_other_way_round_by_hand() -> None:
    # In the ranking that is marked the systems have 3, 2, 1, in the two others 1, 2, 3 and 2, 1, 3.
    rank = np.array([3.0, 2, 1, 1, 2, 3, 2, 1, 3])
    rankings = ["a"] * 3 + ["b"] * 3 + ["c"] * 3
    found = mirrored(rank, rankings, ["x", "y", "z"] * 3, ["a"])
    assert found.marked == {"x": 3, "y": 2, "z": 1}
    assert found.others == {"x": 1.5, "y": 1.5, "z": 3}
    # Ranks 3, 2, 1 against 1.5, 1.5, 3: covariance -1.5, spreads 2 and 1.5.
    assert found.spearman == pytest.approx(-1.5 / math.sqrt(2 * 1.5))
    assert math.isnan(mirrored(rank, rankings, ["x", "y", "z"] * 3, []).spearman)
