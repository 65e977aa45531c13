"""Table 2 of CSEval: recorded judges against human rankings of five systems' outputs; see `cseval_table1.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from cseval_parts import Array, Rows, beside, shown, table
from cseval_published import NDCG

from calibrator.aspects import Aspect
from calibrator.evaluation.preference import Preference, by_preference
from calibrator.evaluation.rank_directions import marks, mirrored, rankings_of
from calibrator.evaluation.unified import unified


def print_table2(rows: Rows, aspects: Sequence[Aspect], resamples: int) -> None:
    rank = rows.numbers["rank_human_annotation"]
    rankings = rankings_of(rank, rows.groups)
    names = [f"{m}{way}" for m in NDCG for way in ("", "_zeroshot")]
    scores = {}
    for name in names:
        parts = {a.name: rows.numbers[f"prediction_{name}_{a.name}"] for a in aspects}
        scores[name] = unified(parts, {a.name: a for a in aspects})
    found = by_preference(scores, rank, rankings, rows.groups, 0, "lowest", resamples=resamples)
    as_recorded = {n: rows.numbers[f"prediction_{n}_avg_score"] for n in names}
    recorded = by_preference(as_recorded, rank, rankings, rows.groups, 0, "lowest", resamples=resamples)
    first, theirs = found.judges[names[0]].all, recorded.judges[names[0]].published
    print(
        "Table 2. Published way: the rank itself is the relevance, the recorded mean the score, failures are numbers:\n"
        f"{recorded.items} outputs in {recorded.rankings} rankings; a random order has {theirs.random:.3f}, the worst"
        f" {theirs.worst:.3f}.\nOtherwise: relevance 0 for the worst, the score of equation 2; {found.items} outputs in"
        f" {found.rankings} rankings, those that all\nsix judges scored; a random order has {first.random:.3f} (top"
        f" right {first.top_by_chance:.2f}), the worst {first.worst:.3f}.\nWithout the marked rankings, or with them"
        f" turned, the judges look better than they are: the marks are their own.\nFailures: {dict(found.failures)}.\n"
    )
    lines = []
    for name in names:
        own, printed = found.judges[name], recorded.judges[name].published.ndcg.value
        sides = [f"{shown(f.ndcg)}; {f.kendall.value:+.2f}; {f.top.value:.2f}" for f in (own.all, own.kept, own.turned)]
        lines.append([name, beside(printed, NDCG.get(name)), *sides])
    ways = [f"1 is best, all {found.rankings}", f"without the {len(found.marks.reversed)} marked", "with these turned"]
    table(["judge", "published way / paper", *(f"{w}: NDCG; tau; top right" for w in ways)], lines)
    print_marks(rows, rank, rankings, scores, found)


def print_marks(
    rows: Rows, rank: Array, rankings: Sequence[str], scores: Mapping[str, Array], found: Preference
) -> None:
    order = list(dict.fromkeys(rankings))
    reversed_ = set(found.marks.reversed)
    at = [k + 1 for k, name in enumerate(order) if name in reversed_]
    print(f"Marked as reversed if 1 is best: {len(at)} of {len(order)} (p = {found.marks.p:.1g}), the rankings {at}.")
    for model in NDCG:
        others = np.column_stack([s for name, s in scores.items() if not name.startswith(model)])
        by_others = set(marks(rank, others, rankings).reversed)
        print(f"By the judges other than {model}: {len(by_others)} marked, {len(by_others ^ reversed_)} otherwise.")
    mirror = mirrored(rank, rankings, rows.systems, found.marks.reversed)
    print(f"\nThe systems' mean ranks (no judge in them but for the marks), Spearman {mirror.spearman:+.2f}:\n")
    lines = [
        [s, f"{mirror.others[s]:.2f}", f"{mirror.marked[s]:.2f}"]
        for s in sorted(mirror.others, key=mirror.others.__getitem__)
    ]
    table(["system", "not marked", "marked"], lines)
