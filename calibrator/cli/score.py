"""`calibrate score`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrator.cli import options as o


def score(
    file: Annotated[Path, typer.Argument(help="Texts to score: CSV, JSONL or Parquet.")],
    rubric: Annotated[str, typer.Option("--rubric", "-r", help="A frozen judge: its name or its file.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The result; <file>.scored.<ending> otherwise.")
    ] = None,
    column: Annotated[str | None, typer.Option(help="Name of the new column; judge_<aspect> otherwise.")] = None,
    source: o.Source = None,
    output: o.Output = None,
    inputs: o.Input = None,
    encoding: o.Encoding = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="Another model than the judge's own: its address elsewhere.", rich_help_panel=o.MODELS
        ),
    ] = None,
    budget: o.Budget = None,
    concurrency: o.Concurrency = None,
    cache: o.Cache = None,
    quiet: o.Quiet = False,
) -> None:
    """Score texts with a frozen judge: two columns are added, the score and why there is none."""
    from calibrator.calibration.config import ColumnNames
    from calibrator.cli.scoring import Use, score_with
    from calibrator.columns import Wanted

    named = ColumnNames.model_validate(o.columns(source, output, None, None, None, None, None, inputs))
    use = Use(model, budget, concurrency, cache is not False)
    score_with(file, rubric, named.over(Wanted()), use, out=out, column=column, encoding=encoding, quiet=quiet)
