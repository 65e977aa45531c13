"""`calibrate data`: the named data sets, and the audit of any rated texts."""

from __future__ import annotations

from pathlib import Path
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
    name: Annotated[str, typer.Argument(help="A named data set that can be downloaded, e.g. cseval; or wordnet.")],
    data_dir: o.DataDir = None,
    base_url: Annotated[str | None, typer.Option(help="A mirror of the repository.", show_default=False)] = None,
    force: Annotated[bool, typer.Option("--force", help="Fetch again what is here already.")] = False,
    accept_change: Annotated[bool, typer.Option("--accept-change", help="Take content that has changed.")] = False,
) -> None:
    """Download a public data set into the data folder and check it.

    `wordnet`, which METEOR wants, is copied from Debian's packages.
    """
    from calibrator.catalog import data_folder, manifest_of
    from calibrator.download import fetch

    if name == "wordnet":
        _make_wordnet(data_dir, force, download_only={"--base-url": base_url, "--accept-change": accept_change})
        return
    again = force or accept_change
    folder = data_folder(data_dir)
    fetch(manifest_of(name), folder, base_url=base_url, report=typer.echo, force=again, accept_change=accept_change)


def _make_wordnet(data_dir: Path | None, force: bool, download_only: dict[str, object]) -> None:
    from calibrator.errors import ConfigError
    from calibrator.metrics.wordnet import install, nltk_folder

    if said := [option for option, value in download_only.items() if value]:
        raise ConfigError(f"{said[0]} is for downloads; wordnet is copied from this machine")
    install(nltk_folder(data_dir), typer.echo, again=force)
