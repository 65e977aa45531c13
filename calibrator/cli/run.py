"""`calibrate run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrator.cli import options as o

SEARCH = "Search"
# The names are those of the settings in `config.RunConfig`.
SEARCHING: dict[str, Any] = {
    "objective": Annotated[str | None, typer.Option(help="spearman, kendall, pearson or mae.", rich_help_panel=SEARCH)],
    "protocol": Annotated[
        str | None, typer.Option(help="default, or paper (Auto-CSEval as published).", rich_help_panel=SEARCH)
    ],
    "seed": Annotated[int | None, typer.Option(help="Decides the split and all chance.", rich_help_panel=SEARCH)],
    "shots": Annotated[
        str | None,
        typer.Option(help="Few-shot sizes: fractions of the train side, or numbers.", rich_help_panel=SEARCH),
    ],
    "trials": Annotated[int | None, typer.Option(help="Drafts of each size.", rich_help_panel=SEARCH)],
    "temperature": Annotated[str | None, typer.Option(help="Range of draft temperatures.", rich_help_panel=SEARCH)],
    "top_k": Annotated[int | None, typer.Option(help="Candidates that are refined.", rich_help_panel=SEARCH)],
    "select": Annotated[
        str | None,
        typer.Option(help="race: those with little chance stop early; full: all score all.", rich_help_panel=SEARCH),
    ],
    "purpose": Annotated[
        str | None,
        typer.Option(
            "--for", help="new-sources or new-systems; the latter where four systems are named.", rich_help_panel=SEARCH
        ),
    ],
    "optimizer": Annotated[
        str | None,
        typer.Option(
            help="dspy-gepa or dspy-mipro: DSPy searches in our place, at the same cost.", rich_help_panel=SEARCH
        ),
    ],
    "rounds": Annotated[int | None, typer.Option(help="Rounds of refinement at most.", rich_help_panel=SEARCH)],
    "refinements": Annotated[int | None, typer.Option(help="Refinements of each candidate.", rich_help_panel=SEARCH)],
    "resamples": Annotated[int | None, typer.Option(help="Bootstrap resamples.", rich_help_panel=SEARCH)],
}
OUTCOME: dict[str, Any] = {
    "keep": Annotated[
        bool | None,
        typer.Option("--keep", help="Freeze the rubric even if it does not beat the best baseline on dev."),
    ],
    "map": Annotated[
        str | None,
        typer.Option(
            "--map",
            help="Put scores on the human scale: linear, ordinal, isotonic, or auto (the best on groups left out).",
        ),
    ],
    "force": Annotated[bool | None, typer.Option("--force", help="Go on in spite of grave faults of the data.")],
    "out": Annotated[Path | None, typer.Option("--out", "-o", help="Where the frozen judge goes.")],
}
JUDGING: dict[str, Any] = {
    "model": Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Who judges: openai/<m>, vllm/<m>, local/smollm2, http://host/v1#<m> …; else the embedded judge.",
            rich_help_panel=o.MODELS,
        ),
    ],
    "drafter": Annotated[
        str | None,
        typer.Option(
            help="Who writes rubrics: a model, criteria, or both by comma; else the judge.", rich_help_panel=o.MODELS
        ),
    ],
}


@o.taking(o.DATA, o.COLUMNS, SEARCHING, OUTCOME, JUDGING, o.ASKING)
def run(
    runs_dir: o.Runs = Path("runs"),
    config: o.Config = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Calibrate a judge on rated texts: draft, score, select, refine, validate, freeze."""
    from calibrator.calibration.config import make_config
    from calibrator.cli.every import start_every
    from calibrator.cli.work import start, tell

    for option, read in (("shots", o.numbers), ("temperature", o.span)):
        if option in said:
            said[option] = read(f"--{option}", said[option])
    made = make_config(**o.settled(said, config))
    if made.aspect == "all":
        start_every(made, runs_dir, quiet=quiet, as_json=as_json)
    else:
        tell(start(made, runs_dir, quiet=quiet or as_json), quiet=quiet, as_json=as_json)
