"""`calibrate probe`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrator.cli import options as o

PROBES = "Probes"
DATA = {name: kind for name, kind in o.DATA.items() if name != "test"}
ASKING = {name: kind for name, kind in o.ASKING.items() if name != "draft_tokens"}


@o.taking(DATA, o.COLUMNS, ASKING)
def probe(
    judge: Annotated[
        str,
        typer.Argument(
            help="A frozen judge (its name or file), criteria, zero-shot (with --model), recorded:P for a column of "
            "scores, or replies:FILE for replies that were recorded."
        ),
    ],
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
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The result: .json to read again, .md for people.")
    ] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 if a threshold is missed.")] = False,
    runs_dir: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Try what should not move a judge's scores: repeats, temperatures, wording, order, length, attacks and more."""
    from calibrator.cli.probing import probe_judge
    from calibrator.cli.subject import Asked

    named = said.pop("columns", {})
    more = (("seed", seed), ("resamples", resamples), ("model", model))
    asked = Asked(
        judge=judge,
        said=said | {k: v for k, v in more if v is not None},
        columns=named,
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
