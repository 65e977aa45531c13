"""The benchmark of throughput runs and finds every reply right; what it measures is no matter for a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent.parent / "experiments" / "throughput.py"


def test_ours_and_bare_aiohttp_have_their_rows_and_every_judgment_is_right() -> None:
    sizes = ["--judgments", "60", "--in-flight", "8", "--clients", "ours,cached,aiohttp"]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *sizes], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line]
    table = [dict(zip(rows[0], row, strict=True)) for row in rows[2:]]
    wanted = ("**ours, whole pipeline**", "**ours, all in the cache**", "bare aiohttp ")
    assert all(row["client"].startswith(name) for row, name in zip(table, wanted, strict=True))
    assert [(row["in flight"], row["right"]) for row in table] == [("8", "60 / 60")] * 3
    assert [row["most in flight"] for row in table] == ["8", "", "8"]
    assert "ours / bare aiohttp at 8 in flight" in done.stdout
