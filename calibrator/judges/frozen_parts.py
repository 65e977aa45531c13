"""The parts of a frozen judge's file, as pydantic reads and writes them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from calibrator.codec import measure_from_json
from calibrator.records import Step


class FilePart(BaseModel):
    """What all parts of the file share: frozen, nothing unknown, no infinite numbers."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Figure(FilePart):
    """A figure with its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Figures(FilePart):
    """Spearman, Kendall, Pearson and mean absolute error on one side of the split, and what they stand for."""

    figures: dict[str, Figure]
    signature: str


class FactorFile(FilePart):
    """A standardised criterion; see `records.Factor`."""

    criterion: str
    center: float
    spread: float = Field(gt=0)


class MeasureFile(FilePart):
    """How much a criterion counts, alone or times another; see `records.Measure`."""

    criterion: str
    weight: float
    center: float
    spread: float = Field(gt=0)
    times: FactorFile | None = None

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if k != "times" or v is not None}


class StepFile(FilePart):
    """A step; see `records.Step`."""

    text: str
    measures: tuple[MeasureFile, ...] = ()

    def step(self) -> Step:
        """Return the record."""
        return Step(self.text, tuple(measure_from_json(m.model_dump()) for m in self.measures))


class PartFile(FilePart):
    """A piece of a message: either words, or the role of the item's text that stands, quoted, in this place."""

    text: str | None = None
    item: str | None = None

    @model_validator(mode="after")
    def _one(self) -> PartFile:
        if (self.text is None) == (self.item is None):
            raise ValueError("give either text or item")
        return self

    @model_serializer
    def _given(self) -> dict[str, str]:
        return {"item": self.item} if self.item is not None else {"text": self.text or ""}


class MessageFile(FilePart):
    """A message to the model, exactly as it is sent."""

    role: str
    parts: tuple[PartFile, ...]


class SamplingFile(FilePart):
    """How the model's reply is drawn; see `models.base.Sampling`."""

    temperature: float
    max_tokens: int
    seed: int | None = None


class AskedFile(FilePart):
    """What an LLM judge asks, and whom."""

    model: str
    sampling: SamplingFile
    messages: tuple[MessageFile, ...]


class JudgeFile(FilePart):
    """How the steps are turned into a score.

    `texts` are those that the judge was calibrated with; `asked` is there for LLM judges, `weights` for metrics
    that go by some: a digest of them (see `judges.metric.weights_of`).
    """

    method: str
    id: str
    score_mode: str
    texts: tuple[str, ...] = ("source", "output")
    asked: AskedFile | None = None
    weights: str | None = None

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if k not in ("asked", "weights") or v is not None}


class MemberFile(FilePart):
    """A judge's seat on a panel; see `judges.panel.Member`.

    `judge` says what scores, by the steps and the base if it goes by any. A recorded judge that is not `on_scale` has a
    scale of its own. `cost` is what it takes to score an item, in US dollars; None where that is not known.
    """

    name: str
    weight: float
    center: float = 0.0
    spread: float = Field(default=1.0, gt=0)
    knots: tuple[float, ...] = ()
    cost: float | None = None
    judge: JudgeFile
    base: float = 0.0
    steps: tuple[StepFile, ...] = ()
    on_scale: bool = True


class PanelFile(FilePart):
    """How a panel joins its members: "fit" or "ranks". The criteria it measures itself are the steps of the file.

    `coverage`, 0 to 1, is the share of the test side that it scored.
    """

    join: str
    coverage: float = 1.0
    members: tuple[MemberFile, ...]


class Origin(FilePart):
    """What the judge was calibrated on and how."""

    data: str
    data_digest: str
    items: int
    groups: int
    split_digest: str
    test_digest: str
    seed: int
    protocol: str
    objective: str
    drafter: str
    winner: str


class VerdictFile(FilePart):
    """How the judge came to be handed over, and whether it passed the gate (see `evaluation.gate`).

    `handed_over` is "calibrated", or the name of the baseline that took the place of a rubric which did not beat it on
    dev. `gain` is that of the calibrated judge over the baseline `over` on the test side, in the run's objective.
    """

    handed_over: str
    over: str
    gain: Figure
    passed: bool
    reasons: tuple[str, ...] = ()
