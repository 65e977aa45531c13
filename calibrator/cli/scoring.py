"""Scoring a file from start to end, for `calibrate score`: load the judge, show how far it is, print the outcome."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.cli.keeping import KEPT, kept_until_done, told_spent
from calibrator.cli.options import INTERRUPTED
from calibrator.columns import Wanted
from calibrator.errors import BudgetSpent, ConfigError, ModelError, ModelUnfit
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import FrozenJudge, prompt_of, read_frozen
from calibrator.judges.modes import parse_mode
from calibrator.judges.places import find_frozen
from calibrator.judges.scoring import score_file, scored_path
from calibrator.models.build import Access
from calibrator.models.prices import Price, price_for
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.records import Failure, Usage, Verdict
from calibrator.report.console import make_console, say, tell_aside
from calibrator.store import Run


def score_with(
    file: Path,
    rubric: str,
    wanted: Wanted,
    access: Access,
    *,
    model: str | None,
    out: Path | None,
    column: str | None,
    encoding: str | None,
    quiet: bool,
) -> None:
    """Score the file and print what came of it; `model` is another than the judge's own. Ctrl-C exits with 130.

    Until the file is written, replies lie in a folder beside it, from which the same command goes on.
    """
    console = make_console(quiet)
    bar = _bar(console, quiet)
    task = bar.add_task("scoring", total=None, failures=0, visible=False)

    def count(verdict: Verdict) -> None:
        failures = bar.tasks[0].fields["failures"] + isinstance(verdict, Failure)
        bar.update(task, advance=1, failures=failures, visible=True)

    def begin(rows: int) -> None:
        bar.update(task, total=rows)
        for told in _plan(judge.frozen, model, rows, access.price):
            say(console, told)

    part = Run(scored_path(file, out).with_name(f"{scored_path(file, out).name}.part"))
    news = partial(say, console)
    asked = read_frozen(find_frozen(rubric)).asked
    if not asked and access != Access(cache=access.cache):
        raise ConfigError(f"{rubric} asks no model; leave out what says how one is asked (--budget, --concurrency, …)")
    try:
        with (
            kept_until_done(part) if asked else nullcontext() as kept,
            load_judge(rubric, model=model, access=access, told=count, part=kept, news=news) as judge,
            bar,
        ):
            if model and asked and model != asked[0].model:
                tell_aside([f"the figures of {judge.aspect.ref} were measured with {asked[0].model}, not {model}"])
            scored = score_file(file, judge, wanted, out=out, column=column, encoding=encoding, rows=begin)
            used = [f"model     {name}: {told_spent(spent)}" for name, spent in judge.spent.items()]
    except KeyboardInterrupt:
        print(f"\nStopped; {KEPT}.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except ModelUnfit:
        raise  # going on would not help
    except (BudgetSpent, ModelError) as error:
        higher = ", with a higher --budget" if isinstance(error, BudgetSpent) else ""
        error.args = (f"{error}; {KEPT}{higher}" if part.folder.exists() else str(error),)
        raise
    say(console, "\n".join([*used, scored.told()]))


def _plan(frozen: FrozenJudge, instead: str | None, rows: int, said: Price | None) -> list[str]:
    """Return in a line for each model that is asked what scoring so many rows will take."""
    lines = []
    for judge in frozen.judges:
        if judge.asked is None:
            continue
        model, mode = instead or judge.asked.model, parse_mode(judge.score_mode)
        calls = rows * mode.draws + bool(mode.logprobs)
        tokens = calls * sum(len(p.text) for p in prompt_of(judge.asked).parts) / LETTERS_A_TOKEN
        price = price_for(model, said)
        cost = f"the price of {model} is not known (--price gives it)"
        if price is not None:
            replies = price.cost(Usage(0, calls * judge.asked.sampling.max_tokens))
            cost = f"{price.cost(Usage(round(tokens))):.4g} US dollars for these and at most {replies:.4g} for replies"
        about = f"up to {calls:,} calls, about {tokens:,.0f} prompt tokens and those of the texts"
        lines.append(f"plan      {about}; {cost}")
    return lines


def _bar(console: Console, quiet: bool) -> Progress:
    columns = (TextColumn("scoring"), MofNCompleteColumn(), TextColumn("{task.fields[failures]} failures"))
    hidden = quiet or not console.is_terminal
    return Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=hidden)
