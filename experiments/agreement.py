"""How well the calibrated judge agrees with the humans, beside the LLM judges recorded in the data, on the same items.

    python experiments/agreement.py [--seeds 0] [--sets cseval,topical-chat,dialsummeval] [--purpose new-sources]

For every aspect of each set the whole default calibration of the embedded judge, as `calibrate run` does it. Prints,
ready for LOG.md:

1. Spearman on the test side with its 95 % interval over groups, the best baseline (chosen on dev), the judgments used
   as a share of scoring every candidate on all of dev, one human against another, and the best recorded judge;
2. the labels curve: Spearman on the test side of a fit to 50, 100, 200 and all labels of train and dev, no search;
3. each recorded judge on the test items it has a score for, the calibrated judge on the same ones, and the paired gain;
4. where systems are named, what the judge reaches on new sources and new systems when made for the one or the other.

A recorded judge was fitted to nothing, the calibrated one to the ratings of train and dev: the gain is what those
ratings are worth. The best recorded judge is the one with the highest figure on the very test side, which favours it,
of those with a score for 95 % of its items. With several seeds all figures, ends of intervals too, are means over them;
the test sides overlap, so that such a mean is hardly more certain than its interval says. Needs the data sets in
$CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calibrator.calibration.config import RunConfig, make_config
from calibrator.calibration.loop import calibrate
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.calibration.purpose import purpose_of
from calibrator.calibration.result import CALIBRATED, RunResult, SystemFigures, interval
from calibrator.catalog import open_source
from calibrator.evaluation.agreement import compare
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.frozen_parts import Figure
from calibrator.records import Failure, Item, Judgment, Rubric, Verdict
from calibrator.stats.resampling import Interval
from calibrator.store import Ledger, create_run

ASPECTS = {
    "cseval": ("relevance", "coherence", "aggressiveness", "suitableness"),
    "topical-chat": ("understandability", "naturalness", "coherence", "engagingness", "groundedness", "overall"),
    "dialsummeval": ("coherence", "consistency", "fluency", "relevance"),
}
PURPOSES = ("new-sources", "new-systems")
COVERED = 0.95  # of the test items: a recorded judge with fewer scores is none to be called the best
NOTHING = float("nan")


@dataclass(frozen=True, slots=True)
class Beside:
    """A recorded judge on `items` test items: its figure, the calibrated judge's on the same, and the gain over it."""

    items: float
    theirs: Interval
    ours: Interval
    gain: Interval


@dataclass(frozen=True, slots=True)
class Found:
    """One aspect on one split, by purpose, with the recorded judges by name; `chosen` is the purpose of the tables."""

    task: str
    chosen: str
    results: Mapping[str, RunResult]
    recorded: Mapping[str, Beside]

    @property
    def result(self) -> RunResult:
        return self.results[self.chosen]


class Column:
    """A judge whose scores stand in a column of the data, by row; an empty cell is a failure."""

    mode = "recorded"

    def __init__(self, name: str, cells: Mapping[int, object]) -> None:
        self.id, self._cells = name, cells

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        return tuple(self._verdict(i) for i in items)

    def _verdict(self, item: Item) -> Verdict:
        try:
            score = float(str(self._cells[item.row or 0]))
        except ValueError:
            score = NOTHING
        return Judgment(item.id, score, self.mode) if np.isfinite(score) else Failure(item.id, "no recorded score")


def columns(data: str, aspect: str, data_dir: Path | None) -> list[Column]:
    """Return the recorded LLM judges of an aspect: columns `P/<aspect>` or `recorded.P.<aspect>`, but for metrics."""
    table = open_source(data, data_dir).table
    found = []
    for column in table.columns:
        name = column.removeprefix("recorded.")
        for end in (f"/{aspect}", f".{aspect}"):
            if name.endswith(end) and not name.startswith(("metric/", "human.", "annotators.")):
                cells = {n: row.get(column) for n, row in zip(table.row_numbers, table.rows, strict=True)}
                found.append(Column(name.removesuffix(end), cells))
    return found


def run(prepared: Prepared, config: RunConfig) -> RunResult:
    """Return the result of the whole calibration, wired as `calibrate run` wires it."""
    purpose = purpose_of(config, prepared)
    new = purpose.kind == "new-systems"
    method = embedded(prepared.aspect, config.objective, config.shots, share=purpose.share, new_systems=new)
    with tempfile.TemporaryDirectory() as folder:
        made = create_run(Path(folder), "agreement", {})
        return calibrate(prepared, config, method, purpose, made, Ledger(Path(folder))).result


def beside(prepared: Prepared, result: RunResult, others: Sequence[Column], config: RunConfig) -> dict[str, Beside]:
    """Return each recorded judge on the test items that it scored, with the calibrated judge on the same ones."""
    part = result.rejected or result.rubric
    rubric = Rubric(prepared.aspect.ref, tuple(s.step() for s in part.steps), part.base)
    judge = CriteriaJudge(rubric, prepared.aspect.scale)
    items = prepared.split.test.unseal(1)
    found = {}
    for other in others:
        both = compare({CALIBRATED: judge, other.id: other}, items, config.seed, config.resamples)
        if both.items > 2:
            ours, theirs = (a.figures["spearman"] for a in both.agreements)
            found[other.id] = Beside(both.items, theirs, ours, both.gains[other.id]["spearman"])
    return found


def look(data: str, aspect: str, seed: int, asked: str | None, data_dir: Path | None) -> Found:
    config = make_config(data=data, aspect=aspect, seed=seed, purpose=asked, data_dir=data_dir)
    prepared = prepare(config)
    chosen = purpose_of(config, prepared).kind if any(i.system for i in prepared.dataset.items) else PURPOSES[0]
    wanted = PURPOSES if any(i.system for i in prepared.dataset.items) else (chosen,)
    results = {p: run(prepared, config.model_copy(update={"purpose": p})) for p in wanted}
    recorded = beside(prepared, results[chosen], columns(data, aspect, data_dir), config)
    return Found(f"{data}/{aspect}", chosen, results, recorded)


def mean(figures: Sequence[Interval]) -> Interval:
    """Return the mean of figures, each end of the interval by itself."""
    rows = np.array([[f.value, f.low, f.high] for f in figures], dtype=float)
    return Interval(*(float(v) for v in rows.mean(axis=0)))


def mean_of(figures: Sequence[Figure | None]) -> Interval:
    return mean([Interval(NOTHING, NOTHING, NOTHING) if f is None else interval(f) for f in figures])


def shown(figure: Interval, sign: str = "") -> str:
    if not np.isfinite(figure.value):
        return "–"
    return f"{figure.value:{sign}.3f} [{figure.low:{sign}.3f}, {figure.high:{sign}.3f}]"


def recorded_means(seeds: Sequence[Found]) -> dict[str, Beside]:
    """Return the means over the seeds of the judges that are there in all of them."""
    names = [n for n in seeds[0].recorded if all(n in s.recorded for s in seeds)]
    several = {n: [s.recorded[n] for s in seeds] for n in names}
    return {
        n: Beside(
            float(np.mean([b.items for b in each])),
            *(mean([getattr(b, part) for b in each]) for part in ("theirs", "ours", "gain")),
        )
        for n, each in several.items()
    }


def best_recorded(seeds: Sequence[Found]) -> tuple[str, Beside] | None:
    items = np.mean([s.result.test.items for s in seeds])
    covered = {n: b for n, b in recorded_means(seeds).items() if b.items >= COVERED * items}
    return max(covered.items(), key=lambda pair: pair[1].theirs.value) if covered else None


def agreement_table(found: Mapping[str, Sequence[Found]]) -> None:
    print("| aspect | n / groups | calibrated | best baseline | gain | best recorded judge | gain | humans | used |")
    print("|---|---|---|---|---|---|---|---|---|")
    ours = []
    for task, seeds in found.items():
        results = [s.result for s in seeds]
        over = [r.best_baseline for r in results]
        baseline = mean_of([r.test.of(o, "spearman") for r, o in zip(results, over, strict=True)])
        gain = mean_of([r.test.gains[o]["spearman"] for r, o in zip(results, over, strict=True)])
        best, humans = best_recorded(seeds), mean_of([r.ceiling.pairwise if r.ceiling else None for r in results])
        other = f"{best[0]} {shown(best[1].theirs)} | {shown(best[1].gain, '+')}" if best else "– | –"
        ours.append(mean_of([r.test.of(CALIBRATED, "spearman") for r in results]))
        used = sum(r.judgments for r in results) / sum(r.judgments_full for r in results)
        n, g = (np.mean([getattr(r.test, part) for r in results]) for part in ("items", "groups"))
        names = ", ".join(f"{o} {over.count(o)}×" if len(over) > 1 else o for o in dict.fromkeys(over))
        print(
            f"| {task} | {n:.0f} / {g:.0f} | {shown(ours[-1])} | {names} {baseline.value:.3f} | {shown(gain, '+')} "
            f"| {other} | {shown(humans)} | {used:.2f} |"
        )
    back = sum(r.verdict.handed_over != CALIBRATED for seeds in found.values() for r in (s.result for s in seeds))
    average = np.mean([f.value for f in ours])
    print(f"\nmean {average:.3f}; the baseline was handed over in {back} of {sum(map(len, found.values()))} runs\n")


def curve_table(found: Mapping[str, Sequence[Found]]) -> None:
    print("| aspect | 50 | 100 | 200 | all (how many) |\n|---|---|---|---|---|")
    rows = []
    for task, seeds in found.items():
        curves = [s.result.curve for s in seeds]
        points = [mean_of([c[k].figure for c in curves]) for k in range(min(map(len, curves)))]
        labels = np.mean([c[-1].labels for c in curves])
        rows.append([p.value for p in points])
        print(f"| {task} | {' | '.join(map(shown, points))} ({labels:.0f}) |")
    print(f"| mean | {' | '.join(f'{v:.3f}' for v in np.mean(np.array(rows), axis=0))} |\n")


def recorded_table(found: Mapping[str, Sequence[Found]]) -> None:
    print("| aspect | recorded judge | n | its Spearman | calibrated on the same items | gain |")
    print("|---|---|---|---|---|---|")
    for task, seeds in found.items():
        each = sorted(recorded_means(seeds).items(), key=lambda pair: -pair[1].theirs.value)
        for name, b in each:
            print(f"| {task} | {name} | {b.items:.0f} | {shown(b.theirs)} | {shown(b.ours)} | {shown(b.gain, '+')} |")
    print()


def part_of(figures: SystemFigures | None, part: str) -> Figure | None:
    return None if figures is None else getattr(figures, part)


def purpose_table(found: Mapping[str, Sequence[Found]]) -> None:
    parts = ("pooled", "within", "between")
    print("| aspect | made for | fit | sources: pooled | within | between | systems: pooled | within | between |")
    print("|---|---|---|---|---|---|---|---|---|")
    for task, seeds in found.items():
        if len(seeds[0].results) < 2:
            continue
        for purpose in PURPOSES:
            told = [s.results[purpose].systems for s in seeds]
            fits = [t.fit for t in told]
            fit = ", ".join(f"{f} {fits.count(f)}×" if len(fits) > 1 else f for f in dict.fromkeys(fits))
            sources = [mean_of([part_of(t.new_sources, p) for t in told]) for p in parts]
            systems = [mean_of([part_of(t.new_systems, p) for t in told]) for p in parts]
            cells = [
                shown(f) if k == 0 else f"{f.value:.3f}" for part in (sources, systems) for k, f in enumerate(part)
            ]
            print(f"| {task} | {purpose} | {fit} | {' | '.join(cells)} |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--sets", default=",".join(ASPECTS))
    parser.add_argument("--purpose", choices=PURPOSES, help="what the judge of tables 1-3 is for; else as `run` does")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    seeds = [int(s) for s in arguments.seeds.split(",")]
    found: dict[str, list[Found]] = {}
    for data in arguments.sets.split(","):
        for aspect in ASPECTS[data]:
            # A set without systems has no judge for new ones.
            asked = None if data == "cseval" else arguments.purpose
            looks = [look(data, aspect, seed, asked, arguments.data_dir) for seed in seeds]
            found[looks[0].task] = looks
    agreement_table(found)
    curve_table(found)
    recorded_table(found)
    purpose_table(found)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
