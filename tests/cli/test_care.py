"""What must not happen to a user: ratings overwritten, warnings swallowed, runs mixed up, false proofs."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrator.errors import InputError
from calibrator.judges.build import load_judge
from tests.conftest import Calibrate, rated_rows

QUICK = ("--trials", 1, "--rounds", 0, "--resamples", 100)
Write = Callable[..., Path]


def test_the_ratings_are_never_overwritten(calibrate: Calibrate, write_csv: Write) -> None:
    data = write_csv(rated_rows(60, 20))
    before = data.read_bytes()
    for out in ("data.csv", "other.txt"):
        done = calibrate("run", "-a", "relevance", "-d", "data.csv", "-o", out, *QUICK)
        assert done.returncode == 2
        assert "--out" in done.stderr
    scored = calibrate("score", "data.csv", "-r", "cseval/relevance", "-o", "data.csv")
    assert scored.returncode == 2
    assert data.read_bytes() == before


def test_a_file_that_is_no_frozen_judge_is_not_replaced(calibrate: Calibrate, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("precious: notes\n")
    done = calibrate("run", "-a", "relevance", "-o", "mine.yaml", *QUICK)
    assert done.returncode == 2
    assert mine.read_text() == "precious: notes\n"
    assert not (tmp_path / "runs").exists()  # refused before any work


def test_replacing_another_judge_is_said(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(rated_rows(60, 20))
    assert "replaces" not in calibrate("run", "-a", "relevance", *QUICK).stderr
    done = calibrate("run", "-a", "relevance", "-d", "data.csv", *QUICK)
    assert "replaces the judge calibrated on demo (seed 0)" in done.stderr


def test_showing_a_finished_run_again_replaces_nothing(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate("run", "-a", "relevance", *QUICK)
    frozen = tmp_path / "rubrics" / "frozen" / "relevance.yaml"
    first = next((tmp_path / "runs").glob("*-relevance-*")).name
    calibrate("run", "-a", "relevance", "--seed", 1, *QUICK)
    newer = frozen.read_bytes()
    assert calibrate("resume", first).returncode == 0
    assert frozen.read_bytes() == newer
    assert calibrate("resume", first, "--out", "again.yaml").returncode == 0
    assert (tmp_path / "again.yaml").exists()


@pytest.mark.parametrize("option", ["-q", "--json"])
def test_warnings_are_never_swallowed(calibrate: Calibrate, write_csv: Write, option: str) -> None:
    rows = rated_rows(60, 20)
    rows[3]["human_score"] = ""
    write_csv(rows)
    done = calibrate("run", "-a", "relevance", "-d", "data.csv", option, *QUICK)
    assert "1 rows have no rating and are left out" in done.stderr


def test_few_groups_prove_nothing(calibrate: Calibrate, write_csv: Write) -> None:
    grouped = [r | {"document": k % 3} for k, r in enumerate(rated_rows(60, 60))]
    write_csv(grouped)
    done = calibrate("run", "-a", "relevance", "-d", "data.csv", "--group", "document", "-q", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "Too few groups on the test side (1) to say" in done.stdout


def test_a_run_resumes_from_any_folder(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    write_csv(rated_rows(60, 20))
    first = calibrate("run", "-a", "relevance", "-d", "data.csv", "--json", *QUICK)
    run = json.loads(first.stdout)["run"]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    program = str(Path(sys.executable).parent / "calibrate")
    done = subprocess.run(
        [program, "resume", f"../runs/{run}", "--json"], cwd=elsewhere, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content_hash"] == json.loads(first.stdout)["content_hash"]


def test_a_run_whose_aspect_changed_is_not_resumed(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    write_csv(rated_rows(60, 20))
    aspect = tmp_path / "wit.yaml"
    aspect.write_text("name: wit\ndefinition: How witty it is.\nscale: {min: 1, max: 5}\n")
    assert calibrate("run", "--aspect-file", "wit.yaml", "-d", "data.csv", *QUICK).returncode == 0
    aspect.write_text("name: wit\ndefinition: How witty it is.\nscale: {min: 1, max: 10}\n")
    done = calibrate("resume", "last")
    assert done.returncode == 2
    assert "the aspect has changed" in done.stderr


def test_an_aspect_and_a_file_about_another_are_refused(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "wit.yaml").write_text("name: wit\ndefinition: How witty it is.\nscale: {min: 1, max: 5}\n")
    done = calibrate("run", "--aspect", "relevance", "--aspect-file", "wit.yaml", *QUICK)
    assert done.returncode == 2
    assert "is about 'wit', not 'relevance'" in done.stderr


def test_two_processes_do_not_work_on_one_run(calibrate: Calibrate, tmp_path: Path) -> None:
    program = str(Path(sys.executable).parent / "calibrate")
    long = [program, "run", "-a", "relevance", "--trials", "2000", "--rounds", "0", "-q"]
    process = subprocess.Popen(long, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while not list((tmp_path / "runs").glob("*/journal.jsonl")) and time.monotonic() < until:
            time.sleep(0.01)
        done = calibrate("resume", "last")
        assert process.poll() is None, "the run ended too soon for this test"
        assert done.returncode == 2
        assert "another process is working on this run" in done.stderr
    finally:
        process.kill()
        process.wait()


def test_a_damaged_run_is_listed_beside_the_others(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate("run", "-a", "relevance", *QUICK)
    broken = tmp_path / "runs" / "20200101-000000-000-broken-0000"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    done = calibrate("runs")
    assert done.returncode == 0
    assert "damaged" in done.stdout
    assert "finished" in done.stdout


def test_a_damaged_ledger_is_found_before_the_work(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "ledger.jsonl").write_text("garbage\n")
    done = calibrate("run", "-a", "relevance", *QUICK)
    assert done.returncode == 2
    assert "ledger.jsonl, line 1: damaged" in done.stderr
    assert not list((tmp_path / "runs").glob("*-relevance-*"))


def test_a_judge_that_compares_wants_the_source(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv([{"output": r["output"]} for r in rated_rows(20, 10)])
    done = calibrate("score", "data.csv", "-r", "cseval/relevance")
    assert done.returncode == 2
    assert "--source none" in done.stderr
    without = calibrate("score", "data.csv", "-r", "cseval/relevance", "--source", "none")
    assert without.returncode == 0
    assert "judge     cseval/relevance (criteria/1), scale 1-5, calibrated on cseval" in without.stdout
    assert "scored without source" in without.stdout


@pytest.mark.parametrize("texts", [{"output": "Hello there."}, {"output": None}, {"output": 5, "source": "x"}])
def test_the_library_wants_texts(texts: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        load_judge("cseval/relevance").score(**texts)


def test_control_characters_do_not_reach_the_terminal(calibrate: Calibrate, write_csv: Write) -> None:
    rows = [{"in\x1b[31mput": r["input"], "output": r["output"], "human_score": r["human_score"]} for r in rated_rows()]
    write_csv(rows)
    done = calibrate("run", "-a", "relevance", "-d", "data.csv", "--source", "in\x1b[31mput", *QUICK)
    assert done.returncode == 0, done.stderr
    rows[4]["human_score"] = "\x1b]0;title\x07"
    write_csv(rows)
    wrong = calibrate("run", "-a", "relevance", "-d", "data.csv", *QUICK)
    assert wrong.returncode == 2
    assert "\x1b" not in done.stdout + wrong.stderr
    assert "\\x1b" in done.stdout + wrong.stderr
