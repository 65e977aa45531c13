"""What metrics gave, as tables and as JSON; and the list of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from calibrator import __version__
from calibrator.judges.metric import versions_of
from calibrator.metrics.base import Metric, Unscored, Value
from calibrator.metrics.measure import ALL, Measured, sets_of
from calibrator.metrics.named import Asked
from calibrator.records import Item
from calibrator.report.sheet import Column, Sheet

BETTER = {"higher": "↑", "lower": "↓", "neither": ""}


def described(metric: Metric) -> dict[str, Any]:
    """Return a metric as JSON."""
    return {
        "name": metric.name,
        "family": metric.family,
        "better": metric.better,
        "of": metric.of,
        "needs": list(metric.needs),
        "reference": metric.reference,
        "low": metric.low,
        "high": metric.high,
        "extra": metric.extra or None,
        "model": metric.model or None,
        "wants_model": metric.wants_model,
        "wants_corpus": metric.wants_corpus,
        "summary": metric.summary,
        "source": metric.source,
    }


def list_sheet(metrics: Sequence[Metric]) -> Sheet:
    """Return the metrics, family by family; where each was published stands below, by number."""
    columns = tuple(Column(head, right=False) for head in ("metric", "", "range", "needs", "extra", "source", "model"))
    numbers = {source: f"[{k}]" for k, source in enumerate(dict.fromkeys(m.source for m in metrics), 1)}
    rows: list[tuple[str, ...] | str] = []
    family = None
    for m in metrics:
        if m.family != family:
            rows.append(family := m.family)
        texts = ", ".join((*m.needs, *(["--corpus"] if m.wants_corpus else [])))
        needs = f"{texts}{' of a set' if m.of == 'set' else ''}"
        model = m.model or ("@…" if m.wants_model else "")
        rows.append((m.name, BETTER[m.better], _range(m), needs, m.extra, numbers[m.source], model))
    notes = [f"{number} {source}" for source, number in numbers.items()]
    notes += ["↑ higher is better, ↓ lower is. An extra comes with: pip install 'calibrator[EXTRA]'"]
    notes += ["another model, or one where there is none of its own (@…): name@FOLDER or name@HUB-NAME"]
    return Sheet("metrics", columns, tuple(rows), notes=tuple(notes))


def measured_sheets(asked: Sequence[Asked], items: Sequence[Item], found: Measured) -> list[Sheet]:
    """Return a table of metrics of texts, one of metrics of sets and, with systems, one with a row for each."""
    of_items = [one for one in asked if str(one) in found.items]
    of_sets = [one for one in asked if str(one) in found.sets]
    sheets = []
    if of_items:
        head = (Column("metric", right=False), Column("n"), Column("mean"), Column("SD"))
        rows = []
        for one in of_items:
            n, mean, sd = _mean(found.items[str(one)])
            rows.append((_named(one), str(n), _cell(mean), _cell(sd)))
        sheets.append(Sheet("texts", head, tuple(rows), notes=_failures(found)))
    if of_sets:
        head_of_sets = (Column("metric", right=False), Column("all texts"))
        sets = tuple((_named(one), _shown(found.sets[str(one)][ALL])) for one in of_sets)
        notes = ("figures of a set depend on how many texts it has",)
        sheets.append(Sheet("sets of texts", head_of_sets, sets, notes=notes))
    if len(systems := sets_of(items)) > 1:
        sheets.append(_by_system(of_items, of_sets, items, found, {k: len(v) for k, v in systems.items() if k != ALL}))
    return sheets


def _by_system(
    of_items: Sequence[Asked],
    of_sets: Sequence[Asked],
    items: Sequence[Item],
    found: Measured,
    systems: Mapping[str, int],
) -> Sheet:
    """Return the means of each system, and its figures as a set, a row for each."""
    means = {str(one): _by_set(items, found.items[str(one)]) for one in of_items}
    rows = []
    for name, count in systems.items():
        cells = [_cell(_mean(means[str(one)][name])[1]) for one in of_items]
        cells += [_shown(found.sets[str(one)][name]) for one in of_sets]
        rows.append((name, str(count), *cells))
    head = (Column("system", right=False), Column("texts"), *(Column(_named(one)) for one in (*of_items, *of_sets)))
    return Sheet("systems: means of their texts, and figures of their sets", head, tuple(rows))


def _named(one: Asked) -> str:
    return f"{one} {BETTER[one.metric.better]}".strip()


def measured_json(asked: Sequence[Asked], items: Sequence[Item], found: Measured, out: str) -> dict[str, Any]:
    """Return all figures: by metric its signature and, by system, means or figures."""
    metrics: dict[str, Any] = {}
    for one in asked:
        name = str(one)
        about: dict[str, Any] = {"better": one.metric.better, "signature": signature(one), "of": one.metric.of}
        if name in found.items:
            values = found.items[name]
            by_set = {label: _mean(v) for label, v in _by_set(items, values).items()}
            stated = {k or "all": {"n": n, "mean": _none(m), "sd": _none(s)} for k, (n, m, s) in by_set.items()}
            about |= {"values": stated, "failures": _reasons(values)}
        else:
            figures = found.sets[name].items()
            about["values"] = {k or "all": None if isinstance(v, Unscored) else float(v) for k, v in figures}
        metrics[name] = about
    return {"rows": len(items), "out": out if found.items else None, "metrics": metrics}


def signature(asked: Asked) -> str:
    """Return what a value follows from: the metric, its model and the versions of what computed it."""
    parts = [f"{asked.metric.name}", f"calibrator:{__version__}"]
    if model := asked.model or asked.metric.model:
        parts.append(f"model:{model}")
    parts += [f"{package}:{number}" for package, number in versions_of(asked).items()]
    return "|".join(parts)


def _by_set(items: Sequence[Item], values: Sequence[Value]) -> dict[str, list[Value]]:
    given = {id(item): value for item, value in zip(items, values, strict=True)}
    return {label: [given[id(item)] for item in members] for label, members in sets_of(items).items()}


def _mean(values: Sequence[Value]) -> tuple[int, float, float]:
    """Return how many values there are, their mean and their standard deviation (n − 1); nan where not defined."""
    there = [float(v) for v in values if not isinstance(v, Unscored)]
    if not there:
        return 0, math.nan, math.nan
    mean = math.fsum(there) / len(there)
    squares = math.fsum((v - mean) ** 2 for v in there)
    return len(there), mean, math.sqrt(squares / (len(there) - 1)) if len(there) > 1 else math.nan


def _reasons(values: Sequence[Value]) -> Mapping[str, int]:
    reasons: dict[str, int] = {}
    for value in values:
        if isinstance(value, Unscored):
            reasons[value.reason] = reasons.get(value.reason, 0) + 1
    return reasons


def _failures(found: Measured) -> tuple[str, ...]:
    """Return in a sentence for each reason how many texts have no value, where that is so."""
    seen: dict[tuple[str, int], list[str]] = {}
    for name, values in found.items.items():
        for reason, count in _reasons(values).items():
            seen.setdefault((reason, count), []).append(name)
    return tuple(f"{count} texts without a value ({reason}): {_few(names)}" for (reason, count), names in seen.items())


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _range(metric: Metric) -> str:
    low, high = (("−∞", "∞")[k] if v is None else f"{v:g}" for k, v in enumerate((metric.low, metric.high)))
    return f"{low} … {high}"


def _shown(value: Value) -> str:
    return f"– ({value.reason})" if isinstance(value, Unscored) else _cell(float(value))


def _cell(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}" if abs(value) < 100 else f"{value:.1f}"


def _none(value: float) -> float | None:
    return None if math.isnan(value) else value
