"""`calibrate generate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrator.cli import options as o

WHAT, EXAMPLES, DRAWN = "What is asked for", "Examples (few-shot)", "How texts are drawn"
# Not those of a judgment: its tokens, a drafter's, and a score mode.
ASKING = {name: kind for name, kind in o.ASKING.items() if name not in ("max_tokens", "draft_tokens", "score_mode")}


@o.taking(ASKING)
def generate(
    data: Annotated[str, typer.Argument(help="What to answer: a CSV, JSONL or Parquet file, or a named set.")],
    model: Annotated[str, typer.Option("--model", "-m", help="What writes: any model.", rich_help_panel=o.MODELS)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The texts: a .csv, .jsonl or .parquet file.")],
    method: Annotated[
        str, typer.Option(help="zero-shot, few-shot, vanilla, typed or controlled.", rich_help_panel=WHAT)
    ] = "zero-shot",
    scheme: Annotated[
        str | None,
        typer.Option(help="What kind of text: a scheme's name, or a YAML file of your own.", rich_help_panel=WHAT),
    ] = None,
    types: Annotated[
        str, typer.Option(help="For typed: all, or names by comma; a text for each.", rich_help_panel=WHAT)
    ] = "all",
    attributes: Annotated[
        str,
        typer.Option(
            help="For controlled: all, or names by comma, a text for each; a+b asks one text for both.",
            rich_help_panel=WHAT,
        ),
    ] = "all",
    balanced: Annotated[
        bool,
        typer.Option("--balanced", help="For controlled: each attribute in half of the texts.", rich_help_panel=WHAT),
    ] = False,
    required: Annotated[
        str | None,
        typer.Option(help="Column with the type or attributes that each row asks for.", rich_help_panel=WHAT),
    ] = None,
    words: Annotated[
        int | None, typer.Option(help="Fewer words than this; 0: no limit. The scheme's else.", rich_help_panel=WHAT)
    ] = None,
    form: Annotated[
        str,
        typer.Option(help="Of vanilla and typed: chat, plain (for models without), auto.", rich_help_panel=WHAT),
    ] = "auto",
    examples: Annotated[
        str | None, typer.Option(help="A file or a named set to take them from.", rich_help_panel=EXAMPLES)
    ] = None,
    answers: Annotated[
        str | None, typer.Option(help="Its column of answers; a reference by default.", rich_help_panel=EXAMPLES)
    ] = None,
    shots: Annotated[int, typer.Option(help="How many are shown, the nearest.", rich_help_panel=EXAMPLES)] = 3,
    embedder: Annotated[
        str, typer.Option(help="Sentence model: a folder or a name of the hub.", rich_help_panel=EXAMPLES)
    ] = "",
    download: Annotated[
        bool, typer.Option("--download", help="Fetch the sentence model if need be.", rich_help_panel=EXAMPLES)
    ] = False,
    samples: Annotated[int, typer.Option("--samples", "-n", help="Texts for each source.", rich_help_panel=DRAWN)] = 1,
    temperature: Annotated[float, typer.Option(help="0 (always the likeliest) to 2.", rich_help_panel=DRAWN)] = 0.7,
    max_tokens: Annotated[int, typer.Option(help="Most tokens of a reply.", rich_help_panel=DRAWN)] = 256,
    seed: Annotated[int, typer.Option(help="Of every choice; sample k has seed + k.", rich_help_panel=DRAWN)] = 0,
    limit: Annotated[
        int | None, typer.Option(help="Answer so many sources, drawn by the seed.", rich_help_panel=DRAWN)
    ] = None,
    each_row: Annotated[
        bool, typer.Option("--each-row", help="Answer rows that repeat a source, too.", rich_help_panel=DRAWN)
    ] = False,
    source: o.Source = None,
    reference: o.Reference = None,
    group: o.Group = None,
    identifier: o.Identifier = None,
    encoding: o.Encoding = None,
    data_dir: o.DataDir = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace --out, and what another model began.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take, and ask nothing.")] = False,
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Write texts with a model: in answer to the sources of a data set, ready to be scored and measured."""
    from calibrator.cli.generating import start
    from calibrator.cli.generating_request import Request
    from calibrator.generators.generate import Draw

    request = Request(
        data=data,
        model=model,
        out=out,
        method=method,
        scheme=scheme,
        types=types,
        attributes=attributes,
        balanced=balanced,
        required=required,
        words=words,
        form=form,
        examples=examples,
        answers=answers,
        shots=shots,
        embedder=embedder,
        download=download,
        draw=Draw(samples, temperature, max_tokens, seed),
        limit=limit,
        each_row=each_row,
        columns={"source": source, "reference": reference, "group": group, "identifier": identifier},
        encoding=encoding,
        data_dir=data_dir,
        overwrite=overwrite,
        said=said,
    )
    start(request, dry_run=dry_run, quiet=quiet, as_json=as_json)
