"""`calibrate metrics`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrator.cli import options as o


def metrics(
    file: Annotated[Path | None, typer.Argument(help="Texts to measure: CSV, JSONL or Parquet.")] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--metrics",
            "-m",
            help="By comma: names (bleu-4), families (overlap), with a model behind @ (bertscore@FOLDER); by default "
            "all that need no model.",
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show the metrics, and what each needs.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The result; <file>.metrics.<ending> otherwise.")
    ] = None,
    source: o.Source = None,
    output: o.Output = None,
    reference: o.Reference = None,
    system: o.System = None,
    encoding: o.Encoding = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Texts beside which novelty is measured: a file with such a column of outputs.")
    ] = None,
    data_dir: o.DataDir = None,
    download: Annotated[
        bool, typer.Option("--download", help="Fetch weights that are not on this machine from the Hugging Face hub.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the result if it is there.")] = False,
    device: Annotated[str, typer.Option(help="Where neural metrics run: auto, cpu, cuda, cuda:1, mps.")] = "auto",
    batch_size: Annotated[int, typer.Option(min=0, help="Texts at a time of a neural metric; 0: its own.")] = 0,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Measure texts with classic and neural metrics: a column for each, and a table by system."""
    from calibrator.calibration.config import ColumnNames
    from calibrator.cli.measuring import measure_file, result_of, show_metrics, with_corpus
    from calibrator.columns import Wanted
    from calibrator.errors import ConfigError
    from calibrator.metrics.base import Settings
    from calibrator.metrics.wordnet import nltk_folder

    if listed:
        show_metrics(as_json=as_json)
        return
    if file is None:
        raise ConfigError("name a file of texts, or --list to see the metrics")
    named = ColumnNames.model_validate(o.columns(source, output, reference, None, system, None, None, None))
    settings = Settings(device=device, batch_size=batch_size, download=download, nltk_data=nltk_folder(data_dir))
    wanted = named.over(Wanted())
    place = result_of(file, out, overwrite=overwrite)
    settings = with_corpus(settings, corpus, wanted, encoding)
    measure_file(file, names, wanted, settings, place, encoding=encoding, quiet=quiet, as_json=as_json)
