"""How much of the full search a race saves, and what it costs: regret against scoring every candidate on all of dev.

    python experiments/racing.py [--seeds 0:50] [--population simulated,real] [--data-dir DIR]

30 candidates, 250 development items, the best k = 3 wanted. Two populations: simulated ones, whose truth is known from
50,000 items; and criteria rubrics drafted from few exemplars of real data, whose truth is what they reach on all items
that neither the drafts nor dev used. Seed by seed the same dev is given to the full search and to each rule. "used" is
the share of the full search's judgments; "regret" is the truth of the full search's winner minus that of the raced
winner; "to the best" the truth of the best candidate minus that of the winner (the full search's first); "dropped" says
how often the race stopped the full search's winner. Thresholds were chosen on seeds from 1000 up. The real population
needs the data sets in $CALIBRATOR_DATA; each seed is one task, in turn.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from lucb import Lucb
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.calibration.races.base import Course, Rule, make_course
from calibrator.calibration.races.blocks import block_order
from calibrator.calibration.races.driver import Race, Wanted, race
from calibrator.calibration.races.halving import Halving
from calibrator.criteria import Measured
from calibrator.drafting.base import DraftRequest
from calibrator.drafting.criteria import CriteriaDrafter
from calibrator.drafting.sampling import sample_exemplars
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.aim import Aim
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Item
from calibrator.stats.correlation import spearman

Array = NDArray[np.float64]

CANDIDATES, DEV, K = 30, 250, 3
TRUTH = 50_000  # items that tell the truth about a simulated candidate
TASKS = (
    "cseval:relevance,cseval:coherence,cseval:aggressiveness,cseval:suitableness,"
    "dialsummeval:relevance,dialsummeval:consistency,dialsummeval:fluency,dialsummeval:coherence"
).split(",")
POOL = 100  # items that drafts may see
RULES: tuple[Rule, ...] = (Halving(), Lucb())


@dataclass(frozen=True)
class Case:
    """One development set with every candidate's scores (c, n), and the candidates' true correlations (c,)."""

    items: tuple[Item, ...]
    scores: Array
    truth: Array

    @property
    def human(self) -> Array:
        return np.array([i.human for i in self.items], dtype=float)


@dataclass(frozen=True)
class Judges:
    """How simulated candidates judge: what each makes of the quality, of what all of them see, and of its own."""

    quality: Array
    traits: Array
    shift: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> Judges:
        return cls(
            rng.uniform(0.35, 0.75, CANDIDATES),
            rng.standard_normal((CANDIDATES, 3)) / 3**0.5,
            0.5 * rng.standard_normal(CANDIDATES),
        )

    def rate(self, items: int, rng: np.random.Generator) -> tuple[Array, Array, NDArray[np.int64]]:
        """Return candidates' scores (c, n) and the humans' (n,) on new items, and the items' groups of one to six."""
        member = np.repeat(np.arange(items), rng.integers(1, 7, items))[:items]

        def latent(*shape: int) -> Array:
            of_group = rng.standard_normal((*shape, items))[..., member]
            return np.asarray(0.3**0.5 * of_group + 0.7**0.5 * rng.standard_normal((*shape, items)))

        quality, shared, traits, own = latent(), latent(), latent(3), rng.standard_normal((CANDIDATES, items))
        rest = 0.80**0.5 * shared + 0.10**0.5 * (self.traits @ traits) + 0.10**0.5 * own
        weight = self.quality[:, None]
        seen = weight * quality + np.sqrt(1 - weight**2) * rest
        scores = np.clip(np.round(3 + 1.1 * (seen + self.shift[:, None])), 1, 5)
        annotators = np.clip(np.round(3 + 1.2 * (quality + 0.8 * rng.standard_normal((3, items)))), 1, 5)
        return scores, annotators.mean(axis=0), member


def simulated(seed: int) -> Case:
    """Return candidates that a language model might be: alike, on marks from 1 to 5, truly between 0.3 and 0.6."""
    rng = np.random.default_rng([seed, 1])
    judges = Judges.drawn(rng)
    scores, human, member = judges.rate(DEV, rng)
    items = tuple(
        Item(id=str(i), output="", key=f"{i}", group=f"g{g}", human=float(h))
        for i, (g, h) in enumerate(zip(member, human, strict=True))
    )
    many, of_many, _ = judges.rate(TRUTH, rng)
    return Case(items, scores, np.array([float(spearman(row, of_many)) for row in many]))


def real(seed: int, data_dir: Path | None, measured: dict[str, Measured]) -> Case:
    """Return criteria rubrics drafted from 8, 16 or 32 exemplars, with 2 to 6 criteria, judged on dev and the rest."""
    data, aspect = TASKS[seed % len(TASKS)].split(":")
    prepared = prepare(make_config(data=data, aspect=aspect, seed=seed, data_dir=data_dir))
    measure = measured.setdefault(data, Measured())
    rng = np.random.default_rng([seed, 2])
    pool, dev, rest = _sides(prepared.dataset.items, rng)
    scores: list[Array] = []
    truth: list[float] = []
    while len(scores) < CANDIDATES:
        exemplars = sample_exemplars(pool, int(rng.choice([8, 16, 32])), rng)
        request = DraftRequest(prepared.aspect, exemplars, float(rng.uniform(0, 1)), int(rng.integers(2**32)))
        rubric = next(CriteriaDrafter(measured=measure, size=int(rng.integers(2, 7))).draft([request]))
        if rubric.steps:
            judge = CriteriaJudge(rubric, prepared.aspect.scale, measure)
            scores.append(scores_of(judge.judge(dev)))
            judged = scores_of(judge.judge(rest))
            scored = np.isfinite(judged)
            truth.append(float(spearman(judged[scored], np.array([i.human for i in rest], dtype=float)[scored])))
    return Case(tuple(dev), np.array(scores), np.nan_to_num(np.array(truth)))


def _sides(items: Sequence[Item], rng: np.random.Generator) -> tuple[list[Item], list[Item], list[Item]]:
    """Return the pool for drafts, dev, and the rest: whole groups, but for what makes dev larger than it should be."""
    groups = sorted({i.group for i in items})
    rank = {groups[g]: place for place, g in enumerate(rng.permutation(len(groups)))}
    ordered = sorted(items, key=lambda i: (rank[i.group], i.key, i.id))
    pool_end, dev_end = (next(k for k in range(size, len(ordered)) if _new(ordered, k)) for size in (POOL, POOL + DEV))
    return ordered[:pool_end], ordered[pool_end:dev_end][:DEV], ordered[dev_end:]


def _new(ordered: Sequence[Item], k: int) -> bool:
    return ordered[k].group != ordered[k - 1].group


def course_of(case: Case, seed: int) -> Course:
    rng = np.random.default_rng([seed, 3])
    blocks = block_order(case.items, seed)
    draws = Aim("spearman").over(case.human, [""] * len(case.human))
    return make_course(case.human, [i.group for i in case.items], blocks, K, draws, rng)


def raced(case: Case, course: Course, rule: Rule) -> Race:
    def score(wanted: Sequence[Wanted]) -> list[Array]:
        return [case.scores[int(name), list(course.blocks[block])] for name, block in wanted]

    return race([f"{c:02d}" for c in range(len(case.scores))], score, course, rule)


def outcome(case: Case, course: Course, rule: Rule) -> tuple[float, ...]:
    """Return used, regret, to the best (raced), to the best (full), dropped, rounds."""
    on_dev = np.array([float(spearman(row, case.human)) for row in case.scores])
    full = int(np.argmax(on_dev))
    done = raced(case, course, rule)
    through = [int(s.name) for s in done.standings if s.judged == len(course.blocks)]
    winner = max(through, key=lambda c: (on_dev[c], -c))
    best, truth = case.truth.max(), case.truth
    return (
        done.judgments / case.scores.size,
        truth[full] - truth[winner],
        best - truth[winner],
        best - truth[full],
        float(full not in through),
        float(done.rounds),
    )


def described(cases: Sequence[Case]) -> str:
    """Return what the candidates are like: the spread of the truth, and how they correlate with one another."""
    low, high = np.mean([np.quantile(c.truth, [0.05, 0.95]) for c in cases], axis=0)
    among = np.concatenate([_among(c.scores) for c in cases])
    near, far = np.quantile(among, [0.1, 0.9])
    return (
        f"true correlations {low:.2f} to {high:.2f}; with one another {near:.2f} to {far:.2f} (mean {among.mean():.2f})"
    )


def _among(scores: Array) -> Array:
    ranked = scores[:, np.isfinite(scores).all(axis=0)].argsort(axis=1).argsort(axis=1)
    return np.asarray(np.corrcoef(ranked))[np.triu_indices(len(ranked), 1)]


def table(cases: Sequence[Case], seeds: Sequence[int], rules: Sequence[Rule]) -> str:
    lines = ["| rule | used | regret (± s.e.) | to the best | dropped | rounds |", "|---|---|---|---|---|---|"]
    full = 0.0
    for rule in rules:
        rows = np.array([outcome(c, course_of(c, s), rule) for c, s in zip(cases, seeds, strict=True)])
        used, regret, to_best, full, dropped, rounds = rows.mean(axis=0)
        error = rows[:, 1].std(ddof=1) / len(rows) ** 0.5
        lines.append(
            f"| {rule.name} | {used:.1%} | {regret:+.4f} ± {error:.4f} | {to_best:.4f} | {dropped:.0%} | {rounds:.1f} |"
        )
    lines.insert(2, f"| full search | 100.0% | 0 | {full:.4f} | 0% | 1 |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:50", help="first and one past the last")
    parser.add_argument("--population", default="simulated,real")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    first, last = map(int, arguments.seeds.split(":"))
    measured: dict[str, Measured] = {}
    populations: dict[str, Callable[[int], Case]] = {
        "simulated": simulated,
        "real": lambda seed: real(seed, arguments.data_dir, measured),
    }
    for name in arguments.population.split(","):
        cases = [populations[name](seed) for seed in range(first, last)]
        print(
            f"\n{name}, {len(cases)} repetitions: {described(cases)}\n\n{table(cases, range(first, last), RULES)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
