"""`calibrate cache`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The replies that are kept across runs.", no_args_is_help=True)

OfModel = Annotated[str, typer.Option("--model", "-m", help="Of one model only, as `cache ls` names it.")]


@app.command()
def info() -> None:
    """Say where the cache is, what it holds and how large it may become."""
    from calibrator.models.replies import open_store
    from calibrator.report.stored import about

    with open_store() as store:
        typer.echo(about(store))


@app.command("ls")
def ls() -> None:
    """List what is kept of each model."""
    from calibrator.models.replies import open_store
    from calibrator.report.stored import table

    with open_store() as store:
        for line in table(store.kept()):
            typer.echo(line)


@app.command()
def export(
    out: Annotated[Path, typer.Argument(help="JSONL: a line for each reply, with its key and its model.")],
    model: OfModel = "",
) -> None:
    """Write the kept replies to a file."""
    from calibrator.models.replies import check_model, export_replies, open_store

    with open_store() as store:
        check_model(store, model)
        typer.echo(f"{export_replies(store, out, model):,} replies in {out}")


@app.command()
def clear(
    model: OfModel = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Forget the kept replies."""
    from calibrator.models.replies import check_model, open_store

    with open_store() as store:
        check_model(store, model)
        there = sum(k.replies for k in store.kept() if not model or k.model == model)
        if there and not yes:
            typer.confirm(f"Forget {there:,} replies{f' of {model}' if model else ''}?", abort=True)
        typer.echo(f"{store.clear(model):,} replies forgotten")
