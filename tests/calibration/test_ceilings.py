"""The noise ceiling in a result: the humans among themselves, the judge beside them, and what to be careful about."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calibrator.calibration.ceilings import ceiling_part
from calibrator.calibration.result import CeilingPart
from calibrator.records import Item, Judgment
from calibrator.report.lines import cautions
from tests.calibration.making import calibrated
from tests.conftest import make_items


def rated(spread: Sequence[float], count: int = 120, sort: bool = False) -> list[Item]:
    """Return items with an annotator for each entry of `spread`, who errs by so much."""
    draw = random.Random(3)
    items = []
    for item in make_items(count, count // 3):
        truth = 3 + draw.gauss(0, 1)
        ratings = tuple(truth + draw.gauss(0, s) for s in spread)
        given = tuple(sorted(ratings)) if sort else ratings
        items.append(replace(item, ratings=given, human=sum(given) / len(given)))
    return items


def part(items: Sequence[Item]) -> CeilingPart:
    verdicts = tuple(Judgment(i.id, i.human or 0, "m") for i in items)
    found = ceiling_part(verdicts, items, 0, 200)
    assert found is not None
    return found


def test_annotators_who_agree_alike_call_for_no_caution() -> None:
    found = part(rated([0.5, 0.5, 0.5]))
    assert (found.annotators, found.items, found.cautions) == (3, 120, ())
    assert found.pairwise.value is not None and found.reachable.value is not None
    assert 0.6 < found.pairwise.value < found.reachable.value <= 1
    assert found.one_share.value is not None and found.one_share.value > 1  # the mean of all is better than one of them


def test_one_rating_for_each_item_has_no_ceiling(tmp_path: Path) -> None:
    items = make_items(60, 20)
    assert ceiling_part(tuple(Judgment(i.id, 3.0, "m") for i in items), items, 0, 100) is None
    assert calibrated(tmp_path, make_items(90, 30)).result.ceiling is None


def test_a_copied_column_is_named() -> None:
    items = [replace(i, ratings=(i.ratings[0], i.ratings[1], i.ratings[0])) for i in rated([0.5, 0.5])]
    found = part(items)
    assert found.annotators == 2
    assert found.cautions == ("annotators 1 and 3 gave the same rating to every item and count as one",)


def test_items_that_another_set_of_annotators_rated_are_counted() -> None:
    items = rated([0.5, 0.5, 0.5])
    for k in (3, 8, 20):
        items[k] = replace(items[k], ratings=items[k].ratings[:2])
    items[30] = replace(items[30], raters=(0, 1, 3))
    found = part(items)
    assert found.items == 116
    assert found.cautions == ("4 items were rated by another set of annotators and are left out",)


def test_annotators_are_named_by_their_columns_whoever_is_missing() -> None:
    items = [replace(i, raters=(0, 2, 4)) for i in rated([0.1, 0.1, 2.0])]
    (caution,) = part(items).cautions
    assert "1 and 3: 0.9" in caution and "1 and 5: " in caution and "3 and 5: " in caution


def test_there_is_no_share_of_an_agreement_that_may_be_none() -> None:
    found = part(rated([0.5, 20.0], 60))
    assert found.pairwise.low is not None and found.pairwise.low <= 0
    assert found.one.value is not None
    assert found.one_share.value is found.one_share.low is found.one_share.high is None


def test_ratings_sorted_by_size_are_seen() -> None:
    (caution,) = part(rated([0.5, 0.5, 0.5], sort=True)).cautions
    assert "sorted by size" in caution


def test_pairs_that_agree_unequally_are_listed() -> None:
    (caution,) = part(rated([0.1, 0.1, 2.0])).cautions
    assert caution.startswith("pairs of annotators agree unequally (1 and 2: 0.9")
    assert "1 and 3: " in caution and "2 and 3: " in caution


def test_a_run_reports_the_ceiling_of_its_test_side_and_its_cautions(tmp_path: Path) -> None:
    items = rated([0.1, 0.1, 2.0], 180)
    result = calibrated(tmp_path, items).result
    assert result.ceiling is not None
    assert result.ceiling.items == result.split.test[0]
    assert [c for c in cautions(result) if c.startswith("noise ceiling: pairs of annotators agree unequally")]
    assert result.ceiling.annotators == 3
