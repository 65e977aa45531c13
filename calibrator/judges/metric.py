"""The metric judge: what a metric gives, on the metric's own scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from calibrator.errors import ConfigError
from calibrator.metrics.base import Settings, Unscored
from calibrator.metrics.measure import Ready, make_ready
from calibrator.metrics.named import Asked, parse_metric
from calibrator.records import Failure, Item, Judgment, Verdict

METHOD = "metric"


@dataclass(slots=True)
class MetricJudge:
    """Gives each item the value of a metric (`name[@model]`), a failure where it has none.

    The values are on the metric's scale, not on the aspect's, and as published: of some lower is better.
    Raises ConfigError if there is no such metric or it is none of single items, ModelMissing, with the command that
    provides it, if what it needs is absent.
    """

    name: str
    asked: Asked = field(init=False)
    mode = METHOD
    _ready: Ready = field(init=False)

    def __post_init__(self) -> None:
        """Make the metric."""
        self.asked = parse_metric(self.name)
        if self.asked.metric.of != "item":
            raise ConfigError(f"{self.name} is a figure of a set of texts, and judges no single one")
        (self._ready,) = make_ready([self.asked], Settings())

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
