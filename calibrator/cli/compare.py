"""`calibrate compare` and `calibrate panel`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from calibrator.cli import options as o

TABLES = "Further tables"
PANELS = "Panels"

Models = Annotated[
    str | None,
    typer.Option("--models", "--model", "-m", help="Who is asked where a judge names no model; several by comma."),
]
Objective = Annotated[str | None, typer.Option(help="What judges are compared by: spearman, kendall, pearson, mae.")]
Seed = Annotated[int | None, typer.Option(min=0, help="Decides the split and all chance.")]
Resamples = Annotated[int | None, typer.Option(help="Bootstrap resamples and permutations.")]
Negative = Annotated[
    bool, typer.Option("--negative", help="Judges may count downwards on a panel.", rich_help_panel=PANELS)
]
MostCost = Annotated[
    float | None,
    typer.Option(
        "--max-cost-per-item",
        min=0,
        help="The best panel whose judges cost at most so many US dollars an item, chosen on dev.",
        rich_help_panel=PANELS,
    ),
]
Cost = Annotated[
    list[str] | None,
    typer.Option(help="What a judge costs an item: NAME=0.002; may be repeated.", rich_help_panel=PANELS),
]
Epsilon = Annotated[
    str,
    typer.Option(help="Margin of the alternative annotator test: expert, skilled, crowd, or a number from 0 to 1."),
]
Force = Annotated[bool, typer.Option("--force", help="Go on in spite of grave faults of the data.")]
Map = Annotated[
    str | None,
    typer.Option("--map", help="Put scores on the human scale first: linear, isotonic, ordinal or auto."),
]


@o.taking(o.DATA, o.COLUMNS, o.ASKING)
def compare(
    judges: Annotated[
        str | None,
        typer.Option(
            "--judges",
            "-j",
            help="By comma: criteria, zero-shot, g-eval, calibrated[:FILE], recorded:P, metric:NAME, panel:A+B, @MODEL "
            "behind; by default all that can be had.",
        ),
    ] = None,
    models: Models = None,
    objective: Objective = None,
    seed: Seed = None,
    resamples: Resamples = None,
    score_map: Map = None,
    epsilon: Epsilon = "expert",
    force: Force = False,
    negative: Negative = False,
    most: MostCost = None,
    cost: Cost = None,
    trials: Annotated[
        bool, typer.Option("--trials", help="39 trials on samples of 13 sizes (CSEval).", rich_help_panel=TABLES)
    ] = False,
    by_system: Annotated[bool, typer.Option("--by-system", help="System by system.", rich_help_panel=TABLES)] = False,
    unified: Annotated[
        bool, typer.Option("--unified", help="One score for all aspects together.", rich_help_panel=TABLES)
    ] = False,
    overall: Annotated[
        str | None,
        typer.Option(help="The mean of the other aspects against this one.", rich_help_panel=TABLES),
    ] = None,
    preference: Annotated[
        str | None,
        typer.Option(help="Order within groups against the human ranks in this column.", rich_help_panel=TABLES),
    ] = None,
    rank_best: Annotated[
        str, typer.Option(help="Which rank is the best: lowest or highest.", rich_help_panel=TABLES)
    ] = "lowest",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder for comparison.md, .csv and .json; else below --runs-dir."),
    ] = None,
    runs_dir: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Compare judges on the same sealed test items, side by side with the humans."""
    from calibrator.cli.comparing import Request, start

    request = Request(
        judges=judges,
        models=_listed(models),
        said=_more(said, objective=objective, seed=seed, resamples=resamples, force=force or None),
        score_map=score_map or "identity",
        epsilon=epsilon,
        negative=negative,
        most=most,
        costs=o.pairs("--cost", cost, "NAME=0.002"),
        trials=trials,
        by_system=by_system,
        unified=unified,
        overall=overall or "",
        preference=preference,
        rank_best=rank_best,
    )
    start(request, out, runs_dir, quiet=quiet, as_json=as_json)


@o.taking(o.DATA, o.COLUMNS, o.ASKING)
def panel(
    members: Annotated[
        str, typer.Argument(help="Judges joined by +: criteria+recorded:gpt-4/zero-shot+zero-shot@openai/gpt-4o-mini.")
    ],
    models: Models = None,
    join: Annotated[str, typer.Option(help="fit (weights from train and dev) or ranks (all count the same).")] = "fit",
    negative: Negative = False,
    most: MostCost = None,
    cost: Cost = None,
    objective: Objective = None,
    seed: Seed = None,
    resamples: Resamples = None,
    epsilon: Epsilon = "expert",
    force: Force = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where the frozen panel goes.")] = None,
    runs_dir: o.Runs = Path("runs"),
    quiet: o.Quiet = False,
    as_json: o.Json = False,
    *,
    said: dict[str, Any],
) -> None:
    """Join judges into one, hold it against each of them on the test side, and freeze it."""
    from calibrator.cli.comparing import Request, start_panel

    request = Request(
        judges=members,
        models=_listed(models),
        said=_more(said, objective=objective, seed=seed, resamples=resamples, force=force or None),
        epsilon=epsilon,
        negative=negative,
        most=most,
        costs=o.pairs("--cost", cost, "NAME=0.002"),
    )
    start_panel(request, join, out, runs_dir, quiet=quiet, as_json=as_json)


def _listed(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _more(said: dict[str, Any], **further: Any) -> dict[str, Any]:
    return said | {name: value for name, value in further.items() if value is not None}
