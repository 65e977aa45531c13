"""The multi-aspect experiment through its command line: what must hold in what it prints, on the real data."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

from tests.doubles.server import serving

SCRIPT = Path(__file__).resolve().parent.parent / "experiments" / "multi_aspect.py"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CALIBRATOR_CACHE": str(folder / "cache")}
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr
    return done


def cells(printed: str) -> list[list[str]]:
    return [[c.strip() for c in line.strip("|").split("|")] for line in printed.splitlines() if line.startswith("| ")]


def test_aspects_and_overall_stand_side_by_side_and_placeholders_are_told_to_be_such(
    real_data: Path, tmp_path: Path
) -> None:
    done = run(tmp_path, "--resamples", "50", "--data-dir", str(real_data))
    lines = cells(done.stdout)
    judges = {line[0]: line for line in lines}
    # A fit joined to other rows than its own would agree with nothing.
    assert float(judges["criteria"][2]) > 0.5
    assert float(judges["criteria"][3]) > 0.5
    assert judges["annotator 1, beside the others"][1] == "108 / 18"
    assert judges["Vicuna-33b"][1:] == ["0.687", "0.771", "+0.084"]
    # And the example file of the paper holds one number for each generator.
    example = {line[0]: line[1:4] for line in lines if line[1:2] == ["60"]}
    assert example == {"DialoGPT": ["60", "1", "1"], "ChatGPT": ["60", "5", "5"], "Vicuna": ["60", "4", "4"]}
    assert "no ratings of texts" in done.stdout


def test_a_model_is_asked_for_every_aspect_and_its_feedback_is_kept(real_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "feedback.csv"
    with serving(tmp_path / "log") as double:
        model = f"{double.url}#some-model"
        done = run(tmp_path, "--model", model, "--limit", "2", "--out", str(out), "--data-dir", str(real_data))
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 6 * 6
    assert {r["aspect"] for r in rows} == {
        "opposition", "relatedness", "specificity", "toxicity", "fluency", "overall"
    }  # fmt: skip
    assert "36 verdicts" in done.stdout
    by_evaluator = [line for line in cells(done.stdout) if line[1:2] == ["paper: GPT-4"]]
    assert [line[7] for line in by_evaluator] == ["1.82", "4.85", "3.55"]
