"""`calibrate probe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrator.cli import options as o

PROBES = "Probes"


def probe(
    judge: Annotated[
        str,
        typer.Argument(
            help="A frozen judge (its name or file), criteria, zero-shot (with --model), recorded:P for a column of "
            "scores, or replies:FILE for replies that were recorded."
        ),
    ],
    aspect: o.Aspect = None,
    data: o.Data = None,
    data_dir: o.DataDir = None,
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
    probes: Annotated[
        str | None,
        typer.Option(
            help="By comma; all otherwise: repeatability, temperatures, order, paraphrase, verbosity, range, "
            "self-preference, injection.",
            rich_help_panel=PROBES,
        ),
    ] = None,
    items: Annotated[
        int | None, typer.Option(min=3, help="So many, by lot; all, or 40 with a model.", rich_help_panel=PROBES)
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draws items, attacks and resamples.", rich_help_panel=PROBES)
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=2, help="Judgments of an item, for repeatability.", rich_help_panel=PROBES)
    ] = 3,
    temperatures: Annotated[str, typer.Option(help="Those to compare.", rich_help_panel=PROBES)] = "0,0.5,1",
    paraphrases: Annotated[int, typer.Option(min=1, help="Wordings of the rubric to try.", rich_help_panel=PROBES)] = 2,
    paraphraser: Annotated[
        str | None, typer.Option(help="Another model that rewords the rubric.", rich_help_panel=PROBES)
    ] = None,
    attacks: Annotated[
        int | None,
        typer.Option(min=1, help="Of each family on an item; all, or 1 with a model.", rich_help_panel=PROBES),
    ] = None,
    own: Annotated[
        str | None, typer.Option(help="The systems, by comma, that are the judge's own model.", rich_help_panel=PROBES)
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="Another limit, name=value; may be repeated.", rich_help_panel=PROBES),
    ] = None,
    resamples: Annotated[int | None, typer.Option(help="Bootstrap resamples.", rich_help_panel=PROBES)] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model", "-m", help="Who judges zero-shot; for a frozen judge, another.", rich_help_panel=o.MODELS
        ),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Most tokens of a judgment's reply.", rich_help_panel=o.MODELS)
    ] = None,
    score_mode: Annotated[
        str | None, typer.Option(help="text, expected or sample:5, for zero-shot.", rich_help_panel=o.MODELS)
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
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The result: .json to read again, .md for people.")
    ] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 if a threshold is missed.")] = False,
    runs_dir: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
) -> None:
    """Try what should not move a judge's scores: repeats, temperatures, wording, order, length, attacks and more."""
    from calibrator.cli.probing import probe_judge
    from calibrator.cli.subject import Asked

    said = {
        "aspect": aspect or (aspect_file.stem if aspect_file else None),
        "data": data,
        "data_dir": data_dir,
        "aspect_file": aspect_file,
        "scale": scale,
        "encoding": encoding,
        "seed": seed,
        "resamples": resamples,
        "model": model,
        "max_tokens": max_tokens,
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
    }
    asked = Asked(
        judge=judge,
        said={k: v for k, v in said.items() if v is not None},
        columns=o.columns(source, output, reference, group, system, identifier, score, inputs),
        probes=_listed(probes),
        items=items,
        repeats=repeats,
        temperatures=o.numbers("--temperatures", temperatures) or (),
        paraphrases=paraphrases,
        paraphraser=paraphraser,
        attacks=attacks,
        own=_listed(own),
        thresholds=o.pairs("--threshold", threshold, "name=value"),
        out=out,
        runs=runs_dir,
    )
    passed = probe_judge(asked, quiet=quiet, as_json=as_json)
    raise typer.Exit(1 if gate and not passed else 0)


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
