"""All metrics by name."""

from __future__ import annotations

import difflib

from calibrator.errors import ConfigError
from calibrator.metrics import (
    bartscore,
    bertscore,
    bleurt,
    classifier,
    diversity,
    embeddings,
    gruen,
    meteor,
    moverscore,
    overlap,
    readability,
    unieval,
)
from calibrator.metrics.base import Metric

# What a reader of the papers will look for and not find, and why: nothing else stands here under their names.
ABSENT = {
    "gruen": "one of its parts was never released (see gruen-without-focus)",
    "gruen-focus": "it takes vectors and a package that are no longer kept",
    "gruen-coherence": "its model was never released",
    "bleurt-20": "its checkpoint has a kind of its own, which transformers does not know (see bleurt)",
    "pd-score": "its formula (Halim et al. 2023) could not be had; scores that you have can be a column: recorded:P",
}
FAMILIES = ("overlap", "embedding", "likelihood", "classifier", "diversity", "quality")


def all_metrics() -> tuple[Metric, ...]:
    """Return every metric, family by family."""
    modules = (overlap, meteor, bertscore, moverscore, embeddings, bartscore, unieval, bleurt)
    found = [*(m for module in modules for m in module.METRICS), *classifier.classifier_metrics()]
    found += [*diversity.METRICS, *readability.METRICS, *gruen.METRICS]
    return tuple(sorted(found, key=lambda metric: FAMILIES.index(metric.family)))


def metric_of(name: str) -> Metric:
    """Return the metric of a name. Raises ConfigError, which names the nearest, if there is none."""
    known = {metric.name: metric for metric in all_metrics()}
    if name in known:
        return known[name]
    if name.lower() in ABSENT:
        raise ConfigError(f"{name.lower()} is not here: {ABSENT[name.lower()]}")
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else "`calibrate metrics --list` shows them"
    raise ConfigError(f"'{name}' is no metric; {hint}")
