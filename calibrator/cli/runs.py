"""`calibrate runs`."""

from __future__ import annotations

from pathlib import Path

from calibrator.cli import options as o


def runs(runs_dir: o.Runs = Path("runs"), as_json: o.Json = False) -> None:
    """List the runs, oldest first."""
    from calibrator.report.listing import show_runs

    show_runs(runs_dir, as_json=as_json)
