"""The effectiveness experiment through its command line: scores of a file, and of a server."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doubles.server import serving

SCRIPT = Path(__file__).resolve().parent.parent / "experiments" / "effectiveness.py"
HEAD = "item,system,clarity,evidence,emotional-appeal,rebuttal,audience-adaptation,fairness"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CALIBRATOR_CACHE": str(folder / "cache")}
    command = [sys.executable, str(SCRIPT), *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_scores_of_a_file_are_assessed_text_by_text_and_system_by_system(tmp_path: Path) -> None:
    given, out = tmp_path / "scores.csv", tmp_path / "out.csv"
    given.write_text(f"{HEAD}\na,one,3,2,1,1,1,3\nb,one,3,3,1,3,1,3\nc,two,1,1,0,,0,3\n", encoding="utf-8")
    done = run(tmp_path, "--scores", str(given), "--out", str(out))
    assert done.returncode == 0, done.stderr
    first, second, third = rows(out)
    assert first["overall"] == "0.7500"  # 1 + 0.5 + 1 + 0 + 1 + 1, of six
    assert first["improve"] == "improve: rebuttal (1 of 3), evidence (2 of 3)"
    assert (second["overall"], second["improve"]) == ("1.0000", "improve: nothing: every component is at its best")
    assert (third["overall"], third["rebuttal"]) == ("", "")
    assert third["improve"].endswith("no score: rebuttal")
    assert "| one | 2 of 2 | 3.00 | 2.50 | 1.00 | 2.00 | 1.00 | 3.00 | 0.88 | rebuttal in 1 |" in done.stdout
    assert "| two | 0 of 1 |" in done.stdout


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    given = tmp_path / "scores.csv"
    columns = HEAD.removeprefix("item,system,")  # the mark stands before a component
    given.write_text(f"{columns}\n3,2,1,1,1,3\n", encoding="utf-8-sig")
    done = run(tmp_path, "--scores", str(given))
    assert done.returncode == 0, done.stderr
    assert "overall 0.75; improve: rebuttal (1 of 3), evidence (2 of 3)" in done.stdout


def test_ties_of_what_comes_first_are_named_as_ties(tmp_path: Path) -> None:
    given = tmp_path / "scores.csv"
    tie, alone = "a,one,1,1,1,3,1,3", "b,one,3,3,1,3,1,2"
    given.write_text(f"{HEAD}\n{tie}\n{tie}\n{alone}\n", encoding="utf-8")
    assert "| clarity, evidence in 2; fairness in 1 |" in run(tmp_path, "--scores", str(given)).stdout
    given.write_text(f"{HEAD}\na,one,1,1,0,1,0,1\n", encoding="utf-8")
    assert "| all alike in 1 |" in run(tmp_path, "--scores", str(given)).stdout
    given.write_text(f"{HEAD}\n{alone}\nc,one,3,2,1,3,1,3\nd,one,2,3,1,3,1,3\n", encoding="utf-8")
    assert "| clarity in 1; evidence in 1; … |" in run(tmp_path, "--scores", str(given)).stdout


def test_weights_change_what_comes_first(tmp_path: Path) -> None:
    given = tmp_path / "scores.csv"
    given.write_text(f"{HEAD}\na,one,3,2,1,1,1,3\n", encoding="utf-8")
    done = run(tmp_path, "--scores", str(given), "--weights", "evidence=3")
    assert "improve: evidence (2 of 3), rebuttal (1 of 3)" in done.stdout


@pytest.mark.parametrize(
    ("content", "arguments", "says"),
    [
        ("item,clarity\na,3\n", (), "no column evidence"),
        (f"{HEAD}\na,one,4,2,1,1,1,3\n", (), "'4' is not on the scale 1-3"),
        (f"{HEAD}\na,one,good,2,1,1,1,3\n", (), "row 2, clarity"),
        (f"{HEAD}\na,one,3,2,1,1,1,3\n", ("--weights", "wit=2"), "--weights"),
        (f"{HEAD}\na,one,3,2,1,1,1,3\n", ("--weights", "clarity=much"), "is no weight"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, content: str, arguments: tuple[str, ...], says: str) -> None:
    given = tmp_path / "scores.csv"
    given.write_text(content, encoding="utf-8")
    done = run(tmp_path, "--scores", str(given), *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_scores_every_component_of_every_generator(real_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    with serving(tmp_path / "log") as double:
        asked = ("--model", f"{double.url}#some-model", "--limit", "2", "--out", str(out))
        done = run(tmp_path, *asked, "--data-dir", str(real_data))
    assert done.returncode == 0, done.stderr
    assert [r["system"] for r in rows(out)] == ["DialoGPT", "ChatGPT", "Vicuna"] * 2
    said = rows(tmp_path / "out.csv.feedback.csv")
    assert len(said) == 6 * 6
    assert all(bool(r["score"]) != bool(r["failure"]) for r in said)
    assert len({(r["item"], r["aspect"]) for r in said}) == 36
