"""The metric judge: what a metric gives, on the metric's own scale."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from calibrator.errors import CalibratorError, ConfigError
from calibrator.files import fingerprint
from calibrator.hub import digest_of, weights
from calibrator.metrics.base import Settings, Unscored
from calibrator.metrics.measure import Ready, make_ready
from calibrator.metrics.named import Asked, parse_metric
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.texts import digest

METHOD = "metric"


def metric_that_judges(name: str) -> Asked:
    """Return the metric of `name[@model]`, whose model, if it is a file or folder, is named by its whole path.

    Raises ConfigError if there is no such metric, or if it gives a text no value that follows from the text alone.
    """
    asked = parse_metric(name)
    if asked.metric.of != "item":
        raise ConfigError(f"{name} is a figure of a set of texts, which judges no single one")
    if asked.metric.by_file:
        other = "; moverscore-even judges" if asked.metric.name == "moverscore" else ""
        raise ConfigError(f"{name} follows from what else is measured with a text, and judges no single one{other}")
    if asked.metric.wants_corpus:
        raise ConfigError(
            f"{name} goes by a corpus; measure it first (calibrate metrics) and name its column: recorded:P"
        )
    model, mark, rest = asked.model.partition("#")
    try:
        there = model and Path(model).expanduser().exists()
    except (OSError, RuntimeError):
        there = False
    return Asked(asked.metric, f"{Path(model).expanduser().resolve()}{mark}{rest}") if there else asked


def weights_of(asked: Asked) -> str:
    """Return a digest of the weights that a metric goes by, "" for one without."""
    found = []
    name = (asked.model or asked.metric.model).partition("#")[0]
    for part in filter(None, [name, *(name.split("+") if "+" in name else ())]):
        try:
            path = Path(part).expanduser()
            found.append(fingerprint(path) if path.is_file() else digest_of(weights(part)))
        except (CalibratorError, OSError, RuntimeError):
            continue  # no name of weights, or not here: then the metric cannot be made either
    return digest(found)[:16] if found else ""


def versions_of(asked: Asked) -> dict[str, str]:
    """Return the versions of the packages that a metric is computed with."""
    found = {}
    for package in asked.metric.packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


@dataclass(slots=True)
class MetricJudge:
    """Gives each item the value of a metric (`name[@model]`), a failure where it has none.

    The values are on the metric's scale, not on the aspect's, and as published: of some lower is better.
    Raises ConfigError for a metric that judges no single text, ModelMissing, with the command that provides it, if what
    it needs is absent.
    """

    name: str
    asked: Asked = field(init=False)
    weights: str = field(init=False)
    mode = METHOD
    _ready: Ready = field(init=False)

    def __post_init__(self) -> None:
        """Make the metric."""
        self.asked = metric_that_judges(self.name)
        (self._ready,) = make_ready([self.asked], Settings())
        self.weights = weights_of(self.asked)

    @property
    def id(self) -> str:
        """`metric:name[@model]`."""
        return f"{METHOD}:{self.asked}"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item."""
        (values,) = self._ready.of_items(items, lambda _: None).values()
        return tuple(
            Failure(item.id, value.reason) if isinstance(value, Unscored) else Judgment(item.id, value, self.mode)
            for item, value in zip(items, values, strict=True)
        )
