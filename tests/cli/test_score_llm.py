"""`calibrate score` with a judge that asks a model: what lies beside the result until it is written."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_llm import PROGRAM, SEARCH, command, newest_run, read_rows, write_data
from tests.doubles.server import serving

ROWS = 20
SCORE = ("score", "texts.csv", "--rubric", "judge.yaml", "--no-cache")


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A frozen judge whose model is another one in each test."""
    folder = tmp_path_factory.mktemp("frozen")
    write_data(folder)
    with serving(folder / "log") as double:
        done = command(folder, "run", *SEARCH, "--model", f"{double.url}#double", "--rounds", "0", "-q")
    assert done.returncode == 0, done.stderr
    return (newest_run(folder) / "frozen.yaml").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, frozen: str) -> Path:
    """A folder with the judge and texts that it has not seen."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "judge.yaml").write_text(frozen, encoding="utf-8")
    with (folder / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["input", "output"])
        writer.writerows([f"walk {n}", f"We walk by the river {n} times."] for n in range(ROWS))
    return folder


def begun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command and return it while it runs."""
    variables = {**os.environ, "CALIBRATOR_CACHE": str(folder / "cache")}
    pipe = subprocess.PIPE
    return subprocess.Popen([PROGRAM, *arguments], cwd=folder, env=variables, stdout=pipe, stderr=pipe, text=True)


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def replies_in(part: Path) -> list[str]:
    """Return the keys of the replies that are written down whole."""
    path = part / "journal.jsonl"
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [json.loads(line)["key"] for line in lines]


def test_nothing_is_left_beside_the_result(folder: Path) -> None:
    with serving(folder.parent / "log") as double:
        done = command(folder, *SCORE, "--model", f"{double.url}#double")
        assert done.returncode == 0, done.stderr
        assert len(double.asked()) == ROWS
    assert {p.name for p in folder.iterdir()} == {"judge.yaml", "texts.csv", "texts.scored.csv"}
    assert f"{ROWS} replies, {ROWS} calls made; " in done.stdout


def test_a_second_process_is_refused_while_one_runs(folder: Path) -> None:
    part = folder / "texts.scored.csv.part"
    with serving(folder.parent / "log", "--delay", "0.1") as double:
        doing = (*SCORE, "--model", f"{double.url}#double", "--concurrency", "1")
        with begun(folder, *doing) as first:
            wait_until(lambda: bool(replies_in(part)))
            second = command(folder, *doing)
            assert first.poll() is None, "it ended before the second began; the double should be slower"
            _, errors = first.communicate(timeout=60)
        assert first.returncode == 0, errors
        assert len(double.asked()) == ROWS
    assert second.returncode == 2
    assert second.stderr.splitlines()[-1] == (
        "calibrate: texts.scored.csv.part: another process is working on this run"
    )
    assert not part.exists()
    assert len(read_rows(folder / "texts.scored.csv")) == ROWS


def test_one_that_was_killed_goes_on_and_asks_nothing_twice(folder: Path) -> None:
    part = folder / "texts.scored.csv.part"
    with serving(folder.parent / "log", "--delay", "0.05") as double:
        doing = (*SCORE, "--model", f"{double.url}#double", "--concurrency", "2")
        for wanted in (3, 8):
            with begun(folder, *doing) as process:
                wait_until(lambda wanted=wanted: len(replies_in(part)) >= wanted)
                process.kill()
                process.communicate(timeout=60)
            assert not (folder / "texts.scored.csv").exists()
        done = command(folder, *doing)
        assert done.returncode == 0, done.stderr
        asked = double.asked()
    assert len(set(asked)) == ROWS and len(asked) <= ROWS + 4  # those under way when it was killed
    assert not part.exists()
    before = (folder / "texts.scored.csv").read_bytes()
    (folder / "texts.scored.csv").unlink()
    with serving(folder.parent / "another") as double:
        assert command(folder, *SCORE, "--model", f"{double.url}#double").returncode == 0
    assert (folder / "texts.scored.csv").read_bytes() == before


def test_a_budget_stops_it_and_a_higher_one_goes_on(folder: Path) -> None:
    part = folder / "texts.scored.csv.part"
    with serving(folder.parent / "log") as double:
        doing = (*SCORE, "--model", f"{double.url}#double")
        for budget, asked in (("5calls", 5), ("5calls", 5), ("8calls", 8)):
            done = command(folder, *doing, "--budget", budget)
            assert done.returncode == 3
            assert f"the budget of {asked} calls is spent" in done.stderr.splitlines()[-1]
            assert len(double.asked()) == len(replies_in(part)) == asked
        done = command(folder, *doing)
        assert done.returncode == 0, done.stderr
        assert len(double.asked()) == ROWS
    assert not part.exists()


def test_a_server_that_is_gone_loses_nothing(folder: Path) -> None:
    part = folder / "texts.scored.csv.part"
    with serving(folder.parent / "log") as double:
        doing = (*SCORE, "--model", f"{double.url}#double")
        assert command(folder, *doing, "--budget", "5calls").returncode == 3
    kept = replies_in(part)
    done = command(folder, *doing)
    assert done.returncode == 1
    assert "nothing answers at" in done.stderr.splitlines()[-1]
    assert "nothing is lost: the same command goes on with the replies that came" in done.stderr
    assert replies_in(part) == kept and not (folder / "texts.scored.csv").exists()


@pytest.mark.parametrize(
    "options",
    ["--concurrency 0", "--concurrency -3", "--rpm 0", "--rpm nan", "--tpm -4", "--timeout 0", "--timeout inf"],
)
def test_a_number_that_would_let_nothing_through_is_refused(folder: Path, options: str) -> None:
    done = command(folder, *SCORE, "--model", "http://127.0.0.1:9/v1#m", *options.split())
    assert done.returncode == 2
    option, number = options.split()
    assert done.stderr == f"calibrate: {option}: {number} is no number above 0\n"


def test_a_judge_that_asks_no_model_takes_no_word_on_how_one_is_asked(folder: Path) -> None:
    done = command(folder, "score", "texts.csv", "--rubric", "cseval/relevance", "--budget", "3calls")
    assert done.returncode == 2
    assert "cseval/relevance asks no model; leave out" in done.stderr


AT_THE_END = """
import sys
from calibrator import load_judge

judge = load_judge("judge.yaml", model=sys.argv[1])
print(judge.score(source="a walk", output="We walk by the river."))
"""


def test_a_loaded_judge_is_closed_by_the_end_of_the_program(folder: Path) -> None:
    """With the cache, whose last replies are written then."""
    with serving(folder.parent / "log") as double:
        program = [sys.executable, "-W", "default", "-c", AT_THE_END, f"{double.url}#double"]
        variables = {**os.environ, "CALIBRATOR_CACHE": str(folder / "cache")}
        for _ in range(2):
            ended = subprocess.run(
                program, cwd=folder, env=variables, capture_output=True, text=True, timeout=60, check=False
            )
            assert (ended.returncode, ended.stderr) == (0, "")
            assert 1 <= float(ended.stdout) <= 5
        assert len(double.asked()) == 1


def test_a_cost_that_nobody_counted_is_not_shown_as_nothing(folder: Path) -> None:
    with serving(folder.parent / "log", "--uncounted") as double:
        priced = ("--model", f"{double.url}#double", "--price", "100/200")
        done = command(folder, *SCORE, *priced)
    assert done.returncode == 0, done.stderr
    assert "price not known" in done.stdout
    assert "US dollars for these and at most" in done.stdout


def test_the_plan_counts_every_draw(folder: Path) -> None:
    with serving(folder.parent / "log") as double:
        model = f"{double.url}#double"
        made = command(folder.parent, "run", *_data(folder), "--model", model, "--score-mode", "sample:3", *SMALL)
        assert made.returncode == 0, made.stderr
        judge = newest_run(folder.parent) / "frozen.yaml"
        done = command(folder, "score", "texts.csv", "--rubric", judge, "--no-cache")
    assert f"up to {3 * ROWS} calls" in done.stdout
    assert f"{3 * ROWS} calls made" in done.stdout
    assert "mode:sample:3" in judge.read_text()


SMALL = ("--keep", "--no-cache", "--rounds", "0", "--trials", "1", "--shots", "3", "-q")


def _data(folder: Path) -> tuple[str, ...]:
    write_data(folder.parent)
    return ("--aspect", "neutral/relevance", "--data", "data.csv")
