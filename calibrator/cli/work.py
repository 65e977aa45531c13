"""What `run` and `resume` share: do the work of a run, write down what came of it, and print it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from calibrator import __version__
from calibrator.calibration.config import CRITERIA, RunConfig, anchored, check_models, make_config
from calibrator.calibration.loop import Outcome, calibrate
from calibrator.calibration.method import Method, embedded, with_model
from calibrator.calibration.optimizers.base import Caps, require_dspy
from calibrator.calibration.prepare import Prepared, inputs_of, plan, prepare, search_plan
from calibrator.calibration.progress import Progress, Silent
from calibrator.calibration.purpose import NEW_SYSTEMS, Purpose, purpose_of
from calibrator.cli.options import INTERRUPTED
from calibrator.errors import BudgetSpent, ModelError, ModelUnfit, RunError
from calibrator.judges.places import check_place
from calibrator.models.build import Connections, check_price
from calibrator.models.names import check_ready
from calibrator.models.recorded import Spent, spent_in
from calibrator.models.replies import cache_folder
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.lines import cautions, handed_line, verdict_line
from calibrator.report.markdown import report
from calibrator.report.terminal import LiveProgress, show_plan, show_result
from calibrator.store import Ledger, Run, create_run


@dataclass(frozen=True, slots=True)
class Done:
    """A run that was seen through, and where its frozen judge and its report are."""

    run: str
    outcome: Outcome
    out: Path
    report: Path

    def summary(self) -> dict[str, Any]:
        """Return everything as a JSON object."""
        about = {"run": self.run, "look": self.outcome.look, "frozen": str(self.out), "report": str(self.report)}
        return about | self.outcome.result.model_dump(mode="json")


def start(config: RunConfig, runs: Path, *, quiet: bool) -> Done:
    """Begin a new run and see it through."""
    check_models(config)
    prepared = prepare(config)
    purpose = purpose_of(config, prepared)
    check_place(_out(config, prepared))
    for name in {config.model or CRITERIA, *config.drafters} - {CRITERIA}:
        check_ready(name, config.model_arg)  # whatever is absent is said before there is a run
        check_price(name, config.access(None))
    if config.optimizer is not None:
        require_dspy()
    Ledger(runs).check()
    config = anchored(config)
    config = config.model_copy(update={"inputs": inputs_of(prepared, config)})
    run = create_run(runs, prepared.aspect.name, config.model_dump(mode="json"))
    return see_through(run, config, prepared, purpose, quiet=quiet)


def again(run: Run, changed: Mapping[str, Any], *, quiet: bool) -> Done:
    """Take up a run where it stopped; a finished one is replayed and shown again, and only `out` is written anew.

    `changed` are settings that do not change what the run finds: out, budget, concurrency, cache.
    """
    stored = run.config()
    if stored.get("version") != __version__:
        problem = f"{run.id} was started with calibrator {stored.get('version')}, this is {__version__}"
        raise RunError(f"{problem}; start a new run, or install that version")
    config = make_config(**{**stored, **changed})
    check_models(config)
    prepared = prepare(config)
    check_place(_out(config, prepared))
    hand_over = "out" in changed or run.result() is None
    return see_through(run, config, prepared, purpose_of(config, prepared), quiet=quiet, hand_over=hand_over)


def see_through(
    run: Run, config: RunConfig, prepared: Prepared, purpose: Purpose, *, quiet: bool, hand_over: bool = True
) -> Done:
    """Calibrate, and write result, report and frozen judge; show plan and progress. Ctrl-C exits with 130."""
    console = make_console(quiet=quiet)
    live: Silent | LiveProgress = Silent() if quiet else LiveProgress(console)
    try:
        with run.held():
            journal = run.journal()
            access = config.access(cache_folder())
            with Connections(access, journal, live.spent, run.calls(), live.news) as connections:
                method = _method(config, prepared, purpose, connections, live)
                show_plan(console, prepared, config, plan(config, prepared, method), method, purpose)
                _show_optimizer(console, config, prepared, method)
                if quiet:
                    tell_aside(prepared.warnings)
                if config.model is not None and config.mode.logprobs:
                    connections.client(config.model).require_logprobs(config.mode.logprobs)
                with live:
                    ledger = Ledger(run.folder.parent)
                    outcome = calibrate(prepared, config, method, purpose, run, ledger, live, journal)
            out = _out(config, prepared)
            report_path = _write(run, outcome, out, hand_over, spent_in(journal))
    except KeyboardInterrupt:
        print(f"\nStopped; nothing is lost. Go on with: {_resume(run)}", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except BudgetSpent as error:
        raise BudgetSpent(f"{error}; nothing is lost. Go on with a higher one: {_resume(run)} --budget …") from None
    except ModelUnfit:
        raise  # going on would not help
    except ModelError as error:
        error.args = (f"{str(error).rstrip('.')}; nothing is lost. Go on with: {_resume(run)}",)
        raise
    return Done(run.id, outcome, out, report_path)


def tell(done: Done, *, quiet: bool, as_json: bool) -> None:
    """Print the outcome of a run."""
    result, look = done.outcome.result, done.outcome.look
    if as_json:
        print(json.dumps(done.summary(), ensure_ascii=False, indent=1))
    elif quiet:
        tell_aside(cautions(result))
        print(verdict_line(result), handed_line(result), done.out, sep="\n")
    else:
        show_result(make_console(), result, look, str(done.out), str(done.report))


def _method(
    config: RunConfig, prepared: Prepared, purpose: Purpose, connections: Connections, progress: Progress
) -> Method:
    if config.model is None:
        new_systems = purpose.kind == NEW_SYSTEMS
        return embedded(prepared.aspect, config.objective, config.shots, share=purpose.share, new_systems=new_systems)
    return with_model(config, prepared.aspect, prepared.roles, connections, progress.verdict)


def _show_optimizer(console: Console, config: RunConfig, prepared: Prepared, method: Method) -> None:
    """Say with what settings an optimizer will work in place of the search. Raises ConfigError if it cannot."""
    if method.optimizer is None:
        return
    drafts, refinements, judgments = search_plan(config, prepared, method)
    split, caps = prepared.split, Caps(judgments, drafts + refinements)
    settings = method.optimizer.settings(caps, len(split.train), len(split.dev))
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    most = f"at most {caps.judgments:,} judgments and {caps.proposals} proposals, as the search above"
    say(console, f"optimizer {method.optimizer.name}: {most}; {told}")


def _write(run: Run, outcome: Outcome, out: Path, hand_over: bool, paid: Mapping[str, Spent]) -> Path:
    """Write everything into the run's folder first, then the frozen judge to its place; return where the report is."""
    outcome.frozen.save(run.folder / "frozen.yaml")
    report_path = run.write("report.md", report(outcome.result, outcome.look, str(out), paid, run.calls().total()))
    run.write("result.json", outcome.result.model_dump_json(indent=1) + "\n")
    if hand_over:
        replaced = check_place(out)
        if replaced and out.read_bytes() != (run.folder / "frozen.yaml").read_bytes():
            tell_aside([f"{out} replaces {replaced}; every run keeps its own frozen.yaml"])
        outcome.frozen.save(out)
    return report_path


def _out(config: RunConfig, prepared: Prepared) -> Path:
    return config.out or Path("rubrics") / "frozen" / f"{prepared.aspect.name}.yaml"


def _resume(run: Run) -> str:
    where = "" if run.folder.parent == Path("runs") else f" --runs-dir {run.folder.parent}"
    return f"calibrate resume {run.id}{where}"
