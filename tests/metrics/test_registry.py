"""What holds of every metric in the registry, and of the names it is asked for by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from calibrator.errors import ConfigError, ModelMissing
from calibrator.metrics.base import Metric, Settings, Unscored
from calibrator.metrics.measure import ALL, make_ready, measured
from calibrator.metrics.named import Asked, parse_metric, parse_metrics, usual
from calibrator.metrics.registry import FAMILIES, all_metrics, metric_of
from calibrator.records import Item
from tests.conftest import make_items

PLAIN = [m for m in all_metrics() if not (m.model or m.wants_model or m.wants_corpus)]


def referenced(count: int = 12) -> list[Item]:
    """Return items with a reference, of two systems."""
    items = make_items(count, 4)
    return [replace(i, reference=items[-k].output, system="ab"[k % 2]) for k, i in enumerate(items)]


def ready_or_skip(metric: Metric) -> object:
    try:
        return make_ready([Asked(metric)], Settings())[0]
    except ModelMissing as error:
        assert metric.name == "meteor", error
        pytest.skip("WordNet is absent; METEOR is tested on a small one of its own")


def test_names_are_one_each_and_families_in_order() -> None:
    names = [m.name for m in all_metrics()]
    assert len(set(names)) == len(names)
    places = [FAMILIES.index(m.family) for m in all_metrics()]
    assert places == sorted(places)
    assert not set(names) & set(FAMILIES)


@pytest.mark.parametrize("metric", all_metrics(), ids=lambda m: m.name)
def test_a_metric_says_what_it_is(metric: Metric) -> None:
    assert "output" in metric.needs
    assert metric.reference == ("reference" in metric.needs)
    assert metric.summary and metric.source
    assert not (metric.model and metric.wants_model)
    assert metric.extra in ("", "metrics", "neural")
    assert metric.extra == "neural" or not (metric.model or metric.wants_model)
    assert bool(metric.packages) or not metric.extra
    if metric.low is not None and metric.high is not None:
        assert metric.low < metric.high


@pytest.mark.parametrize("metric", [m for m in PLAIN if m.of == "item"], ids=lambda m: m.name)
def test_values_are_in_range_and_do_not_follow_from_neighbours(metric: Metric) -> None:
    ready_or_skip(metric)
    items = referenced()
    odd = [
        replace(items[0], output=o) for o in ("word " * 2000, "!" * 50 + "x", "x", "ÄÖ 中文 🙂 ok", "\u0000 a \u202e b")
    ]
    all_of_them = [*items, *odd]
    together = measured(make_ready([Asked(metric)], Settings()), all_of_them, lambda *_: None).items[metric.name]
    assert all(isinstance(value, float) for value in together[: len(items)])
    for value in together:
        if isinstance(value, Unscored):
            assert value.reason
        else:
            assert metric.low is None or value >= metric.low - 1e-9
            assert metric.high is None or value <= metric.high + 1e-9
    for item, value in list(zip(all_of_them, together, strict=True))[::4]:
        alone = measured(make_ready([Asked(metric)], Settings()), [item], lambda *_: None).items[metric.name]
        assert alone == (value,)


@pytest.mark.parametrize("metric", [m for m in PLAIN if m.of == "set"], ids=lambda m: m.name)
def test_a_set_has_a_figure_in_range_whatever_the_order(metric: Metric) -> None:
    items = referenced()
    one = measured(make_ready([Asked(metric)], Settings()), items, lambda *_: None).sets[metric.name]
    other = measured(make_ready([Asked(metric)], Settings()), items[::-1], lambda *_: None).sets[metric.name]
    assert set(one) == {ALL, "a", "b"}
    for label, value in one.items():
        assert isinstance(value, float)
        assert value == pytest.approx(other[label])
        assert metric.low is None or value >= metric.low
        assert metric.high is None or value <= metric.high


def test_a_text_equal_to_its_reference_is_the_best_of_all() -> None:
    items = referenced()
    same = [replace(i, output=i.source, reference=i.source) for i in items]
    asked = parse_metrics("bleu-1,bleu-2,gleu,chrf,rouge-1,rouge-2,rouge-l")
    there = measured(make_ready(asked, Settings()), same, lambda *_: None).items
    for one in asked:
        assert there[str(one)] == pytest.approx([one.metric.high] * len(same))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rougel", "'rougel' is no metric; did you mean rouge-l"),
        ("PD-score", "pd-score is not here: its formula"),
        ("gruen", "gruen is not here: one of its parts"),
        ("zzzz", "`calibrate metrics --list`"),
        ("bleu-1@roberta", "bleu-1 uses no model; leave out @roberta"),
        ("pro-con", "pro-con has no model of its own; name one: pro-con@"),
        ("overlap@x", "name the metric that shall use x, not its family"),
        (" , ", "--metrics names none"),
    ],
)
def test_a_name_that_is_none_is_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_metrics(text)
    assert said in str(caught.value)


def test_names_families_and_models() -> None:
    overlap = parse_metrics("overlap")
    assert {a.metric.family for a in overlap} == {"overlap"}
    assert parse_metrics("overlap,bleu-1") == overlap
    asked = parse_metric(" bertscore@some/model ")
    assert (asked.metric, asked.model, str(asked)) == (metric_of("bertscore"), "some/model", "bertscore@some/model")


def test_usual_metrics_need_no_model_and_no_text_that_is_not_there() -> None:
    names: Callable[[list[str]], set[str]] = lambda there: {a.metric.name for a in usual(there)}  # type: ignore[arg-type]  # noqa: E731
    assert "rouge-l" in names(["output", "reference"])
    assert names(["output"]) < names(["output", "source", "reference"])
    assert not any(a.metric.model or a.metric.wants_model for a in usual(["output", "source", "reference"]))
