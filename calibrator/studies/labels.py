"""Labels as cells of a table hold them: one, or a list of them."""

from __future__ import annotations

import ast
import re
from typing import Any

from calibrator.cells import entries

_WHOLE = re.compile(r"(-?[0-9]+)\.0+")


def label_text(cell: Any) -> str:
    """Return a label as a text, a whole number without its decimals.

    A column of whole numbers in which some are missing is often written as 1.0 beside a column with 1: these are one
    label.
    """
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    text = str(cell).strip()
    whole = _WHOLE.fullmatch(text)
    return whole[1] if whole else text


def listed(cell: Any) -> list[Any] | None:
    """Return the entries of a cell that holds a list, also one written as JSON or as Python does; None for another."""
    if isinstance(cell, list | tuple):
        return list(cell)
    if not isinstance(cell, str) or not cell.strip().startswith("["):
        return None
    found = entries(cell)
    if found != [cell]:
        return found
    try:
        value = ast.literal_eval(cell.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return list(value) if isinstance(value, list | tuple) else None


def quoted(name: str) -> str:
    """Return a label as it stands in a list by comma: in quotation marks if it holds a comma itself."""
    return f'"{name}"' if "," in name else name
