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
    reference: o.Reference = None,
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
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = None,
    price: o.Price = None,
    batch: o.Batch = None,
    model_arg: o.ModelArg = None,
    cache: o.Cache = None,
    quiet: o.Quiet = False,
) -> None:
    """Score texts with a frozen judge: two columns are added, the score and why there is none."""
    from calibrator.calibration.config import ColumnNames
    from calibrator.cli.scoring import score_with
    from calibrator.columns import Wanted
    from calibrator.models.build import make_access
    from calibrator.models.replies import cache_folder

    named = ColumnNames.model_validate(o.columns(source, output, reference, None, None, None, None, inputs))
    access = make_access(
        None if cache is False else cache_folder(),
        budget=budget,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        price=price,
        model_arg=o.pairs("--model-arg", model_arg, "key=value"),
        batch=bool(batch),
    )
    wanted = named.over(Wanted())
    score_with(file, rubric, wanted, access, model=model, out=out, column=column, encoding=encoding, quiet=quiet)
