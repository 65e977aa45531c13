"""`calibrate data`: the named data sets, and the audit of any rated texts."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrator.cli import audit
from calibrator.cli import options as o

app = typer.Typer(help="Named data sets, and what is wrong with rated texts.", no_args_is_help=True)
app.command("audit")(audit.audit)


@app.command("list")
def list_sets(data_dir: o.DataDir = None) -> None:
    """List the named data sets and say which are here."""
    from calibrator.report.listing import show_sets

    show_sets(data_dir)


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="A named data set that can be downloaded, e.g. cseval.")],
    data_dir: o.DataDir = None,
    base_url: Annotated[str | None, typer.Option(help="A mirror of the repository.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is here already.")] = False,
    accept_change: Annotated[bool, typer.Option("--accept-change", help="Take content that has changed.")] = False,
) -> None:
    """Download a public data set into the data folder and check it."""
    from calibrator.catalog import data_folder, manifest_of
    from calibrator.download import fetch

    again = force or accept_change
    folder = data_folder(data_dir)
    fetch(manifest_of(name), folder, base_url=base_url, report=typer.echo, force=again, accept_change=accept_change)
