"""All metrics by name."""

from __future__ import annotations

import difflib

from calibrator.errors import ConfigError
from calibrator.metrics.base import Metric


def all_metrics() -> tuple[Metric, ...]:
    """Return every metric, family by family."""
    return ()


def metric_of(name: str) -> Metric:
    """Return the metric of a name. Raises ConfigError, which names the nearest, if there is none."""
    known = {metric.name: metric for metric in all_metrics()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "`calibrate metrics --list` shows them"
    raise ConfigError(f"'{name}' is no metric; {hint}")
