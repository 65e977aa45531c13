"""One split for several aspects: no text on two sides, whatever is rated under which aspect."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import find_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.catalog import open_source
from calibrator.columns import map_columns
from calibrator.comparison.clusters import clusters
from calibrator.comparison.shared import shared_split
from calibrator.dataset import content_of, rated_items
from calibrator.errors import DataError
from calibrator.records import Item
from calibrator.split import split_items
from tests.conftest import make_items

ASPECTS = ("relevance", "coherence")
Write = Callable[..., Path]


def sides(prepared: Prepared) -> tuple[tuple[Item, ...], ...]:
    split = prepared.split
    return split.train, split.dev, split.test.unseal(1)


def sides_of(prepared: Sequence[Prepared], name: Callable[[Item], str]) -> dict[str, set[int]]:
    """On which sides whatever `name` tells of an item stands, under any aspect."""
    found: dict[str, set[int]] = defaultdict(set)
    for one in prepared:
        for side, items in enumerate(sides(one)):
            for item in items:
                found[name(item)].add(side)
    return found


def rows(count: int = 60, groups: int = 20) -> list[dict[str, object]]:
    """A table of one row for each item, rated for both aspects."""
    draw = random.Random(1)
    return [
        {"input": i.source, "output": i.output, "relevance_score": i.human, "coherence_score": draw.randint(1, 5)}
        for i in make_items(count, groups)
    ]


def read(path: Path, aspects: Sequence[str] = ASPECTS, **more: object) -> list[Prepared]:
    return [prepare(make_config(aspect=f"neutral/{a}", data=str(path), **more)) for a in aspects]


def test_the_first_aspects_split_is_kept_and_the_others_follow_it(write_csv: Write) -> None:
    before = read(write_csv(rows()))
    first, second = shared_split(before)
    assert first.split.digest == before[0].split.digest != before[1].split.digest
    assert [[i.row for i in side] for side in sides(second)] == [[i.row for i in side] for side in sides(first)]
    assert [[i.human for i in side] for side in sides(second)] != [[i.human for i in side] for side in sides(first)]
    assert sorted(i.id for side in sides(second) for i in side) == sorted(i.id for i in before[1].dataset.items)


def test_groups_that_another_aspect_alone_makes_one_stand_on_one_side(write_csv: Write) -> None:
    table = rows()
    first = read(write_csv(table))[0]
    train, _, test = sides(first)
    # The same output to two posts' worth of groups: a text of a train group is given, for coherence only, to a group of
    # the test side, in other letters. A column of groups lets one text stand in two of them.
    for row in table:
        row["group"] = row["input"]
    there, moved = train[0], test[0]
    bridge = {"input": there.source.upper(), "output": f" {there.output}!", "relevance_score": "", "coherence_score": 4}
    for row in table:
        if row["output"] == there.output:
            row["coherence_score"] = ""  # no aspect has both, and sees by itself that they are one
    found = shared_split(read(write_csv([*table, {**bridge, "group": moved.source}])))
    assert all(len(on) == 1 for on in sides_of(found, content_of).values())
    left = {i.source for i in sides(found[0])[2]}
    assert left == {i.source for i in test} - {moved.source}  # the earlier side has it, and test gains nothing
    assert {i.source for i in sides(found[0])[0]} == {i.source for i in train} | {moved.source}


def test_what_the_first_aspect_does_not_have_goes_to_train(write_csv: Write) -> None:
    table = rows()
    for row in table[::20]:
        row["relevance_score"] = ""
    found = shared_split(read(write_csv(table)))
    absent = {i.source for side in sides(found[1]) for i in side} - {i.source for side in sides(found[0]) for i in side}
    assert len(absent) == 3
    assert absent <= {i.source for i in sides(found[1])[0]}


def test_a_test_file_stays_the_test_side(write_csv: Write) -> None:
    data, test = rows(60, 20), rows(90, 30)[60:]
    for row in test:
        row["input"] = f"another {row['input']}"
    path = write_csv(test, "test.csv")
    found = shared_split(read(write_csv(data), test=str(path)))
    assert all(len(one.split.test) == len(test) for one in found)
    assert {i.source for i in sides(found[1])[0]} == {i.source for i in sides(found[0])[0]}


def test_a_text_that_is_data_for_one_aspect_and_test_for_another_is_refused(write_csv: Write) -> None:
    data, test = rows(60, 20), rows(90, 30)[60:]
    for row in test:
        row["input"] = f"another {row['input']}"
    both = {**test[0], "relevance_score": ""}
    test[0]["coherence_score"] = ""
    path = write_csv(test, "test.csv")
    with pytest.raises(DataError, match="1 of its items and 1 of its groups stand in the training data"):
        shared_split(read(write_csv([*data, both]), test=str(path)))


def test_a_side_that_would_be_constant_for_an_aspect_is_refused(write_csv: Write) -> None:
    table = rows()
    first = read(write_csv(table))[0]
    held_out = {i.row for i in sides(first)[2]}
    for number, row in enumerate(table, 2):
        if number in held_out:
            row["coherence_score"] = 3
    with pytest.raises(DataError, match="the test side of neutral/coherence would hold 18 items and no two ratings"):
        shared_split(read(write_csv(table)))


def thinned(real_data: Path, data: str, aspects: Sequence[str], seed: int) -> list[Prepared]:
    """Real rows of which each aspect has lost a third of its ratings, by lot."""
    source = open_source(data, real_data)
    found = []
    for k, name in enumerate(aspects):
        aspect, why = find_aspect(name, source.suite)
        draw = random.Random(f"{seed} {k}")
        mapped = map_columns(source.table, source.wanted, aspect)
        blank: dict[str, object] = dict.fromkeys((*mapped.annotators, *([mapped.score] if mapped.score else [])))
        kept = tuple(dict(r) | (blank if draw.random() < 1 / 3 else {}) for r in source.table.rows)
        dataset = rated_items(replace(source.table, rows=kept), mapped, aspect.scale, data)
        found.append(Prepared(aspect, why, dataset, None, split_items(dataset.items, seed)))
    return found


@pytest.mark.parametrize(
    ("data", "aspects"),
    [
        ("cseval", ("relevance", "coherence", "aggressiveness", "suitableness")),
        ("topical-chat", ("overall", "naturalness", "engagingness")),
    ],
)
def test_no_text_of_real_data_stands_on_two_sides(real_data: Path, data: str, aspects: tuple[str, ...]) -> None:
    for seed in (0, 1):
        before = thinned(real_data, data, aspects, seed)
        assert any(len(on) > 1 for on in sides_of(before, content_of).values())
        found = shared_split(before)
        assert all(len(on) == 1 for on in sides_of(found, content_of).values())
        assert all(len(on) == 1 for on in sides_of(found, lambda i: i.source).values())
        tests = [{content_of(i) for i in sides(one)[2]} for one in (before[0], found[0])]
        assert tests[1] <= tests[0]
        assert [sum(map(len, sides(one))) for one in found] == [len(one.dataset.items) for one in before]


def test_all_aspects_of_cseval_have_one_test_side(real_data: Path) -> None:
    config = {"data": "cseval", "data_dir": real_data, "force": True}
    aspects = ("relevance", "coherence", "aggressiveness", "suitableness")
    found = shared_split([prepare(make_config(aspect=a, **config)) for a in aspects])
    assert [[len(side) for side in sides(one)] for one in found] == [[367, 275, 275]] * 4
    assert len({tuple(i.row for i in sides(one)[2]) for one in found}) == 1


def test_a_group_column_joins_rows_that_share_no_text(write_csv: Write) -> None:
    table = rows(60, 20)
    for k, row in enumerate(table):
        row |= {"input": f"{row['input']} {k}", "group": f"g{k % 20}"}
        row[("relevance_score", "coherence_score")[k // 20 % 2]] = ""  # no row is rated for both
    found = shared_split(read(write_csv(table), columns={"group": "group"}))
    assert all(len(on) == 1 for on in sides_of(found, lambda i: i.group).values())


things = st.lists(st.lists(st.integers(0, 12), min_size=1, max_size=4), max_size=20)


@given(things)
def test_clusters_are_the_connected_components(labels: list[list[int]]) -> None:
    names = clusters(labels)
    reach = [set(own) for own in labels]
    for _ in labels:  # grow by whoever shares a label until nothing changes
        reach = [set().union(own, *(other for other in reach if other & own)) for own in reach]
    for i in range(len(labels)):
        for j in range(len(labels)):
            assert (names[i] == names[j]) == bool(reach[i] & reach[j])


def test_clusters_by_hand() -> None:
    assert clusters([["a"], ["b", "c"], ["c", "d"], ["d", "a"], ["e"]]) == ["0", "0", "0", "0", "1"]
