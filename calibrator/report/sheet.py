"""A table that is made once and printed in two ways: as wide as the terminal allows, and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from calibrator.report.console import say
from calibrator.texts import visible

GAP = 2  # spaces between two columns
MORE = "… more columns of the same rows"
NARROWEST = 16  # letters of the key's column


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, to which side it is set, and the `group` whose name stands over it and its neighbours."""

    head: str
    group: str = ""
    right: bool = True


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table: rows of cells, one for each column, or a text alone, which is a heading of the rows below it.

    The first `keys` columns say what a row is; they stand again where the terminal is too narrow for one table. `notes`
    are sentences below. Raises ValueError if a row has another number of cells than there are columns.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...] | str, ...]
    keys: int = 1
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for row in self.rows:
            if not isinstance(row, str) and len(row) != len(self.columns):
                raise ValueError(f"'{self.title}': a row of {len(row)} cells under {len(self.columns)} columns")


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands together on the terminal: a column, or several of one group set as one."""

    head: str
    cells: tuple[str, ...]
    right: bool

    @property
    def width(self) -> int:
        return max(cell_len(line) for cell in (self.head, *self.cells) for line in cell.split("\n"))


def show_sheet(console: Console, sheet: Sheet, about: str = "") -> None:
    """Print a sheet in as many tables, one below the other, as it takes to have every column whole.

    `about` is a sentence below the title.
    """
    keys = [_block([k], sheet) for k in range(sheet.keys)]
    rest = range(sheet.keys, len(sheet.columns))
    # Columns without a group stand alone: their number sets each apart from the next.
    grouped = groupby(rest, key=lambda k: sheet.columns[k].group or k)
    blocks = [_block(list(places), sheet) for _, places in grouped]
    widest = max(NARROWEST, console.width // 3)
    room = console.width - sum(min(k.width, widest) + GAP for k in keys)
    for number, part in enumerate(_packed(blocks, room)):
        say(console, f"\n{MORE if number else sheet.title}", "bold")
        if about and not number:
            say(console, about)
        console.print(_table(sheet, keys, part, widest))
    for note in sheet.notes:
        say(console, note, "dim")


def markdown_sheet(sheet: Sheet, level: int = 3) -> list[str]:
    """Return a sheet as lines of Markdown under a heading of that level; all texts are escaped."""
    heads = [f"{c.group} {c.head}".strip() for c in sheet.columns]
    lines = [f"{'#' * level} {escaped(sheet.title)}", "", _line(heads)]
    lines.append(f"|{'|'.join('---:' if c.right else '---' for c in sheet.columns)}|")
    for row in sheet.rows:
        if isinstance(row, str):
            cells = [""] * len(sheet.columns)
            cells[sheet.keys - 1] = f"**{_inline(row)}**"
            lines.append(f"| {' | '.join(cells)} |")
        else:
            lines.append(_line(row))
    for note in sheet.notes:
        lines += ["", escaped(note)]
    return [*lines, ""]


def escaped(text: str) -> str:
    """Return a text on one line in which nothing is Markdown or HTML: it is shown as it is."""
    # A mark that begins a line would make it a heading or a list.
    return re.sub(r"^([#+=-](?!\d)|\d+(?=[.)]\s))", _behind, _inline(text))


def _behind(found: re.Match[str]) -> str:
    mark = found.group(1)
    return f"{mark}\\" if mark[0].isdigit() else f"\\{mark}"


def _inline(text: str) -> str:
    """Return a text on one line, escaped but for its beginning; the interval of a figure is left as it is."""
    line = " ".join(visible(text).split())
    kept = re.compile(r"(\[[-+\d., –]+\](?![(\[:]))|([\\`*\[\]<>|~&$])")
    special = kept.sub(lambda found: found[1] or f"\\{found[2]}", line)
    # An underscore inside a word is never emphasis.
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", special)


def code(text: str) -> str:
    """Return a text on one line as code in Markdown, in more backticks than stand in it."""
    line = " ".join(visible(text).split())
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    return f"{fence}{line}{fence}" if len(fence) == 1 else f"{fence} {line} {fence}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_inline(c) for c in cells)} |"


def _block(places: Sequence[int], sheet: Sheet) -> _Block:
    """Return columns as one, their cells set under each other within it."""
    first = sheet.columns[places[0]]
    headed = places[0] == sheet.keys - 1
    rows = [[_flat(("", row)[headed] if isinstance(row, str) else row[k]) for k in places] for row in sheet.rows]
    heads = [_flat(sheet.columns[k].head) for k in places]
    if len(places) == 1:
        head = f"{_flat(first.group)}\n{heads[0]}" if first.group else heads[0]
        return _Block(head, tuple(r[0] for r in rows), first.right)
    widths = [max(cell_len(r[k]) for r in [heads, *rows]) for k in range(len(places))]
    head, *cells = (" ".join(_set(c, w) for c, w in zip(r, widths, strict=True)) for r in [heads, *rows])
    return _Block(f"{_flat(first.group)}\n{head}", tuple(cells), True)


def _set(cell: str, width: int) -> str:
    return " " * (width - cell_len(cell)) + cell


def _flat(text: str) -> str:
    return " ".join(visible(text).split())


def _packed(blocks: Sequence[_Block], room: int) -> list[list[_Block]]:
    """Return the blocks in order, in as few parts as fit the room; at least one in each part."""
    parts: list[list[_Block]] = [[]]
    left = room
    for block in blocks:
        if parts[-1] and block.width > left:
            parts.append([])
            left = room
        parts[-1].append(block)
        left -= block.width + GAP
    return parts


def _table(sheet: Sheet, keys: Sequence[_Block], part: Sequence[_Block], widest: int) -> Table:
    blocks = [*keys, *part]
    lines = max(b.head.count("\n") for b in blocks)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for k, block in enumerate(blocks):
        head = Text("\n" * (lines - block.head.count("\n")) + block.head)
        width = widest if k < len(keys) else None
        table.add_column(head, justify="right" if block.right else "left", max_width=width, overflow="fold")
    for k, row in enumerate(sheet.rows):
        table.add_row(*(Text(b.cells[k]) for b in blocks), style="bold" if isinstance(row, str) else None)
    return table
