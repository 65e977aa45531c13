"""`calibrate data audit`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from calibrator.cli import options as o

DATA = {name: kind for name, kind in o.DATA.items() if name not in ("data", "test")}


@o.taking(DATA, o.COLUMNS)
def audit(
    data: Annotated[str, typer.Argument(help="A CSV, JSONL or Parquet file, or a named set.")],
    other: Annotated[
        str | None, typer.Argument(help="A second one that must share nothing with it, e.g. the test side.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The findings as JSON on standard output.")] = False,
    *,
    said: dict[str, Any],
) -> None:
    """Look for what is wrong with rated texts: all ratings there are, or those of one aspect.

    The exit code is 1 if there is a grave finding.
    """
    from calibrator.aspects import find_aspect, parse_scale, read_aspect
    from calibrator.audit import whole
    from calibrator.calibration.config import ColumnNames
    from calibrator.catalog import open_source
    from calibrator.report.audit import show_audit

    named = ColumnNames.model_validate(said.get("columns", {}))
    sources = [open_source(d, said.get("data_dir"), said.get("encoding")) for d in (data, other) if d is not None]
    file, aspect, scale = (said.get(name) for name in ("aspect_file", "aspect", "scale"))
    wanted = read_aspect(file) if file else None
    if aspect and not wanted:
        wanted = find_aspect(aspect, sources[0].suite)[0]
    over = parse_scale(scale) if scale else None
    result = whole.audit([(s, named.over(s.wanted)) for s in sources], wanted, over)
    show_audit(result, as_json=as_json)
    raise typer.Exit(1 if result.grave else 0)
