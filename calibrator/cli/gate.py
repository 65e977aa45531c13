"""`calibrate gate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from calibrator.cli import options as o


def gate(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run: its id or a part of it, its folder, 'last'; or a frozen panel's file."
        ),
    ],
    min_gain: Annotated[
        float, typer.Option(help="What the lower end of the gain over the best baseline must exceed.")
    ] = 0.0,
    min_rho: Annotated[float, typer.Option(help="The least Spearman correlation with the humans.")] = 0.4,
    probe: Annotated[
        Path | None, typer.Option(help="What `calibrate probe … --out FILE.json` found of the judge: it counts too.")
    ] = None,
    runs_dir: o.Runs = Path("runs"),
    as_json: o.Json = False,
) -> None:
    """Say whether the judge of a run may be trusted by its test side: exit code 0 if it may, 1 if not."""
    from calibrator.judges.places import find_frozen
    from calibrator.report.gate import Wanted, show_gate, show_panel_gate
    from calibrator.store import find_run

    wanted = Wanted(min_gain, min_rho, probe)
    if Path(name).suffix in (".yaml", ".yml") or (Path("rubrics") / "frozen" / f"{name}.yaml").is_file():
        passed = show_panel_gate(find_frozen(name), wanted, as_json=as_json)
    else:
        passed = show_gate(find_run(runs_dir, name), wanted, as_json=as_json)
    raise typer.Exit(0 if passed else 1)
