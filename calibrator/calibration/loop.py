"""The loop: the search, then refit, compare on dev, look at the test side once, freeze; in this order and nowhere else.

What the search and the one look give passes through the journal before it is used; a resumed run replays it, works out
the rest anew, and ends in the same result. Everything that is chosen is chosen on train and dev: the winner, its refit,
the best baseline, whether the rubric or that baseline is handed over, and the score map of what is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calibrator.calibration.config import CRITERIA, RunConfig
from calibrator.calibration.freeze import freeze
from calibrator.calibration.mapping import JudgeMap, find_map, map_file
from calibrator.calibration.method import Contender, Method
from calibrator.calibration.outcome import Choice, run_result
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress, Silent
from calibrator.calibration.purpose import Purpose
from calibrator.calibration.refit import refit
from calibrator.calibration.result import CALIBRATED, RunResult, Side, Validation, interval, trusted_rho
from calibrator.calibration.search import Search
from calibrator.calibration.seeds import seed_for
from calibrator.calibration.select import top_k
from calibrator.calibration.transfer import Without
from calibrator.calibration.validate import Looks, beats, best_baseline, compared, signed, validate
from calibrator.evaluation.agreement import MOST_FAILURES, failures_of, scores_of
from calibrator.evaluation.aim import Aim
from calibrator.evaluation.curve import SIZES, labels_used
from calibrator.evaluation.gate import gate
from calibrator.evaluation.mapping import By
from calibrator.journal import Journal
from calibrator.judges.base import Judge
from calibrator.judges.frozen import FrozenJudge
from calibrator.judges.frozen_parts import VerdictFile
from calibrator.records import Candidate, Item, Judgment
from calibrator.store import Ledger, Run


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
    purpose: Purpose,
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
    journal = run.journal() if journal is None else journal
    search = _search(prepared, config, method, purpose.share, journal, progress)
    known, best = prepared.split.train + prepared.split.dev, search.run()
    choice = _choose(search, best, known)
    choice = replace(choice, map=_map(search, choice, best, known))

    def enter_look() -> int:
        return ledger.look(prepared.split.test.digest, prepared.split.digest, run.id)

    def look() -> object:
        return validate(_looks(search, choice, purpose, known), prepared.split, enter_look).model_dump(mode="json")

    search.progress.phase("validating", 1, (3 if purpose.systems > 1 else 2) * len(prepared.split.test))
    test = Validation.model_validate(journal.once("validated", look))
    verdict = _verdict(choice, test, config.objective, prepared.faults)
    frozen = freeze(
        prepared,
        config,
        choice.handed_over,
        method.drafter,
        choice.winner.name,
        choice.dev,
        test.side,
        verdict,
        map_file(choice.map),
    )
    search.progress.advance(0)
    return Outcome(run_result(search, choice, test, verdict, frozen.content_hash), frozen, enter_look())


def choose(
    prepared: Prepared, config: RunConfig, method: Method, journal: Journal, progress: Progress | None = None
) -> tuple[Choice, tuple[Candidate, ...]]:
    """Return what a calibration for new sources comes to, and the best candidates; it looks at no test side.

    Raises as `calibrate` does.
    """
    search = _search(prepared, config, method, 0.0, journal, progress)
    best = search.run()
    return _choose(search, best, prepared.split.train + prepared.split.dev), tuple(best)


def _search(
    prepared: Prepared, config: RunConfig, method: Method, share: float, journal: Journal, progress: Progress | None
) -> Search:
    """Return the search that is to be made; in the paper's protocol train and dev are one."""
    known = prepared.split.train + prepared.split.dev
    sides = (known, known) if config.protocol == "paper" else (prepared.split.train, prepared.split.dev)
    return Search(prepared, config, method, Aim(config.objective, share), journal, progress or Silent(), *sides)


def _choose(search: Search, best: Sequence[Candidate], known: Sequence[Item]) -> Choice:
    """Return what is handed over, chosen on train and dev.

    On dev all judges are compared as they come from train; what is handed over, and looked at on test, has seen both.
    """
    method, config = search.method, search.config
    rubric = refit(
        None if config.protocol == "paper" else method.refit, search.prepared.aspect, best, known, config.seed
    )
    rivals, left_out = _fit_to_compare(search, method.baselines(search.train))
    dev = _on_dev(search, best[0], rivals)
    over = best_baseline(dev, config.objective)
    return Choice(
        winner=best[0],
        calibrated=Contender(method.name, rubric, method.judge(rubric)),
        others={name: c for name, c in method.baselines(known).items() if name in rivals},
        over=over,
        fell_back=not (config.keep or beats(dev, over, config.objective)),
        dev=dev,
        left_out=left_out,
    )


def _map(search: Search, choice: Choice, best: Sequence[Candidate], known: Sequence[Item]) -> JudgeMap | None:
    """Return the score map of what is handed over, None if none is wanted.

    What is fitted to ratings is fitted anew without each fold of train and dev. A model's judge is not fitted, and its
    map is fitted on dev, where its verdicts are known already: a map costs no call.
    """
    method, config, aspect = search.method, search.config, search.prepared.aspect
    if config.map == "identity":
        return None

    def refitted(items: Sequence[Item]) -> Judge:
        return method.judge(refit(method.refit, aspect, best, items, config.seed))

    def rebased(items: Sequence[Item]) -> Judge:
        return method.baselines(items)[choice.over].judge

    fitted = choice.handed_over.kind == CRITERIA if choice.fell_back else method.refit is not None
    remade = None if not fitted else rebased if choice.fell_back else refitted
    items = search.dev if remade is None else known
    search.progress.phase("fitting the score map", 1, len(items))
    seed, by = seed_for(config.seed, "map"), _by(config.objective)
    found = find_map(choice.name, choice.handed_over.judge, remade, items, aspect.scale, config.map, seed, by)
    search.progress.advance(0)
    return found


def _by(objective: str) -> By:
    return "mae" if objective == "mae" else "rmse"


def _looks(search: Search, choice: Choice, purpose: Purpose, known: Sequence[Item]) -> Looks:
    calibrated, winner = choice.calibrated, choice.winner.rubric
    judges = {CALIBRATED: calibrated.judge} | {name: c.judge for name, c in choice.others.items()}
    signature = signed("test", calibrated.judge, calibrated.rubric)
    if choice.map is not None:
        judges[choice.map.name] = choice.map.mapped
        signature += choice.map.signed
    return Looks(
        judges=judges,
        winner=calibrated.judge if winner == calibrated.rubric else search.method.judge(winner),
        signed=signature,
        purpose=purpose,
        without=_without(search, purpose, known),
        by_labels=_by_labels(search, known),
        objective=search.config.objective,
        resamples=search.config.resamples,
        map=choice.map,
    )


def _fit_to_compare(
    search: Search, baselines: Mapping[str, Contender]
) -> tuple[dict[str, Contender], dict[str, dict[str, int]]]:
    """Return the baselines without those that fail on more of dev than a candidate may, and why these fail.

    Figures are on the items that all judges scored: one that rarely gives a score would leave nothing to compare.
    """
    search.progress.phase("comparing with the baselines", len(baselines), len(search.dev))
    failures = {}
    for name, contender in baselines.items():
        failures[name] = failures_of(contender.judge.judge(search.dev))
        search.progress.advance(0)
    left_out = {n: f for n, f in failures.items() if sum(f.values()) > MOST_FAILURES * len(search.dev)}
    return {name: c for name, c in baselines.items() if name not in left_out}, left_out


def _on_dev(search: Search, winner: Candidate, others: Mapping[str, Contender]) -> Side:
    judge = search.method.judge(winner.rubric)
    judges = {CALIBRATED: judge} | {name: c.judge for name, c in others.items()}
    whose = signed("dev", judge, winner.rubric)
    return compared(judges, search.dev, search.prepared.split, search.config.resamples, whose)


def _verdict(choice: Choice, test: Validation, objective: str, faults: Sequence[str]) -> VerdictFile:
    gain, groups = test.side.gains[choice.over][objective], test.side.groups
    rho, where = trusted_rho(test.side, test.systems)
    found = gate(interval(gain), interval(rho), groups, choice.over, choice.fell_back, faults=faults, where=where)
    name = choice.over if choice.fell_back else CALIBRATED
    return VerdictFile(handed_over=name, over=choice.over, gain=gain, passed=found.passed, reasons=found.reasons)


def _without(search: Search, purpose: Purpose, known: Sequence[Item]) -> Without | None:
    """Return how to make a judge without the items of one system; None where it cannot be made.

    What is fitted is fitted anew on the others, without a search; a model's rubric is chosen anew among the finalists
    by the others' items on dev. The paper's protocol has no fit to repeat.
    """
    method = search.method

    def fitted(system: str) -> tuple[Judge, float]:
        assert method.fresh is not None
        judge = method.judge(method.fresh([i for i in known if i.system != system]))
        return judge, _mean_score(judge, known)

    def chosen(system: str) -> tuple[Judge, float]:
        kept = [k for k, i in enumerate(search.dev) if i.system != system]
        finalists = [c for c in search.scored if c.value is not None]
        rest = [search.dev[k] for k in kept]
        found = top_k([_cut(c, kept, rest, search.aim) for c in finalists], rest, search.aim, 1)[0]
        winner = next(c for c in finalists if c.name == found.name)
        scores = [v.score for v in winner.verdicts if isinstance(v, Judgment)]
        return method.judge(winner.rubric), float(np.mean(scores))

    if purpose.unchecked or len({i.system for i in (search.dev if method.worded else known)}) < 2:
        return None  # without the only system there is nothing to fit to or choose by
    return chosen if method.worded else fitted


def _cut(candidate: Candidate, places: Sequence[int], items: Sequence[Item], aim: Aim) -> Candidate:
    """Return the candidate as if dev had held only `items`, those at some places of it."""
    verdicts = tuple(candidate.verdicts[k] for k in places)
    return replace(candidate, verdicts=verdicts, value=aim.of(verdicts, items))


def _mean_score(judge: Judge, items: Sequence[Item]) -> float:
    return float(np.nanmean(scores_of(judge.judge(items))))


def _by_labels(search: Search, known: Sequence[Item]) -> dict[int, Judge]:
    """Return judges by how many labels they were fitted to; none where a rubric is not fitted, but searched for."""
    method = search.method
    if method.fresh is None or search.config.protocol == "paper":
        return {}
    rng = np.random.default_rng(seed_for(search.config.seed, "labels"))
    subsets = labels_used(known, (*SIZES, len(known)), rng=rng)
    return {n: method.judge(method.fresh(items)) for n, items in subsets.items()}
