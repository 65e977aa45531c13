"""What score maps do for judges: recorded LLM judges and the criteria judge, on test sides that no map was fitted to.

    python experiments/score_maps.py [--seeds 0,1,2,3,4] [--sets cseval,topical-chat] [--judges gpt-4/zero-shot,…]

Every kind of map (`calibrator/stats/mapping.py`) is fitted on train + dev and measured on the test side of the same
split: mean absolute error and expected calibration error in points of the scale, Spearman. "auto" is the kind that
cross-fitting by group on train + dev chose. The criteria judge is the embedded fit to train + dev without a search; its
map is fitted to scores of folds that the fit did not see (and "in-sample", for comparison, to scores of the items it
was fitted to). A recorded judge is measured on the items it has a score for, and its scores are taken as they stand in
the data, whatever scale they are on. Means over the seeds. "chance": the calibration error that a judge with the right
mean in every bin would show on so few items. "alike": the share of test items whose score the map made equal to that of
another that had a different one. Prints tables ready for LOG.md. Needs the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from agreement import ASPECTS, columns
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.mapping import AUTO, choose_map
from calibrator.records import Item
from calibrator.stats.correlation import mae, rmse, spearman
from calibrator.stats.linear import folds_of
from calibrator.stats.mapping import KINDS, ScoreMap, fit_map
from calibrator.stats.reliability import reliability

Array = NDArray[np.float64]
CRITERIA, IN_SAMPLE = "criteria", "criteria, in-sample"
FEWEST = 30  # scored items of train and dev, and of the test side: a judge with fewer is left out
FOLDS = 5


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's scores of train + dev, that a map is fitted to, and of the test side; nan where it has none."""

    known: Array
    test: Array


@dataclass(frozen=True, slots=True)
class Figures:
    """What was measured on the test side, and the kind of map."""

    kind: str
    reason: str
    n: int
    mae: float
    rmse: float
    ece: float
    chance: float
    rho: float
    alike: float


def criteria(prepared: Prepared, known: Sequence[Item], test: Sequence[Item], seed: int) -> dict[str, Judged]:
    """Return the embedded judge's scores; those of `known` by fits to the other folds, and by the fit to all."""
    method = embedded(prepared.aspect, "spearman")
    assert method.fresh is not None
    fold = folds_of([i.group for i in known], FOLDS, np.random.default_rng(seed))
    crossed = np.empty(len(known))
    for k in range(FOLDS):
        judge = method.judge(method.fresh([i for i, f in zip(known, fold, strict=True) if f != k]))
        crossed[fold == k] = scores_of(judge.judge([i for i, f in zip(known, fold, strict=True) if f == k]))
    whole = method.judge(method.fresh(known))
    on_test = scores_of(whole.judge(test))
    return {CRITERIA: Judged(crossed, on_test), IN_SAMPLE: Judged(scores_of(whole.judge(known)), on_test)}


def measured(made: ScoreMap, reason: str, scores: Array, human: Array) -> Figures:
    kept = np.isfinite(scores)
    before, y = scores[kept], human[kept]
    after = made.apply(before)
    curve = reliability(after, y)
    values = len(np.unique(before)) - len(np.unique(after))
    return Figures(
        made.kind,
        reason,
        int(kept.sum()),
        float(mae(after, y)),
        float(rmse(after, y)),
        curve.error,
        curve.by_chance,
        float(spearman(after, y)),
        values / len(before),
    )


def look(data: str, aspect: str, seed: int, named: Sequence[str], folder: Path | None) -> dict[str, dict[str, Figures]]:
    """Return the figures of each judge with each kind of map on one split."""
    prepared = prepare(make_config(data=data, aspect=aspect, seed=seed, data_dir=folder))
    known, test = prepared.split.train + prepared.split.dev, prepared.split.test.unseal(1)
    judges = criteria(prepared, known, test, seed)
    for column in columns(data, aspect, folder):
        if not named or column.id in named:
            judges[column.id] = Judged(*(scores_of(column.judge(side)) for side in (known, test)))
    human, on_test = (np.array([i.human for i in side], dtype=float) for side in (known, test))
    groups, scale = [i.group for i in known], prepared.aspect.scale
    found: dict[str, dict[str, Figures]] = {}
    for name, judged in judges.items():
        if min(np.isfinite(judged.known).sum(), np.isfinite(judged.test).sum()) < FEWEST:
            continue
        fits = {k: fit_map(k, judged.known, human, scale.low, scale.high, scale.step) for k in KINDS}
        maps: dict[str, tuple[ScoreMap, str]] = {k: (f.map, f.reason) for k, f in fits.items()}
        chosen = choose_map(judged.known, human, groups, scale, AUTO, seed)
        maps[AUTO] = (chosen.map, chosen.reason)
        found[name] = {k: measured(made, reason, judged.test, on_test) for k, (made, reason) in maps.items()}
    return found


def mean(figures: Sequence[Figures], name: str) -> float:
    return float(np.mean([getattr(f, name) for f in figures]))


def table(found: dict[tuple[str, str], dict[str, list[Figures]]]) -> None:
    kinds = (*KINDS, AUTO)
    print("Each cell: mae / calibration error / Spearman on the test side.\n")
    print(f"| aspect | judge | n | chance | {' | '.join(kinds)} | auto chose |")
    print(f"|---|---|---|---|{'---|' * len(kinds)}---|")
    for (task, judge), by_kind in found.items():
        cells = [
            " / ".join(f"{mean(by_kind[k], m):.{d}f}" for m, d in (("mae", 2), ("ece", 2), ("rho", 3))) for k in kinds
        ]
        chose = ", ".join(f"{k} {n}×" for k, n in Counter(f.kind for f in by_kind[AUTO]).most_common())
        n, chance = mean(by_kind[AUTO], "n"), mean(by_kind[AUTO], "chance")
        print(f"| {task} | {judge} | {n:.0f} | {chance:.2f} | {' | '.join(cells)} | {chose} |")


def summary(found: dict[tuple[str, str], dict[str, list[Figures]]]) -> None:
    """Print the means over all judges but the in-sample one, and what was refused."""
    print("\n| map | mae | rmse | calibration error | Spearman | alike | refused |\n|---|---|---|---|---|---|---|")
    for kind in (*KINDS, AUTO):
        rows = [by_kind[kind] for (_, judge), by_kind in found.items() if judge != IN_SAMPLE]
        every = [f for row in rows for f in row]
        cells = [f"{mean(every, m):.3f}" for m in ("mae", "rmse", "ece", "rho", "alike")]
        refused = sum(f.kind == "identity" and bool(f.reason) for f in every) if kind != AUTO else 0
        print(f"| {kind} | {' | '.join(cells)} | {refused} of {len(every)} |")
    refusals: Counter[str] = Counter()
    for (task, judge), by_kind in found.items():
        for kind in KINDS:
            for f in by_kind[kind]:
                if f.reason:
                    refusals[f"{task}, {judge}, {kind}: {f.reason}"] += 1
    print("\n" + "\n".join(f"- {told}" for told in refusals))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--sets", default="cseval,topical-chat")
    parser.add_argument("--judges", default="", help="recorded judges by comma; all by default")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    named = [j for j in arguments.judges.split(",") if j]
    found: dict[tuple[str, str], dict[str, list[Figures]]] = {}
    for data in arguments.sets.split(","):
        for aspect in ASPECTS[data]:
            for seed in map(int, arguments.seeds.split(",")):
                for judge, by_kind in look(data, aspect, seed, named, arguments.data_dir).items():
                    rows = found.setdefault((f"{data}/{aspect}", judge), defaultdict(list))
                    for kind, figures in by_kind.items():
                        rows[kind].append(figures)
    table(found)
    summary(found)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
