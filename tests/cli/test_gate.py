"""`calibrate gate`, through the installed command: what it says and what it exits with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrator.judges.frozen import read_frozen
from tests.conftest import Calibrate, rated_rows

QUICK = ("--trials", 2, "--rounds", 1, "--resamples", 200)
Write = Callable[..., Path]


@pytest.fixture
def good(calibrate: Calibrate, write_csv: Write) -> Calibrate:
    """A finished run on ratings by people who like questions and few words, which nobody would have guessed."""
    rows = rated_rows(240, 60)
    for row in rows:
        text = str(row["output"])
        row["human_score"] = (3 if text.endswith("?") else 1) + (2 if len(text.split()) < 9 else 0)
    path = write_csv(rows)
    done = calibrate("run", "-a", "neutral/relevance", "-d", path, *QUICK)
    assert done.returncode == 0, done.stderr
    return calibrate


def test_a_judge_that_beats_its_baseline_passes(good: Calibrate, tmp_path: Path) -> None:
    done = good("gate", "last")
    told = json.loads(good("gate", "last", "--json").stdout)
    assert (done.returncode, told["passed"], told["reasons"]) == (0, True, [])
    assert told["gain"]["low"] > 0 and told["spearman"]["value"] >= 0.4
    verdict = read_frozen(tmp_path / "rubrics" / "frozen" / "relevance.yaml").verdict
    assert verdict is not None and verdict.passed and verdict.handed_over == "calibrated"


def test_the_thresholds_are_the_users(good: Calibrate) -> None:
    told = json.loads(good("gate", "last", "--json").stdout)
    low, rho = told["gain"]["low"], told["spearman"]["value"]
    for option, limit in (("--min-gain", low), ("--min-rho", rho)):
        over = good("gate", "last", option, limit + 1e-4)
        assert over.returncode == 1 and "not passed" in over.stdout
        assert good("gate", "last", option, limit - 1e-4).returncode == 0
    assert good("gate", "last", "--min-gain", low).returncode == 1, "above the threshold, not at it"


def test_a_run_that_fell_back_never_passes(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    draw = random.Random(5)
    rows = [r | {"human_score": draw.randint(1, 5)} for r in rated_rows(120, 40)]
    path = write_csv(rows)
    fell = None
    for seed in range(12):
        done = calibrate("run", "-a", "neutral/relevance", "-d", path, *QUICK, "--seed", seed, "--json")
        fell = json.loads(done.stdout)
        if fell["rejected"]:
            break
    assert fell and fell["rejected"], "ratings by lot make some seed fall back"
    name = fell["verdict"]["handed_over"]
    assert name in ("uncalibrated", "length only", "constant")
    gate = calibrate("gate", "last", "--min-gain", -9, "--min-rho", -9)
    assert gate.returncode == 1 and "was not handed over" in gate.stdout
    frozen = read_frozen(tmp_path / "rubrics" / "frozen" / "relevance.yaml")
    assert frozen.verdict is not None and frozen.verdict.handed_over == name
    assert calibrate("score", path, "--rubric", "relevance", "-o", tmp_path / "s.csv").returncode == 0
    kept = calibrate("run", "-a", "neutral/relevance", "-d", path, *QUICK, "--seed", fell["split"]["seed"], "--keep")
    assert kept.returncode == 0, kept.stderr
    frozen = read_frozen(tmp_path / "rubrics" / "frozen" / "relevance.yaml")
    assert frozen.verdict is not None and frozen.verdict.handed_over == "calibrated"


def test_an_unfinished_run_and_one_that_is_not_there_are_said(calibrate: Calibrate, tmp_path: Path) -> None:
    absent = calibrate("gate", "last")
    assert absent.returncode == 2 and "Traceback" not in absent.stderr
    run = tmp_path / "runs" / "20260101-000000-000-relevance-aaaa"
    run.mkdir(parents=True)
    (run / "config.json").write_text("{}", encoding="utf-8")
    unfinished = calibrate("gate", "last")
    assert unfinished.returncode == 2 and "not finished" in unfinished.stderr and "resume" in unfinished.stderr
    (run / "result.json").write_text('{"test": 1}', encoding="utf-8")
    other = calibrate("gate", "last")
    assert other.returncode == 2 and "another version" in other.stderr
