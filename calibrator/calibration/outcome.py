"""What a run found, put together: from the search, the comparisons and the frozen judge to the result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.mapping import JudgeMap, map_part
from calibrator.calibration.method import Contender
from calibrator.calibration.result import (
    CALIBRATED,
    CandidateLine,
    DataPart,
    DisagreementLine,
    MoveLine,
    RubricPart,
    RunResult,
    Side,
    SpentPart,
    SplitPart,
    StopPart,
    Validation,
    rounded,
)
from calibrator.calibration.search import Search, gains_by_move
from calibrator.evaluation.agreement import failures_of
from calibrator.judges.frozen import step_files
from calibrator.judges.frozen_parts import VerdictFile
from calibrator.models.recorded import spent_in
from calibrator.records import Candidate, Item

WORST = 10  # remaining disagreements that are listed


@dataclass(frozen=True, slots=True)
class Choice:
    """What was chosen without the test side.

    The search's `winner` and what became of it, the judge `calibrated`; `others`, the baselines; `over`, the best of
    them on `dev`, where all were compared; whether it takes the rubric's place (`fell_back`); the baselines that
    were `left_out`, with their failures by reason; and, if one was wanted, the score `map` of what is handed over.
    """

    winner: Candidate
    calibrated: Contender
    others: Mapping[str, Contender]
    over: str
    fell_back: bool
    dev: Side
    left_out: dict[str, dict[str, int]]
    map: JudgeMap | None = None

    @property
    def name(self) -> str:
        """The name of the judge that is frozen."""
        return self.over if self.fell_back else CALIBRATED

    @property
    def handed_over(self) -> Contender:
        """The judge that is frozen."""
        return self.others[self.over] if self.fell_back else self.calibrated


def run_result(search: Search, choice: Choice, test: Validation, verdict: VerdictFile, content_hash: str) -> RunResult:
    """Return the result of a run; `content_hash` is that of the frozen judge."""
    prepared, config, method = search.prepared, search.config, search.method
    return RunResult(
        calibrator=__version__,
        aspect=AspectFile.of(prepared.aspect),
        chosen=prepared.chosen,
        data=_data(search),
        split=_split(search),
        protocol=config.protocol,
        objective=config.objective,
        method=method.name,
        start=method.start,
        judge=choice.calibrated.judge.id,
        drafter=method.drafter,
        select="full" if config.protocol == "paper" else config.select,
        top_k=config.top_k,
        no_rubric=dict(sorted(search.no_rubric.items())),
        near_duplicates=len(search.rubrics) - len(search.scored),
        judgments=search.judgments,
        judgments_full=len(search.scored) * len(search.dev),
        spent={
            name: SpentPart(replies=s.replies, prompt_tokens=s.prompt, completion_tokens=s.completion)
            for name, s in sorted(spent_in(search.journal).items())
        },
        history=tuple(round(v, 6) for v in search.history),
        candidates=tuple(_line(c, search.origins[c.name].by) for c in search.scored),
        moves=move_lines(search.scored),
        winner=choice.winner.name,
        rubric=_rubric(choice.handed_over),
        rejected=_rubric(choice.calibrated) if choice.fell_back else None,
        disagreements=tuple(
            DisagreementLine(item=d.item.id, judged=round(d.judged, 4), human=round(d.human, 4), gap=round(d.gap, 4))
            for d in search.disagreements(choice.winner, WORST)
        ),
        dev=choice.dev,
        test=test.side,
        optimism=_optimism(choice.dev, test, config.objective),
        systems=test.systems,
        ceiling=test.ceiling,
        curve=test.curve,
        best_baseline=choice.over,
        left_out=choice.left_out,
        verdict=verdict,
        map=map_part(choice.map, test.map) if choice.map and test.map else None,
        content_hash=content_hash,
    )


def move_lines(candidates: Sequence[Candidate]) -> tuple[MoveLine, ...]:
    """Return what each move of the refinement came to, in the order of their names.

    See `search.gains_by_move`; the mean is over those that have a figure.
    """
    tried = Counter(c.origin for c in candidates if c.parent is not None)
    return tuple(
        MoveLine(
            move=move,
            tried=tried[move],
            better=sum(g > 0 for g in gains),
            mean_gain=rounded(sum(gains) / len(gains)) if gains else None,
            best_gain=rounded(max(gains)) if gains else None,
        )
        for move, gains in sorted(gains_by_move(candidates).items())
    )


def _optimism(dev: Side, test: Validation, objective: str) -> float | None:
    chosen, seen = dev.of(CALIBRATED, objective).value, test.winner
    if chosen is None or seen is None:
        return None
    return rounded(seen - chosen if objective == "mae" else chosen - seen)


def _data(search: Search) -> DataPart:
    dataset = search.prepared.dataset
    return DataPart(
        name=dataset.name,
        digest=dataset.digest,
        columns=dataset.mapped.described(),
        items=len(dataset.items),
        groups=dataset.groups,
        warnings=search.prepared.warnings,
        faults=search.prepared.faults,
    )


def _split(search: Search) -> SplitPart:
    split = search.prepared.split
    return SplitPart(
        digest=split.digest,
        test_digest=split.test.digest,
        seed=split.seed,
        train=_size(split.train),
        dev=_size(split.dev),
        test=(len(split.test), split.test.groups),
    )


def _size(items: Sequence[Item]) -> tuple[int, int]:
    return len(items), len({i.group for i in items})


def _rubric(contender: Contender) -> RubricPart:
    return RubricPart(kind=contender.kind, base=contender.rubric.base, steps=step_files(contender.rubric))


def _line(candidate: Candidate, by: str) -> CandidateLine:
    stopped = candidate.stopped
    return CandidateLine(
        name=candidate.name,
        by=by,
        origin=candidate.origin,
        parent=candidate.parent,
        value=rounded(candidate.value),
        steps=len(candidate.rubric.steps),
        judged=sum(v is not None for v in candidate.verdicts),
        failures=sum(failures_of(candidate.verdicts).values()),
        stopped=StopPart(after=stopped.after, chance=stopped.chance, value=stopped.value) if stopped else None,
    )
