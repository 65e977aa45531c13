"""What a cell of a table holds: a number, a list, or nothing."""

from __future__ import annotations

import json
import math
from typing import Any

MISSING = frozenset({"", "na", "n/a", "nan", "none", "null", "-"})


def entries(cell: Any) -> list[Any]:
    """Return what a cell holds: the entries of a list, also of one written as JSON, else the cell itself."""
    if isinstance(cell, str) and cell.strip().startswith("["):
        try:
            cell = json.loads(cell)
        except json.JSONDecodeError:
            return [cell]
    return cell if isinstance(cell, list) else [cell]


def missing(cell: Any) -> bool:
    """Whether a cell stands for no value."""
    if isinstance(cell, str):
        return cell.strip().lower() in MISSING
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def number(cell: Any) -> float | None:
    """Return the number in a cell, None if it holds none."""
    try:
        return None if isinstance(cell, bool) else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
