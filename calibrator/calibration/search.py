"""The search: draft, score, select and refine, in rounds; the first half of the loop.

Every reply of a model, every rubric that is written and every verdict goes through the journal before it is used, so
that a resumed run replays them. The paper's protocol (Auto-CSEval, Algorithm 1) draws exemplars from the development
set it selects on, scores every candidate on all of it, and refines each of the top k as often as there were trials,
once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from calibrator.calibration.config import RunConfig
from calibrator.calibration.draft import distinct, draft_requests, measured_alike, worded_alike
from calibrator.calibration.method import Method
from calibrator.calibration.optimizers.base import Caps, Optimizer
from calibrator.calibration.prepare import Prepared, search_plan
from calibrator.calibration.progress import Progress
from calibrator.calibration.races.base import Course, Stop
from calibrator.calibration.races.driver import Wanted
from calibrator.calibration.refine import refine_requests, telling_disagreements, worst_disagreements
from calibrator.calibration.score import make_candidate
from calibrator.calibration.seeds import seed_for
from calibrator.calibration.select import course_over, raced, top_k
from calibrator.calibration.stop import gained
from calibrator.codec import verdicts_from_json, verdicts_to_json, written_from_json, written_to_json
from calibrator.drafting.base import RefineRequest
from calibrator.errors import CalibrationError
from calibrator.evaluation.agreement import MOST_FAILURES
from calibrator.evaluation.aim import Aim
from calibrator.journal import Journal
from calibrator.judges.base import Judge
from calibrator.judges.together import judge_together
from calibrator.records import Candidate, Disagreement, Item, NoRubric, Rubric, Stopped, Verdict, Written

Request = TypeVar("Request")


@dataclass(frozen=True, slots=True)
class From:
    """Where a candidate comes from: its name, who wrote it, "draft" or the move, and what it was made from."""

    name: str
    by: str
    origin: str
    parent: str | None


_Batch = tuple[Sequence[From], Callable[[Sequence[int]], Iterable[object]]]


@dataclass(slots=True)
class Search:
    """The candidates so far; everything that a step gives passes through the journal.

    `train` and `dev` are the items that exemplars are drawn from and that candidates are chosen on.
    """

    prepared: Prepared
    config: RunConfig
    method: Method
    aim: Aim
    journal: Journal
    progress: Progress
    train: tuple[Item, ...]
    dev: tuple[Item, ...]
    scored: list[Candidate] = field(default_factory=list)
    rubrics: list[tuple[str, Rubric]] = field(default_factory=list)
    origins: dict[str, From] = field(default_factory=dict)
    no_rubric: Counter[str] = field(default_factory=Counter)
    history: list[float] = field(default_factory=list)
    optimized: int = 0

    @property
    def judgments(self) -> int:
        """How many judgments the search took."""
        return self.optimized or sum(v is not None for c in self.scored for v in c.verdicts)

    def run(self) -> tuple[Candidate, ...]:
        """Draft, then refine the best in rounds while that gains more than noise; return the best of all.

        With an optimizer, the one that it chose is scored as any other is, and is all there is.
        """
        if self.method.optimizer is not None:
            self.optimize(self.method.optimizer)
            return self.best()
        self.draft()
        best = self.best()
        rounds = 1 if self.config.protocol == "paper" else self.config.rounds
        for number in range(1, rounds + 1):
            if not self.method.refiner.moves:
                break
            before = best[0]
            self.refine(number, best)
            best = self.best()
            if not gained(before, best[0], self.dev, self.aim, seed_for(self.config.seed, "gain", number)):
                break
        return best

    def draft(self) -> None:
        """Draft and score the first generation: of every drafter, so many trials of each few-shot size."""
        config, aspect, batches, count = self.config, self.prepared.aspect, [], 0
        for drafter, sizes in self.method.drafters:
            requests = draft_requests(aspect, self.train, sizes, config.trials, config.temperature, config.seed)
            lines = [From(f"d{k:02d}", drafter.id, "draft", None) for k in range(count + 1, count + len(requests) + 1)]
            batches.append((lines, partial(_chosen, drafter.draft, requests)))
            count += len(requests)
        self._generation("drafting", batches)

    def optimize(self, optimizer: Optimizer) -> None:
        """Have an optimizer search in our place, with what our search would take at most, and score what it chose."""
        caps, name = self.caps(), "o01"
        seed = seed_for(self.config.seed, optimizer.name)
        self.progress.phase(f"optimizing with {optimizer.name}", 1, caps.judgments)

        def found() -> dict[str, object]:
            given = optimizer.optimize(caps, self.train, self.dev, seed)
            counted = {"judgments": given.judgments, "proposals": given.proposals, "refused": dict(given.refused)}
            return {"rubric": written_to_json(given.rubric), **counted}

        value = self.journal.once("optimized", found)
        self.optimized = value["judgments"]
        self.no_rubric.update(value["refused"])
        self.progress.advance(0)
        line = From(name, optimizer.id, "optimized", None)
        self._generation("scoring its choice", [([line], lambda places: [value["rubric"]])])

    def caps(self) -> Caps:
        """Return what an optimizer may ask for: the judgments and the rubrics that our own search would, at most."""
        drafts, refinements, judgments = search_plan(self.config, self.prepared, self.method)
        return Caps(judgments, drafts + refinements)

    def refine(self, number: int, best: Sequence[Candidate]) -> None:
        """Refine the best and score what comes of it."""
        config, refiner = self.config, self.method.refiner
        lines: list[From] = []
        requests: list[RefineRequest] = []
        for candidate in best:
            wanted = refine_requests(
                self.prepared.aspect,
                candidate,
                self.disagreements(candidate),
                self.train,
                refiner.moves,
                config.trials if config.protocol == "paper" else config.refinements,
                config.temperature,
                seed_for(config.seed, "round", number),
            )
            for trial, request in enumerate(wanted, 1):
                name = f"{candidate.name}.r{number}{request.move[0]}{trial}"
                lines.append(From(name, refiner.id, request.move, candidate.name))
            requests += wanted
        self._generation(f"refining, round {number}", [(lines, partial(_chosen, refiner.refine, requests))])
        gains = gains_by_move(self.scored)
        self.journal.once(f"gains/{number}", lambda: {move: [round(g, 6) for g in v] for move, v in gains.items()})

    def disagreements(self, candidate: Candidate, count: int | None = None) -> tuple[Disagreement, ...]:
        """What a candidate's refinement is shown, worst first; in the paper's protocol by points, else by ranks."""
        more = {} if count is None else {"count": count}
        if self.config.protocol == "paper":
            return worst_disagreements(candidate, self.dev, **more)
        return telling_disagreements(candidate, self.dev, self.prepared.aspect.scale, **more)

    def best(self) -> tuple[Candidate, ...]:
        """The top k of all candidates so far. Raises CalibrationError, with the reasons, if there is none."""
        if not self.scored:
            told = ", ".join(f"{count} × {reason}" for reason, count in sorted(self.no_rubric.items()))
            more = "; --draft-tokens gives replies more room" if "cut off" in told else ""
            raise CalibrationError(f"no rubric was written ({told}){more}")
        best = top_k(self.scored, self.dev, self.aim, self.config.top_k)
        self.history.append(best[0].value or 0.0)
        self.progress.best(self.history[-1])
        return best

    def _generation(self, phase: str, batches: Sequence[_Batch]) -> None:
        """Have rubrics written, drop what is none or nearly one there is, and race the others."""
        self.progress.phase(phase, sum(len(lines) for lines, _ in batches))
        known = len(self.rubrics)
        for lines, write in batches:
            for line, value in zip(lines, self.journal.each([f"rubric/{n.name}" for n in lines], write), strict=True):
                self._take(line, written_from_json(value))
        alike = worded_alike if self.method.worded else measured_alike
        fresh = {name for name, _ in self.rubrics[known:]}
        new = {name: rubric for name, rubric in distinct(self.rubrics, alike) if name in fresh}
        if new:
            self._race(phase, new)

    def _take(self, line: From, written: Written) -> None:
        if isinstance(written, NoRubric):
            self.no_rubric[written.reason] += 1
        else:
            self.rubrics.append((line.name, written))
            self.origins[line.name] = line
        self.progress.advance(0)

    def _race(self, phase: str, new: dict[str, Rubric]) -> None:
        """Score new rubrics, those that cannot be among the best on part of dev only."""
        config = self.config
        whole = config.protocol == "paper" or config.select == "full"
        seed = seed_for(config.seed, "race")
        course = course_over(self.dev, self.aim, config.top_k, seed, whole=whole, most_failures=MOST_FAILURES)
        judges = {name: self.method.judge(rubric) for name, rubric in new.items()}
        verdicts: dict[str, list[Verdict | None]] = {name: [None] * len(self.dev) for name in new}

        def score(wanted: Sequence[Wanted]) -> list[tuple[Verdict, ...]]:
            return self._scored(phase, wanted, course, judges, verdicts)

        stops = {stop.name: stop for stop in raced(new, self.scored, course, score).stops}
        for name, rubric in new.items():
            line, stopped = self.origins[name], _stopped(stops.get(name), len(self.dev))
            given = tuple(verdicts[name])
            self.scored.append(
                make_candidate(name, rubric, given, self.dev, self.aim, line.origin, line.parent, stopped)
            )
        self.progress.best(max((c.value for c in self.scored if c.value is not None), default=float("nan")))

    def _scored(
        self,
        phase: str,
        wanted: Sequence[Wanted],
        course: Course,
        judges: dict[str, Judge],
        verdicts: dict[str, list[Verdict | None]],
    ) -> list[tuple[Verdict, ...]]:
        """Return the verdicts of each of (candidate, block), enter them under `verdicts`, and tell of them."""
        last = max(len(course.prefixes[block + 1]) for _, block in wanted)
        self.progress.phase(f"scoring ({phase}), {last} of {len(self.dev)} items", len(wanted), last)
        keys = [f"verdicts/{name}/{block}" for name, block in wanted]

        def judged(missing: Sequence[int]) -> Iterator[object]:
            """Everything that is not in the journal at once: a model is kept busy to the end of the round."""
            pairs = [wanted[k] for k in missing]
            given = judge_together([(judges[n], [self.dev[k] for k in course.blocks[b]]) for n, b in pairs])
            return map(verdicts_to_json, given)

        results = []
        for (name, block), value in zip(wanted, self.journal.each(keys, judged), strict=True):
            given, places = verdicts_from_json(value), course.blocks[block]
            for place, verdict in zip(places, given, strict=True):
                verdicts[name][place] = verdict
            results.append(given)
            self.progress.advance(len(places))
        return results


def gains_by_move(candidates: Sequence[Candidate]) -> dict[str, list[float]]:
    """Return what each move gained: the objective on dev of what it made less that of what it was made from.

    For a candidate that a race stopped, by the estimate that stopped it; those without a figure are left out.
    """
    values = {c.name: c.value if c.stopped is None else c.stopped.value for c in candidates}
    gains: dict[str, list[float]] = {}
    for candidate in candidates:
        mine, parents = values[candidate.name], values.get(candidate.parent or "")
        if candidate.parent is not None:
            gains.setdefault(candidate.origin, [])
            if mine is not None and parents is not None:
                gains[candidate.origin].append(mine - parents)
    return gains


def _stopped(stop: Stop | None, whole: int) -> Stopped | None:
    """Return a stop as the record of a candidate; one that was scored on everything was not stopped."""
    if stop is None or stop.after >= whole:
        return None
    return Stopped(stop.after, round(stop.chance, 6), round(stop.value, 6) if stop.value == stop.value else None)


def _chosen(
    write: Callable[[Sequence[Request]], Iterable[Written]], requests: Sequence[Request], places: Sequence[int]
) -> Iterator[dict[str, object]]:
    """Yield what is written for the requests at some places, fit for the journal."""
    return map(written_to_json, write([requests[place] for place in places]))
