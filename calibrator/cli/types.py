"""`calibrate types`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrator.cli import options as o

ASKING = {name: o.ASKING[name] for name in o.ASKING if name not in ("draft_tokens", "score_mode")}
_COLUMNS = "Columns (guessed from the usual names)"
_NEURAL = "Fine-tuned transformers"


@o.taking(ASKING)
def types(
    train: Annotated[Path | None, typer.Option(help="Labelled texts to learn from: CSV, JSONL or Parquet.")] = None,
    test: Annotated[
        Path | None, typer.Option(help="Labelled texts to report on; else 30 % of the groups of --train.")
    ] = None,
    classifiers: Annotated[
        str | None,
        typer.Option(
            "--classifiers",
            "-c",
            help="By comma: tfidf, majority, majority:set, recorded:FILE[#COLUMN], recorded:COLUMN, llm@MODEL, "
            "transformer@FOLDER. The others are compared with tfidf, or with the first.",
        ),
    ] = None,
    scheme: Annotated[
        str | None,
        typer.Option(help="What the labels mean: a named scheme, or a YAML file; else they are read off the data."),
    ] = None,
    none: Annotated[
        bool, typer.Option("--none", help="An empty cell of labels says that none applies, not that nobody looked.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A folder for the report and every answer; with --predict a file."),
    ] = None,
    save: Annotated[Path | None, typer.Option(help="Keep the fitted tfidf classifier, a JSON file.")] = None,
    model: Annotated[
        Path | None, typer.Option(help="A kept classifier: for --predict, or to be held against --test.")
    ] = None,
    predict: Annotated[Path | None, typer.Option(help="Texts to classify with --model.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="With --predict: replace the file if it is there.")
    ] = False,
    objective: Annotated[
        str, typer.Option(help="What tfidf chooses its settings for, within --train: f1, accuracy or macro_f1.")
    ] = "f1",
    seed: Annotated[int, typer.Option(help="Of splits, folds, fine-tuning and resamples.")] = 0,
    resamples: Annotated[int, typer.Option(min=1, help="Of the bootstrap over groups.")] = 2000,
    text: Annotated[str | None, typer.Option(help="The text.", rich_help_panel=_COLUMNS)] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help='Its labels: a column of lists (also "a|b" or "a, b"), or several of 0 and 1 by comma.',
            rich_help_panel=_COLUMNS,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(help="What the text answers; never on both sides of a split.", rich_help_panel=_COLUMNS),
    ] = None,
    encoding: o.Encoding = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="10, as published.", rich_help_panel=_NEURAL)] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, …", rich_help_panel=_NEURAL)] = "auto",
    download: Annotated[
        bool, typer.Option("--download", help="Fetch weights that are not here.", rich_help_panel=_NEURAL)
    ] = False,
    runs_dir: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Compare multi-label classifiers of texts on a test side, or classify with one that was kept."""
    from calibrator.errors import ConfigError

    if predict is not None:
        from calibrator.cli.typed_predicting import PredictRequest, start_prediction

        if model is None:
            raise ConfigError("--predict: say what with: --model kept.json --predict texts.csv")
        if train or test or classifiers or save:
            raise ConfigError("--predict: leave --train, --test, --classifiers and --save out; nothing is learnt")
        start_prediction(PredictRequest(predict, model, out, text, source, encoding, overwrite), quiet=quiet)
        return
    from calibrator.cli.typed import start_study
    from calibrator.cli.typed_request import StudyRequest

    if overwrite:
        raise ConfigError("--overwrite: it is for --predict")
    if model is not None and (train or save):
        raise ConfigError("--model: leave --train and --save out; a kept classifier learns nothing more")
    if model is not None and test is None:
        raise ConfigError("--model: say what for: --predict texts.csv, or --test labelled.csv")
    if train is None and model is None:
        raise ConfigError(
            "say what to learn from: --train labelled.csv (or classify: --model kept.json --predict FILE)"
        )
    request = StudyRequest(
        train=train,
        test=test,
        classifiers=classifiers,
        kept=model,
        scheme=scheme,
        none=none,
        text=text,
        labels=labels,
        source=source,
        encoding=encoding,
        objective=objective,
        seed=seed,
        resamples=resamples,
        epochs=epochs,
        device=device,
        download=download,
        asking=said,
    )
    start_study(request, out, save, runs_dir, quiet=quiet, as_json=as_json)
