"""The result of a run as it stands in `runs/<id>/result.json`; everything that is printed or reported comes from it.

It holds no time, no run id and no look number: the same configuration, data and replies give the same bytes.
"""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from calibrator.aspects import AspectFile
from calibrator.calibration.map_parts import MapPart, MapTest, without_no_map
from calibrator.evaluation.agreement import Agreement, Comparison
from calibrator.judges.frozen_parts import Figure, StepFile, VerdictFile
from calibrator.stats.resampling import Interval

CALIBRATED = "calibrated"  # the name of the judge that the search led to, in every comparison


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class JudgeFigures(_Part):
    """One judge against the humans."""

    name: str
    mode: str
    figures: dict[str, Figure]
    failures: dict[str, int]


class Side(_Part):
    """A comparison of judges on one side of the split.

    `gains` are those of the first judge over each other; `p` the two-sided p of the gain in the objective, by
    permutation over groups, None where it is not defined; there is none on dev, where the first judge was chosen.
    """

    judges: tuple[JudgeFigures, ...]
    gains: dict[str, dict[str, Figure]]
    p: dict[str, float | None]
    items: int
    groups: int
    signature: str

    def of(self, judge: str, measure: str) -> Figure:
        """Return a judge's figure."""
        return next(j.figures[measure] for j in self.judges if j.name == judge)


class SystemFigures(_Part):
    """Agreement over all items, within systems (their mean) and between systems' means."""

    pooled: Figure
    within: Figure
    between: Figure


class SystemLine(_Part):
    """One system on the test side.

    `seen` and `unseen`: the measure on its items by the judge, and by one that was made without the system; `without`:
    the measure over the items of all others. A system that train and dev do not hold is not seen.
    """

    system: str
    items: int
    seen: Figure | None
    unseen: Figure | None
    without: float | None


class SystemsPart(_Part):
    """What the judge is for and, where systems are named, its agreement on new sources and on new systems.

    `new_systems` puts together, for each system, the scores of a judge that was made without it. Where this cannot be
    done, `unchecked` says why, and there are no figures. They are in the `measure` of the run's objective.
    """

    purpose: str
    why: str
    fit: str
    named: int
    measure: str
    unchecked: str = ""
    new_sources: SystemFigures | None = None
    new_systems: SystemFigures | None = None
    lines: tuple[SystemLine, ...] = ()


class CeilingPart(_Part):
    """How far humans agree on the test side; see `evaluation.ceiling`. `one` and `one_share` are the judge's."""

    annotators: int
    items: int
    pairwise: Figure
    against_rest: Figure
    reachable: Figure
    one: Figure
    one_share: Figure
    cautions: tuple[str, ...]


class CurvePoint(_Part):
    """Spearman on the test side of a rubric that was fitted to so many labels, without a search."""

    labels: int
    figure: Figure


class Validation(_Part):
    """All that one look at the test side gave; `winner` is the objective of the rubric as it was chosen on dev.

    `map` is there where a score map was asked for.
    """

    side: Side
    winner: float | None
    systems: SystemsPart
    ceiling: CeilingPart | None
    curve: tuple[CurvePoint, ...]
    map: MapTest | None = None

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_no_map(usual(self))


class SpentPart(_Part):
    """What a model was used for: different requests answered and their tokens."""

    replies: int
    prompt_tokens: int
    completion_tokens: int


class StopPart(_Part):
    """Where a race stopped a candidate; see `records.Stopped`."""

    after: int
    chance: float
    value: float | None


class CandidateLine(_Part):
    """One candidate of the search, who wrote it, and its objective on the development set."""

    name: str
    by: str
    origin: str
    parent: str | None
    value: float | None
    steps: int
    judged: int
    failures: int
    stopped: StopPart | None


class MoveLine(_Part):
    """What a move of the refinement came to: candidates scored, those better than their parent, the gains on dev."""

    move: str
    tried: int
    better: int
    mean_gain: float | None
    best_gain: float | None


class DataPart(_Part):
    """What the run worked on; `faults` are grave ones that it went on in spite of."""

    name: str
    digest: str
    columns: str
    items: int
    groups: int
    warnings: tuple[str, ...]
    faults: tuple[str, ...]


class SplitPart(_Part):
    """The sides: how many items and groups each has."""

    digest: str
    test_digest: str
    seed: int
    train: tuple[int, int]
    dev: tuple[int, int]
    test: tuple[int, int]


class DisagreementLine(_Part):
    """An item of the development set, by id, on which winner and humans differ; see `records.Disagreement`."""

    item: str
    judged: float
    human: float
    gap: float


class RubricPart(_Part):
    """A rubric as a reader is shown it; `kind` is that of the judge that reads it."""

    kind: str
    base: float
    steps: tuple[StepFile, ...]


class RunResult(_Part):
    """The whole result.

    `judgments` are those of the search, `judgments_full` what scoring every candidate on all of dev would have taken.
    `optimism` is the objective of the winner on dev, where it was chosen, less that of the same rubric on test (for mae
    the other way round), so that more is more rosy. `rubric` is
    what was handed over, `rejected` the calibrated one where that is another; `map` its score map, if one was wanted.
    """

    calibrator: str
    aspect: AspectFile
    chosen: str
    data: DataPart
    split: SplitPart
    protocol: str
    objective: str
    method: str
    start: str
    judge: str
    drafter: str
    select: str
    top_k: int
    no_rubric: dict[str, int]
    near_duplicates: int
    judgments: int
    judgments_full: int
    spent: dict[str, SpentPart]
    history: tuple[float, ...]
    candidates: tuple[CandidateLine, ...]
    moves: tuple[MoveLine, ...]
    winner: str
    rubric: RubricPart
    rejected: RubricPart | None
    disagreements: tuple[DisagreementLine, ...]
    dev: Side
    test: Side
    optimism: float | None
    systems: SystemsPart
    ceiling: CeilingPart | None
    curve: tuple[CurvePoint, ...]
    best_baseline: str
    left_out: dict[str, dict[str, int]]
    verdict: VerdictFile
    map: MapPart | None = None
    content_hash: str

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_no_map(usual(self))


def figure(interval: Interval) -> Figure:
    """Return an interval in its file form, six decimals, None for nan."""
    value, low, high = (rounded(v) for v in (interval.value, interval.low, interval.high))
    return Figure(value=value, low=low, high=high)


def interval(figure: Figure) -> Interval:
    """Return a figure as an interval, nan for None."""
    value, low, high = (math.nan if v is None else v for v in (figure.value, figure.low, figure.high))
    return Interval(value, low, high)


def trusted_rho(side: Side, systems: SystemsPart) -> tuple[Figure, str]:
    """Return the Spearman correlation that a judge is to be trusted by, and on what: new systems if it is for these.

    It is the judge's on the test side where that was not measured, or in another measure.
    """
    if systems.purpose == "new-systems" and systems.new_systems is not None and systems.measure == "spearman":
        return systems.new_systems.pooled, " on new systems"
    return side.of(CALIBRATED, "spearman"), ""


def rounded(value: float | None) -> float | None:
    """Return a number with six decimals, None for nan."""
    return None if value is None or not math.isfinite(value) else round(value, 6)


def _judge(agreement: Agreement) -> JudgeFigures:
    figures = {m: figure(i) for m, i in agreement.figures.items()}
    return JudgeFigures(name=agreement.judge, mode=agreement.mode, figures=figures, failures=dict(agreement.failures))


def side(comparison: Comparison, signature: str) -> Side:
    """Return a comparison in its file form."""
    gains = {other: {m: figure(i) for m, i in by.items()} for other, by in comparison.gains.items()}
    return Side(
        judges=tuple(_judge(a) for a in comparison.agreements),
        gains=gains,
        p={other: rounded(p) for other, p in comparison.p.items()},
        items=comparison.items,
        groups=comparison.groups,
        signature=signature,
    )
