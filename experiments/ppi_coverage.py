"""Do prediction-powered 95 % intervals hold the truth in 95 of 100 samples, and how much narrower are they?

    python experiments/ppi_coverage.py [--repeats 500] [--only mean,real,difference,figure,macro] [--seed 0]

Every part draws samples from a population whose truth is known, and counts the intervals that hold it:

- mean: a rating from 1 to 5 and a judge's score on the same scale, for three kinds of ratings (one rater; the mean of
  three; one rater who mostly gives the highest), labelled samples of 10, 25, 50 and 100 with 300 unlabelled items, and
  judges whose latent correlation with the ratings is 0, 0.3, 0.6 and 0.9, with and without one point too much;
- real: the 360 items of Topical-Chat are the population, with the judges recorded for them; drawn with replacement;
- difference: the same for two of its systems, sources drawn, paired by source;
- figure: a rank correlation, by `powered_statistic`;
- macro: macro-F1 of human labels against those intended, by `powered_statistic` with and without its smoothing, over
  six populations (two, three or six classes, even or not, followed often or seldom, a judge that errs one way) on which
  the smoothing was chosen, and two on which it was not (a judge that believes what was intended, four classes).

Four intervals stand beside each other: the classical one (Student's t, labelled items only), the original PPI (weight
1) and PPI++ as published (normal quantiles), and `powered_mean` as it is by default. What that is was chosen by the
part `mean` alone. The standard error of a coverage of 95 % over 500 samples is one point; `real` and `difference` draw
half as many, `figure` and `macro` a fifth. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrator.catalog import SETS, is_there, open_source
from calibrator.stats.correlation import spearman
from calibrator.stats.prediction_powered import Powered, powered_difference, powered_mean
from calibrator.stats.prediction_powered_bootstrap import powered_statistic

Array = NDArray[np.float64]
Intervals = Mapping[str, tuple[float, float]]
SIZES = (10, 25, 50, 100)
OTHERS = 300
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
CUTS = {
    "one rater": (-1.5, -0.5, 0.5, 1.5),
    "mean of three": (-1.5, -0.5, 0.5, 1.5),
    "mostly the highest": (-2.2, -1.6, -1.1, -0.4),
}
CLASSICAL, ORIGINAL, PUBLISHED, OURS = "classical", "PPI, weight 1", "PPI++", "ours"
POPULATION = 400_000  # items from which the truth is worked out


def intervals(human: Array, judged: Array, others: Array) -> dict[str, tuple[float, float]]:
    ours = powered_mean(human, judged, others)
    found = {CLASSICAL: (ours.classical_low, ours.classical_high), OURS: (ours.low, ours.high)}
    for name, weight in ((ORIGINAL, 1.0), (PUBLISHED, None)):
        powered = powered_mean(human, judged, others, weight=weight, method="published")
        found[name] = (powered.low, powered.high)
    return found


def counted(samples: Iterator[tuple[Intervals, float]]) -> dict[str, tuple[float, float]]:
    """Return by interval the share that held the truth, and its mean width by that of the classical one.

    A sample without any spread in its labels has no interval: it holds nothing, and has no width.
    """
    held: dict[str, list[bool]] = {}
    width: dict[str, list[float]] = {}
    for given, truth in samples:
        for name, (low, high) in given.items():
            held.setdefault(name, []).append(bool(low <= truth <= high))
            width.setdefault(name, []).append(high - low)
    base = np.nanmean(width[CLASSICAL])
    return {n: (float(np.mean(held[n])), float(np.nanmean(width[n]) / base)) for n in held}


def drawn(kind: str, size: int, correlation: float, bias: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return ratings and a judge's scores of a sample, from 1 to 5."""
    latent, noise = rng.normal(size=(2, size))
    seen = correlation * latent + np.sqrt(1 - correlation**2) * noise
    cuts = CUTS[kind]
    score = np.clip(np.digitize(seen, cuts) + 1.0 + bias, 1, 5)
    if kind != "mean of three":
        return np.digitize(latent, cuts) + 1.0, score
    raters = 0.8 * latent + 0.6 * rng.normal(size=(3, size))
    return (np.digitize(raters, cuts) + 1.0).mean(axis=0), score


def means(repeats: int, seed: int) -> None:
    """Print the coverage of means over populations that are made up."""
    print("| ratings | labels | coverage, mean and lowest of 8: " + " | ".join((CLASSICAL, ORIGINAL, PUBLISHED, OURS))
          + " | width of ours at r = 0 / 0.3 / 0.6 / 0.9 | effective labels |\n|" + "---|" * 8)  # fmt: skip
    for kind, size in itertools.product(CUTS, SIZES):
        truth = float(drawn(kind, POPULATION, 0.0, 0, np.random.default_rng(seed + 1))[0].mean())
        covers: dict[str, list[float]] = {}
        widths, effective = [], []
        for correlation, bias in itertools.product(CORRELATIONS, (0, 1)):
            rng = np.random.default_rng([seed, size, int(10 * correlation), bias])
            human, judged = drawn(kind, repeats * (size + OTHERS), correlation, bias, rng)
            parts = human.reshape(repeats, -1)[:, :size], judged.reshape(repeats, -1)
            given = [(h, j[:size], j[size:]) for h, j in zip(*parts, strict=True)]
            found = counted((intervals(*g), truth) for g in given)
            for name, (share, _) in found.items():
                covers.setdefault(name, []).append(share)
            if not bias:
                widths.append(found[OURS][1])
                effective.append(float(np.median([powered_mean(*g).effective for g in given[:200]])))
        cells = [f"{np.mean(covers[n]):.3f}, {min(covers[n]):.3f}" for n in (CLASSICAL, ORIGINAL, PUBLISHED, OURS)]
        told = " / ".join(f"{w:.2f}" for w in widths), " / ".join(f"{e:.0f}" for e in effective)
        print(f"| {kind} | {size} | {' | '.join(cells)} | {told[0]} | {told[1]} |", flush=True)


def real_columns(data_dir: Path | None) -> tuple[Sequence[Mapping[str, object]], list[tuple[str, str]]]:
    """Return the rows of Topical-Chat, and each aspect and recorded judge that has a score for every row."""
    rows = open_source("topical-chat", data_dir).table.rows
    found = []
    for column in rows[0]:
        aspect = column.rpartition(".")[2]
        if column.startswith("recorded.") and np.isfinite(numbers(rows, column)).all():
            found.append((aspect, column))
    return rows, found


def numbers(rows: Sequence[Mapping[str, object]], column: str) -> Array:
    def number(value: object) -> float:
        try:
            return float(str(value))
        except ValueError:
            return float("nan")

    return np.array([number(r.get(column)) for r in rows])


def real(repeats: int, seed: int, data_dir: Path | None) -> None:
    """Print the coverage where the items of a data set are the population, and its recorded judges the judges."""
    rows, pairs = real_columns(data_dir)
    print(f"\n{len(pairs)} pairs of an aspect and a recorded judge that scored all {len(rows)} items\n")
    print("| labels | coverage, mean and lowest: " + " | ".join((CLASSICAL, ORIGINAL, PUBLISHED, OURS))
          + " | width, mean: " + " | ".join((ORIGINAL, PUBLISHED, OURS)) + " | least |\n|" + "---|" * 9)  # fmt: skip
    for size in SIZES:
        found = []
        for k, (aspect, column) in enumerate(pairs):
            human, judge = numbers(rows, f"human.{aspect}"), numbers(rows, column)
            rng = np.random.default_rng([seed, size, k])
            draws = rng.integers(len(rows), size=(repeats, size + OTHERS))
            samples = ((intervals(human[d[:size]], judge[d[:size]], judge[d[size:]]), human.mean()) for d in draws)
            found.append(counted(samples))
        names = (CLASSICAL, ORIGINAL, PUBLISHED, OURS)
        covers = {n: [f[n][0] for f in found] for n in names}
        widths = {n: [f[n][1] for f in found] for n in names}
        cells = [f"{np.mean(covers[n]):.3f}, {min(covers[n]):.3f}" for n in names]
        cells += [f"{np.mean(widths[n]):.2f}" for n in names[1:]] + [f"{min(widths[OURS]):.2f}"]
        print(f"| {size} | {' | '.join(cells)} |", flush=True)


def difference(repeats: int, seed: int, data_dir: Path | None) -> None:
    """Print the coverage of differences of systems, sources drawn with replacement."""
    rows, pairs = real_columns(data_dir)
    systems = sorted({str(r["system"]) for r in rows})
    sources = sorted({str(r["group"]) for r in rows})
    place = {(str(r["system"]), str(r["group"])): k for k, r in enumerate(rows)}
    print("\n| sources labelled | coverage, mean and lowest pair of systems: classical | ours | width | least |")
    print("|---|---|---|---|---|")
    for size in (10, 25, 50):
        found = []
        for k, (a, b) in enumerate(itertools.combinations(systems, 2)):
            rng = np.random.default_rng([seed, size, k])
            aspect, column = pairs[k % len(pairs)]
            human, judge = numbers(rows, f"human.{aspect}"), numbers(rows, column)
            one, two = (np.array([place[s, g] for g in sources]) for s in (a, b))
            truth = float(human[one].mean() - human[two].mean())
            draws = [(d[:size], d[size:]) for d in rng.integers(len(sources), size=(repeats, size + OTHERS))]
            found.append(counted(_differences((human[one], human[two]), (judge[one], judge[two]), truth, draws)))
        covers = {n: [f[n][0] for f in found] for n in (CLASSICAL, OURS)}
        widths = [f[OURS][1] for f in found]
        cells = [f"{np.mean(c):.3f}, {min(c):.3f}" for c in covers.values()]
        print(f"| {size} | {' | '.join(cells)} | {np.mean(widths):.2f} | {min(widths):.2f} |", flush=True)


def _differences(
    human: tuple[Array, Array],
    judge: tuple[Array, Array],
    truth: float,
    draws: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> Iterator[tuple[Intervals, float]]:
    (a, b), (x, y) = human, judge
    for first, others in draws:
        p = powered_difference(a[first], x[first], x[others], b[first], y[first], y[others])
        yield {CLASSICAL: (p.classical_low, p.classical_high), OURS: (p.low, p.high)}, truth


def rank(ratings: Array, metric: Array) -> float:
    return float(spearman(ratings, metric))


def ranks(size: int, correlation: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    latent, noise, other = rng.normal(size=(3, size))
    seen = correlation * latent + np.sqrt(1 - correlation**2) * noise
    cuts = CUTS["one rater"]
    return np.digitize(latent, cuts) + 1.0, np.digitize(seen, cuts) + 1.0, 0.6 * latent + 0.8 * other


def figure(repeats: int, seed: int) -> None:
    """Print the coverage of a rank correlation."""
    print("\n| figure | judge | labels | coverage: classical | ours | width | weight |\n|" + "---|" * 7)
    for quality, size in itertools.product((0.6, 0.9), (25, 50, 100)):
        whole = ranks(POPULATION, quality, np.random.default_rng(seed + 1))
        truth = rank(whole[0], whole[2])
        rng = np.random.default_rng([seed, size, int(10 * quality)])
        powered = [bootstrapped(rank, ranks(size + OTHERS, quality, rng), size, rng) for _ in range(repeats)]
        found = counted((ends(p), truth) for p in powered)
        cells = f"{found[CLASSICAL][0]:.3f} | {found[OURS][0]:.3f} | {found[OURS][1]:.2f}"
        weight = np.mean([p.weight for p in powered])
        print(f"| Spearman | {quality:g} | {size} | {cells} | {weight:.2f} |", flush=True)


def bootstrapped(
    statistic: Callable[..., float],
    sample: tuple[Array, Array, Array],
    size: int,
    rng: np.random.Generator,
    smoothing: float = 1.0,
) -> Powered:
    human, judged, beside = sample
    return powered_statistic(
        statistic, human[:size], judged[:size], judged[size:], rng, along=[beside[:size]],
        unlabelled_along=[beside[size:]], resamples=100, smoothing=smoothing,
    )  # fmt: skip


def ends(found: Powered) -> Intervals:
    return {CLASSICAL: (found.classical_low, found.classical_high), OURS: (found.low, found.high)}


@dataclass(frozen=True)
class Labels:
    """A population of labels: how often each is intended and how often it is followed, else a label by lot.

    A judge repeats the human label so often, else gives a label by lot; or the first one, or the one intended.
    """

    shares: tuple[float, ...]
    followed: float
    errs: Literal["by lot", "one way", "as intended"] = "by lot"

    def drawn(self, size: int, right: float, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Return labels by humans, by a judge and as intended."""
        number = len(self.shares)
        meant, lot, slip = rng.choice(number, p=self.shares, size=size), *rng.integers(number, size=(2, size))
        human = np.where(rng.random(size) < self.followed, meant, lot)
        wrong = {"by lot": slip, "one way": np.zeros(size), "as intended": meant}[self.errs]
        judged = np.where(rng.random(size) < right, human, wrong)
        return human.astype(float), judged.astype(float), meant.astype(float)


CHOSEN_ON = (
    Labels((0.5, 0.5), 0.7),
    Labels((0.8, 0.2), 0.6),
    Labels((0.5, 0.3, 0.2), 0.7),
    Labels((0.4, 0.3, 0.3), 0.9),
    Labels((0.3, 0.2, 0.2, 0.1, 0.1, 0.1), 0.6),
    Labels((0.5, 0.5), 0.6, "one way"),
)
NEW = (Labels((0.4, 0.4, 0.2), 0.8, "as intended"), Labels((0.55, 0.25, 0.1, 0.1), 0.75))


def macro_f1(labels: Array, meant: Array) -> float:
    """Return the mean F1 over the classes that occur, as `macro_f1_score` has it."""
    number = 6
    table = np.bincount((number * labels + meant).astype(np.int64), minlength=number**2).reshape(number, number)
    every = table.sum(axis=0) + table.sum(axis=1)
    return float((2 * np.diag(table)[every > 0] / every[every > 0]).mean())


def macro(repeats: int, seed: int) -> None:
    """Print the coverage of macro-F1, with the plain bootstrap and the smoothed one."""
    print("\n| populations | judge right | labels | plain bootstrap: classical | ours | smoothed: classical | ours |"
          " width of ours, plain | smoothed | weight |\n|" + "---|" * 10)  # fmt: skip
    named = (("6, chosen on", CHOSEN_ON), ("2, new", NEW))
    for (name, kinds), right, size in itertools.product(named, (0.6, 0.9, 0.97), SIZES):
        cells: list[list[float]] = []
        for k, kind in enumerate(kinds):
            whole = kind.drawn(POPULATION, right, np.random.default_rng(seed + 1))
            truth = macro_f1(whole[0], whole[2])
            rng = np.random.default_rng([seed, size, int(100 * right), len(kinds), k])
            samples = [kind.drawn(size + OTHERS, right, rng) for _ in range(repeats)]
            both = [[bootstrapped(macro_f1, s, size, rng, smoothing) for s in samples] for smoothing in (0.0, 1.0)]
            plain, smoothed = (counted((ends(p), truth) for p in powered) for powered in both)
            base = np.nanmean([p.classical_high - p.classical_low for p in both[0]])
            widths = [float(np.nanmean([p.high - p.low for p in powered]) / base) for powered in both]
            weight = float(np.mean([p.weight for p in both[1]]))
            cells.append([x[n][0] for x in (plain, smoothed) for n in (CLASSICAL, OURS)] + [*widths, weight])
        table = np.array(cells)
        covers = [f"{column.mean():.3f}, {column.min():.2f}" for column in table[:, :4].T]
        rest = [f"{v:.2f}" for v in table[:, 4:].mean(axis=0)]
        print(f"| {name} | {right:g} | {size} | {' | '.join([*covers, *rest])} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=500)
    parser.add_argument("--only", default="mean,real,difference,figure,macro")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    began, wanted = time.monotonic(), arguments.only.split(",")
    here = is_there(SETS["topical-chat"], arguments.data_dir)
    if "mean" in wanted:
        means(arguments.repeats, arguments.seed)
    if "real" in wanted and here:
        real(max(1, arguments.repeats // 2), arguments.seed, arguments.data_dir)
    if "difference" in wanted and here:
        difference(max(1, arguments.repeats // 2), arguments.seed, arguments.data_dir)
    if {"real", "difference"} & set(wanted) and not here:
        print("\nTopical-Chat is not here; see `calibrate data list`")
    if "figure" in wanted:
        figure(max(1, arguments.repeats // 5), arguments.seed)
    if "macro" in wanted:
        macro(max(1, arguments.repeats // 5), arguments.seed)
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
