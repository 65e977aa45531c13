"""What a refinement is shown: where judge and humans put the texts in another order, and agree among themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from calibrator.aspects import Scale
from calibrator.calibration.refine import refine_requests, telling_disagreements, worst_disagreements
from calibrator.calibration.score import make_candidate
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Failure, Item, Judgment
from tests.calibration.making import ASPECT, Doubles, calibrated, named, prepared
from tests.conftest import make_items

SCALE = Scale(1, 5)


def rated(humans: Sequence[float], ratings: Sequence[tuple[float, ...]] = ()) -> list[Item]:
    items = make_items(len(humans), len(humans))
    return [
        replace(i, human=h, ratings=ratings[k] if ratings else (h,))
        for k, (i, h) in enumerate(zip(items, humans, strict=True))
    ]


def candidate(scores: Sequence[float | None], items: Sequence[Item]) -> Candidate:
    verdicts = tuple(
        Failure(i.id, "no idea") if s is None else Judgment(i.id, s, "m") for i, s in zip(items, scores, strict=True)
    )
    return make_candidate("a", named("a"), verdicts, items, Aim())


def test_by_points_the_largest_differences_come_first() -> None:
    items = rated([3.0] * 5)
    worst = worst_disagreements(candidate([3.5, 1.0, None, 4.0, 3.0], items), items, 3)
    assert [(d.item.id, d.judged, d.human, d.gap) for d in worst] == [
        ("i1", 1.0, 3.0, -2.0), ("i3", 4.0, 3.0, 1.0), ("i0", 3.5, 3.0, 0.5),
    ]  # fmt: skip


def test_a_judge_that_is_a_point_too_high_throughout_has_no_disagreement_by_rank() -> None:
    items = rated([1.0, 2.0, 3.0, 4.0, 2.5])
    too_high = candidate([2.0, 3.0, 4.0, 5.0, 3.5], items)
    assert {d.gap for d in telling_disagreements(too_high, items, SCALE, 5)} == {0.0}
    assert {d.gap for d in worst_disagreements(too_high, items, 5)} == {1.0}


def test_by_rank_the_one_text_out_of_order_comes_first_though_its_points_are_right() -> None:
    items = rated([1.0, 2.0, 3.0, 4.0])
    # All but the last are two points too high; the last has the right score and the lowest rank.
    found = telling_disagreements(candidate([4.1, 4.2, 4.3, 4.0], items), items, SCALE, 4)
    assert found[0].item.id == "i3" and found[0].judged == found[0].human
    assert worst_disagreements(candidate([4.1, 4.2, 4.3, 4.0], items), items, 4)[-1].item.id == "i3"


def test_the_gap_is_in_ranks_from_0_to_1_and_its_sign_the_direction() -> None:
    items = rated([1.0, 2.0, 3.0, 4.0, 5.0])
    found = telling_disagreements(candidate([5.0, 2.0, 3.0, 4.0, 1.0], items), items, SCALE, 5)
    gaps = {d.item.id: d.gap for d in found}
    assert gaps == {"i0": 1.0, "i4": -1.0, "i1": 0.0, "i2": 0.0, "i3": 0.0}
    assert {d.item.id for d in found[:2]} == {"i0", "i4"}


@pytest.mark.parametrize("apart, last", [(1.9, False), (2.0, True), (4.0, True)])
def test_items_on_which_the_annotators_lie_half_the_scale_apart_come_last(apart: float, last: bool) -> None:
    humans = [1.0, 2.0, 3.0, 4.0, 5.0]
    ratings = [(h, h) for h in humans]
    ratings[0] = (1.0, 1.0 + apart)
    items = rated(humans, ratings)
    found = telling_disagreements(candidate([5.0, 2.0, 3.0, 4.0, 4.5], items), items, SCALE, 5)
    assert [d.item.id for d in found].index("i0") == (4 if last else 0)


def test_failures_and_unrated_items_are_no_disagreements() -> None:
    items = rated([1.0, 2.0, 3.0, 4.0])
    items[1] = replace(items[1], human=None)
    found = telling_disagreements(candidate([4.0, 1.0, None, 1.0], items), items, SCALE, 4)
    assert {d.item.id for d in found} == {"i0", "i3"}


def test_moves_take_turns_and_each_request_has_its_own_seed() -> None:
    items = make_items(20)
    made = candidate([float(k) for k in range(20)], items)
    worst = worst_disagreements(made, items)
    requests = refine_requests(ASPECT, made, worst, items, ("add", "modify"), 5, (0, 0.5), 1)
    assert [r.move for r in requests] == ["add", "modify", "add", "modify", "add"]
    assert len({r.seed for r in requests}) == 5
    assert all(r.disagreements == worst and r.exemplars == tuple(items) for r in requests)


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_a_search_shows_disagreements_by_rank_and_in_the_papers_protocol_by_points(
    tmp_path: Path, protocol: str
) -> None:
    items = make_items(60, 20)
    doubles = Doubles({"one": 0.8, "two": 0.3, "one more": 0.1, "two more": 0.1}, moves=("modify",))
    method = doubles.method
    calibrated(tmp_path, items, method, protocol=protocol, trials=2, rounds=1, refinements=1)
    split = prepared(items).split
    dev = split.train + split.dev if protocol == "paper" else split.dev
    shown = {r.rubric.steps[0].text: r.disagreements for r in method.refiner.refined}  # type: ignore[attr-defined]
    assert set(shown) == {"one", "two"}
    for name, disagreements in shown.items():
        verdicts = doubles.judges[name].judge(dev)
        made = make_candidate(name, named(name), verdicts, dev, Aim())
        by_rank, by_points = telling_disagreements(made, dev, ASPECT.scale), worst_disagreements(made, dev)
        assert by_rank != by_points
        assert disagreements == (by_points if protocol == "paper" else by_rank)
