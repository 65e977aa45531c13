"""`calibrate`: the commands, and how errors reach the person at the terminal."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from calibrator import __version__
from calibrator.cli import (
    aspects,
    cache,
    compare,
    data,
    export,
    gate,
    generate,
    metrics,
    plan,
    probe,
    rank,
    resume,
    run,
    runs,
    score,
    types,
)
from calibrator.errors import CalibratorError
from calibrator.texts import visible

app = typer.Typer(
    name="calibrate",
    help="Find the rubric with which a judge agrees best with human ratings, prove it on unseen data, and freeze it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(run.run)
app.command("plan")(plan.plan)
app.command("resume")(resume.resume)
app.command("runs")(runs.runs)
app.command("compare")(compare.compare)
app.command("panel")(compare.panel)
app.command("gate")(gate.gate)
app.command("probe")(probe.probe)
app.command("score")(score.score)
app.command("metrics")(metrics.metrics)
app.command("generate")(generate.generate)
app.command("types")(types.types)
app.command("rank")(rank.rank)
app.command("export")(export.export)
app.command("aspects")(aspects.aspects)
app.add_typer(data.app, name="data")
app.add_typer(cache.app, name="cache")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"calibrator {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that stand before a command."""


def main() -> None:
    """Run the command line. An error of the user's is one line and exit code 2; Ctrl-C is 130."""
    # The matrices are small: more threads of linear algebra than one only wait for each other, sevenfold on a busy
    # machine. Read when numpy is imported, which no module above does.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        app()
    except CalibratorError as error:
        typer.echo(f"calibrate: {visible(' '.join(str(error).splitlines()))}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()  # the reader of our output has gone; there is nobody to tell
            sys.exit(0)
        typer.echo(f"calibrate: {error.strerror or error}{f': {error.filename}' if error.filename else ''}", err=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
