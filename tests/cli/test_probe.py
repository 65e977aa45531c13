"""`calibrate probe`, through the installed command: the embedded judge, frozen judges, a model that counts, replies."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrator.errors import RunError
from calibrator.report.probe import read_probe, reasons_for
from tests.cli.test_llm import PROGRAM, command, newest_run, write_data
from tests.conftest import Calibrate, rated_rows
from tests.doubles.server import serving

DATA = ("-a", "neutral/relevance", "-d", "data.csv")
QUICK = ("--resamples", "200")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with rated texts of two systems, one in ten by each, and other texts beside them."""
    rows = [r | {"system": "ours" if k % 2 else "theirs"} for k, r in enumerate(rated_rows(120, 30))]
    for name, part in (("data.csv", rows), ("other.csv", rated_rows(40, 14, seed=9))):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(part[0]))
            writer.writeheader()
            writer.writerows(part)
    return tmp_path


def looks(folder: Path) -> list[dict[str, str]]:
    path = folder / "runs" / "ledger.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def found(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    value: dict[str, Any] = json.loads(done.stdout)
    return value


def test_the_embedded_judge_is_probed_on_the_test_side_and_the_look_is_entered(folder: Path) -> None:
    done = command(folder, "probe", "criteria", *DATA, *QUICK)
    assert done.returncode == 0, done.stderr
    assert (
        "no call to any model" in done.stdout and "of the test side of data.csv, split by seed 0 (look 1" in done.stdout
    )
    for name in ("repeatability", "verbosity", "range", "injection"):
        assert f"\n{name}\n" in done.stdout
    for name in ("temperatures", "order", "paraphrase", "self-preference"):
        assert f"{name} does not apply: " in done.stdout
    assert "Reliability: " in done.stdout
    assert len(looks(folder)) == 1
    again = found(command(folder, "probe", "criteria", *DATA, *QUICK, "--json"))
    assert len(looks(folder)) == 1, "the same judge on the same side is the same look"
    assert again["planned_calls"] == {"scores": 0, "repeatability": 0, "verbosity": 0, "range": 0, "injection": 0}
    assert command(folder, "probe", "criteria", *DATA, *QUICK, "--seed", "1").returncode == 0
    assert len(looks(folder)) == 2


def test_the_gate_is_by_the_thresholds_and_only_where_it_is_wanted(folder: Path) -> None:
    some = (*DATA, *QUICK, "--probes", "range")
    strict, lax = ("--threshold", "min_spread_ratio=5"), ("--threshold", "min_spread_ratio=0")
    wide = ("--threshold", "max_lenience=1", "--threshold", "max_crowding=1")
    assert command(folder, "probe", "criteria", *some, *wide, *lax, "--gate").returncode == 0
    missed = command(folder, "probe", "criteria", *some, *wide, *strict, "--gate", "-q")
    assert missed.returncode == 1
    assert missed.stdout.splitlines()[0] == "Reliability: 1 threshold missed."
    assert "spread ratio is " in missed.stdout and "min_spread_ratio wants at least 5" in missed.stdout
    assert command(folder, "probe", "criteria", *some, *strict).returncode == 0


def test_self_preference_is_for_the_systems_that_were_named(folder: Path) -> None:
    done = found(command(folder, "probe", "criteria", *DATA, *QUICK, "--own", "ours", "--json"))
    finding = next(f for f in done["findings"] if f["probe"] == "self-preference")
    assert [line["case"] for line in finding["lines"]] == ["own", "others", "own over others"]
    wrong = command(folder, "probe", "criteria", *DATA, "--own", "mine")
    assert wrong.returncode == 2 and "no text is by 'mine'" in wrong.stderr


def test_a_frozen_judge_is_probed_on_its_own_test_side_and_else_on_all_items(folder: Path) -> None:
    made = command(folder, "run", *DATA, "--trials", "2", "--rounds", "1", *QUICK, "--keep", "--seed", "3", "-q")
    assert made.returncode == 0, made.stderr
    entered = len(looks(folder))
    out = ("-o", "probe.json")
    done = command(folder, "probe", "relevance", "-d", "data.csv", *QUICK, *out)
    assert done.returncode == 0, done.stderr
    assert f"test side of data.csv, split by seed 3 (look {entered + 1} at it)" in done.stdout
    kept = json.loads((newest_run(folder) / "result.json").read_text())
    read = read_probe(folder / "probe.json")
    assert read.content_hash == kept["content_hash"]
    assert read.items == kept["split"]["test"][0]
    assert reasons_for(folder / "probe.json", kept["content_hash"]) == read.reasons
    with pytest.raises(RunError, match="another judge"):
        reasons_for(folder / "probe.json", "0" * 64)
    elsewhere = command(folder, "probe", "relevance", "-d", "other.csv", *QUICK)
    assert elsewhere.returncode == 0, elsewhere.stderr
    assert "all 40 items of other.csv, which is not the data it was calibrated on" in elsewhere.stdout
    other = command(folder, "probe", "relevance", "-a", "neutral/coherence", "-d", "data.csv")
    assert other.returncode == 2 and "judges neutral/relevance, not neutral/coherence" in other.stderr


def test_the_file_comes_back_as_it_was_and_a_changed_one_is_refused(folder: Path) -> None:
    both = found(command(folder, "probe", "criteria", *DATA, *QUICK, "-o", "probe.json", "--json"))
    read = read_probe(folder / "probe.json")
    assert read.model_dump(mode="json") == both
    assert len(read.probed().findings) == 8
    assert command(folder, "probe", "criteria", *DATA, *QUICK, "-o", "probe.md").returncode == 0
    text = (folder / "probe.md").read_text(encoding="utf-8")
    assert "| all attacks | " in text and "| case" not in text
    outputs = {str(r["output"]) for r in rated_rows(120, 30)}
    assert not any(o in text or o in (folder / "probe.json").read_text() for o in outputs), "no text of an item"
    (folder / "probe.json").write_text('{"format": 1}', encoding="utf-8")
    with pytest.raises(RunError, match="not what `calibrate probe --out`"):
        read_probe(folder / "probe.json")
    with pytest.raises(RunError, match="not readable"):
        read_probe(folder / "absent.json")


def zero_shot(url: str, *more: object) -> tuple[object, ...]:
    return ("probe", "zero-shot", *DATA, *QUICK, "--model", f"{url}#double", "--items", 12, *more)


def test_a_model_is_asked_what_was_planned_and_nothing_twice(folder: Path) -> None:
    with serving(folder / "log") as double:
        done = command(folder, *zero_shot(double.url))
        assert done.returncode == 0, done.stderr
        planned = re.search(r"plan      up to ([\d,]+) calls: scores 12, repeatability 24, ", done.stdout)
        assert planned
        first = len(double.asked())
        assert 120 < first <= int(planned[1].replace(",", ""))
        assert len(set(double.asked())) == first
        again = command(folder, *zero_shot(double.url, "--json"))
        assert len(double.asked()) == first, "the cache has them all"
    result = found(again)
    assert "12 by lot (seed 0) of the 36 items" in result["stands_on"]
    probes = {f["probe"]: f for f in result["findings"]}
    assert [line["case"] for line in probes["order"]["lines"]] == ["output, source"]
    assert probes["paraphrase"]["undone"], "the double gives steps for another rubric"
    assert any("paraphrase could not be measured" in reason for reason in result["reasons"])
    assert probes["injection"]["lines"][-1]["items"] <= 4


def test_a_budget_stops_it_and_a_higher_one_goes_on(folder: Path) -> None:
    with serving(folder / "log") as double:
        some = zero_shot(double.url, "--probes", "repeatability,order")
        stopped = command(folder, *some, "--budget", "20calls")
        assert stopped.returncode == 3 and "nothing is lost" in stopped.stderr
        assert len(double.asked()) == 20
        assert command(folder, *some).returncode == 0
        assert len(double.asked()) == 12 + 24 + 12


def wait_until(holds: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.02)


def test_ctrl_c_exits_with_130_and_the_replies_are_kept(folder: Path) -> None:
    with serving(folder / "log", "--delay", "0.05") as double:
        doing = [str(a) for a in zero_shot(double.url, "--probes", "repeatability", "--concurrency", 1)]
        variables = {**os.environ, "CALIBRATOR_CACHE": str(folder / "cache")}
        pipe = subprocess.PIPE
        with subprocess.Popen([PROGRAM, *doing], cwd=folder, env=variables, stdout=pipe, stderr=pipe, text=True) as run:
            wait_until(lambda: len(double.answered()) >= 5)
            run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=60)
        assert run.returncode == 130
        assert "nothing is lost" in errors and "Traceback" not in errors
        assert command(folder, *doing).returncode == 0
        assert len(double.asked()) <= 36 + 1, "at most the one that was under way is asked again"


def test_a_frozen_llm_judge_has_its_steps_reworded_or_says_why_not(folder: Path) -> None:
    work = folder / "work"
    write_data(work, 60)
    with serving(folder / "log") as double:
        model = ("--model", f"{double.url}#double")
        search = ("--trials", "1", "--rounds", "0", "--shots", "3", "--keep", *QUICK)
        made = command(work, "run", *DATA, *search, *model, "-q")
        assert made.returncode == 0, made.stderr
        done = command(work, "probe", "relevance", "-d", "data.csv", "--items", 6, *QUICK, "--json")
        refused = command(work, "probe", "relevance", "-d", "data.csv", "--score-mode", "text")
    probes = {f["probe"]: f for f in found(done)["findings"]}
    assert not probes["paraphrase"]["absent"]
    assert "steps reworded by" in probes["paraphrase"]["basis"]
    assert refused.returncode == 2 and "a frozen judge has its own" in refused.stderr


def test_recorded_replies_need_neither_data_nor_model(folder: Path) -> None:
    rows = [
        {
            "item": f"i{k}",
            "temperature": t,
            "reply": f'{{"score": {1 + (k + (t > 0) * (k % 3)) % 5}}}',
            "prompt": f"p{k % 7}",
        }
        for k in range(20)
        for t in (0.0, 1.0)
    ]
    (folder / "r.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    some = ("probe", "replies:r.jsonl", "-a", "neutral/relevance", *QUICK)
    result = found(command(folder, *some, "--group", "prompt", "--json"))
    assert (result["items"], result["groups"], result["judge"]) == (20, 7, "replies:r.jsonl")
    assert [line["case"] for line in result["findings"][0]["lines"]] == ["at 0", "at 1", "0 to 1"]
    assert not looks(folder)
    assert command(folder, *some, "--gate").returncode == 1
    assert command(folder, *some, "-d", "data.csv").returncode == 2


def test_recorded_scores_in_a_column_are_looked_at(folder: Path) -> None:
    with (folder / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for k, row in enumerate(rows):
        row["bot/relevance"], row["far/relevance"] = str(1 + k % 5), str(100 + k)
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    result = found(command(folder, "probe", "recorded:bot", *DATA, *QUICK, "--json"))
    assert [f["probe"] for f in result["findings"] if f["lines"]] == ["verbosity", "range"]
    assert result["judge"] == "recorded:bot"
    for name, why in (("far", "not on the scale 1-5"), ("absent", "no column holds the scores of a judge 'absent'")):
        refused = command(folder, "probe", f"recorded:{name}", *DATA)
        assert refused.returncode == 2 and why in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("nobody -d data.csv", "there is no frozen judge 'nobody'"),
        ("criteria -d data.csv", "say what to judge"),
        ("zero-shot -a neutral/relevance -d data.csv", "say which model judges"),
        ("criteria -a neutral/relevance -d data.csv --model local/smollm2", "criteria asks no model"),
        ("criteria -a neutral/relevance -d data.csv --budget 3calls", "the embedded judge asks no model"),
        ("criteria -a neutral/relevance -d data.csv --probes luck", "there is none called 'luck'"),
        ("criteria -a neutral/relevance -d data.csv --threshold luck=1", "there is none called 'luck'"),
        ("criteria -a neutral/relevance -d data.csv --threshold luck", "is not name=value"),
        ("criteria -a neutral/relevance -d data.csv --out probe.txt", "neither in .json nor in .md"),
        ("criteria -a neutral/relevance -d data.csv --temperatures 0,3", "from 0 to 2"),
        ("criteria -a neutral/relevance -d data.csv --temperatures 0,0", "different ones"),
        ("replies:absent.jsonl -a neutral/relevance", "absent.jsonl: not readable"),
        ("replies:data.csv -a neutral/relevance", "row 1: not a line of JSON"),
        ("replies:data.csv", "say what the replies are about"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(folder: Path, arguments: str, why: str) -> None:
    done = command(folder, "probe", *arguments.split())
    assert done.returncode == 2 and not done.stdout
    assert why in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not looks(folder), "no look was entered"


def test_real_judgments_of_the_embedded_judge(real_data: Path, calibrate: Calibrate) -> None:
    done = found(
        calibrate(
            "probe", "criteria", "-a", "relevance", "-d", "cseval", "--json", env={"CALIBRATOR_DATA": str(real_data)}
        )
    )
    figures = {f["probe"]: {line["case"]: line["figures"] for line in f["lines"]} for f in done["findings"]}
    assert figures["repeatability"]["2 times"]["alike"]["value"] == 1.0
    assert figures["range"]["judge"]["entropy"]["value"] > 1.5
    assert figures["verbosity"]["length"]["judge"]["value"] > figures["verbosity"]["length"]["humans"]["value"]
    total = figures["injection"]["all attacks"]
    assert total["raised"]["value"] > total["control raised"]["value"]
