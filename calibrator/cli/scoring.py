"""Scoring a file from start to end, for `calibrate score`: load the judge, show how far it is, print the outcome."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.calibration.prepare import LETTERS_A_TOKEN
from calibrator.cli.options import INTERRUPTED
from calibrator.columns import Wanted
from calibrator.errors import BudgetSpent, ModelError
from calibrator.judges.build import load_judge
from calibrator.judges.scoring import score_file
from calibrator.models.budget import parse_budget
from calibrator.models.build import Access
from calibrator.models.cache import cache_folder
from calibrator.models.recorded import Spent
from calibrator.records import Failure, Verdict
from calibrator.report.console import make_console, say, tell_aside


@dataclass(frozen=True, slots=True)
class Use:
    """How the model of an LLM judge is to be used: another name for it, cap on calls, requests in flight, cache."""

    model: str | None = None
    budget: str | None = None
    concurrency: int | None = None
    cache: bool = True

    def access(self) -> Access:
        """Return it as models take it. Raises ConfigError if the cap is none."""
        calls = parse_budget(self.budget) if self.budget is not None else None
        return Access(self.concurrency, calls, cache_folder() if self.cache else None)


def score_with(
    file: Path,
    rubric: str,
    wanted: Wanted,
    use: Use,
    *,
    out: Path | None,
    column: str | None,
    encoding: str | None,
    quiet: bool,
) -> None:
    """Score the file and print what came of it. Ctrl-C exits with 130; what was scored is in the cache."""
    console = make_console(quiet)
    bar = _bar(console, quiet)
    task = bar.add_task("scoring", total=None, failures=0, visible=False)

    def count(verdict: Verdict) -> None:
        failures = bar.tasks[0].fields["failures"] + isinstance(verdict, Failure)
        bar.update(task, advance=1, failures=failures, visible=True)

    def begin(rows: int) -> None:
        bar.update(task, total=rows)
        if judge.frozen.judge.asked is not None:
            tokens = rows * sum(len(p.text) for p in judge.frozen.prompt().parts) / LETTERS_A_TOKEN
            say(console, f"plan      up to {rows:,} calls, about {tokens:,.0f} prompt tokens and those of the texts")

    again = "the same command goes on from the cache" if use.cache else "without the cache it would begin anew"
    try:
        with load_judge(rubric, model=use.model, access=use.access(), told=count) as judge, bar:
            asked = judge.frozen.judge.asked
            if use.model and asked and use.model != asked.model:
                tell_aside([f"the figures of {judge.aspect.ref} were measured with {asked.model}, not {use.model}"])
            scored = score_file(file, judge, wanted, out=out, column=column, encoding=encoding, rows=begin)
            used = [f"model     {name}: {_told(spent)}" for name, spent in judge.spent.items()]
    except KeyboardInterrupt:
        print(f"\nStopped; nothing was written, and {again}.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except (BudgetSpent, ModelError) as error:
        error.args = (f"{error}; {again}",)
        raise
    say(console, "\n".join([*used, scored.told()]))


def _bar(console: Console, quiet: bool) -> Progress:
    columns = (TextColumn("scoring"), MofNCompleteColumn(), TextColumn("{task.fields[failures]} failures"))
    hidden = quiet or not console.is_terminal
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=hidden)


def _told(spent: Spent) -> str:
    """Return what a model was used for, in words."""
    cost = "price not known" if spent.cost is None else f"{spent.cost:.4f} US dollars"
    tokens = f"{spent.prompt:,} prompt tokens, {spent.completion:,} written"
    return f"{spent.replies:,} replies, {spent.calls:,} calls made; {tokens}; {cost}"
