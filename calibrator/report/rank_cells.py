"""Cells of the tables of a ranking study."""

from __future__ import annotations

NONE = "–"
PARTIAL, EXTRAPOLATED = "†", "‡"


def number(value: float | None, digits: int = 3) -> str:
    """Return a number with so many decimals, a dash for none."""
    return NONE if value is None else f"{value:.{digits}f}"


def share(value: float | None) -> str:
    """Return a share in per cent, a dash for none."""
    return NONE if value is None else f"{100 * value:.0f} %"
