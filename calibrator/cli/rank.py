"""`calibrate rank`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrator.cli import options as o

LABELS = "Labels in place of scores"


@o.taking(o.DATA, o.COLUMNS, o.ASKING)
def rank(
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            "-j",
            help="By comma, as in compare; the first is the one to be trusted. By default all recorded ones.",
        ),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option("--models", "--model", "-m", help="Who is asked where a judge names no model; several by comma."),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="A system's score: mean or win-rate (against the others on the same source).")
    ] = None,
    threshold: Annotated[float, typer.Option(min=-1, max=1, help="What tau's 90 % interval must lie above.")] = 0.0,
    labelled: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Correct the judges' system scores with the human labels of so many items of each system; without it "
            "with all, where some rows are not rated.",
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(help="Labels of each system to try, more than there are too; 10 to 100 and all there are."),
    ] = None,
    repeats: Annotated[int, typer.Option(min=100, help="How often each size is tried.")] = 1000,
    seed: Annotated[int | None, typer.Option(min=0, help="Decides the split and all chance.")] = None,
    resamples: Annotated[int | None, typer.Option(min=100, help="Bootstrap resamples.")] = None,
    unseen: Annotated[
        bool, typer.Option("--unseen", help="Frozen judges of other data were calibrated on none of these items.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Go on in spite of grave faults of the data.")] = False,
    human_labels: Annotated[
        str | None, typer.Option(help="Columns of labels, one for each annotator.", rich_help_panel=LABELS)
    ] = None,
    judge_labels: Annotated[
        str | None, typer.Option(help="Columns of labels, one for each judge.", rich_help_panel=LABELS)
    ] = None,
    intended: Annotated[
        str | None,
        typer.Option(
            help="Column of the label that was asked for: systems are scored by macro-F1.", rich_help_panel=LABELS
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Score systems by the share of this label.", rich_help_panel=LABELS)
    ] = None,
    co_occurrence: Annotated[
        str | None, typer.Option(help="Columns of labels to count together.", rich_help_panel=LABELS)
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for rank.md, .csv, .json, .svg; else below --runs-dir.")
    ] = None,
    runs_dir: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Tell whether judges rank systems as humans do, and with how many human labels that can be told."""
    from calibrator.cli.ranking import start
    from calibrator.cli.ranking_asked import Asked

    settings = {"seed": seed, "resamples": resamples, "force": force or None}
    asked = Asked(
        judges=judges,
        models=_listed(models),
        said=said | {name: value for name, value in settings.items() if value is not None},
        by=by,
        threshold=threshold,
        labelled=labelled,
        sizes=o.numbers("--sizes", sizes),
        repeats=repeats,
        human_labels=_listed(human_labels),
        judge_labels=_listed(judge_labels),
        intended=intended or "",
        label=label or "",
        co_occurrence=_listed(co_occurrence),
        unseen=unseen,
    )
    start(asked, out, runs_dir, quiet=quiet, as_json=as_json)


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
