"""Subsets of the labels: nested, of the size wanted, whole groups, spread over the scale."""

from __future__ import annotations

import statistics
from collections import Counter

import numpy as np
import pytest

from calibrator.evaluation.curve import labels_used
from calibrator.records import Item
from tests.conftest import make_items

ITEMS = make_items(280, groups=90)


def subsets(items: list[Item], *sizes: int, seed: int = 0) -> dict[int, tuple[Item, ...]]:
    return labels_used(items, sizes, rng=np.random.default_rng(seed))


def test_each_subset_has_its_size_and_holds_the_smaller_ones() -> None:
    found = labels_used(ITEMS, rng=np.random.default_rng(0))
    assert list(found) == [50, 100, 200]
    assert [len({i.id for i in part}) for part in found.values()] == [50, 100, 200]
    ids = [{i.id for i in part} for part in found.values()]
    assert ids[0] < ids[1] < ids[2] < {i.id for i in ITEMS}


def test_groups_are_taken_whole_but_for_the_last() -> None:
    whole = Counter(i.group for i in ITEMS)
    for part in subsets(ITEMS, 20, 50, 111).values():
        cut = [g for g, n in Counter(i.group for i in part).items() if n < whole[g]]
        assert len(cut) <= 1


@pytest.mark.parametrize("seed", range(5))
def test_a_subset_is_spread_over_the_scale_as_the_whole_is(seed: int) -> None:
    (part,) = subsets(ITEMS, 100, seed=seed).values()
    whole, own = ([float(i.human or 0) for i in items] for items in (ITEMS, part))
    assert statistics.fmean(own) == pytest.approx(statistics.fmean(whole), abs=0.15)
    assert statistics.stdev(own) == pytest.approx(statistics.stdev(whole), rel=0.15)
    assert set(own) == set(whole)


def test_there_are_never_more_than_there_are() -> None:
    found = subsets(ITEMS, 100, 280, 500, 900)
    assert list(found) == [100, 280]
    assert list(found[280]) == ITEMS
    assert list(subsets(ITEMS[:30], 50, 100)) == [30]
    assert subsets([], 50) == {}


def test_the_order_of_the_items_does_not_matter_and_is_kept() -> None:
    forward, backward = subsets(ITEMS, 60)[60], subsets(ITEMS[::-1], 60)[60]
    assert backward == forward[::-1]
    place = {i.id: k for k, i in enumerate(ITEMS)}
    assert [place[i.id] for i in forward] == sorted(place[i.id] for i in forward)


def test_chance_is_that_of_the_generator() -> None:
    assert subsets(ITEMS, 60, seed=1) == subsets(ITEMS, 60, seed=1)
    assert subsets(ITEMS, 60, seed=1) != subsets(ITEMS, 60, seed=2)


def test_one_large_group_is_cut_and_a_size_below_one_refused() -> None:
    single = make_items(40, groups=1)
    assert len(subsets(single, 10)[10]) == 10
    with pytest.raises(ValueError, match="not 0"):
        subsets(ITEMS, 0, 50)
