"""Systems' scores against sklearn and written-out resamples, and how items are drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from calibrator.stats.systems import (
    complete,
    drawn_sources,
    macro_f1_score,
    mean_score,
    nested,
    resample_weights,
    sample_weights,
    share_score,
    system_scores,
    whole_sources,
    win_score,
    wins,
)

nan = np.nan
few = settings(deadline=None, max_examples=60)


def grid(systems: int, sources: int) -> tuple[np.ndarray, list[str]]:
    """Every system with one item of every source."""
    return np.tile(np.arange(systems), sources), [f"s{k:02d}" for k in np.repeat(np.arange(sources), systems)]


def test_means_leave_out_what_has_no_value_and_systems_without_items() -> None:
    member = np.array([0, 0, 1, 1, 3])
    values = np.array([1.0, 3.0, 5.0, nan, nan])
    once = np.ones((1, 5))
    found = system_scores(mean_score(), values, member, 4, once)[0]
    assert found[:2].tolist() == [2.0, 5.0]
    assert np.isnan(found[2:]).all()
    twice = system_scores(mean_score(), values, member, 4, np.array([[3.0, 1.0, 1.0, 1.0, 1.0]]))[0]
    assert twice[0] == 1.5, "an item counts as often as it was drawn"


@few
@given(st.integers(0, 2**31), st.integers(2, 4))
def test_macro_f1_is_that_of_sklearn_in_every_resample(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    member = rng.integers(0, 3, 40)
    labels, intended = rng.integers(0, classes, (2, 40)).astype(float)
    labels[rng.random(40) < 0.1] = nan
    weights = rng.integers(0, 3, (3, 40)).astype(float)
    found = system_scores(macro_f1_score(intended, np.arange(classes, dtype=float)), labels, member, 3, weights)
    for row, w in enumerate(weights):
        for system in range(3):
            own = np.repeat(np.arange(40), w.astype(int) * (member == system) * ~np.isnan(labels))
            if not len(own):
                assert np.isnan(found[row, system])
            else:
                assert found[row, system] == pytest.approx(f1_score(intended[own], labels[own], average="macro"))


def test_the_share_of_a_label() -> None:
    values = np.array([1.0, 0.0, 1.0, nan])
    assert system_scores(share_score(1.0), values, np.zeros(4, dtype=int), 1, np.ones((1, 4)))[0, 0] == pytest.approx(
        2 / 3, abs=1e-8
    )


def test_wins_by_hand() -> None:
    # Source a: systems 0, 1, 2 with 3, 2, 2; source b: 0 and 1 tied, 2 without a value; source c: system 0 alone.
    member = np.array([0, 1, 2, 0, 1, 2, 0])
    place = np.array([0, 0, 0, 1, 1, 1, 2])
    values = np.array([3.0, 2.0, 2.0, 4.0, 4.0, nan, 5.0])
    found = wins(values, member, place)
    theirs = [[nan, 1, 1], [0, nan, 0.5], [0, 0.5, nan], [nan, 0.5, nan], [0.5, nan, nan], [nan] * 3, [nan] * 3]
    assert np.array_equal(found, np.array(theirs), equal_nan=True)
    scores = system_scores(win_score(member, [str(p) for p in place]), values, member, 3, np.ones((1, 7)))[0]
    # System 0 wins 0.75 of two comparisons with 1, and the one with 2; 1 against 0 has 0.25, against 2 0.5.
    assert scores.tolist() == [0.875, 0.375, 0.25]


def test_every_item_has_the_same_part_in_the_wins_over_a_rival() -> None:
    # Source a: system 0 has 3 and 1, system 1 has 2 and 2; source b: 5 against 4.
    member, sources = np.array([0, 0, 1, 1, 0, 1]), ["a", "a", "a", "a", "b", "b"]
    values = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 4.0])
    scores = system_scores(win_score(member, sources), values, member, 2, np.ones((1, 6)))[0]
    assert scores == pytest.approx([2 / 3, 1 / 3])


def test_a_rival_that_was_rated_more_often_counts_no_more() -> None:
    """B loses to A and beats C nearly always; A is rated in a fifth of the rows, C in nine tenths."""
    rng = np.random.default_rng(0)
    member, sources = grid(3, 600)
    true = np.where(rng.random(1800) < 0.9, np.array([5.0, 3.0, 1.0])[member], rng.integers(1, 6, 1800))
    rated = np.where(rng.random(1800) < np.array([0.2, 0.5, 0.9])[member], true, nan)
    score, once = win_score(member, sources), np.ones((1, 1800))
    whole, part = (system_scores(score, values, member, 3, once)[0] for values in (true, rated))
    assert part == pytest.approx(whole, abs=0.06)
    assert whole[1] == pytest.approx(0.5, abs=0.03)
    assert np.nansum(part) == pytest.approx(1.5, abs=1e-6), "of each two systems one wins"


def test_a_rival_that_was_never_met_leaves_the_win_rate_undefined() -> None:
    member = np.array([0, 1, 1, 2, 0, 2])
    sources = ["a", "a", "b", "b", "c", "d"]
    score, once = win_score(member, sources), np.ones((1, 6))
    values = np.array([2.0, 1.0, 1.0, 3.0, 5.0, 5.0])
    found = system_scores(score, values, member, 3, once)[0]
    assert np.array_equal(found, [nan, 0.0, nan], equal_nan=True), "0 and 2 have no source in common"
    unrated = np.where(member == 2, nan, values)
    found = system_scores(score, unrated, member, 3, once)[0]
    assert np.array_equal(found, [1.0, 0.0, nan], equal_nan=True), "a system without any value is no rival"
    alone = np.where(member == 0, values, nan)
    assert np.isnan(system_scores(score, alone, member, 3, once)).all()
    without = np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 1.0]])
    assert np.isnan(system_scores(score, values, member, 3, without)[0, 1]), "the draw has no source of 1 and 2"


@few
@given(st.integers(0, 2**31))
def test_wins_of_two_systems_add_up_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    member, sources = grid(2, 12)
    values = rng.integers(0, 4, 24).astype(float)
    weights = resample_weights(member, sources, 5, rng)
    scores = system_scores(win_score(member, sources), values, member, 2, weights)
    assert scores.sum(axis=1) == pytest.approx(np.ones(5))


def test_whole_sources_are_drawn_for_all_systems_alike() -> None:
    member, sources = grid(3, 8)
    weights = resample_weights(member, sources, 20, np.random.default_rng(0))
    assert (weights.reshape(20, 8, 3) == weights.reshape(20, 8, 3)[:, :, :1]).all()
    assert (weights.sum(axis=1) == 24).all()


def test_sources_of_one_system_each_are_drawn_within_the_systems() -> None:
    member = np.array([0] * 5 + [1] * 3)
    sources = [f"s{k}" for k in range(8)]
    assert nested(member, sources)
    weights = resample_weights(member, sources, 50, np.random.default_rng(0))
    assert (weights[:, :5].sum(axis=1) == 5).all()
    assert (weights[:, 5:].sum(axis=1) == 3).all(), "no system is ever lost"


@pytest.mark.parametrize("replace", [True, False])
def test_samples_have_so_many_items_of_each_system(replace: bool) -> None:
    member, sources = grid(3, 10)
    weights = sample_weights(member, sources, 4, 30, np.random.default_rng(1), replace=replace)
    assert (np.stack([weights[:, member == k].sum(axis=1) for k in range(3)]) == 4).all()
    assert (weights.reshape(30, 10, 3) == weights.reshape(30, 10, 3)[:, :, :1]).all(), "the same sources for all"
    assert (weights.max() > 1) == replace
    apart = sample_weights(
        np.array([0] * 6 + [1] * 5), [str(k) for k in range(11)], 5, 9, np.random.default_rng(1), replace=replace
    )
    assert (apart[:, :6].sum(axis=1) == 5).all()
    assert (apart[:, 6:].sum(axis=1) == 5).all()


def test_complete_sources() -> None:
    member, sources = grid(3, 10)
    assert len(complete(member, sources)) == 30
    gap = np.arange(29)  # one item of the last source is gone
    assert complete(member[gap], [sources[k] for k in gap]).tolist() == list(range(27))
    few_complete = np.r_[0:3, 3:30:3]
    assert not len(complete(member[few_complete], [sources[k] for k in few_complete]))
    with pytest.raises(ValueError, match="cannot be drawn"):
        sample_weights(member, sources, 11, 1, np.random.default_rng(0), replace=False)


def test_sources_that_all_systems_have_are_drawn_whole() -> None:
    member, sources = grid(3, 10)
    kept = np.r_[0:9, 10:30:2]  # three whole sources, and seven with items of one or two systems
    there = whole_sources(member[kept], [sources[k] for k in kept])
    assert kept[there].tolist() == list(range(9))
    names = [sources[k] for k in kept[there]]
    drawn = drawn_sources(names, 2, np.random.default_rng(0))
    assert len(drawn) == 6
    assert len({names[k] for k in drawn}) == 2
    again = sample_weights(member, sources, 4, 1, np.random.default_rng(7), replace=False)[0]
    assert drawn_sources(sources, 4, np.random.default_rng(7)).tolist() == np.flatnonzero(again).tolist()
    with pytest.raises(ValueError, match="cannot be drawn"):
        drawn_sources(names, 4, np.random.default_rng(0))
