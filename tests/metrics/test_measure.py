"""Metrics by name, and what they give on items that have what they need and on those that have not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from calibrator.errors import ConfigError
from calibrator.metrics.base import Metric, Role, Settings, Tick, Unscored, Value
from calibrator.metrics.measure import ALL, check_texts, make_ready, measured, sets_of
from calibrator.metrics.named import Asked
from calibrator.records import Item
from tests.conftest import make_items

made: list[str] = []


def lengths(settings: Settings) -> object:
    """Make two metrics at one go: letters, and words of the output."""
    made.append(settings.model)

    def scorer(items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        tick(len(items))
        return {
            "letters": tuple(float(len(i.output)) for i in items),
            "words": tuple(float(len(i.output.split())) for i in items),
        }

    return scorer


def shares(settings: Settings) -> object:
    def scorer(items: Sequence[Item], tick: Tick) -> Mapping[str, Value]:
        return {"count": float(len(items))}

    return scorer


def metric(name: str, needs: tuple[Role, ...] = ("output",), of: str = "item", **more: str) -> Metric:
    make = shares if of == "set" else lengths
    return Metric(name, "quality", "higher", needs, make, "s", "p", of=of, **more)  # type: ignore[arg-type]


LETTERS, WORDS = Asked(metric("letters")), Asked(metric("words"))


def test_what_is_computed_together_is_made_once() -> None:
    made.clear()
    ready = make_ready([LETTERS, WORDS], Settings())
    assert len(ready) == len(made) == 1
    found = measured(ready, make_items(5), lambda name, count: None)
    assert list(found.items) == ["letters", "words"]


def test_another_model_or_other_texts_are_made_apart() -> None:
    made.clear()
    other = Asked(metric("letters", model="a"), "b")
    own = Asked(metric("words", model="a"))
    make_ready([other, own, Asked(metric("words", ("output", "source"), model="a"))], Settings())
    assert made == ["b", "a", "a"]


def test_an_item_without_what_a_metric_needs_is_unscored_and_the_others_keep_their_places() -> None:
    items = make_items(6)
    items[1] = replace(items[1], output=" … ")
    items[3] = replace(items[3], source="")
    (ready,) = make_ready([Asked(metric("letters", ("output", "source")))], Settings())
    ticks: list[int] = []
    (values,) = ready.of_items(items, ticks.append).values()
    assert values[1] == Unscored("the text has no word")
    assert values[3] == Unscored("no source")
    assert [values[k] for k in (0, 2, 4, 5)] == [len(items[k].output) for k in (0, 2, 4, 5)]
    assert sum(ticks) == len(items)


def test_a_value_that_is_no_number_is_none() -> None:
    def wild(settings: Settings) -> object:
        return lambda items, tick: {"letters": (float("nan"), float("inf"), 1.0)}

    one = Asked(replace(LETTERS.metric, make=wild))  # type: ignore[arg-type]
    (ready,) = make_ready([one], Settings())
    (values,) = ready.of_items(make_items(3), lambda count: None).values()
    assert values == (Unscored("the value is not a number"),) * 2 + (1.0,)


def test_sets_are_all_items_and_each_system() -> None:
    items = [replace(item, system="ab"[k % 2]) for k, item in enumerate(make_items(7))]
    ready = make_ready([Asked(metric("count", of="set"))], Settings())
    found = measured(ready, items, lambda name, count: None)
    assert found.sets == {"count": {ALL: 7.0, "a": 4.0, "b": 3.0}}
    assert set(sets_of([replace(i, system="a") for i in items])) == {ALL}


def test_a_set_with_nothing_to_measure_is_unscored() -> None:
    items = [replace(item, output="") for item in make_items(3)]
    ready = make_ready([Asked(metric("count", of="set"))], Settings())
    found = measured(ready, items, lambda name, count: None)
    assert found.sets == {"count": {ALL: Unscored("no text that can be measured")}}


def test_a_text_that_the_data_has_not_is_asked_for() -> None:
    with pytest.raises(ConfigError, match=r"letters needs the reference, .*: --reference \(columns: reply, post\)"):
        check_texts([Asked(metric("letters", ("output", "reference")))], ["output", "source"], ["reply", "post"])
