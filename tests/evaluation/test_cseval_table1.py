"""The experiment beside the paper's tables: what must hold in what it prints, on the real data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "experiments" / "cseval_table1.py"


def printed(real_data: Path, *only: str) -> list[list[str]]:
    """The cells of every line of a table that the script prints."""
    asked = ["--only", ",".join(only), "--resamples", "50", "--data-dir", str(real_data)]
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *asked], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [
        [c.strip() for c in line.strip("|").split("|")] for line in done.stdout.splitlines() if line.startswith("|")
    ]


def test_the_published_lead_stands_on_labels_that_equal_the_judge(real_data: Path) -> None:
    lines = printed(real_data, "labels")
    equal = next(line for line in lines if line[0] == "gpt-4/auto-cseval")
    assert equal[1].startswith("100.0 ")  # in % of the suspect rows whose label for relevance is on the scale
    (relevance, *_) = [line for line in lines if line[0] == "relevance"]
    assert relevance[1] == "917 + 252"
    on_rated, with_suspect, in_paper = (float(cell) for cell in relevance[5:8])
    assert on_rated < 0 < with_suspect < in_paper == 0.155


def test_every_recorded_number_off_its_scale_is_counted(real_data: Path) -> None:
    lines = printed(real_data, "scores")
    off = {(line[0], line[1]): line[2:] for line in lines[2:]}
    assert off["gpt-4/g-eval", "suitableness"] == ["2 of 311", "0 of 253", "4"]
    assert off["mistral-7b/zero-shot", "suitableness"] == ["24 of 917", "12 of 256", "-1, 0"]
    assert off["gpt-4/zero-shot", "suitableness"] == ["0 of 917", "11 of 256", "-1"]
    assert len(off) == 15
