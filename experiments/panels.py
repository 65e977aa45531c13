"""Panels against their members and against one human: the numbers of the issue that asked for them.

    python experiments/panels.py [--seeds 0,1,2,3,4] [--only cseval,topical-chat] [--resamples 2000]

For each aspect and each panel: Spearman on the test side of the panel, of its best member on dev and of every member,
mean over the seeds; the gain over the best member with its interval (mean of the ends over seeds) and in how many seeds
its lower end is above zero; one human against another on the same items; the panel against one human. Beside the fit, a
plain ridge regression on all criteria and the members' scores. Everything is fitted and chosen on train and dev, as
`calibrate panel` does it. Needs the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.calibration.progress import Silent
from calibrator.comparison.names import parse_judges
from calibrator.comparison.planning import needed
from calibrator.comparison.result import AspectTable
from calibrator.comparison.whole import AspectWork, Work, compare_all
from calibrator.criteria import measure
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.humans import ANOTHER
from calibrator.judges.frozen import FrozenJudge
from calibrator.judges.frozen_parts import Figure
from calibrator.judges.recorded import RecordedJudge, goes_by
from calibrator.models.build import Access, Connections
from calibrator.records import Item
from calibrator.stats.correlation import spearman
from calibrator.stats.linear import center_and_spread, penalty_by_cv, ridge, standardise
from calibrator.store import Ledger, Run

Array = NDArray[np.float64]
SMALL = "llama-3-8b/auto-cseval llama-3-8b/zero-shot mistral-7b/auto-cseval mistral-7b/zero-shot".split()
PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "cseval": {
        "criteria + GPT-4 zero-shot": ("criteria", "recorded:gpt-4/zero-shot"),
        "criteria + four 7-8B": ("criteria", *(f"recorded:{p}" for p in SMALL)),
    },
    "topical-chat": {
        "criteria + all recorded": (
            "criteria",
            "recorded:claude-3-haiku/overall1-5",
            "recorded:gpt-4o-mini/keyroog-overall1-3",
        )
    },
}
ASPECTS = {"cseval": ("relevance", "coherence", "aggressiveness", "suitableness"), "topical-chat": ("overall",)}
AIMS: dict[str, dict[str, float]] = {
    "criteria + GPT-4 zero-shot": {"relevance": 0.70, "coherence": 0.67, "aggressiveness": 0.53, "suitableness": 0.61},
    "criteria + four 7-8B": {"relevance": 0.67, "coherence": 0.64, "aggressiveness": 0.52, "suitableness": 0.62},
}


@dataclass(frozen=True, slots=True)
class Found:
    """One panel on one split."""

    table: AspectTable
    frozen: FrozenJudge
    ridge: float


def look(data: str, aspect: str, members: Sequence[str], join: str, seed: int, resamples: int) -> Found:
    panel = f"panel:{'ranks=' if join == 'ranks' else ''}{'+'.join(members)}"
    names = parse_judges(",".join([*members, panel]))
    recorded = tuple(dict.fromkeys(r for name in names for r in needed(name)))
    config = make_config(data=data, aspect=aspect, seed=seed, resamples=resamples, columns={"recorded": recorded})
    prepared = prepare(config)
    work = Work((AspectWork(config, prepared, names),))
    with tempfile.TemporaryDirectory() as folder, Connections(Access()) as connections:
        place = Run(Path(folder) / "panel")
        place.folder.mkdir()
        done = compare_all(work, place, place.journal(), Ledger(Path(folder)), connections, Silent())
    table = done.result.tables[0]
    return Found(table, done.frozen[f"{table.aspect.suite}/{aspect}"], plain_ridge(prepared, recorded, seed))


def plain_ridge(prepared: Prepared, recorded: Sequence[str], seed: int) -> float:
    """Return the test-side Spearman of a ridge on all criteria and recorded scores, on the items that have them all."""
    known, test = prepared.split.train + prepared.split.dev, prepared.split.test.unseal(1)
    on_scale = {name: goes_by(prepared.aspect.scale, name, known) for name in recorded}
    judges = [RecordedJudge(name, prepared.aspect.scale if on_scale[name] else None) for name in recorded]

    def columns(items: Sequence[Item]) -> Array:
        return np.column_stack([measure(items), *(scores_of(judge.judge(items)) for judge in judges)])

    x, y = columns(known), np.array([i.human for i in known], dtype=float)
    x = np.where(np.isnan(x), np.nanmean(x, axis=0), x)
    center, spread = center_and_spread(x)
    z = standardise(x, center, spread)
    penalty = penalty_by_cv(z, y, [i.group for i in known], np.random.default_rng(seed))
    weights, base = ridge(z, y, penalty)
    predicted = standardise(columns(test), center, spread) @ weights + base
    there = np.isfinite(predicted)
    return float(spearman(predicted[there], np.array([i.human for i in test], dtype=float)[there]))


def rho(found: Found, name: str) -> float:
    row = next(r for r in found.table.rows if r.name == name)
    value = row.figures["spearman"].value
    return float("nan") if value is None else value


def mean(values: Sequence[float | None]) -> float:
    return float(np.mean([np.nan if v is None else v for v in values]))


def line(data: str, aspect: str, title: str, join: str, founds: Sequence[Found]) -> str:
    panel = founds[0].table.rows[[r.family for r in founds[0].table.rows].index("panel")].name
    row = [next(r for r in f.table.rows if r.name == panel) for f in founds]
    verdicts = [f.frozen.verdict for f in founds if f.frozen.verdict is not None]
    gains: list[Figure] = [v.gain for v in verdicts]
    above = sum(g.low is not None and g.low > 0 for g in gains)
    members = [r.name for r in founds[0].table.rows if r.family not in ("panel", "human")]
    best = {m: mean([rho(f, m) for f in founds]) for m in members}
    ones = [r.one.value if r.one else None for r in row]
    aim = AIMS.get(title, {}).get(aspect)
    low, value, high = (mean([getattr(g, part) for g in gains]) for part in ("low", "value", "high"))
    cells = (
        f"{data} {aspect}",
        f"{title}, {join}",
        f"{mean([rho(f, panel) for f in founds]):.3f}",
        "–" if aim is None else f"{aim:.2f}",
        f"{mean([f.ridge for f in founds]):.3f}" if join == "fit" else "–",
        ", ".join(f"{best[m]:.3f} {m.removeprefix('recorded:')}" for m in sorted(best, key=lambda m: -best[m])),
        f"{value:+.3f} [{low:+.3f}, {high:+.3f}]",
        f"{above} of {len(gains)}",
        f"{mean([rho(f, ANOTHER) for f in founds]):.3f}",
        f"{mean(ones):.3f}",
        " ".join(f"{rho(f, panel):.3f}" for f in founds),
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--only", default="cseval,topical-chat")
    parser.add_argument("--resamples", type=int, default=2000)
    arguments = parser.parse_args()
    heads = (
        "aspect",
        "panel",
        "rho",
        "aim",
        "plain ridge",
        "members",
        "gain over the best member on dev",
        "above 0",
        "one human against another",
        "panel against one human",
        "by seed",
    )
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for data in arguments.only.split(","):
        for aspect in ASPECTS[data]:
            for title, members in PANELS[data].items():
                for join in ("fit", "ranks"):
                    seeds = [int(s) for s in arguments.seeds.split(",")]
                    founds = [look(data, aspect, members, join, s, arguments.resamples) for s in seeds]
                    print(line(data, aspect, title, join, founds), flush=True)


if __name__ == "__main__":
    main()
