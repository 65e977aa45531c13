"""What `run` and `resume` share: do the work of a run, write down what came of it, and print it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from calibrator import __version__
from calibrator.calibration.config import RunConfig, make_config
from calibrator.calibration.loop import calibrate
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import Prepared, data_digest, plan, prepare
from calibrator.calibration.progress import Silent
from calibrator.errors import RunError
from calibrator.report.console import make_console
from calibrator.report.markdown import report, verdict_line
from calibrator.report.terminal import LiveProgress, show_plan, show_result
from calibrator.store import Ledger, Run, create_run

INTERRUPTED = 130


def start(config: RunConfig, runs: Path, *, quiet: bool, as_json: bool) -> None:
    """Begin a new run and see it through."""
    prepared = prepare(config)
    config = config.model_copy(update={"data_digest": data_digest(prepared.dataset, prepared.test)})
    run = create_run(runs, prepared.aspect.name, config.model_dump(mode="json"))
    see_through(run, config, prepared, quiet=quiet, as_json=as_json)


def again(run: Run, *, quiet: bool, as_json: bool) -> None:
    """Take up a run where it stopped; a finished one is replayed and shown again."""
    stored = run.config()
    if stored.get("version") != __version__:
        problem = f"{run.id} was started with calibrator {stored.get('version')}, this is {__version__}"
        raise RunError(f"{problem}; start a new run, or install that version")
    config = make_config(**stored)
    see_through(run, config, prepare(config), quiet=quiet, as_json=as_json)


def see_through(run: Run, config: RunConfig, prepared: Prepared, *, quiet: bool, as_json: bool) -> None:
    """Calibrate, write result, report and frozen judge, and print the outcome. Ctrl-C exits with 130."""
    console = make_console(quiet=quiet or as_json)
    method = embedded(prepared.aspect, config.objective)
    show_plan(console, prepared, config, plan(config, prepared, method.drafter), method.name)
    try:
        if quiet or as_json:
            outcome = calibrate(prepared, config, method, run, Ledger(run.folder.parent), Silent())
        else:
            with LiveProgress(console) as progress:
                outcome = calibrate(prepared, config, method, run, Ledger(run.folder.parent), progress)
    except KeyboardInterrupt:
        print(f"\nStopped; nothing is lost. Go on with: calibrate resume {run.id}{_where(run)}", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    result, frozen, look = outcome.result, outcome.frozen, outcome.look
    out = config.out or Path("rubrics") / "frozen" / f"{prepared.aspect.name}.yaml"
    for path in (run.folder / "frozen.yaml", out):
        frozen.save(path)
    told = report(result, look, str(out))
    where = run.write("report.md", told)
    run.write("result.json", result.model_dump_json(indent=1) + "\n")
    if as_json:
        summary = {"run": run.id, "look": look, "frozen": str(out), "report": str(where)}
        print(json.dumps(summary | result.model_dump(mode="json"), ensure_ascii=False, indent=1))
    elif quiet:
        print(verdict_line(result), out, sep="\n")
    else:
        show_result(console, result, look, str(out), str(where))


def _where(run: Run) -> str:
    return "" if run.folder.parent == Path("runs") else f" --runs-dir {run.folder.parent}"
