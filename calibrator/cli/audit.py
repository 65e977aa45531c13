"""`calibrate data audit`."""

from __future__ import annotations

from typing import Annotated

import typer

from calibrator.cli import options as o


def audit(
    data: Annotated[str, typer.Argument(help="A CSV, JSONL or Parquet file, or a named set.")],
    other: Annotated[
        str | None, typer.Argument(help="A second one that must share nothing with it, e.g. the test side.")
    ] = None,
    aspect: o.Aspect = None,
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
    as_json: Annotated[bool, typer.Option("--json", help="The findings as JSON on standard output.")] = False,
) -> None:
    """Look for what is wrong with rated texts: all ratings there are, or those of one aspect.

    The exit code is 1 if there is a grave finding.
    """
    from calibrator.aspects import find_aspect, parse_scale, read_aspect
    from calibrator.audit import whole
    from calibrator.calibration.config import ColumnNames
    from calibrator.catalog import open_source
    from calibrator.report.audit import show_audit

    names = o.columns(source, output, reference, group, system, identifier, score, inputs)
    named = ColumnNames.model_validate(names)
    sources = [open_source(d, data_dir, encoding) for d in (data, other) if d is not None]
    wanted = read_aspect(aspect_file) if aspect_file else None
    if aspect and not wanted:
        wanted = find_aspect(aspect, sources[0].suite)[0]
    over = parse_scale(scale) if scale else None
    result = whole.audit([(s, named.over(s.wanted)) for s in sources], wanted, over)
    show_audit(result, as_json=as_json)
    raise typer.Exit(1 if result.grave else 0)
