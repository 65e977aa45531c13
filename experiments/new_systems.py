"""New systems: each system left out in turn, by the embedded method's own fit and by two ridges on all criteria.

    python experiments/new_systems.py [--seeds 0,1,2,3,4] [--tasks dialsummeval/coherence] [--data-dir DIR]

`plain` is a ridge on all criteria, fitted to the raw ratings (penalty by cross-validation over groups); `centred` the
same with criteria and ratings centred within each system before the fit; `product` the fit that the embedded method
makes for new systems (a rubric; plain, mixed or centred, chosen on the items it is fitted to). Each is fitted to train
and dev and measured on the test side: on new sources with all systems seen, and on new systems, where the items of each
system are scored by a fit that saw none of its items. Nothing of a left-out system is seen, its texts neither, in
standardising, choosing or fitting.

The scores of as many fits as there are systems are put together in two ways. "raw" takes them as they are, on the scale
of the ratings. But a fit without the best system has a lower mean, and so gives that system's texts lower scores than
another fit would: the order of the systems is turned round by the leaving out alone, which no judge that is used on all
systems has. "level" therefore takes off each fit's mean score of the texts of train and dev, the same texts for all
fits (those of the left-out system among them, but no rating), as `calibrator/calibration/transfer.py` does. Within a
system there is no difference. Then the same without a split of the sources: every item of a system is scored by a fit
to all rated items of the other systems, whose outputs for the same sources are among them ("all items").

Prints tables ready for LOG.md: means over the seeds, the difference of `product` and the better of the two ridges (by
its mean over the seeds), paired by seed, with its standard deviation, and how far each way of pooling is from the
project's reference figures. These do not say how they were pooled; a further way is tried for them, "bare": of the
centred ridge the weighted sum of the criteria alone, as they are measured, with no mean of criteria or ratings put
back, and of the plain one its predictions. Without a split there is one fit, whose folds the first seed draws. Needs
the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import prepare
from calibrator.criteria import Measured
from calibrator.drafting.fitting import share_for_new_systems
from calibrator.evaluation.agreement import scores_of
from calibrator.records import Item
from calibrator.stats.correlation import spearman
from calibrator.stats.grouped import between, within
from calibrator.stats.linear import center_and_spread, penalty_by_cv, ridge, standardise
from calibrator.stats.smoothing import centred_columns

Array = NDArray[np.float64]
Predict = Callable[[Sequence[Item]], Array]
Fit = Callable[[Sequence[Item]], Predict]

TASKS = (
    "dialsummeval/coherence,dialsummeval/consistency,dialsummeval/fluency,dialsummeval/relevance,"
    "topical-chat/understandability,topical-chat/naturalness,topical-chat/coherence,topical-chat/engagingness,"
    "topical-chat/groundedness,topical-chat/overall"
)
RIDGES = ("plain", "centred")
FITS = (*RIDGES, "product")
POOLINGS = ("raw", "level", "all items, raw", "all items, level")
# What plain and centred ridges are said to reach on new systems, by a way of pooling that is not said.
REFERENCE = {
    "dialsummeval/coherence": (0.06, 0.16),
    "dialsummeval/consistency": (0.40, 0.50),
    "dialsummeval/fluency": (0.15, 0.30),
    "dialsummeval/relevance": (0.52, 0.61),
    "topical-chat/overall": (0.46, 0.32),
}


@dataclass(frozen=True, slots=True)
class Figures:
    """Spearman over all items, within systems and between their means."""

    pooled: float
    within: float
    between: float


def ridge_fit(share: float, measured: Measured, seed: int) -> Fit:
    """Return how a ridge on all criteria is fitted, with a share of the systems' means taken off before."""

    def fit(items: Sequence[Item]) -> Predict:
        x = measured(items)
        center, spread = center_and_spread(x)
        both = np.column_stack([standardise(x, center, spread), human_of(items)])
        both = centred_columns(both, systems_of(items), share)
        z, y = both[:, :-1], both[:, -1]
        penalty = penalty_by_cv(z, y, [i.group for i in items], np.random.default_rng(seed))
        weights, base = ridge(z, y, penalty)
        return lambda others: standardise(measured(others), center, spread) @ weights + base

    return fit


def bare_fit(measured: Measured, seed: int) -> Fit:
    """Return how a ridge is fitted to what is left of criteria and ratings within systems; its scores have no level."""

    def fit(items: Sequence[Item]) -> Predict:
        both = centred_columns(np.column_stack([measured(items), human_of(items)]), systems_of(items), 1.0)
        both -= both.mean(axis=0)
        _, spread = center_and_spread(both[:, :-1])
        z, y = both[:, :-1] / spread, both[:, -1]
        weights, _ = ridge(z, y, penalty_by_cv(z, y, [i.group for i in items], np.random.default_rng(seed)))
        return lambda others: (measured(others) / spread) @ weights

    return fit


def product_fit(aspect: Aspect) -> Fit:
    """Return the embedded method's own fit for new systems."""
    method = embedded(aspect, "spearman", new_systems=True)

    def fit(items: Sequence[Item]) -> Predict:
        assert method.fresh is not None
        judge = method.judge(method.fresh(items))
        return lambda others: scores_of(judge.judge(others))

    return fit


def human_of(items: Sequence[Item]) -> Array:
    return np.array([i.human for i in items], dtype=float)


def systems_of(items: Sequence[Item]) -> list[str]:
    return [i.system or "" for i in items]


def figures(scores: Array, items: Sequence[Item]) -> Figures:
    human, systems = human_of(items), systems_of(items)
    return Figures(
        float(spearman(scores, human)),
        within(spearman, scores, human, systems)[0],
        between(spearman, scores, human, systems),
    )


def left_out(fit: Fit, known: Sequence[Item], test: Sequence[Item]) -> tuple[Array, Array]:
    """Return the scores of `test`, each by a fit to what of `known` is of other systems: raw, and on one level."""
    raw, level = np.empty(len(test)), np.empty(len(test))
    for name in sorted(set(systems_of(test))):
        predict = fit([i for i in known if i.system != name])
        places = [k for k, i in enumerate(test) if i.system == name]
        raw[places] = predict([test[k] for k in places])
        level[places] = raw[places] - predict(known).mean()
    return raw, level


@dataclass(frozen=True, slots=True)
class Found:
    """The figures of one aspect and seed by fit: on new sources, and on new systems by the way of pooling.

    `shares` counts how much of the systems the product took out, over the fits without one; `bare` is the pooled figure
    of the bare centred ridge.
    """

    sources: Mapping[str, Figures]
    systems: Mapping[str, Mapping[str, Figures]]
    shares: Counter[float]
    bare: float


def look(task: str, seed: int, measured: Measured, data_dir: Path | None, whole: bool) -> Found:
    """Return what there is to see on the split of a seed; `whole` says that all items are looked at as well."""
    data, aspect = task.split("/")
    prepared = prepare(make_config(data=data, aspect=aspect, seed=seed, data_dir=data_dir))
    known, test, items = (
        prepared.split.train + prepared.split.dev,
        prepared.split.test.unseal(1),
        prepared.dataset.items,
    )
    fits = {
        "plain": ridge_fit(0.0, measured, seed),
        "centred": ridge_fit(1.0, measured, seed),
        "product": product_fit(prepared.aspect),
    }
    sources, systems = {}, {}
    for name, fit in fits.items():
        sources[name] = figures(fit(known)(test), test)
        systems[name] = dict(zip(POOLINGS, (figures(s, test) for s in left_out(fit, known, test)), strict=False))
        if whole:
            both = left_out(fit, items, items)
            systems[name] |= dict(zip(POOLINGS[2:], (figures(s, items) for s in both), strict=True))
    rests = ([i for i in known if i.system != name] for name in sorted(set(systems_of(known))))
    shares = Counter(share_for_new_systems(r, measured, True) for r in rests)
    bare = figures(left_out(bare_fit(measured, seed), known, test)[0], test)
    return Found(sources, systems, shares, bare.pooled)


def mean(figures: Iterable[Figures]) -> Figures:
    rows = np.array([(f.pooled, f.within, f.between) for f in figures])
    return Figures(*(float(v) for v in rows.mean(axis=0)))


def cells(*numbers: float) -> str:
    return " | ".join(f"{v:.3f}" for v in numbers)


def of_pooling(seeds: Sequence[Found], fit: str, pooling: str) -> list[Figures]:
    """Return the figures on new systems of the seeds that have them."""
    return [s.systems[fit][pooling] for s in seeds if pooling in s.systems[fit]]


def figures_table(found: Mapping[str, Sequence[Found]]) -> None:
    print("| aspect | fit | sources: pooled | within | between | systems: raw | level | within | between raw | level |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for task, seeds in found.items():
        for fit in FITS:
            seen = mean(s.sources[fit] for s in seeds)
            raw, level = (mean(of_pooling(seeds, fit, p)) for p in POOLINGS[:2])
            told = cells(seen.pooled, seen.within, seen.between, raw.pooled, level.pooled, raw.within)
            print(f"| {task} | {fit} | {told} | {cells(raw.between, level.between)} |")
    print()


def whole_table(found: Mapping[str, Sequence[Found]]) -> None:
    print("| aspect | fit | all items: raw | level | within | between raw | level |\n|---|---|---|---|---|---|---|")
    for task, seeds in found.items():
        for fit in FITS:
            raw, level = (mean(of_pooling(seeds, fit, p)) for p in POOLINGS[2:])
            told = cells(raw.pooled, level.pooled, raw.within, raw.between, level.between)
            print(f"| {task} | {fit} | {told} |")
    print()


def gain_over_better(seeds: Sequence[Found], pooling: str) -> Array:
    """Return by how much the product is above the ridge with the better mean, seed by seed."""
    pooled = {fit: np.array([f.pooled for f in of_pooling(seeds, fit, pooling)]) for fit in FITS}
    better = max(RIDGES, key=lambda fit: float(pooled[fit].mean()))
    return np.asarray(pooled["product"] - pooled[better])


def gain_table(found: Mapping[str, Sequence[Found]]) -> None:
    print(f"| aspect | {' | '.join(POOLINGS)} | shares of the product's fits |\n|---|---|---|---|---|---|")
    columns: dict[str, list[float]] = {p: [] for p in POOLINGS}
    for task, seeds in found.items():
        told = []
        for pooling in POOLINGS:
            gain = gain_over_better(seeds, pooling)
            columns[pooling].append(float(gain.mean()))
            told.append(f"{gain.mean():+.3f}" + (f" ±{gain.std(ddof=1):.3f}" if len(gain) > 1 else ""))
        shares = sum((s.shares for s in seeds), Counter())
        print(f"| {task} | {' | '.join(told)} | {', '.join(f'{s:g}: {n}' for s, n in sorted(shares.items()))} |")
    print(f"| mean | {' | '.join(f'{np.mean(c):+.3f}' for c in columns.values())} | |\n")


def reference_table(found: Mapping[str, Sequence[Found]]) -> None:
    tasks = [t for t in found if t in REFERENCE]
    if not tasks:
        return
    print(f"| aspect | fit | reference | {' | '.join((*POOLINGS, 'bare'))} |\n|---|---|---|---|---|---|---|---|")
    gaps = []
    for task in tasks:
        for fit, said in zip(RIDGES, REFERENCE[task], strict=True):
            own = [mean(of_pooling(found[task], fit, p)).pooled for p in POOLINGS]
            own.append(own[0] if fit == "plain" else float(np.mean([s.bare for s in found[task]])))
            gaps.append([abs(v - said) for v in own])
            print(f"| {task} | {fit} | {said:.2f} | {cells(*own)} |")
    print(f"| mean distance | | | {cells(*np.mean(np.array(gaps), axis=0))} |\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    began, measured = time.perf_counter(), Measured()
    seeds = [int(s) for s in arguments.seeds.split(",")]
    found = {
        task: [look(task, seed, measured, arguments.data_dir, seed == seeds[0]) for seed in seeds]
        for task in arguments.tasks.split(",")
    }
    figures_table(found)
    whole_table(found)
    gain_table(found)
    reference_table(found)
    print(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
