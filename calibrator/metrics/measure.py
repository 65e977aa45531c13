"""Measuring items: each metric on the items that have what it needs, those computed together at one go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from calibrator.errors import ConfigError
from calibrator.metrics.base import ItemScorer, Metric, SetScorer, Settings, Tick, Unscored, Value
from calibrator.metrics.named import Asked
from calibrator.records import Item
from calibrator.texts import unusable

ALL = ""  # the set of all items


@dataclass(frozen=True, slots=True)
class Ready:
    """Metrics that are computed at one go, made: `names` are those asked for, by their names in the registry."""

    names: Mapping[str, str]
    metrics: tuple[Metric, ...]
    scorer: ItemScorer | SetScorer

    def of_items(self, items: Sequence[Item], tick: Tick) -> dict[str, tuple[Value, ...]]:
        """Return by the names asked for a value for each item, in their order."""
        why = [lacking(self.metrics[0], item) for item in items]
        fit = [item for item, reason in zip(items, why, strict=True) if reason is None]
        tick(len(items) - len(fit))
        given = cast(ItemScorer, self.scorer)(fit, tick) if fit else {}
        found = {}
        for name, said in self.names.items():
            values = iter(given.get(name, ()))
            found[said] = tuple(_finite(next(values)) if reason is None else Unscored(reason) for reason in why)
        return found

    def of_sets(self, sets: Mapping[str, Sequence[Item]], tick: Tick) -> dict[str, dict[str, Value]]:
        """Return by the names asked for a value for each set; items that lack something are left out of it."""
        found: dict[str, dict[str, Value]] = {said: {} for said in self.names.values()}
        for label, items in sets.items():
            fit = [item for item in items if lacking(self.metrics[0], item) is None]
            given = cast(SetScorer, self.scorer)(fit, tick) if fit else {}
            for name, said in self.names.items():
                found[said][label] = _finite(given[name]) if fit else Unscored("no text that can be measured")
        return found


def make_ready(asked: Iterable[Asked], settings: Settings) -> tuple[Ready, ...]:
    """Return what computes the metrics. Raises ModelMissing, with the command that provides it, for what is absent."""
    together: dict[tuple[object, ...], list[Asked]] = {}
    for one in asked:
        metric = one.metric
        together.setdefault((metric.make, one.model or metric.model, metric.of, metric.needs), []).append(one)
    made = []
    for group in together.values():
        metric = group[0].metric
        scorer = metric.make(replace(settings, model=group[0].model or metric.model))
        made.append(Ready({a.metric.name: str(a) for a in group}, tuple(a.metric for a in group), scorer))
    return tuple(made)


@dataclass(frozen=True, slots=True)
class Measured:
    """Values by metric: one for each item, and for metrics of sets one for each set (`ALL`, and every system)."""

    items: Mapping[str, tuple[Value, ...]]
    sets: Mapping[str, Mapping[str, Value]]


def measured(ready: Sequence[Ready], items: Sequence[Item], told: Callable[[str, int], None]) -> Measured:
    """Return what the metrics give for the items; `told` hears which metric is at work, and of items as they are done.

    Sets are those of the systems and that of all items.
    """
    of_items: dict[str, tuple[Value, ...]] = {}
    of_sets: dict[str, dict[str, Value]] = {}
    sets = sets_of(items)
    for one in ready:
        name = next(iter(one.names.values()))

        def tick(count: int, name: str = name) -> None:
            told(name, count)

        if one.metrics[0].of == "item":
            of_items |= one.of_items(items, tick)
        else:
            of_sets |= one.of_sets(sets, tick)
    return Measured(of_items, of_sets)


def sets_of(items: Sequence[Item]) -> dict[str, tuple[Item, ...]]:
    """Return all items under `ALL` and, where there is more than one system, those of each under its name."""
    systems = sorted({item.system for item in items if item.system})
    found = {ALL: tuple(items)}
    if len(systems) > 1:
        found |= {name: tuple(i for i in items if i.system == name) for name in systems}
    return found


def check_texts(asked: Iterable[Asked], there: Sequence[str], columns: Sequence[str]) -> None:
    """Raise ConfigError, which lists the columns, if a metric needs a text that the data has no column for."""
    for one in asked:
        for role in one.metric.needs:
            if role not in there:
                problem = f"{one} needs the {role}, and no column looks like it; name it: --{role}"
                raise ConfigError(f"{problem} (columns: {', '.join(columns)})")


def lacking(metric: Metric, item: Item) -> str | None:
    """Return why a metric has no value for an item, None if it has what it takes."""
    if reason := unusable(item.output):
        return reason
    if "reference" in metric.needs and not (item.reference or "").strip():
        return "no reference"
    if "source" in metric.needs and not item.source.strip():
        return "no source"
    return None


def _finite(value: Value) -> Value:
    if isinstance(value, Unscored) or abs(value) < float("inf"):
        return value
    return Unscored("the value is not a number")
