"""The result of a run as it stands in `runs/<id>/result.json`; everything that is printed or reported comes from it.

It holds no time, no run id and no look number: the same configuration, data and replies give the same bytes.
"""

from __future__ import annotations

import math

from pydantic import BaseModel, ConfigDict

from calibrator.aspects import AspectFile
from calibrator.evaluation.agreement import Agreement, Comparison
from calibrator.judges.frozen import Figure, StepFile
from calibrator.stats.resampling import Interval


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeFigures(_Part):
    """One judge against the humans."""

    name: str
    mode: str
    figures: dict[str, Figure]
    failures: dict[str, int]


class Side(_Part):
    """A comparison of judges on one side of the split; `gains` are those of the first judge over each other."""

    judges: tuple[JudgeFigures, ...]
    gains: dict[str, dict[str, Figure]]
    items: int
    groups: int
    signature: str


class SpentPart(_Part):
    """What a model was used for: different requests answered and their tokens."""

    replies: int
    prompt_tokens: int
    completion_tokens: int


class CandidateLine(_Part):
    """One candidate of the search, who wrote it, and its objective on the development set."""

    name: str
    by: str
    origin: str
    parent: str | None
    value: float | None
    steps: int
    failures: int


class DataPart(_Part):
    """What the run worked on."""

    name: str
    digest: str
    columns: str
    items: int
    groups: int
    warnings: tuple[str, ...]


class SplitPart(_Part):
    """The sides: how many items and groups each has."""

    digest: str
    test_digest: str
    seed: int
    train: tuple[int, int]
    dev: tuple[int, int]
    test: tuple[int, int]


class DisagreementLine(_Part):
    """An item of the development set, by id, on which winner and humans differ."""

    item: str
    judged: float
    human: float


class RunResult(_Part):
    """The whole result."""

    calibrator: str
    aspect: AspectFile
    chosen: str
    data: DataPart
    split: SplitPart
    protocol: str
    objective: str
    method: str
    judge: str
    drafter: str
    no_rubric: dict[str, int]
    near_duplicates: int
    judgments: int
    spent: dict[str, SpentPart]
    history: tuple[float, ...]
    candidates: tuple[CandidateLine, ...]
    winner: str
    base: float
    steps: tuple[StepFile, ...]
    disagreements: tuple[DisagreementLine, ...]
    dev: Side
    test: Side
    best_baseline: str
    left_out: dict[str, dict[str, int]]
    content_hash: str


def figure(interval: Interval) -> Figure:
    """Return an interval in its file form, six decimals, None for nan."""
    value, low, high = (
        round(v, 6) if math.isfinite(v) else None for v in (interval.value, interval.low, interval.high)
    )
    return Figure(value=value, low=low, high=high)


def _judge(agreement: Agreement) -> JudgeFigures:
    figures = {m: figure(i) for m, i in agreement.figures.items()}
    return JudgeFigures(name=agreement.judge, mode=agreement.mode, figures=figures, failures=dict(agreement.failures))


def side(comparison: Comparison, signature: str) -> Side:
    """Return a comparison in its file form."""
    gains = {other: {m: figure(i) for m, i in by.items()} for other, by in comparison.gains.items()}
    judges = tuple(_judge(a) for a in comparison.agreements)
    return Side(judges=judges, gains=gains, items=comparison.items, groups=comparison.groups, signature=signature)
