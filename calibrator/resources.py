"""Where the folders that travel with the package are: `rubrics/`, `prompts/` and `data/`."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def folder(name: str) -> Path:
    """Return a shipped folder: inside the package if installed from a wheel, else at the top of the repository."""
    shipped = _PACKAGE / "_shipped" / name
    return shipped if shipped.is_dir() else _PACKAGE.parent / name
