"""One table of the runs for all aspects of a data set."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Column, Table

from calibrator.calibration.result import CALIBRATED, RunResult
from calibrator.report.console import say, told_p
from calibrator.report.lines import cell, verdict_line
from calibrator.stats.permutation import holm


def show_every(console: Console, results: Sequence[RunResult]) -> None:
    """Print a line for each aspect. The p-values of the gains are Holm's, adjusted over the aspects."""
    objective = results[0].objective
    table = Table(
        Column("aspect", no_wrap=True),
        *(Column(name, justify="right", no_wrap=True) for name in (objective, "of a human", "new systems", "gain")),
        *(Column(name, justify="right") for name in ("p", "p Holm")),
        "gate",
        title=f"{results[0].data.name}: all rated aspects, test sides",
    )
    adjusted = adjusted_p(results)
    for result, p in zip(results, adjusted, strict=True):
        over = result.best_baseline
        share = result.ceiling.one_share.value if result.ceiling else None
        new = result.systems.new_systems
        table.add_row(
            result.aspect.name,
            cell(result.test.of(CALIBRATED, objective), digits=2),
            "–" if share is None else f"{100 * share:.0f} %",
            "–" if new is None else cell(new.pooled, digits=2),
            cell(result.test.gains[over][objective], signed=True, digits=2),
            told_p(result.test.p.get(over)),
            told_p(p),
            "passed" if result.verdict.passed else "not",
        )
    console.print(table)
    say(console, "of a human: the judge against one human, over one human against another (spearman)", "dim")
    overs = ", ".join(f"{r.aspect.name} '{r.best_baseline}'" for r in results)
    say(console, f"gain: over the best baseline on dev ({overs}); p adjusted over the aspects by Holm", "dim")


def show_lines(console: Console, results: Sequence[RunResult], judges: Sequence[str]) -> None:
    """Print a line for each aspect and nothing else: the verdict, p after Holm, the gate, where its judge is."""
    for result, p, judge in zip(results, adjusted_p(results), judges, strict=True):
        gate = "passed" if result.verdict.passed else "not passed"
        say(console, f"{result.aspect.name}: {verdict_line(result)} p Holm {told_p(p)}, gate {gate}: {judge}")


def adjusted_p(results: Sequence[RunResult]) -> list[float | None]:
    """Return the p of each run's gain over its best baseline, adjusted by Holm (1979) for how many were tested."""
    given = [result.test.p.get(result.best_baseline) for result in results]
    return [None if math.isnan(p) else p for p in holm([math.nan if p is None else p for p in given])]
