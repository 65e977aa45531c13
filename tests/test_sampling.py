"""Monte-Carlo sampling of exemplars: how many, spread over the scale, from fresh groups, by the generator alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.drafting.sampling import sample_exemplars
from calibrator.records import Item
from tests.conftest import make_items


def rated(ratings: Sequence[float], groups: Sequence[str] | None = None) -> list[Item]:
    groups = groups or [f"g{k}" for k in range(len(ratings))]
    return [Item(f"i{k}", "a reply", group=g, human=r) for k, (r, g) in enumerate(zip(ratings, groups, strict=True))]


def sample(items: Sequence[Item], shots: float, seed: int = 0) -> tuple[Item, ...]:
    return sample_exemplars(items, shots, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("shots", "size"), [(0.25, 10), (0.5, 20), (1.0, 40), (0.001, 1), (5, 5), (39, 39), (40, 40), (99, 40), (2.9, 2)]
)
def test_shots_up_to_1_are_a_share_and_above_1_a_number(shots: float, size: int) -> None:
    assert len(sample(make_items(40), shots)) == size


@settings(deadline=None)
@given(st.integers(1, 40), st.floats(0.01, 50), st.integers(0, 999))
def test_exemplars_are_items_and_none_comes_twice(count: int, shots: float, seed: int) -> None:
    items = make_items(count)
    drawn = [i.id for i in sample(items, shots, seed)]
    assert len(set(drawn)) == len(drawn)
    assert set(drawn) <= {i.id for i in items}


def test_the_generator_alone_decides() -> None:
    items = make_items(60)
    assert sample(items, 8, seed=3) == sample(items, 8, seed=3)
    assert len({sample(items, 8, seed=s) for s in range(20)}) == 20


@settings(deadline=None)
@given(st.lists(st.integers(1, 50).map(float), min_size=12, max_size=48), st.integers(0, 999))
def test_one_exemplar_comes_from_each_part_of_the_scale(ratings: list[float], seed: int) -> None:
    drawn = [i.human for i in sample(rated(ratings), 4, seed)]
    for exemplar, part in zip(drawn, np.array_split(np.sort(ratings), 4), strict=True):
        assert part[0] <= (exemplar or 0) <= part[-1]


def test_rare_ratings_at_both_ends_are_always_seen() -> None:
    items = rated([1.0] * 5 + [3.0] * 40 + [5.0] * 5)
    for seed in range(20):
        drawn = [i.human for i in sample(items, 10, seed)]
        assert drawn[0] == 1.0
        assert drawn[-1] == 5.0


def test_a_stratum_gives_a_fresh_group_while_it_has_one() -> None:
    items = rated([1, 1, 2, 2, 3, 3], ["a", "a", "a", "b", "b", "c"])
    assert all([i.group for i in sample(items, 3, seed)] == ["a", "b", "c"] for seed in range(30))


def test_a_stratum_without_a_fresh_group_still_gives_its_exemplar() -> None:
    items = rated([1, 2, 3, 4], ["a"] * 4)
    assert [i.human for i in sample(items, 4)] == [1, 2, 3, 4]


def test_every_item_can_be_drawn() -> None:
    items = make_items(12)
    assert {i.id for seed in range(200) for i in sample(items, 3, seed)} == {i.id for i in items}
