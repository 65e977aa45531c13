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
from calibrator.calibration.method import Method
from calibrator.calibration.prepare import Plan, Prepared
from calibrator.calibration.purpose import Purpose
from calibrator.calibration.result import RunResult
from calibrator.export import number_of
from calibrator.models.prices import Price, price_for
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.models.recorded import Spent
from calibrator.records import Failure, Usage, Verdict
from calibrator.report.console import say
from calibrator.report.lines import (
    cautions,
    ceiling_line,
    cell,
    curve_line,
    handed_line,
    start_line,
    systems_lines,
    verdict_line,
)
from calibrator.report.markdown import MEASURES, shown
from calibrator.report.score_map import map_line

REFRESH = 0.1  # seconds


def show_plan(
    console: Console, prepared: Prepared, config: RunConfig, plan: Plan, method: Method, purpose: Purpose
) -> None:
    """Say what the run will work on and how much work that is, before it starts."""
    dataset, split, aspect = prepared.dataset, prepared.split, prepared.aspect
    say(console, f"{aspect.label} ({aspect.ref}, {prepared.chosen}), scale {aspect.scale}", "bold")
    say(console, f"data      {dataset.name}: {len(dataset.items)} rated items, {dataset.groups} groups")
    say(console, f"columns   {dataset.mapped.described()}")
    sides = f"train {len(split.train)} / dev {len(split.dev)} / test {len(split.test)} (sealed), seed {split.seed}"
    say(console, f"split     {sides}")
    say(console, f"for       {purpose.kind} ({purpose.why}; {purpose.fit})")
    work = f"{plan.drafts} drafts, up to {plan.refinements} refinements, up to {plan.judgments:,} judgments"
    say(console, f"plan      protocol {config.protocol}: {work}")
    if plan.tokens is None:
        say(console, f"models    judge {method.name}, drafter {method.drafter}: no call to any model")
    else:
        cap = f"; never more than {access.cap}" if (access := config.access(None)).cap is not None else ""
        who = f"judge {config.model}, drafter {' + '.join(config.drafters)}, scores {config.mode.name}"
        say(console, f"models    {who}{cap}")
        tokens = f"about {plan.tokens:,} prompt tokens (letters / {LETTERS_A_TOKEN:g})"
        say(console, f"cost      up to {plan.calls:,} calls, {tokens}; {money(config, plan, access.price)}")
    for fault in prepared.faults:
        say(console, f"fault     {fault}", "red")
    for warning in prepared.warnings:
        say(console, f"warning   {warning}", "yellow")


def money(config: RunConfig, plan: Plan, said: Price | None) -> str:
    """Return what the planned calls may cost at the price of the judge, in words; an unknown price is said."""
    price = price_for(config.model or "", said)
    if price is None:
        return f"the price of {config.model} is not known (--price gives it)"
    prompts = price.cost(Usage(plan.tokens or 0))
    replies = price.cost(Usage(0, plan.reply_tokens))
    halves = " at half the price" if config.batch else ""
    share = 0.5 if config.batch else 1.0
    return f"{share * prompts:.3g} US dollars and, for replies, at most {share * replies:.3g}{halves}"


def show_result(console: Console, result: RunResult, look: int, frozen: str, report: str) -> None:
    """Print the final table, the rubric and where everything lies."""
    title = f"{result.aspect.suite}/{result.aspect.name}: test side, {result.test.items} items"
    table = Table("judge", *(Column(m, justify="right") for m in (*MEASURES, "failures")), title=title)
    for judge in result.test.judges:
        table.add_row(judge.name, *(cell(judge.figures[m]) for m in MEASURES), str(sum(judge.failures.values())))
    console.print(table)
    say(console, verdict_line(result), "bold")
    for line in (
        start_line(result),
        handed_line(result),
        map_line(result),
        ceiling_line(result),
        *systems_lines(result),
        curve_line(result),
    ):
        if line:
            say(console, line)
    for caution in cautions(result):
        say(console, f"caution: {caution}", "yellow")
    say(console, result.test.signature, "dim")
    say(console, f"look {look} at this test side")
    say(console, "\nThe rubric:")
    for line in shown(result.rubric):
        say(console, line.replace("*", ""))
    say(console, f"\nfrozen judge  {frozen}\nreport        {report}")


class LiveProgress:
    """Bars with candidates, judgments, rate, best so far and time left; without a terminal, a line for each phase."""

    def __init__(self, console: Console, what: str = "candidates") -> None:
        """`what` is counted in the phases."""
        self._console, self._what = console, what
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
        self._each, self._partly, self._failing = 1, 0, 0
        self._judgments, self._failures, self._best = 0, 0, math.nan
        self._spent: dict[str, Spent] = {}
        self._began = time.monotonic()
        self._shown = 0.0

    def __enter__(self) -> LiveProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._tell()
        self._bar.stop()

    def phase(self, name: str, total: int, each: int = 1) -> None:
        """Begin a phase."""
        self._tell()
        self._phase, self._done, self._total = name, 0, total
        self._each, self._partly, self._failing = max(1, each), 0, 0
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total, note=self._note())

    def advance(self, judgments: int) -> None:
        """Count one candidate and its judgments; verdicts that were none of the search (0 judgments) are let go."""
        self._judgments += judgments
        self._failures += self._failing if judgments else 0
        left = max(0, self._partly - judgments) if judgments else 0  # several candidates may be at work at once
        self._done, self._partly, self._failing = self._done + 1, left, 0
        self._show(at_once=True)

    def verdict(self, verdict: Verdict) -> None:
        """Count one verdict of the candidate at work."""
        self._partly += 1
        self._failing += isinstance(verdict, Failure)
        self._show()

    def spent(self, model: str, spent: Spent) -> None:
        """Keep what a model was used for."""
        self._spent[model] = spent
        self._show()

    def news(self, line: str) -> None:
        """Print a line above the bar."""
        say(self._console, line)

    def best(self, value: float) -> None:
        """Keep the best so far."""
        self._best = value

    def _show(self, at_once: bool = False) -> None:
        """Bring the bar up to date, no more often than an eye can follow: replies come by the thousand."""
        if self._task is None or not (at_once or time.monotonic() - self._shown > REFRESH):
            return
        self._shown = time.monotonic()
        completed = min(self._done + self._partly / self._each, max(self._done, self._total - 0.001))
        self._bar.update(self._task, completed=completed, note=self._note())

    def _note(self) -> str:
        judgments = self._judgments + self._partly
        if not (judgments or self._spent):
            return ""
        seconds = time.monotonic() - self._began
        rate = f" {judgments / seconds:,.0f}/s" if seconds > 0.2 and judgments else ""
        parts = [f"{judgments:,} judgments{rate}"]
        if self._spent:
            tokens = sum(s.prompt + s.completion for s in self._spent.values())
            costs = [s.cost for s in self._spent.values()]
            known = sum(c for c in costs if c is not None)
            parts.append(f"{tokens:,} tokens{f' (${known:.2f})' if None not in costs and known else ''}")
            parts.append(f"{self._failures + self._failing:,} failures")
        if math.isfinite(self._best):
            parts.append(f"best {number_of(self._best)}")
        return ", ".join(parts)

    def _tell(self) -> None:
        if self._phase and not self._console.is_terminal:
            done = f"{self._phase}: {self._done} of {self._total} {self._what}"
            line = ", ".join(part for part in (done, self._note()) if part)
            say(self._console, line)
