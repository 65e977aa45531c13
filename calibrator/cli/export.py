"""`calibrate export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def export(
    rubric: Annotated[str, typer.Argument(help="A frozen judge: its name or its file.")],
    to: Annotated[str, typer.Option("--to", help="prompt, markdown, json, yaml or dspy (a program).")] = "markdown",
    out: Annotated[Path | None, typer.Option("--out", "-o", help="A file; standard output otherwise.")] = None,
) -> None:
    """Write a frozen judge in a form that people or other tools take."""
    from calibrator.errors import ConfigError
    from calibrator.export import EXPORTS, differs
    from calibrator.files import write_whole
    from calibrator.judges.frozen import read_frozen
    from calibrator.judges.places import find_frozen
    from calibrator.report.console import tell_aside

    if to not in EXPORTS:
        raise ConfigError(f"--to: '{to}' is none of {', '.join(EXPORTS)}")
    frozen = read_frozen(find_frozen(rubric))
    text = EXPORTS[to](frozen)
    if difference := differs(frozen, to):
        tell_aside([difference])
    if out is None:
        typer.echo(text, nl=False)
    else:
        write_whole(out / f"{frozen.aspect.name}.json" if to == "dspy" and out.is_dir() else out, text)
