"""`calibrate aspects`."""

from __future__ import annotations

from typing import Annotated

import typer


def aspects(name: Annotated[str | None, typer.Argument(help="Show this one in full.")] = None) -> None:
    """List the aspects, or show one in full."""
    from calibrator.report.listing import show_aspect, show_aspects

    if name is None:
        show_aspects()
    else:
        show_aspect(name)
