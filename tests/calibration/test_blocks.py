"""Blocks of the development set: a partition, balanced over ratings and groups, the same for the same items."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.calibration.races.blocks import block_order
from calibrator.records import Item


def item(number: int, group: str, human: float) -> Item:
    return Item(id=f"i{number}", output=f"text {number}", key=f"key{number}", group=group, human=human)


def grid(groups: int, each: int, seed: int = 0) -> list[Item]:
    """Items of groups that differ in their ratings."""
    rng = np.random.default_rng(seed)
    ratings = np.clip(rng.normal(3, 0.7, (groups, 1)) + rng.normal(0, 0.7, (groups, each)), 1, 5).round(1)
    return [item(g * each + k, f"g{g}", float(ratings[g, k])) for g in range(groups) for k in range(each)]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from([1.0, 2, 3, 4, 5])), max_size=80),
    st.integers(1, 40),
    st.floats(1.05, 4),
    st.integers(0, 9),
)
def test_blocks_are_a_partition_that_grows(rows: list[tuple[str, float]], first: int, growth: float, seed: int) -> None:
    items = [item(k, g, h) for k, (g, h) in enumerate(rows)]
    blocks = block_order(items, seed, first, growth)
    assert sorted(i for b in blocks for i in b) == list(range(len(items)))
    assert all(blocks)
    judged = list(accumulate(map(len, blocks)))
    if len(blocks) > 1:
        assert judged[0] == first
        assert all(b >= a * growth**0.5 - 1 for a, b in pairwise(judged))


@settings(deadline=None)
@given(st.permutations(range(30)), st.integers(0, 5))
def test_the_order_of_the_file_does_not_matter(order: list[int], seed: int) -> None:
    items = grid(10, 3)
    shuffled = [items[i] for i in order]
    one, other = block_order(items, seed, 8), block_order(shuffled, seed, 8)
    assert [[items[i].id for i in b] for b in one] == [[shuffled[i].id for i in b] for b in other]


def test_another_seed_gives_another_order() -> None:
    items = grid(20, 3)
    assert block_order(items, 1, 10) == block_order(items, 1, 10)
    assert block_order(items, 1, 10) != block_order(items, 2, 10)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("groups", "each"), [(250, 1), (50, 5), (18, 14)])
def test_every_beginning_has_its_share_of_each_part_of_the_scale(groups: int, each: int, seed: int) -> None:
    items = grid(groups, each)
    ordered = sorted(i.human or 0 for i in items)
    for block in block_order(items, seed, 30):
        quarters = np.searchsorted(
            [ordered[len(ordered) * q // 4] for q in (1, 2, 3)], [items[i].human or 0 for i in block], side="right"
        )
        shares = np.bincount(quarters, minlength=4) / len(block)
        whole = np.bincount(
            np.searchsorted([ordered[len(ordered) * q // 4] for q in (1, 2, 3)], ordered, side="right"), minlength=4
        )
        assert shares == pytest.approx(whole / len(items), abs=4 / len(block))


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_spread_over_the_blocks(seed: int) -> None:
    items = grid(25, 10)
    blocks = block_order(items, seed, 30)
    first = Counter(items[i].group for i in blocks[0])
    assert len(first) >= 23
    assert max(first.values()) <= 3
    second = Counter(items[i].group for b in blocks[:2] for i in b)
    assert len(second) == 25


@pytest.mark.parametrize("seed", range(5))
def test_a_large_group_has_its_share_from_the_beginning(seed: int) -> None:
    items = [item(k, "large" if k < 100 else f"g{k}", float(k % 5)) for k in range(200)]
    for block in block_order(items, seed, 40)[:-1]:
        assert sum(items[i].group == "large" for i in block) / len(block) == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize(("count", "blocks"), [(0, 0), (1, 1), (2, 1), (8, 1), (30, 1), (42, 1), (43, 2), (250, 4)])
def test_few_items_are_one_block(count: int, blocks: int) -> None:
    assert len(block_order(grid(count, 1), 0)) == blocks


def test_items_that_are_the_same_twice_are_both_judged() -> None:
    items = [item(0, "g", 3.0)] * 4
    assert sorted(i for b in block_order(items, 0, 2) for i in b) == [0, 1, 2, 3]


@pytest.mark.parametrize(("first", "growth"), [(0, 2.0), (-1, 2.0), (5, 1.0), (5, 0.5)])
def test_blocks_that_cannot_be_are_refused(first: int, growth: float) -> None:
    with pytest.raises(ValueError, match="blocks need"):
        block_order(grid(5, 2), 0, first, growth)
