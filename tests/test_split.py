"""The split: whole groups, every item once, stratified, by content alone; a sealed test side; overlap refused."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from calibrator.errors import DataError
from calibrator.records import Item
from calibrator.split import SHARES, Sealed, Split, refuse_overlap, split_items
from calibrator.texts import digest
from tests.conftest import make_items


def sides(split: Split) -> tuple[tuple[Item, ...], ...]:
    return split.train, split.dev, split.test.unseal(1)


def rated(groups: Sequence[int], ratings: Sequence[float]) -> list[Item]:
    return [
        Item(f"i{k}", f"reply {k}", f"post {g}", group=f"g{g}", ratings=(r,), human=r, key=digest([g, k]))
        for k, (g, r) in enumerate(zip(groups, ratings, strict=True))
    ]


@st.composite
def any_items(draw: st.DrawFn) -> list[Item]:
    groups = draw(st.lists(st.integers(0, 25), min_size=12, max_size=60))
    ratings = draw(st.lists(st.integers(1, 5).map(float), min_size=len(groups), max_size=len(groups)))
    return rated(groups, ratings)


def split_or_reject(items: Sequence[Item], seed: int) -> Split:
    """Too few groups or ratings for three sides are tested below."""
    try:
        return split_items(items, seed)
    except DataError:
        reject()
        raise


@settings(deadline=None, max_examples=150)
@given(any_items(), st.integers(0, 9))
def test_no_group_stands_on_two_sides_and_every_item_on_one(items: list[Item], seed: int) -> None:
    split = split_or_reject(items, seed)
    placed = [i for side in sides(split) for i in side]
    assert Counter(i.id for i in placed) == Counter(i.id for i in items)
    train, dev, test = ({i.group for i in side} for side in sides(split))
    assert not (train & dev or train & test or dev & test)


@settings(deadline=None, max_examples=100)
@given(any_items(), st.integers(0, 9), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(items: list[Item], seed: int, shuffler: random.Random) -> None:
    split = split_or_reject(items, seed)
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    again = split_items(shuffled, seed)
    assert sides(again) == sides(split)
    assert again.digest == split.digest


def test_where_an_item_stood_in_its_file_does_not_matter() -> None:
    items = make_items(90, groups=30)
    moved = [replace(i, row=k) for k, i in enumerate(reversed(items))]
    assert split_items(moved, 3).digest == split_items(items, 3).digest


def test_one_seed_gives_one_split_and_other_seeds_other_ones() -> None:
    items = make_items(90, groups=30)
    digests = [split_items(items, seed).digest for seed in range(20)]
    assert digests == [split_items(items, seed).digest for seed in range(20)]
    assert len(set(digests)) == 20


def test_the_digest_tells_when_a_rating_or_a_text_has_changed() -> None:
    items = make_items(90, groups=30)
    before = split_items(items, 0)
    for k in (0, 30, 60):
        changed = [*items[:k], replace(items[k], key=digest("another text")), *items[k + 1 :]]
        assert split_items(changed, 0).digest != before.digest
    for side in ("train", "dev"):
        first, *others = getattr(before, side)
        rerated = (replace(first, human=1.5), *others)
        assert replace(before, **{side: rerated}).digest != before.digest


@pytest.mark.parametrize("per_group", [1, 3, 10])
@pytest.mark.parametrize("seed", range(5))
def test_the_sides_are_40_30_30(per_group: int, seed: int) -> None:
    items = make_items(600, groups=600 // per_group)
    found = [len(side) / len(items) for side in sides(split_items(items, seed))]
    assert found == pytest.approx(SHARES, abs=0.03)


def test_groups_of_very_different_size_still_give_about_40_30_30() -> None:
    draw = random.Random(0)
    groups = [g for g in range(80) for _ in range(1 + int(draw.expovariate(0.2)))]
    items = rated(groups, [float(draw.randint(1, 5)) for _ in groups])
    found = [len(side) / len(items) for side in sides(split_items(items, 0))]
    assert found == pytest.approx(SHARES, abs=0.06)


def spread_of_means(parts: Sequence[Sequence[Item]]) -> float:
    means = [statistics.fmean(i.human or 0 for i in part) for part in parts]
    return max(means) - min(means)


def by_chance(items: Sequence[Item], seed: int) -> list[list[Item]]:
    """Whole groups put on the sides by lot alone."""
    groups = sorted({i.group for i in items})
    random.Random(seed).shuffle(groups)
    cuts = [0, round(0.4 * len(groups)), round(0.7 * len(groups)), len(groups)]
    parts = [set(groups[a:b]) for a, b in pairwise(cuts)]
    return [[i for i in items if i.group in part] for part in parts]


def test_the_sides_are_alike_in_their_ratings() -> None:
    draw = random.Random(1)
    level = [draw.uniform(1, 5) for _ in range(60)]  # some sources get better replies than others
    groups = [g for g in range(60) for _ in range(4)]
    items = rated(groups, [min(5.0, max(1.0, round(level[g] + draw.gauss(0, 0.5)))) for g in groups])
    ours = statistics.fmean(spread_of_means(sides(split_items(items, seed))) for seed in range(30))
    chance = statistics.fmean(spread_of_means(by_chance(items, seed)) for seed in range(30))
    assert ours < 0.5 * chance


def test_a_group_is_on_every_side_for_some_seed() -> None:
    items = make_items(60, groups=20)
    found = [next(n for n, s in enumerate(sides(split_items(items, seed))) if items[0] in s) for seed in range(40)]
    assert set(found) == {0, 1, 2}


# --- a separate test file -------------------------------------------------------------------------------------------


def test_a_separate_test_file_is_the_test_side() -> None:
    items, separate = make_items(120, groups=40), make_items(30, groups=10, seed=5)
    split = split_items(items, 0, separate, "train.csv")
    assert split.test.unseal(1) == tuple(separate)
    assert {i.id for i in split.train + split.dev} == {i.id for i in items}
    assert len(split.train) / len(items) == pytest.approx(4 / 7, abs=0.05)
    assert not {i.group for i in split.train} & {i.group for i in split.dev}


def test_a_separate_test_file_of_one_rating_is_refused() -> None:
    constant = [replace(i, human=3.0) for i in make_items(30, groups=10, seed=5)]
    with pytest.raises(DataError, match="the test side would hold 30 items"):
        split_items(make_items(120, groups=40), 0, constant)


def test_overlap_is_refused_with_the_counts() -> None:
    items = make_items(40, groups=10)
    others = [replace(i, output=f"Other: {i.output}", group=f"other {i.group}") for i in make_items(20, groups=5)]
    same_group = replace(others[3], group=items[4].group)
    with pytest.raises(DataError, match=r"test\.csv: 3 of its items and 4 of its groups stand in the training data"):
        refuse_overlap(items, [*others[:3], same_group, *items[:3]], "test.csv")
    with pytest.raises(DataError, match="0 of its items and 1 of its groups"):
        refuse_overlap(items, [*others[:3], same_group], "test.csv")
    with pytest.raises(DataError, match="1 of its items and 0 of its groups"):
        refuse_overlap(items, [replace(items[0], group="new", key="another")], "test.csv")
    alike = replace(items[0], group="new", output=f"  {items[0].output.upper()} ")
    with pytest.raises(DataError, match="1 of its items and 0 of its groups"):
        refuse_overlap(items, [alike], "test.csv")
    refuse_overlap(items, others, "test.csv")


# --- too little to split --------------------------------------------------------------------------------------------

TOO_LITTLE = {
    "nothing": [],
    "one item": rated([1], [3]),
    "two items": rated([1, 2], [1, 5]),
    "five items": rated([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
    "one group": rated([1] * 30, [1, 2, 3] * 10),
    "two groups": rated([1, 2] * 15, [1, 2, 3] * 10),
    "one rating": rated(list(range(30)), [3] * 30),
}


@pytest.mark.parametrize("name", TOO_LITTLE)
def test_too_little_to_split_is_said_with_the_file(name: str) -> None:
    with pytest.raises(DataError, match=r"mine\.csv: the (train|dev|test) side would hold \d+ items"):
        split_items(TOO_LITTLE[name], 0, file="mine.csv")


# --- the seal -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", [0, -1])
def test_nobody_looks_at_the_test_side_before_the_look_is_entered(look: int) -> None:
    sealed = split_items(make_items(), 0).test
    with pytest.raises(ValueError, match="ledger"):
        sealed.unseal(look)


def test_a_sealed_side_tells_its_size_and_no_text() -> None:
    items = make_items(20, groups=4)
    sealed = Sealed(items)
    assert (len(sealed), sealed.groups) == (20, 4)
    assert sealed.unseal(2) == tuple(items)
    assert not any(i.output in repr(sealed) or i.id in repr(sealed) for i in items)
    with pytest.raises(TypeError):
        iter(sealed)  # type: ignore[call-overload]


def test_the_digest_of_a_sealed_side_is_of_its_content() -> None:
    items = make_items(20, groups=4)
    assert Sealed(items).digest == Sealed(items[::-1]).digest
    assert Sealed(items).digest != Sealed(items[1:]).digest
    assert Sealed(items).digest != Sealed([replace(items[0], human=1.5), *items[1:]]).digest
