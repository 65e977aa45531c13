"""Lists on the terminal: runs, aspects, data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Column, Table

from calibrator.aspects import find_aspect, read_aspect, shipped_aspects
from calibrator.catalog import SETS, files_of, is_there
from calibrator.errors import RunError
from calibrator.export import number_of
from calibrator.report.console import make_console, say
from calibrator.store import Run, all_runs
from calibrator.texts import visible


def show_runs(runs: Path, *, as_json: bool) -> None:
    """Print the runs of a folder, oldest first: what they were about and what came of them."""
    rows = [_row(run) for run in all_runs(runs)]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    if not rows:
        print(f"no runs in {runs}")
        return
    table = Table(Column("run", no_wrap=True), "aspect", "data", "seed", "state", "spearman (test)")
    for row in rows:
        table.add_row(
            *(escape(visible(str(row[k]))) for k in ("run", "aspect", "data", "seed", "state")),
            number_of(row["spearman"]),
        )
    make_console().print(table)


def _row(run: Run) -> dict[str, Any]:
    """Return a run in one line; one that cannot be read is listed as damaged."""
    try:
        config, result = run.config(), run.result()
        about = {k: config[k] for k in ("aspect", "data", "seed")}
        value = result["test"]["judges"][0]["figures"]["spearman"]["value"] if result else None
    except (RunError, KeyError, IndexError, TypeError):
        return {"run": run.id, "aspect": "", "data": "", "seed": "", "state": "damaged", "spearman": None}
    return {"run": run.id, **about, "state": "finished" if result else "unfinished", "spearman": value}


def show_aspects() -> None:
    """Print all aspects with their scales."""
    table = Table(Column("aspect", no_wrap=True), "label", "scale", "better")
    for ref, path in shipped_aspects().items():
        aspect = read_aspect(path)
        table.add_row(ref, aspect.label, str(aspect.scale), aspect.better)
    make_console().print(table)


def show_aspect(name: str) -> None:
    """Print one aspect in full."""
    aspect, chosen = find_aspect(name)
    console = make_console()
    say(console, f"{aspect.label} ({aspect.ref}; {chosen})\n{aspect.definition}")
    say(console, f"scale {aspect.scale}, {aspect.better} is better")
    for point, meaning in aspect.anchors.items():
        say(console, f"  {point:g}  {meaning}")
    say(console, f"basis: {aspect.basis}")


def show_sets(data_dir: Path | None) -> None:
    """Print the named data sets and where they are or would be."""
    table = Table("name", "aspects", "here", "what")
    for named in SETS.values():
        table.add_row(named.name, named.suite, "yes" if is_there(named, data_dir) else "no", named.about)
    console = make_console()
    console.print(table)
    for named in SETS.values():
        if not is_there(named, data_dir):
            how = f"calibrate data get {named.download}" if named.download else "put it there by hand"
            say(console, f"{named.name}: {files_of(named, data_dir)[0]} ({how})")
