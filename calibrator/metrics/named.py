"""Metrics as they are asked for: `name[@model]`, several by comma.

The name of a family stands for all in it that need nothing to be named besides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibrator.errors import ConfigError
from calibrator.metrics.base import Metric, Role
from calibrator.metrics.registry import all_metrics, metric_of


@dataclass(frozen=True, slots=True)
class Asked:
    """A metric with the model it is to use, "" for its own."""

    metric: Metric
    model: str = ""

    def __str__(self) -> str:
        return f"{self.metric.name}{f'@{self.model}' if self.model else ''}"


def parse_metric(text: str) -> Asked:
    """Return the metric of `name[@model]`. Raises ConfigError if there is none, or its model is left open."""
    name, _, model = text.strip().partition("@")
    metric, model = metric_of(name.strip()), model.strip()
    if model and not (metric.model or metric.wants_model):
        raise ConfigError(f"{metric.name} uses no model; leave out @{model}")
    if metric.wants_model and not model:
        raise ConfigError(f"{metric.name} has no model of its own; name one: {metric.name}@<folder or hub name>")
    return Asked(metric, model)


def parse_metrics(text: str) -> tuple[Asked, ...]:
    """Return the metrics in a list by comma, each once. Raises ConfigError as `parse_metric` does."""
    found: list[Asked] = []
    families = {m.family for m in all_metrics()}
    for part in filter(None, (p.strip() for p in text.split(","))):
        family, _, model = part.partition("@")
        if family in families:
            if model:
                raise ConfigError(f"'{part}': name the metric that shall use {model}, not its family")
            found += [Asked(m) for m in all_metrics() if m.family == family and not (m.wants_model or m.wants_corpus)]
        else:
            found.append(parse_metric(part))
    if not found:
        raise ConfigError("--metrics names none; `calibrate metrics --list` shows them")
    return tuple(dict.fromkeys(found))


def usual(there: Sequence[Role]) -> tuple[Asked, ...]:
    """Return the metrics that need no model and no corpus, for a file that has the texts in `there`."""
    plain = (m for m in all_metrics() if not (m.model or m.wants_model or m.wants_corpus))
    return tuple(Asked(m) for m in plain if set(m.needs) <= set(there))
