"""`calibrate run` and what follows it, through the installed command."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calibrator.judges.frozen import read_frozen
from tests.conftest import ROOT, Calibrate, rated_rows

PROGRAM = str(Path(sys.executable).parent / "calibrate")
QUICK = ("--trials", 2, "--rounds", 1, "--resamples", 100)


def test_the_demonstration_end_to_end(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate("run", "--aspect", "relevance")
    assert done.returncode == 0, done.stderr
    for told in (
        "plan",
        "calibrated",
        "uncalibrated",
        "length only",
        "constant",
        "spearman",
        "look 1 at this test side",
    ):
        assert told in done.stdout
    assert "frozen judge  rubrics/frozen/relevance.yaml" in done.stdout
    run = next((tmp_path / "runs").glob("*-relevance-*"))
    assert {p.name for p in run.iterdir()} == {
        "config.json",
        "journal.jsonl",
        "result.json",
        "report.md",
        "frozen.yaml",
    }
    assert (tmp_path / "rubrics" / "frozen" / "relevance.yaml").read_bytes() == (run / "frozen.yaml").read_bytes()

    exported = calibrate("export", "relevance", "--to", "markdown")
    assert "## Steps" in exported.stdout
    listed = calibrate("runs")
    assert run.name in listed.stdout and "finished" in listed.stdout


def test_a_terminal_shows_colours_and_live_progress(tmp_path: Path) -> None:
    """Through a pseudo-terminal, as a person sees it."""
    leader, follower = pty.openpty()
    command = [PROGRAM, "run", "--aspect", "relevance", "--trials", "100", "--rounds", "0", "--resamples", "100"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"}
    process = subprocess.Popen(command, cwd=tmp_path, stdout=follower, stderr=follower, env=environment)
    os.close(follower)
    shown = b""
    while True:
        try:
            part = os.read(leader, 65536)
        except OSError:  # the other end was closed
            break
        if not part:
            break
        shown += part
    os.close(leader)
    assert process.wait(timeout=60) == 0
    text = shown.decode()
    assert "\x1b[" in text
    assert re.search(r"\d+/300", text)
    assert re.search(r"[\d,]+ judgments [\d,]+/s, best 0\.\d{3}", text)


def test_plain_lines_when_the_output_is_no_terminal(calibrate: Calibrate) -> None:
    done = calibrate("run", "--aspect", "relevance", *QUICK)
    assert "\x1b" not in done.stdout + done.stderr
    assert re.search(r"^drafting: 6 of 6 candidates", done.stdout, re.M)


def test_two_runs_with_one_seed_leave_the_same_bytes(calibrate: Calibrate, tmp_path: Path) -> None:
    for name in ("a", "b"):
        done = calibrate("run", "--aspect", "coherence", "--runs-dir", name, "--out", f"{name}.yaml", *QUICK)
        assert done.returncode == 0
    one, two = (next((tmp_path / n).glob("*-coherence-*")) for n in ("a", "b"))
    assert (one / "result.json").read_bytes() == (two / "result.json").read_bytes()
    assert (tmp_path / "a.yaml").read_bytes() == (tmp_path / "b.yaml").read_bytes()


def test_json_is_all_that_stands_on_standard_output(calibrate: Calibrate) -> None:
    done = calibrate("run", "--aspect", "relevance", "--json", *QUICK)
    result = json.loads(done.stdout)
    assert result["test"]["judges"][0]["name"] == "calibrated"
    assert result["look"] == 1


def test_quiet_says_the_outcome_and_where_it_lies(calibrate: Calibrate) -> None:
    done = calibrate("run", "--aspect", "relevance", "-q", *QUICK)
    verdict, gate, place = done.stdout.splitlines()
    assert verdict.startswith("On unseen data")
    assert gate == "Gate: passed."
    assert place == "rubrics/frozen/relevance.yaml"


def test_looks_at_one_test_side_are_counted(calibrate: Calibrate) -> None:
    for look in (1, 2, 3):
        done = calibrate("run", "--aspect", "relevance", "--trials", look, "--rounds", 0, "--resamples", 100)
        assert f"look {look} at this test side" in done.stdout


def test_a_users_own_csv_with_a_calibrate_yaml(calibrate: Calibrate, tmp_path: Path, write_csv: object) -> None:
    rows = [{"question": r["input"], "reply": r["output"], "stars": r["human_score"]} for r in rated_rows(80, 30)]
    write_csv(rows, "mine.csv")  # type: ignore[operator]
    settings = "aspect: helpfulness\ndata: mine.csv\ntrials: 2\nrounds: 0\nresamples: 100\ncolumns: {score: stars}\n"
    (tmp_path / "calibrate.yaml").write_text(settings)
    done = calibrate("run")
    assert done.returncode == 0, done.stderr
    assert "neutral/helpfulness" in done.stdout
    assert "source=question (guessed); output=reply (guessed)" in done.stdout
    assert "score=stars" in done.stdout
    over = calibrate("run", "--aspect", "fluency")
    assert "neutral/fluency" in over.stdout


def test_a_users_own_aspect_and_scale(calibrate: Calibrate, tmp_path: Path, write_csv: object) -> None:
    rows = [r | {"human_score": 20 * float(str(r["human_score"]))} for r in rated_rows(80, 30)]
    write_csv(rows, "mine.csv")  # type: ignore[operator]
    (tmp_path / "wit.yaml").write_text("name: wit\ndefinition: How witty it is.\nscale: {min: 0, max: 100}\n")
    done = calibrate("run", "--aspect-file", "wit.yaml", "--data", "mine.csv", *QUICK)
    assert done.returncode == 0, done.stderr
    assert "custom/wit" in done.stdout
    scaled = calibrate("run", "--aspect", "fluency", "--data", "mine.csv", "--scale", "0-100", *QUICK)
    assert scaled.returncode == 0, scaled.stderr
    assert "scale 0-100" in scaled.stdout


def test_a_separate_test_file(calibrate: Calibrate, write_csv: object) -> None:
    write_csv(rated_rows(60, 20, seed=1), "train.csv")  # type: ignore[operator]
    write_csv(rated_rows(40, 15, seed=2), "test.csv")  # type: ignore[operator]
    done = calibrate("run", "-a", "relevance", "-d", "train.csv", "--test", "test.csv", "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["split"]["test"][0] == 40


def test_the_report_holds_no_text_of_an_item(calibrate: Calibrate, tmp_path: Path) -> None:
    calibrate("run", "--aspect", "suitableness", *QUICK)
    run = next((tmp_path / "runs").glob("*-suitableness-*"))
    kept = "".join(p.read_text() for p in run.iterdir())
    for text in ("red light", "Cyclists think"):
        assert text not in kept


def test_an_interrupted_run_says_how_to_go_on_and_goes_on(tmp_path: Path) -> None:
    many = [PROGRAM, "run", "--aspect", "relevance", "--trials", "400", "--rounds", "0", "--resamples", "100"]
    process = subprocess.Popen(many, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    _wait_for_journal(tmp_path, 20)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    told = re.search(r"calibrate (resume \S+)", errors)
    assert told, errors
    assert "Traceback" not in errors
    again = subprocess.run(
        [PROGRAM, *told[1].split(), "-q"], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert again.returncode == 0, again.stderr


def test_a_run_killed_at_random_moments_ends_in_the_same_result(tmp_path: Path) -> None:
    command = [PROGRAM, "run", "--aspect", "relevance", "--trials", "30", "-q", "--resamples", "200"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for folder in (whole, parts):
        folder.mkdir()
    subprocess.run(command, cwd=whole, check=True, capture_output=True, timeout=120)
    undisturbed = next((whole / "runs").glob("*-relevance-*")) / "result.json"
    draw = random.Random(1)
    process = subprocess.Popen(command, cwd=parts, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    lines = kills = 0
    for _ in range(30):
        lines += draw.randint(1, 25)
        _wait_for_journal(parts, lines, process)
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        kills += 1
        resume = [PROGRAM, "resume", "last", "-q"]
        process = subprocess.Popen(resume, cwd=parts, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert process.wait(timeout=120) == 0
    assert kills >= 3
    run = next((parts / "runs").glob("*-relevance-*"))
    assert (run / "result.json").read_bytes() == undisturbed.read_bytes()
    keys = [json.loads(line)["key"] for line in (run / "journal.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys))
    ledger = (parts / "runs" / "ledger.jsonl").read_text().splitlines()
    assert len(ledger) == 1  # one run, one look


def _wait_for_journal(folder: Path, lines: int, process: subprocess.Popen[bytes] | None = None) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        journals = list((folder / "runs").glob("*/journal.jsonl"))
        if journals and journals[0].read_bytes().count(b"\n") >= lines:
            return
        if process is not None and process.poll() is not None:
            return
        time.sleep(0.002)
    raise TimeoutError


def test_a_finished_run_can_be_shown_again(calibrate: Calibrate) -> None:
    first = calibrate("run", "--aspect", "relevance", "--json", *QUICK)
    again = calibrate("resume", "last", "--json")
    assert json.loads(first.stdout) == json.loads(again.stdout)


def test_a_run_whose_data_changed_is_not_resumed(calibrate: Calibrate, write_csv: object) -> None:
    rows = rated_rows(60, 20)
    write_csv(rows)  # type: ignore[operator]
    assert calibrate("run", "-a", "relevance", "-d", "data.csv", *QUICK).returncode == 0
    write_csv(rows[:-1])  # type: ignore[operator]
    done = calibrate("resume", "last")
    assert done.returncode == 2
    assert "data has changed" in done.stderr


def test_a_race_on_the_demonstration_costs_less_and_finds_as_good_a_rubric(calibrate: Calibrate) -> None:
    race, full = (
        json.loads(calibrate("run", "-a", "relevance", "--select", how, "--json", "--resamples", 100).stdout)
        for how in ("race", "full")
    )
    assert (race["select"], full["select"]) == ("race", "full")
    assert race["judgments"] < full["judgments"] == full["judgments_full"]
    assert any(c["stopped"] for c in race["candidates"]) and not any(c["stopped"] for c in full["candidates"])
    assert race["history"][-1] == pytest.approx(full["history"][-1], abs=0.02)


def test_where_length_is_all_there_is_the_rubric_gives_way_to_it(
    calibrate: Calibrate, write_csv: object, tmp_path: Path
) -> None:
    """Ratings that are the number of words: no rubric can order the texts better than their length does."""
    rows = [r | {"human_score": min(100, len(str(r["output"]).split()))} for r in rated_rows(90, 30)]
    write_csv(rows)  # type: ignore[operator]
    search = ("run", "-a", "relevance", "-d", "data.csv", "--scale", "0-100", *QUICK)
    done = calibrate(*search)
    assert done.returncode == 0, done.stderr
    told = (
        "The rubric did not beat 'length only' on dev, so 'length only' is handed over (--keep hands over the rubric)."
    )
    assert told in done.stdout
    frozen = read_frozen(tmp_path / "rubrics" / "frozen" / "relevance.yaml")
    assert frozen.verdict is not None
    assert (frozen.verdict.handed_over, frozen.verdict.passed, len(frozen.steps)) == ("length only", False, 1)
    report = next((tmp_path / "runs").glob("*-relevance-*")) / "report.md"
    assert "## The calibrated rubric, not handed over" in report.read_text()
    scored = calibrate("score", "data.csv", "--rubric", "relevance", "--out", "scored.csv")
    assert scored.returncode == 0, scored.stderr

    kept = calibrate(*search, "--keep", "--json")
    assert kept.returncode == 0, kept.stderr
    result = json.loads(kept.stdout)
    assert result["verdict"]["handed_over"] == "calibrated" and not result["verdict"]["passed"]
    assert result["rejected"] is None
    kept_file = read_frozen(tmp_path / "rubrics" / "frozen" / "relevance.yaml")
    assert len(kept_file.steps) == len(result["rubric"]["steps"])


def test_four_named_systems_make_it_a_judge_for_new_systems(calibrate: Calibrate, write_csv: object) -> None:
    rows = [r | {"model": "abcd"[k // 30 % 4]} for k, r in enumerate(rated_rows(120, 30))]
    write_csv(rows)  # type: ignore[operator]
    done = calibrate("run", "-a", "relevance", "-d", "data.csv", "--system", "model", "--json", *QUICK)
    assert done.returncode == 0, done.stderr
    part = json.loads(done.stdout)["systems"]
    assert (part["purpose"], part["why"], part["named"]) == ("new-systems", "4 systems are named", 4)
    assert part["new_sources"] and part["new_systems"]
    assert [line["system"] for line in part["lines"]] == ["a", "b", "c", "d"]


def test_a_judge_for_new_systems_wants_systems(calibrate: Calibrate, write_csv: object, tmp_path: Path) -> None:
    write_csv(rated_rows(60, 20))  # type: ignore[operator]
    done = calibrate("run", "-a", "relevance", "-d", "data.csv", "--for", "new-systems", *QUICK)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("calibrate: --for: no systems are named") and "--system" in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("aspect", ["relevance", "coherence", "aggressiveness", "suitableness"])
def test_the_real_ratings(calibrate: Calibrate, real_data: Path, tmp_path: Path, aspect: str) -> None:
    """CSEval end to end: the shipped judge is what the command gives, and it beats every baseline."""
    done = calibrate("run", "--aspect", aspect, "--data", "cseval", "--json", env={"CALIBRATOR_DATA": str(real_data)})
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["data"]["items"] == 917
    for gains in result["test"]["gains"].values():
        gain = gains["spearman"]
        assert gain["value"] is None or gain["low"] > 0
    assert len(result["rubric"]["steps"]) <= 12
    assert result["verdict"]["handed_over"] == "calibrated" and result["verdict"]["passed"]
    shipped = read_frozen(ROOT / "rubrics" / "frozen" / "cseval" / f"{aspect}.yaml")
    fresh = read_frozen(tmp_path / "rubrics" / "frozen" / f"{aspect}.yaml")
    # The same data and sides to the bit; the fit up to what another processor's arithmetic may make of it.
    for digest in ("data_digest", "split_digest", "test_digest"):
        assert getattr(fresh.origin, digest) == getattr(shipped.origin, digest)
    for measure, figure in fresh.test.figures.items():
        assert figure.value == pytest.approx(shipped.test.figures[measure].value, abs=0.01)
