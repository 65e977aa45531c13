"""`calibrate run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrator.cli import options as o

SEARCH = "Search"


def run(
    aspect: o.Aspect = None,
    data: o.Data = None,
    data_dir: o.DataDir = None,
    test: Annotated[
        str | None, typer.Option(help="A separate test file; else 30 % of the data are the test side.")
    ] = None,
    aspect_file: o.AspectFile = None,
    scale: o.Scale = None,
    encoding: o.Encoding = None,
    source: o.Source = None,
    output: o.Output = None,
    reference: o.Reference = None,
    group: o.Group = None,
    system: o.System = None,
    identifier: o.Identifier = None,
    score: o.Score = None,
    inputs: o.Input = None,
    objective: Annotated[
        str | None, typer.Option(help="spearman, kendall, pearson or mae.", rich_help_panel=SEARCH)
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="default, or paper (Auto-CSEval as published).", rich_help_panel=SEARCH)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Decides the split and all chance.", rich_help_panel=SEARCH)] = None,
    shots: Annotated[
        str | None,
        typer.Option(help="Few-shot sizes: fractions of the train side, or numbers.", rich_help_panel=SEARCH),
    ] = None,
    trials: Annotated[int | None, typer.Option(help="Drafts of each size.", rich_help_panel=SEARCH)] = None,
    temperature: Annotated[
        str | None, typer.Option(help="Range of draft temperatures.", rich_help_panel=SEARCH)
    ] = None,
    top_k: Annotated[int | None, typer.Option(help="Candidates that are refined.", rich_help_panel=SEARCH)] = None,
    select: Annotated[
        str | None,
        typer.Option(help="race: those with little chance stop early; full: all score all.", rich_help_panel=SEARCH),
    ] = None,
    purpose: Annotated[
        str | None,
        typer.Option(
            "--for", help="new-sources or new-systems; the latter where four systems are named.", rich_help_panel=SEARCH
        ),
    ] = None,
    optimizer: Annotated[
        str | None,
        typer.Option(
            help="dspy-gepa or dspy-mipro: DSPy searches in our place, at the same cost.", rich_help_panel=SEARCH
        ),
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option("--keep", help="Freeze the rubric even if it does not beat the best baseline on dev."),
    ] = None,
    score_map: Annotated[
        str | None,
        typer.Option(
            "--map",
            help="Put scores on the human scale: linear, ordinal, isotonic, or auto (the best on groups left out).",
        ),
    ] = None,
    force: Annotated[bool | None, typer.Option("--force", help="Go on in spite of grave faults of the data.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Rounds of refinement at most.", rich_help_panel=SEARCH)] = None,
    refinements: Annotated[
        int | None, typer.Option(help="Refinements of each candidate.", rich_help_panel=SEARCH)
    ] = None,
    resamples: Annotated[int | None, typer.Option(help="Bootstrap resamples.", rich_help_panel=SEARCH)] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="Who judges: openai/<m>, vllm/<m>, local/smollm2, http://host/v1#<m> …; else the embedded judge.",
            rich_help_panel=o.MODELS,
        ),
    ] = None,
    drafter: Annotated[
        str | None,
        typer.Option(
            help="Who writes rubrics: a model, criteria, or both by comma; else the judge.", rich_help_panel=o.MODELS
        ),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of a judgment's reply.", rich_help_panel=o.MODELS)
    ] = None,
    draft_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of a drafter's reply.", rich_help_panel=o.MODELS)
    ] = None,
    score_mode: Annotated[
        str | None,
        typer.Option(
            help="text (what the reply states), expected (weighted by log-probabilities) or sample:5 (mean of 5).",
            rich_help_panel=o.MODELS,
        ),
    ] = None,
    model_arg: o.ModelArg = None,
    budget: o.Budget = None,
    concurrency: o.Concurrency = None,
    rpm: o.Rpm = None,
    tpm: o.Tpm = None,
    timeout: o.Timeout = None,
    price: o.Price = None,
    batch: o.Batch = None,
    cache: o.Cache = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the frozen judge goes.")] = None,
    runs_dir: o.Runs = Path("runs"),
    config: Annotated[Path | None, typer.Option(help="Settings; calibrate.yaml if it is there.")] = None,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Calibrate a judge on rated texts: draft, score, select, refine, validate, freeze."""
    from calibrator.calibration.config import make_config, read_settings
    from calibrator.cli.every import start_every
    from calibrator.cli.work import start, tell

    said = {
        "aspect": aspect or (aspect_file.stem if aspect_file else None),
        "data": data,
        "data_dir": data_dir,
        "test": test,
        "aspect_file": aspect_file,
        "scale": scale,
        "encoding": encoding,
        "objective": objective,
        "protocol": protocol,
        "select": select,
        "purpose": purpose,
        "keep": keep,
        "map": score_map,
        "force": force,
        "seed": seed,
        "shots": o.numbers("--shots", shots),
        "trials": trials,
        "temperature": o.span("--temperature", temperature),
        "top_k": top_k,
        "rounds": rounds,
        "refinements": refinements,
        "resamples": resamples,
        "model": model,
        "drafter": drafter,
        "optimizer": optimizer,
        "max_tokens": max_tokens,
        "draft_tokens": draft_tokens,
        "score_mode": score_mode,
        "model_arg": o.pairs("--model-arg", model_arg, "key=value") or None,
        "budget": budget,
        "concurrency": concurrency,
        "rpm": rpm,
        "tpm": tpm,
        "timeout": timeout,
        "price": price,
        "batch": batch,
        "cache": cache,
        "out": out,
    }
    settings = read_settings(config) | {k: v for k, v in said.items() if v is not None}
    named = o.columns(source, output, reference, group, system, identifier, score, inputs)
    if config is not None or Path("calibrate.yaml").exists():
        typer.echo(f"settings  {config or 'calibrate.yaml'}", err=True)
    settings["columns"] = {**settings.get("columns", {}), **named}
    made = make_config(**settings)
    if made.aspect == "all":
        start_every(made, runs_dir, quiet=quiet, as_json=as_json)
    else:
        tell(start(made, runs_dir, quiet=quiet or as_json), quiet=quiet, as_json=as_json)
