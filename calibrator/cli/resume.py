"""`calibrate resume`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrator.cli import options as o


def resume(
    name: Annotated[str, typer.Argument(metavar="RUN", help="Id of the run, a part of it, its folder, or 'last'.")],
    runs_dir: o.Runs = Path("runs"),
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Another place for the frozen judge.")] = None,
    budget: o.Budget = None,
    concurrency: o.Concurrency = None,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = None,
    price: o.Price = None,
    cache: o.Cache = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Take up a run that was stopped; what its journal holds is not done again."""
    from calibrator.cli.work import again, tell
    from calibrator.store import find_run

    changed = {"out": out, "budget": budget, "concurrency": concurrency, "rpm": rpm, "tpm": tpm}
    changed |= {"timeout": timeout, "price": price, "cache": cache}
    given = {k: v for k, v in changed.items() if v is not None}
    done = again(find_run(runs_dir, name), given, quiet=quiet or as_json)
    tell(done, quiet=quiet, as_json=as_json)
