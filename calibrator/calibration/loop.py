"""The loop: draft, score, select, refine, refit, validate, freeze, in this order and nowhere else.

Every reply of a model, every rubric that is written, every verdict of the search and the one look at the test side go
through the journal before they are used; a resumed run replays them, works out the rest anew, and ends in the same
result. The paper's protocol (Auto-CSEval, Algorithm 1) draws exemplars from the development set it selects on, refines
each of the top k as often as there were trials, once, and hands over the best of all as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig
from calibrator.calibration.draft import distinct, draft_requests, measured_alike, worded_alike
from calibrator.calibration.freeze import freeze
from calibrator.calibration.method import Method
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress, Silent
from calibrator.calibration.refine import refine_requests, worst_disagreements
from calibrator.calibration.refit import refit
from calibrator.calibration.result import (
    CandidateLine,
    DataPart,
    DisagreementLine,
    RunResult,
    Side,
    SpentPart,
    SplitPart,
)
from calibrator.calibration.score import MOST_FAILURES, make_candidate
from calibrator.calibration.seeds import seed_for
from calibrator.calibration.select import top_k
from calibrator.calibration.stop import gained
from calibrator.calibration.validate import (
    CALIBRATED,
    baselines,
    best_baseline,
    compared,
    signed,
    validate,
)
from calibrator.codec import verdicts_from_json, verdicts_to_json, written_from_json, written_to_json
from calibrator.drafting.base import RefineRequest
from calibrator.errors import CalibrationError
from calibrator.evaluation.agreement import failures_of
from calibrator.judges.base import Judge
from calibrator.judges.frozen import FrozenJudge, step_files
from calibrator.models.recorded import spent_in
from calibrator.records import Candidate, Item, NoRubric, Rubric, Written
from calibrator.store import Journal, Ledger, Run

Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class _Origin:
    """Where a candidate comes from: its name, who wrote it, "draft" or the move, and what it was made from."""

    name: str
    by: str
    origin: str
    parent: str | None


_Batch = tuple[Sequence[_Origin], Callable[[Sequence[int]], Iterable[object]]]


@dataclass(slots=True)
class _Search:
    """The candidates so far; everything that a step gives passes through the journal."""

    prepared: Prepared
    config: RunConfig
    method: Method
    journal: Journal
    progress: Progress
    train: tuple[Item, ...]
    dev: tuple[Item, ...]
    scored: list[Candidate] = field(default_factory=list)
    rubrics: list[tuple[str, Rubric]] = field(default_factory=list)
    origins: dict[str, _Origin] = field(default_factory=dict)
    no_rubric: Counter[str] = field(default_factory=Counter)
    history: list[float] = field(default_factory=list)

    def run(self) -> tuple[Candidate, ...]:
        """Draft, then refine the best in rounds while that gains something; return the best of all."""
        self.draft()
        best = self.best()
        rounds = 1 if self.config.protocol == "paper" else self.config.rounds
        for number in range(1, rounds + 1):
            if not (self.method.refiner.moves and gained(self.history)):
                break
            self.refine(number, best)
            best = self.best()
        return best

    def draft(self) -> None:
        """Draft and score the first generation: of every drafter, so many trials of each few-shot size."""
        config, aspect, batches, count = self.config, self.prepared.aspect, [], 0
        for drafter, sizes in self.method.drafters:
            requests = draft_requests(aspect, self.train, sizes, config.trials, config.temperature, config.seed)
            lines = [
                _Origin(f"d{k:02d}", drafter.id, "draft", None) for k in range(count + 1, count + len(requests) + 1)
            ]
            batches.append((lines, partial(_chosen, drafter.draft, requests)))
            count += len(requests)
        self._generation("drafting", batches)

    def refine(self, number: int, best: Sequence[Candidate]) -> None:
        """Refine the best and score what comes of it."""
        config, refiner = self.config, self.method.refiner
        lines: list[_Origin] = []
        requests: list[RefineRequest] = []
        for candidate in best:
            wanted = refine_requests(
                self.prepared.aspect,
                candidate,
                self.dev,
                self.train,
                refiner.moves,
                config.trials if config.protocol == "paper" else config.refinements,
                config.temperature,
                seed_for(config.seed, "round", number),
            )
            for trial, request in enumerate(wanted, 1):
                name = f"{candidate.name}.r{number}{request.move[0]}{trial}"
                lines.append(_Origin(name, refiner.id, request.move, candidate.name))
            requests += wanted
        self._generation(f"refining, round {number}", [(lines, partial(_chosen, refiner.refine, requests))])

    def best(self) -> tuple[Candidate, ...]:
        """The top k of all candidates so far. Raises CalibrationError, with the reasons, if there is none."""
        if not self.scored:
            told = ", ".join(f"{count} × {reason}" for reason, count in sorted(self.no_rubric.items()))
            more = "; --draft-tokens gives replies more room" if "cut off" in told else ""
            raise CalibrationError(f"no rubric was written ({told}){more}")
        best = top_k(self.scored, self.dev, self.config.objective, self.config.top_k)
        self.history.append(best[0].value or 0.0)
        self.progress.best(self.history[-1])
        return best

    def unfit(self, judges: Mapping[str, Judge]) -> dict[str, dict[str, int]]:
        """The judges that fail on more of dev than a candidate may, with their failures by reason.

        Figures are on the items that all judges scored: one that rarely gives a score would leave nothing to compare.
        """
        failures = {name: failures_of(judge.judge(self.dev)) for name, judge in judges.items()}
        return {name: f for name, f in failures.items() if sum(f.values()) > MOST_FAILURES * len(self.dev)}

    def _generation(self, phase: str, batches: Sequence[_Batch]) -> None:
        """Have rubrics written, drop what is none or nearly one there is, and score the others."""
        self.progress.phase(phase, sum(len(lines) for lines, _ in batches))
        known = len(self.rubrics)
        for lines, write in batches:
            for line, value in zip(lines, self.journal.each([f"rubric/{n.name}" for n in lines], write), strict=True):
                self._take(line, written_from_json(value))
        alike = worded_alike if self.method.worded else measured_alike
        fresh = self.rubrics[known:]
        new = [pair for pair in distinct(self.rubrics, alike) if pair in fresh]
        self.progress.phase(f"scoring ({phase})", len(new), len(self.dev))
        for name, rubric in new:
            self.scored.append(self._score(self.origins[name], rubric))
            self.progress.advance(len(self.dev))
            self.progress.best(max((c.value for c in self.scored if c.value is not None), default=float("nan")))

    def _take(self, line: _Origin, written: Written) -> None:
        if isinstance(written, NoRubric):
            self.no_rubric[written.reason] += 1
        else:
            self.rubrics.append((line.name, written))
            self.origins[line.name] = line
        self.progress.advance(0)

    def _score(self, line: _Origin, rubric: Rubric) -> Candidate:
        def judged() -> object:
            return verdicts_to_json(self.method.judge(rubric).judge(self.dev))

        verdicts = verdicts_from_json(self.journal.once(f"verdicts/{line.name}", judged))
        return make_candidate(line.name, rubric, verdicts, self.dev, self.config.objective, line.origin, line.parent)


def _chosen(
    write: Callable[[Sequence[Request]], Iterable[Written]], requests: Sequence[Request], places: Sequence[int]
) -> Iterator[dict[str, object]]:
    """Yield what is written for the requests at some places, fit for the journal."""
    return map(written_to_json, write([requests[place] for place in places]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a calibration hands over; `look` is the number of its look at the test side."""

    result: RunResult
    frozen: FrozenJudge
    look: int


def calibrate(
    prepared: Prepared,
    config: RunConfig,
    method: Method,
    run: Run,
    ledger: Ledger,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Outcome:
    """Run the calibration.

    The same configuration, data and replies give the same result; a run that was killed goes on from its `journal`
    (the run's own, opened here unless the models of `method` write to it already). Raises CalibrationError if no rubric
    may be handed over, and what the models of `method` raise.
    """
    split, paper = prepared.split, config.protocol == "paper"
    known = split.train + split.dev
    sides = (known, known) if paper else (split.train, split.dev)
    journal = run.journal() if journal is None else journal
    search = _Search(prepared, config, method, journal, progress or Silent(), *sides)
    best = search.run()
    final = refit(None if paper else method.refit, prepared.aspect, best, known, config.seed)

    search.progress.phase("validating", 1, len(search.dev) + 2 * len(split.test))
    judge, winner = method.judge(final), method.judge(best[0].rubric)
    others = baselines(prepared.aspect, known, method.start_name, method.judge(method.start(known)))
    left_out = search.unfit(others)
    others = {name: other for name, other in others.items() if name not in left_out}
    preferred = best_baseline(others, search.dev, config.objective, config.seed)
    on_dev = {CALIBRATED: winner} | {name: j for name, j in others.items() if name == method.start_name}
    dev = compared(on_dev, search.dev, split, config.resamples, signed("dev", winner, best[0].rubric))

    def enter_look() -> int:
        return ledger.look(split.test.digest, split.digest, run.id)

    def look_at_test() -> dict[str, object]:
        on_test = {CALIBRATED: judge, **others}
        whose = signed("test", judge, final)
        return validate(on_test, split, enter_look, config.resamples, whose).model_dump(mode="json")

    test = Side.model_validate(search.journal.once("validated", look_at_test))
    frozen = freeze(prepared, config, method.name, judge, method.drafter, final, best[0].name, dev, test)
    search.progress.advance(0)
    return Outcome(_result(search, best[0], final, frozen, dev, test, preferred, left_out), frozen, enter_look())


def _result(
    search: _Search,
    winner: Candidate,
    final: Rubric,
    frozen: FrozenJudge,
    dev: Side,
    test: Side,
    preferred: str,
    left_out: dict[str, dict[str, int]],
) -> RunResult:
    prepared, config = search.prepared, search.config
    dataset, split = prepared.dataset, prepared.split
    return RunResult(
        calibrator=__version__,
        aspect=AspectFile.of(prepared.aspect),
        chosen=prepared.chosen,
        data=DataPart(
            name=dataset.name,
            digest=dataset.digest,
            columns=dataset.mapped.described(),
            items=len(dataset.items),
            groups=dataset.groups,
            warnings=prepared.warnings,
        ),
        split=SplitPart(
            digest=split.digest,
            test_digest=split.test.digest,
            seed=split.seed,
            train=_size(split.train),
            dev=_size(split.dev),
            test=(len(split.test), split.test.groups),
        ),
        protocol=config.protocol,
        objective=config.objective,
        method=frozen.judge.method,
        judge=frozen.judge.id,
        drafter=search.method.drafter,
        no_rubric=dict(sorted(search.no_rubric.items())),
        near_duplicates=len(search.rubrics) - len(search.scored),
        judgments=len(search.scored) * len(search.dev),
        spent={
            name: SpentPart(replies=s.replies, prompt_tokens=s.prompt, completion_tokens=s.completion)
            for name, s in sorted(spent_in(search.journal).items())
        },
        history=tuple(round(v, 6) for v in search.history),
        candidates=tuple(_line(c, search.origins[c.name].by) for c in search.scored),
        winner=winner.name,
        base=final.base,
        steps=step_files(final),
        disagreements=tuple(
            DisagreementLine(item=d.item.id, judged=round(d.judged, 4), human=round(d.human, 4))
            for d in worst_disagreements(winner, search.dev, 10)
        ),
        dev=dev,
        test=test,
        best_baseline=preferred,
        left_out=left_out,
        content_hash=frozen.content_hash,
    )


def _size(items: Sequence[Item]) -> tuple[int, int]:
    return len(items), len({i.group for i in items})


def _line(candidate: Candidate, by: str) -> CandidateLine:
    return CandidateLine(
        name=candidate.name,
        by=by,
        origin=candidate.origin,
        parent=candidate.parent,
        value=None if candidate.value is None else round(candidate.value, 6),
        steps=len(candidate.rubric.steps),
        failures=sum(failures_of(candidate.verdicts).values()),
    )
