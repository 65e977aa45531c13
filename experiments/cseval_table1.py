"""What the recorded columns of CSEval allow beside the paper's Tables 1, 2, 5 and 6 (Hengle et al. 2025).

    python experiments/cseval_table1.py [--resamples 2000] [--only scores,table1,trials,labels,table2]

Prints Markdown, ready for LOG.md. Every cell "a / b" has our figure first and the paper's behind it. Ours are on the
rated items of `cseval/recorded_judges.csv` that all judges of a table scored, with intervals by bootstrap over groups
(same hate speech); the paper's are on about 6,500 rows, most of which are not at hand, so the two may differ for that
reason alone. A recorded number off the scale is a failure and counts nowhere.

1. scores: the recorded numbers that are no scores;
2. table1: rho and tau, and GPT-4 with calibrated steps against GPT-4 without;
3. trials: the 39 trials;
4. labels: which rows stand on labels that equal the judge, from `cseval/suspect_labels.csv`;
5. table2: preference rankings by NDCG.

Needs the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from cseval_parts import Array, Rows, beside, on_scale, read, scored_by_all, shown, table
from cseval_preference import print_table2
from cseval_published import ASPECTS, AUTO, DELTAS, FIRST_1000, G_EVAL, RHO, ROWS, TAU, TRIALS, ZERO_SHOT
from numpy.typing import NDArray

from calibrator.aspects import Aspect, find_aspect
from calibrator.catalog import data_folder
from calibrator.evaluation.trials import run_trials
from calibrator.stats.correlation import kendall, spearman
from calibrator.stats.permutation import paired_permutation
from calibrator.stats.resampling import group_weights, percentile_interval, resampled

ON_ALL = (
    "llama-3-8b/zero-shot",
    "llama-3-8b/auto-cseval",
    "mistral-7b/zero-shot",
    "mistral-7b/auto-cseval",
    ZERO_SHOT,
    AUTO,
)
SHARES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
COPIES = 1_000_000  # of all rows together: weights are whole numbers


def print_scores(rows: Rows, suspect: Rows, aspects: Sequence[Aspect]) -> None:
    """Say how many recorded numbers are no scores, by column."""
    lines = []
    for judge in (*ON_ALL, G_EVAL, "gptscore"):
        for aspect in aspects:
            cells = []
            for part in (rows, suspect):
                recorded = part.numbers[f"{judge}/{aspect.name}"]
                there = np.isfinite(recorded)
                off = there & ~np.isfinite(on_scale(recorded, aspect))
                cells.append((int(off.sum()), int(there.sum()), sorted(set(recorded[off].tolist()))))
            if any(c[0] for c in cells):
                numbers = sorted({v for c in cells for v in c[2]})
                lines.append(
                    [judge, aspect.name, *(f"{c[0]} of {c[1]}" for c in cells), ", ".join(f"{v:g}" for v in numbers)]
                )
    print("Recorded numbers that are no scores:\n")
    table(["judge", "aspect", "rated items", "suspect rows", "the numbers"], lines)


def print_table1(rows: Rows, aspects: Sequence[Aspect], resamples: int) -> None:
    partly = [j for j in RHO if j not in ON_ALL and rows.has(j)]
    for judges, what in (
        (list(ON_ALL), "all rated items"),
        ([*partly, ZERO_SHOT, AUTO], "the rows that have all of these"),
    ):
        places = [scored_by_all(rows, judges, a) for a in aspects]
        counts = ", ".join(f"{a.name} {len(p)}" for a, p in zip(aspects, places, strict=True))
        for name, figure, paper in (("rho", spearman, RHO), ("tau", kendall, TAU)):
            print(f"Table 1, {name}, ours on {what} ({counts} items) / the paper's:\n")
            lines = []
            for judge in judges:
                ours = [
                    float(figure(rows.judged(judge, a)[p], rows.human(a)[p]))
                    for a, p in zip(aspects, places, strict=True)
                ]
                mean = beside(float(np.mean(ours)), float(np.mean(paper[judge])))
                lines.append([judge, *map(beside, ours, paper[judge]), mean])
            table(["judge", *ASPECTS, "mean"], lines)
    print("As printed: by the authors' files the table's rows of Mistral zero-shot and Mistral G-Eval are exchanged.\n")
    print_gain(rows, aspects, resamples)


def print_gain(rows: Rows, aspects: Sequence[Aspect], resamples: int) -> None:
    """GPT-4 with calibrated steps against without, paired; also as the authors' own file has their first 1,000 rows."""
    lines = []
    for k, aspect in enumerate(aspects):
        p = scored_by_all(rows, [AUTO, ZERO_SHOT], aspect)
        auto, zero, human = rows.judged(AUTO, aspect)[p], rows.judged(ZERO_SHOT, aspect)[p], rows.human(aspect)[p]
        groups = [rows.groups[i] for i in p.tolist()]
        weights = group_weights(groups, resamples, np.random.default_rng(0))
        draws = [resampled(spearman, s, human, weights) for s in (auto, zero)]
        figures = [percentile_interval(float(spearman(s, human)), d) for s, d in zip((auto, zero), draws, strict=True)]
        gain = percentile_interval(figures[0].value - figures[1].value, draws[0] - draws[1])
        test = paired_permutation(spearman, auto, zero, human, groups, resamples, np.random.default_rng(0))
        theirs = [f"{FIRST_1000[AUTO][k] - FIRST_1000[ZERO_SHOT][k]:+.3f}", f"{RHO[AUTO][k] - RHO[ZERO_SHOT][k]:+.3f}"]
        lines.append([aspect.name, len(p), *map(shown, figures), shown(gain, "+"), f"{test:.4f}", *theirs])
    print(
        "GPT-4 with calibrated steps (Auto-CSEval) and without (zero-shot), rho, ours but for the last two columns:\n"
    )
    gains = ["gain", "p", "gain, authors' first 1,000 rows", f"gain, paper ({ROWS:,} rows)"]
    table(["aspect", "items", "Auto-CSEval", "zero-shot", *gains], lines)


def print_trials(rows: Rows, aspects: Sequence[Aspect], resamples: int) -> None:
    partly = [j for j in TRIALS if j not in ON_ALL]
    for judges, what in (
        (list(ON_ALL), "all rated items"),
        ([*partly, ZERO_SHOT, AUTO], "the rows that have all of these"),
    ):
        lines: list[list[str]] = [[j] for j in judges]
        means: dict[str, list[float]] = {j: [] for j in judges}
        for k, aspect in enumerate(aspects):
            scores = {j: rows.judged(j, aspect) for j in judges}
            found = run_trials(scores, rows.human(aspect), rows.groups, seed=0, resamples=resamples)
            for line, judge in zip(lines, judges, strict=True):
                own = found.judges[judge]
                paper = f"{TRIALS[judge][0][k]:.3f} ± {TRIALS[judge][1][k]:.3f}" if judge in TRIALS else "–"
                line.append(
                    f"{own.mean:.3f} ± {own.deviation:.3f} [{own.whole.low:.3f}, {own.whole.high:.3f}] / {paper}"
                )
                means[judge].append(own.mean)
        print(
            f"Table 5, mean ± deviation of rho over 39 trials of {found.sizes[0]} to {found.sizes[-1]} items, {what};"
        )
        print("in brackets our 95 % interval on all of them; ours / the paper's:\n")
        table(["judge", *ASPECTS], lines)
    print_deltas(means)


def print_deltas(means: Mapping[str, Sequence[float]]) -> None:
    """Table 6 from the means over trials on the rows that have all; no metric's direction is looked up."""
    metrics = [j for j in means if j.startswith("metric/")]
    best = [max(means[j][k] for j in metrics) for k in range(len(ASPECTS))]
    other = [max(means[j][k] for j in (ZERO_SHOT, G_EVAL)) for k in range(len(ASPECTS))]
    ours = {"the best metric": best, "the best other method": other}
    lines = [
        [f"Auto-CSEval less {name}", *(beside(means[AUTO][k] - ours[name][k], paper[k]) for k in range(len(ASPECTS)))]
        for name, paper in DELTAS.items()
    ]
    print("Table 6, from the trials above, ours / the paper's:\n")
    table(["difference of means", *ASPECTS], lines)


def print_labels(rows: Rows, suspect: Rows, aspects: Sequence[Aspect]) -> None:
    print(
        "Labels that equal a judge's score, % of the rows with a whole number as label: suspect rows (rated items):\n"
    )
    lines = []
    for judge in (*ON_ALL, G_EVAL):
        cells = []
        for aspect in aspects:
            both = [_equal(part.judged(judge, aspect), part.human(aspect)) for part in (suspect, rows)]
            cells.append(f"{both[0]:.1f} ({both[1]:.1f})")
        lines.append([judge, *cells])
    table(["judge", *ASPECTS], lines)
    for judge in (AUTO, G_EVAL):
        _print_mixture(rows, suspect, aspects, judge)
    _print_shares(rows, suspect, aspects)


def _equal(scores: Array, labels: Array) -> float:
    whole = np.isfinite(scores) & np.isfinite(labels) & (labels % 1 == 0)
    return 100 * float((scores[whole] == labels[whole]).mean())


@dataclass(frozen=True, slots=True)
class Mixture:
    """The scores of two judges and the labels of rated and suspect rows together; `suspect` says which are which."""

    first: Array
    second: Array
    labels: Array
    suspect: NDArray[np.bool_]

    def rho(self, share: float) -> tuple[float, float]:
        """Return rho of both judges if suspect rows were so large a share of all rows."""
        size = np.where(self.suspect, self.suspect.sum(), (~self.suspect).sum())
        weight = np.round(COPIES * np.where(self.suspect, share, 1 - share) / size)[None, :]
        return tuple(float(spearman(s, self.labels, weight)[0]) for s in (self.first, self.second))  # type: ignore[return-value]

    @property
    def own(self) -> float:
        """The share of suspect rows there is."""
        return float(self.suspect.mean())

    def needed(self, target: Callable[[float, float], float], least: float) -> float:
        """Return the smallest share of suspect rows with which the target is at least so much; nan if none is."""
        return next((s for s in np.linspace(0, 1, 1001).tolist() if target(*self.rho(s)) >= least), float("nan"))


def mixture(rows: Rows, suspect: Rows, aspect: Aspect, first: str, second: str) -> Mixture:
    places = [scored_by_all(part, [first, second], aspect) for part in (rows, suspect)]
    parts = list(zip((rows, suspect), places, strict=True))
    return Mixture(
        np.concatenate([part.judged(first, aspect)[p] for part, p in parts]),
        np.concatenate([part.judged(second, aspect)[p] for part, p in parts]),
        np.concatenate([part.human(aspect)[p] for part, p in parts]),
        np.concatenate([np.full(len(p), part is suspect) for part, p in parts]),
    )


def _print_mixture(rows: Rows, suspect: Rows, aspects: Sequence[Aspect], judge: str) -> None:
    lines = []
    for k, aspect in enumerate(aspects):
        mixed = mixture(rows, suspect, aspect, judge, ZERO_SHOT)
        clean, both = mixed.rho(0.0), mixed.rho(mixed.own)
        gains = [clean[0] - clean[1], both[0] - both[1], RHO[judge][k] - RHO[ZERO_SHOT][k]]
        made = (gains[1] - gains[0]) / (gains[2] - gains[0])
        needed = mixed.needed(lambda x, y: x - y, gains[2])
        counts = f"{(~mixed.suspect).sum()} + {mixed.suspect.sum()}"
        figures = [f"{clean[0]:.3f}", f"{both[0]:.3f}", f"{RHO[judge][k]:.3f}"]
        lines.append(
            [aspect.name, counts, *figures, *(f"{g:+.3f}" for g in gains), f"{100 * made:.0f} %", _percent(needed)]
        )
    print(
        f"`{judge}` and its lead over GPT-4 zero-shot, on rated items, with the suspect rows added, and as published;"
    )
    print(
        "how much of the way to the published lead these rows make, and what share of all rows would make all of it:\n"
    )
    rhos = ["rho, rated", "rho, with suspect", "rho, paper"]
    table(["aspect", "rows", *rhos, "lead, rated", "lead, with suspect", "lead, paper", "made", "rows needed"], lines)


def _print_shares(rows: Rows, suspect: Rows, aspects: Sequence[Aspect]) -> None:
    lines = []
    for k, aspect in enumerate(aspects):
        mixed = mixture(rows, suspect, aspect, AUTO, ZERO_SHOT)
        cells = ["{:.2f} / {:.2f}".format(*mixed.rho(s)) for s in SHARES]
        lines.append([aspect.name, *cells, f"{RHO[AUTO][k]:.2f} / {RHO[ZERO_SHOT][k]:.2f}"])
    print("rho of GPT-4 Auto-CSEval / zero-shot by the share of rows that are like the suspect ones:\n")
    table(["aspect", *(f"{100 * s:.0f} %" for s in SHARES), "paper"], lines)


def _percent(share: float) -> str:
    return "none" if np.isnan(share) else f"{100 * share:.0f} %"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--only", default="scores,table1,trials,labels,table2")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    folder = data_folder(arguments.data_dir) / "cseval"
    aspects = [find_aspect(f"cseval/{a}")[0] for a in ASPECTS]
    rows, suspect = read(folder / "recorded_judges.csv"), read(folder / "suspect_labels.csv")
    parts: dict[str, Callable[[], None]] = {
        "scores": lambda: print_scores(rows, suspect, aspects),
        "table1": lambda: print_table1(rows, aspects, arguments.resamples),
        "trials": lambda: print_trials(rows, aspects, arguments.resamples),
        "labels": lambda: print_labels(rows, suspect, aspects),
        "table2": lambda: print_table2(read(folder / "rankings.csv"), aspects, arguments.resamples),
    }
    for name in arguments.only.split(","):
        print(f"### {name}\n")
        parts[name]()


if __name__ == "__main__":
    main()
