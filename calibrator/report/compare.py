"""A comparison of judges for people: on the terminal, as wide as there is room, and as Markdown. No item text.

Rows are numbered, so that "better than 1-3,6" can be said in a small space; a judge has one number in all tables. With
one aspect there is one table with all figures. With several there is a table of rho and tau by aspect and their mean
first, what each judge is significantly better than, whether it may replace a human and what it took; the report in
Markdown then has every aspect in full, with all intervals and all pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from calibrator.comparison.result import AspectTable, ComparisonResult
from calibrator.report.compare_aspect import aspect_sheet, pairs_sheet, part_sheet, title
from calibrator.report.compare_aspects import (
    better_sheet,
    extra_sheet,
    overview_sheet,
    replacement_sheet,
    work_sheet,
)
from calibrator.report.compare_cells import Roster, roster
from calibrator.report.compare_lines import READINGS, caution_lines, human_lines, note_lines
from calibrator.report.console import say
from calibrator.report.sheet import Sheet, code, escaped, markdown_sheet, show_sheet


def show_comparison(console: Console, result: ComparisonResult, looks: Sequence[int | None] = ()) -> None:
    """Print a comparison; `looks` says for each aspect which look at its test side this was, and may be empty.

    Raises ValueError if there are looks, and not as many as aspects.
    """
    rows = roster(result)
    several = len(result.tables) > 1
    if several:
        for sheet in _joint(result, rows):
            show_sheet(console, sheet)
    for table, look in _with_looks(result, looks):
        if not several:
            show_sheet(console, aspect_sheet(table, rows))
        if (part := part_sheet(table, rows)) is not None:
            show_sheet(console, part)
        for line in note_lines(table, rows):
            say(console, f"  {line}" if not several else f"  {table.aspect.name}, {line}")
        say(console, "")
        for line in human_lines(table):
            if not several or line != READINGS:
                say(console, line)
        for caution in caution_lines(table):
            say(console, f"caution   {table.aspect.name + ': ' if several else ''}{caution}", "yellow")
        say(console, _signed(table, look), "dim")
    if several and any(READINGS in human_lines(t) for t in result.tables):
        say(console, READINGS)
    for extra in result.extras:
        show_sheet(console, extra_sheet(extra), extra.about)


def _signed(table: AspectTable, look: int | None) -> str:
    return table.signature if look is None else f"{table.signature} · look {look} at this test side"


def _joint(result: ComparisonResult, rows: Roster) -> Iterator[Sheet]:
    """Yield the tables over several aspects that there are."""
    sheets = (
        overview_sheet(result, rows),
        better_sheet(result, rows),
        replacement_sheet(result, rows),
        work_sheet(result, rows),
    )
    yield from (sheet for sheet in sheets if sheet is not None)


def _with_looks(result: ComparisonResult, looks: Sequence[int | None]) -> Iterator[tuple[AspectTable, int | None]]:
    given = looks or [None] * len(result.tables)
    if len(given) != len(result.tables):
        raise ValueError(f"{len(given)} looks for {len(result.tables)} aspects")
    return zip(result.tables, given, strict=True)


def comparison_markdown(result: ComparisonResult, looks: Sequence[int | None] = ()) -> str:
    """Return the report of a comparison; `looks` as in `show_comparison`. All names are escaped."""
    rows = roster(result)
    names = ", ".join(dict.fromkeys(t.data for t in result.tables))
    lines = [f"# Judges compared on {escaped(names)}", ""]
    if len(result.tables) > 1:
        lines += ["## All aspects", ""]
        for sheet in _joint(result, rows):
            lines += markdown_sheet(sheet)
    for table, look in _with_looks(result, looks):
        lines += _aspect(table, look, rows)
    for extra in result.extras:
        sheet = extra_sheet(extra)
        lines += [f"## {escaped(extra.title)}", "", escaped(extra.about), "", *markdown_sheet(sheet)[2:]]
    return "\n".join([*lines, f"calibrator {escaped(result.calibrator)}"]) + "\n"


def _aspect(table: AspectTable, look: int | None, rows: Roster) -> list[str]:
    """Return one aspect in full: its judges, those of a part, the humans' line, cautions, pairs, signature."""
    aspect = table.aspect.aspect()
    lines = [f"## {escaped(title(table))}", "", f"{escaped(aspect.definition)}", ""]
    lines += [f"Scale {aspect.scale}, {aspect.better} is better.", ""]
    lines += markdown_sheet(aspect_sheet(table, rows, full=True))[2:]
    for caution in caution_lines(table):
        lines += [f"**Caution**: {escaped(caution)}.", ""]
    if told := human_lines(table):
        lines += [" ".join(escaped(line) for line in told), ""]
    lines += [*(f"- {escaped(line)}" for line in note_lines(table, rows)), ""]
    for sheet in (part_sheet(table, rows), pairs_sheet(table, rows)):
        lines += markdown_sheet(sheet) if sheet is not None else []
    signed = code(table.signature) + ("" if look is None else f" · look {look} at this test side")
    return [*lines, signed, ""]
