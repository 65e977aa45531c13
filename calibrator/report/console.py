"""How the package writes to the terminal: tables as wide as there is room, lines as they are."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.console import Console

from calibrator.texts import visible

WIDE = 120  # columns, where the output is no terminal


def make_console(quiet: bool = False) -> Console:
    """Return a console for standard output."""
    return Console(quiet=quiet, emoji=False, width=None if sys.stdout.isatty() else WIDE)


def say(console: Console, line: str, style: str | None = None) -> None:
    """Print a line as it is, without reading markup into it; only a terminal breaks it."""
    console.print(visible(line), style=style, highlight=False, markup=False, soft_wrap=True)


def tell_aside(lines: Iterable[str]) -> None:
    """Print warnings on standard error, where neither -q nor --json swallows them."""
    for line in lines:
        print(f"warning: {visible(line)}", file=sys.stderr)


def told_p(p: float | None) -> str:
    """Return a p-value in words: three decimals, "< 0.001" below that, a dash where it is not defined."""
    return "–" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"
