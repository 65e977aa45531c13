"""How the package writes to the terminal: tables as wide as there is room, lines as they are."""

from __future__ import annotations

import sys

from rich.console import Console

WIDE = 120  # columns, where the output is no terminal


def make_console(quiet: bool = False) -> Console:
    """Return a console for standard output."""
    return Console(quiet=quiet, width=None if sys.stdout.isatty() else WIDE)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is, without reading markup into it; only a terminal breaks it."""
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
