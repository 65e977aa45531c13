"""Measuring a file from start to end, for `calibrate metrics`: read, measure with progress, write, print."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from calibrator.cli.options import INTERRUPTED
from calibrator.columns import Mapped, Wanted, map_columns
from calibrator.dataset import plain_items
from calibrator.errors import ConfigError, DataError, ModelMissing
from calibrator.metrics.base import Role, Settings, Unscored
from calibrator.metrics.measure import Measured, Ready, check_texts, make_ready, measured, sets_of
from calibrator.metrics.named import Asked, parse_metrics, usual
from calibrator.metrics.registry import all_metrics
from calibrator.records import Item
from calibrator.report.console import make_console, say, tell_aside
from calibrator.report.metrics import described, list_sheet, measured_json, measured_sheets
from calibrator.report.sheet import show_sheet
from calibrator.tables import Table, kind_of, read_table, write_table

ROLES: tuple[Role, ...] = ("output", "source", "reference")
PREFIX = "metric/"  # of the new columns: `recorded:metric/<name>` is then a judge


def show_metrics(*, as_json: bool) -> None:
    """Print every metric with what it needs."""
    if as_json:
        print(json.dumps([described(m) for m in all_metrics()], ensure_ascii=False, indent=1))
    else:
        show_sheet(make_console(), list_sheet(all_metrics()))


def result_of(file: Path, out: Path | None, *, overwrite: bool) -> Path:
    """Return where the measured form of a file goes. Raises ConfigError if that is taken, DataError for its format."""
    target = out or file.with_name(f"{file.stem}.metrics{file.suffix}")
    if target.resolve() == file.resolve():
        raise ConfigError(f"--out: {target} is the file to be measured; give another name")
    kind_of(target)
    if target.exists() and (target.is_dir() or not overwrite):
        raise ConfigError(f"{target} is there already; name another file (--out), or replace it (--overwrite)")
    return target


def measure_file(
    file: Path,
    names: str | None,
    wanted: Wanted,
    settings: Settings,
    target: Path,
    *,
    encoding: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Measure every row of a file and write it to `target` with a column for each metric of texts; print the tables.

    Ctrl-C exits with 130. Raises ConfigError for an unknown metric or one that needs a text the file has not, DataError
    for a file that cannot be read, ModelMissing, with the command that provides it, for what is absent.
    """
    table = read_table(file, encoding)
    if not table.rows:
        raise DataError("the file has a header but no rows", file=file)
    mapped = map_columns(table, wanted, None)
    items = plain_items(table, mapped)
    asked, ready = _ready(names, mapped, table.columns, replace(settings, tell=_tell))
    _check_free(table, file, asked)
    console = make_console(quiet or as_json)
    say(console, f"data      {file.name}: {len(items)} rows; {mapped.described()}")
    found = _measured(ready, items, quiet=quiet or as_json)
    _write(target, table, found)
    if as_json:
        print(json.dumps(measured_json(asked, items, found, str(target)), ensure_ascii=False, indent=1))
        return
    for sheet in measured_sheets(asked, items, found):
        show_sheet(console, sheet)
    if found.items:
        print(f"{len(found.items)} metrics of {len(items)} texts in columns '{PREFIX}…' of {target}")


def with_corpus(settings: Settings, corpus: Path | None, wanted: Wanted, encoding: str | None) -> Settings:
    """Return the settings with the outputs of another file, whose columns are read as those of the file itself."""
    if corpus is None:
        return settings
    table = read_table(corpus, encoding)
    items = plain_items(table, map_columns(table, Wanted(output=wanted.output), None))
    return replace(settings, corpus=tuple(item.output for item in items))


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _ready(
    names: str | None, mapped: Mapped, columns: Sequence[str], settings: Settings
) -> tuple[tuple[Asked, ...], tuple[Ready, ...]]:
    """Return the metrics, made; those that nobody named are left out, with a word, where something is absent."""
    there: list[Role] = [role for role in ROLES if getattr(mapped, role)]
    if names is not None:
        asked = parse_metrics(names)
        check_texts(asked, there, columns)
        try:
            return asked, make_ready(asked, settings)
        except ModelMissing as error:
            fetch = "; or let this command fetch it: --download" if "hf download" in str(error) else ""
            raise ModelMissing(f"{error}{fetch}") from None
    had: list[Asked] = []
    ready: list[Ready] = []
    lacking: dict[str, list[str]] = {}
    for role in (role for role in ROLES if role not in there):
        if without := [str(a) for a in usual(ROLES) if role in a.metric.needs]:
            why = f"no column looks like the {role}; name it: --{role} (columns: {', '.join(columns)})"
            lacking[why] = without
    for group in _together(usual(there)):
        try:
            ready += make_ready(group, settings)
            had += group
        except ModelMissing as error:
            lacking.setdefault(str(error), []).extend(map(str, group))
    tell_aside(f"without {', '.join(left)}: {why}" for why, left in lacking.items())
    return tuple(had), tuple(ready)


def _together(asked: Sequence[Asked]) -> list[list[Asked]]:
    """Return the metrics in groups that are computed, and are absent, together."""
    groups: dict[object, list[Asked]] = {}
    for one in asked:
        groups.setdefault(one.metric.make, []).append(one)
    return list(groups.values())


def _check_free(table: Table, file: Path, asked: Sequence[Asked]) -> None:
    for one in asked:
        name = f"{PREFIX}{one}"
        if one.metric.of == "item" and name in table.columns:
            raise ConfigError(f"{file} has a column '{name}' already; leave {one} out, or name another file")


def _measured(ready: Sequence[Ready], items: Sequence[Item], *, quiet: bool) -> Measured:
    """Measure with a bar for each metric that goes item by item."""
    form = ("{task.description}", MofNCompleteColumn(), TextColumn("texts"), TimeRemainingColumn())
    bar = Progress(*form, console=make_console(quiet), transient=True, disable=quiet or not sys.stdout.isatty())
    tasks = {}
    sets = sum(map(len, sets_of(items).values()))

    def told(name: str, count: int) -> None:
        if name not in tasks:
            of_items = next(r for r in ready if name in r.names.values()).metrics[0].of == "item"
            tasks[name] = bar.add_task(name, total=len(items) if of_items else sets)
        bar.update(tasks[name], advance=count)

    try:
        with bar:
            return measured(ready, items, told)
    except KeyboardInterrupt:
        print("\nStopped; nothing was written.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None


def _write(target: Path, table: Table, found: Measured) -> None:
    """Write the rows with a column for each metric and, where some value is missing, one that says why."""
    columns: dict[str, list[object]] = {}
    for name, values in found.items.items():
        columns[f"{PREFIX}{name}"] = [None if isinstance(v, Unscored) else round(float(v), 6) for v in values]
        if any(isinstance(v, Unscored) for v in values):
            columns[f"{PREFIX}{name}_failure"] = [v.reason if isinstance(v, Unscored) else None for v in values]
    if columns:
        write_table(target, table, columns)
