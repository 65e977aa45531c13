"""`calibrate run --aspect all`: a run for every rated aspect, and one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import rated_aspects
from calibrator.cli.options import INTERRUPTED
from calibrator.cli.work import Done, start, tell
from calibrator.errors import BudgetSpent, CalibrationError, ConfigError, DataError, ModelError
from calibrator.journal import Outlay
from calibrator.models.budget import left_of
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.every import show_every, show_lines
from calibrator.report.lines import cautions
from calibrator.store import Run, all_runs


def start_every(config: RunConfig, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Calibrate a judge for every aspect that the data is rated for; one that cannot be is told and passed over.

    After Ctrl-C it is said which aspects are not done, and the exit code is 130.
    """
    named = (("--out", config.out), ("--aspect-file", config.aspect_file), ("--score", config.columns.score))
    if given := [option for option, value in named if value]:
        raise ConfigError(f"{given[0]}: it is for one aspect; with --aspect all each has its own")
    finished, skipped = _one_by_one(config, runs, rated_aspects(config), quiet=quiet, as_json=as_json)
    tell_aside(skipped)
    if not finished:
        raise ConfigError("--aspect all: no aspect could be calibrated")
    results = [done.outcome.result for done in finished]
    if as_json:
        print(json.dumps([done.summary() for done in finished], ensure_ascii=False, indent=1))
    elif quiet:
        show_lines(make_console(), results, [str(done.out) for done in finished])
    else:
        show_every(make_console(), results)


def _one_by_one(
    config: RunConfig, runs: Path, aspects: Sequence[str], *, quiet: bool, as_json: bool
) -> tuple[list[Done], list[str]]:
    """Return the runs that were seen through, and what is to be said of the aspects that could not be calibrated."""
    console, finished, skipped = make_console(quiet=quiet or as_json), list[Done](), list[str]()
    before = {run.id for run in all_runs(runs)}
    for k, aspect in enumerate(aspects):
        say(console, f"{aspect}", "bold")
        try:
            budget = _left(config, [run for run in all_runs(runs) if run.id not in before])
            done = start(config.model_copy(update={"aspect": aspect, "budget": budget}), runs, quiet=True)
        except (DataError, CalibrationError) as error:
            skipped.append(f"{aspect} is left out: {error}")
            continue
        except (KeyboardInterrupt, SystemExit, BudgetSpent, ModelError) as stop:
            tell_aside(skipped)
            print(f"Not done yet: {', '.join(aspects[k:])}", file=sys.stderr)
            raise SystemExit(INTERRUPTED) if isinstance(stop, KeyboardInterrupt) else stop from None
        finished.append(done)
        if quiet and not as_json:
            tell_aside(f"{aspect}: {caution}" for caution in cautions(done.outcome.result))
        elif not as_json:
            tell(done, quiet=True, as_json=False)
    return finished, skipped


def _left(config: RunConfig, made: Sequence[Run]) -> str | None:
    """Return what the runs that were made left of the one budget, None if there is none.

    Raises BudgetSpent if nothing is left.
    """
    cap = config.access(None).cap
    if cap is None:
        return None
    totals = [run.calls().total() for run in made]
    usd = [t.usd for t in totals if t.usd is not None]
    spent = Outlay(sum(t.calls for t in totals), sum(t.tokens for t in totals), sum(usd))
    left = left_of(cap, spent if len(usd) == len(totals) else replace(spent, usd=None))
    if left is None:
        raise BudgetSpent(f"the budget of {cap} for all aspects is spent")
    return left
