"""The terminal: plan, live progress, final table; plain lines where the output is no terminal."""

from __future__ import annotations

import math
import time
from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column, Table

from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Plan, Prepared
from calibrator.calibration.result import RunResult
from calibrator.export import number_of, weight_in_words
from calibrator.report.console import say
from calibrator.report.markdown import MEASURES, cautions, cell, failures, verdict_line


def show_plan(console: Console, prepared: Prepared, config: RunConfig, plan: Plan, judge: str) -> None:
    """Say what the run will work on and how much work that is, before it starts."""
    dataset, split, aspect = prepared.dataset, prepared.split, prepared.aspect
    say(console, f"{aspect.label} ({aspect.ref}, {prepared.chosen}), scale {aspect.scale}", "bold")
    say(console, f"data      {dataset.name}: {len(dataset.items)} rated items, {dataset.groups} groups")
    say(console, f"columns   {dataset.mapped.described()}")
    sides = f"train {len(split.train)} / dev {len(split.dev)} / test {len(split.test)} (sealed), seed {split.seed}"
    say(console, f"split     {sides}")
    work = f"{plan.drafts} drafts, up to {plan.refinements} refinements, up to {plan.judgments:,} judgments"
    say(console, f"plan      judge {judge}, protocol {config.protocol}: {work}, no call to any model")
    for warning in prepared.warnings:
        say(console, f"warning   {warning}", "yellow")


def show_result(console: Console, result: RunResult, look: int, frozen: str, report: str) -> None:
    """Print the final table, the rubric and where everything lies."""
    title = f"{result.aspect.suite}/{result.aspect.name}: test side, {result.test.items} items"
    table = Table("judge", *(Column(m, justify="right") for m in (*MEASURES, "failures")), title=title)
    for judge in result.test.judges:
        table.add_row(judge.name, *(cell(judge.figures[m]) for m in MEASURES), failures(judge))
    console.print(table)
    say(console, verdict_line(result), "bold")
    for caution in cautions(result):
        say(console, f"caution: {caution}", "yellow")
    say(console, result.test.signature, "dim")
    say(console, f"look {look} at this test side")
    say(console, f"\nThe rubric (an average text scores {result.base:.2f}):")
    for number, step in enumerate(result.steps, 1):
        weight = f" [{weight_in_words(step, result.steps)}, {step.worth:+.2f}]" if step.measures else ""
        say(console, f"{number:3}. {step.text}{weight}")
    say(console, f"\nfrozen judge  {frozen}\nreport        {report}")


class LiveProgress:
    """Bars with candidates, judgments, rate, best so far and time left; without a terminal, a line for each phase."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task: TaskID | None = None
        self._phase, self._done, self._total = "", 0, 0
        self._judgments, self._best = 0, math.nan
        self._began = time.monotonic()

    def __enter__(self) -> LiveProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._tell()
        self._bar.stop()

    def phase(self, name: str, total: int) -> None:
        """Begin a phase."""
        self._tell()
        self._phase, self._done, self._total = name, 0, total
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total, note=self._note())

    def advance(self, judgments: int) -> None:
        """Count one candidate and its judgments."""
        self._judgments += judgments
        self._done += 1
        if self._task is not None:
            self._bar.update(self._task, advance=1, note=self._note())

    def best(self, value: float) -> None:
        """Keep the best so far."""
        self._best = value

    def _note(self) -> str:
        if not self._judgments:
            return ""
        seconds = time.monotonic() - self._began
        rate = f"{self._judgments / seconds:,.0f}/s" if seconds > 0.2 and self._judgments else ""
        best = number_of(self._best) if math.isfinite(self._best) else "–"
        return f"{self._judgments:,} judgments {rate} best {best}"

    def _tell(self) -> None:
        if self._phase and not self._console.is_terminal:
            done = f"{self._phase}: {self._done} of {self._total} candidates"
            line = ", ".join(part for part in (done, self._note()) if part)
            say(self._console, line)
