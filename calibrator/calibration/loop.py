"""The loop: draft, score, select, refine, refit, validate, freeze, in this order and nowhere else.

Every rubric that is written, every verdict of the search and the one look at the test side go through the journal
before they are used; a resumed run replays them, works out the rest anew, and ends in the same result. The paper's
protocol (Auto-CSEval, Algorithm 1) draws exemplars from the development set it selects on, refines each of the top k as
often as there were trials, once, and hands over the best of all as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig
from calibrator.calibration.draft import distinct, draft_requests
from calibrator.calibration.freeze import freeze
from calibrator.calibration.method import Method
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress, Silent
from calibrator.calibration.refine import refine_requests, worst_disagreements
from calibrator.calibration.refit import refit
from calibrator.calibration.result import CandidateLine, DataPart, DisagreementLine, RunResult, Side, SplitPart
from calibrator.calibration.score import make_candidate
from calibrator.calibration.seeds import seed_for
from calibrator.calibration.select import top_k
from calibrator.calibration.stop import gained
from calibrator.calibration.validate import (
    CALIBRATED,
    UNCALIBRATED,
    baselines,
    best_baseline,
    compared,
    signed,
    validate,
)
from calibrator.codec import rubric_from_json, rubric_to_json, verdicts_from_json, verdicts_to_json
from calibrator.evaluation.agreement import failures_of
from calibrator.judges.frozen import FrozenJudge, step_files
from calibrator.records import Candidate, Item, Rubric
from calibrator.store import Journal, Ledger, Run


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
    history: list[float] = field(default_factory=list)

    def run(self) -> tuple[Candidate, ...]:
        """Draft, then refine the best in rounds while that gains something; return the best of all."""
        self.draft()
        best = self.best()
        rounds = 1 if self.config.protocol == "paper" else self.config.rounds
        for number in range(1, rounds + 1):
            if not (self.method.drafter.moves and gained(self.history)):
                break
            self.refine(number, best)
            best = self.best()
        return best

    def draft(self) -> None:
        """Draft and score the first generation."""
        config = self.config
        requests = draft_requests(
            self.prepared.aspect, self.train, config.shots, config.trials, config.temperature, config.seed
        )
        named = [(f"d{i:02d}", r) for i, r in enumerate(requests, 1)]
        self._generation("drafting", [(n, partial(self.method.drafter.draft, r), "draft", None) for n, r in named])

    def refine(self, number: int, best: Sequence[Candidate]) -> None:
        """Refine the best and score what comes of it."""
        config, made = self.config, []
        for candidate in best:
            requests = refine_requests(
                self.prepared.aspect,
                candidate,
                self.dev,
                self.train,
                self.method.drafter.moves,
                config.trials if config.protocol == "paper" else config.refinements,
                config.temperature,
                seed_for(config.seed, "round", number),
            )
            for trial, request in enumerate(requests, 1):
                name = f"{candidate.name}.r{number}{request.move[0]}{trial}"
                made.append((name, partial(self.method.drafter.refine, request), request.move, candidate.name))
        self._generation(f"refining, round {number}", made)

    def best(self) -> tuple[Candidate, ...]:
        """The top k of all candidates so far."""
        best = top_k(self.scored, self.dev, self.config.objective, self.config.top_k)
        self.history.append(best[0].value or 0.0)
        self.progress.best(self.history[-1])
        return best

    def _generation(self, phase: str, made: Iterable[tuple[str, Callable[[], Rubric], str, str | None]]) -> None:
        made = list(made)
        self.progress.phase(phase, len(made))
        known = len(self.rubrics)
        origins = {}
        for name, write, origin, parent in made:
            value = self.journal.once(f"rubric/{name}", partial(_written, write))
            self.rubrics.append((name, rubric_from_json(value)))
            origins[name] = (origin, parent)
            self.progress.advance(0)
        new = [pair for pair in distinct(self.rubrics) if pair in self.rubrics[known:]]
        self.progress.phase(f"scoring ({phase})", len(new))
        for name, rubric in new:
            self.scored.append(self._score(name, rubric, *origins[name]))
            self.progress.advance(len(self.dev))
            self.progress.best(max((c.value for c in self.scored if c.value is not None), default=float("nan")))

    def _score(self, name: str, rubric: Rubric, origin: str, parent: str | None) -> Candidate:
        stored = self.journal.once(
            f"verdicts/{name}", lambda: verdicts_to_json(self.method.judge(rubric).judge(self.dev))
        )
        verdicts = verdicts_from_json(stored)
        return make_candidate(name, rubric, verdicts, self.dev, self.config.objective, origin, parent)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a calibration hands over; `look` is the number of its look at the test side."""

    result: RunResult
    frozen: FrozenJudge
    look: int


def calibrate(
    prepared: Prepared, config: RunConfig, method: Method, run: Run, ledger: Ledger, progress: Progress | None = None
) -> Outcome:
    """Run the calibration.

    The same configuration, data and replies give the same result; a run that was killed goes on from its journal.
    Raises CalibrationError if no rubric may be handed over.
    """
    split, paper = prepared.split, config.protocol == "paper"
    known = split.train + split.dev
    sides = (known, known) if paper else (split.train, split.dev)
    search = _Search(prepared, config, method, run.journal(), progress or Silent(), *sides)
    best = search.run()
    final = best[0].rubric if paper else refit(method.drafter, prepared.aspect, best, known, config.seed)

    search.progress.phase("validating", 1)
    judge = method.judge(final)
    others = baselines(prepared.aspect, known, method.judge(method.start(known)))
    preferred = best_baseline(others, known, config.objective, config.seed)
    winner = method.judge(best[0].rubric)
    on_dev = {CALIBRATED: winner, UNCALIBRATED: others[UNCALIBRATED]}
    dev = compared(on_dev, search.dev, split, config.resamples, signed("dev", winner, best[0].rubric))

    def enter_look() -> int:
        return ledger.look(split.test.digest, split.digest, run.id)

    def look_at_test() -> dict[str, object]:
        on_test = {CALIBRATED: judge, **others}
        whose = signed("test", judge, final)
        return validate(on_test, split, enter_look, config.resamples, whose).model_dump(mode="json")

    test = Side.model_validate(search.journal.once("validated", look_at_test))
    frozen = freeze(prepared, config, method.name, judge, method.drafter.id, final, best[0].name, dev, test)
    search.progress.advance(0)
    return Outcome(_result(search, best[0], final, frozen, dev, test, preferred), frozen, enter_look())


def _result(
    search: _Search, winner: Candidate, final: Rubric, frozen: FrozenJudge, dev: Side, test: Side, preferred: str
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
        judge=frozen.judge.id,
        drafter=search.method.drafter.id,
        near_duplicates=len(search.rubrics) - len(search.scored),
        judgments=len(search.scored) * len(search.dev),
        history=tuple(round(v, 6) for v in search.history),
        candidates=tuple(_line(c) for c in search.scored),
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
        content_hash=frozen.content_hash,
    )


def _written(write: Callable[[], Rubric]) -> dict[str, object]:
    return rubric_to_json(write())


def _size(items: Sequence[Item]) -> tuple[int, int]:
    return len(items), len({i.group for i in items})


def _line(candidate: Candidate) -> CandidateLine:
    return CandidateLine(
        name=candidate.name,
        origin=candidate.origin,
        parent=candidate.parent,
        value=None if candidate.value is None else round(candidate.value, 6),
        steps=len(candidate.rubric.steps),
        failures=sum(failures_of(candidate.verdicts).values()),
    )
