"""`calibrate data audit` through the installed command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Calibrate, rated_rows

Write = Callable[..., Path]


def copied(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{**r, "gpt-4/overall": r["human_score"]} for r in rows]


def test_good_data_is_0_and_says_what_was_looked_at(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(rated_rows(60, 20))
    done = calibrate("data", "audit", "data.csv")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "data.csv: 60 rows, 60 groups, 1 rated column (human_score)"
    assert done.stdout.splitlines()[-1] == "nothing found"
    assert done.stderr == ""


def test_a_grave_finding_is_1(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(copied(rated_rows(60, 20)))
    done = calibrate("data", "audit", "data.csv")
    assert done.returncode == 1
    assert "Grave: " in done.stdout
    assert "copies: data.csv, column 'human_score': the human ratings equal 'gpt-4/overall' in 60 of 60" in done.stdout


def test_json_is_a_list_of_findings(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(copied(rated_rows(60, 20)))
    done = calibrate("data", "audit", "data.csv", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 1
    assert [(f["check"], f["severity"], f["column"], f["count"]) for f in found] == [
        ("copies", "grave", "human_score", 60)
    ]
    write_csv(rated_rows(60, 20))
    assert json.loads(calibrate("data", "audit", "data.csv", "--json").stdout) == []


def test_columns_aspect_and_scale_are_as_in_run(calibrate: Calibrate, write_csv: Write) -> None:
    rows = [{"q": r["input"], "a": r["output"], "mark": 10 * int(str(r["human_score"]))} for r in rated_rows(60, 20)]
    write_csv(rows)
    named = ("--source", "q", "--output", "a", "--score", "mark")
    off = calibrate("data", "audit", "data.csv", *named, "--aspect", "relevance")
    assert off.returncode == 1
    assert "60 of 60 ratings are outside the scale 1-5 of relevance" in off.stdout
    done = calibrate("data", "audit", "data.csv", *named, "--aspect", "relevance", "--scale", "0..50")
    assert done.returncode == 0, done.stdout
    assert "mark 0-50" in done.stdout


def test_an_aspect_of_ones_own(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    write_csv([{"input": r["input"], "output": r["output"], "charm_score": 9} for r in rated_rows(60, 20)])
    own = "name: charm\ndefinition: How charming it is.\nscale: {min: 1, max: 9}\n"
    (tmp_path / "charm.yaml").write_text(own, encoding="utf-8")
    done = calibrate("data", "audit", "data.csv", "--aspect-file", "charm.yaml")
    assert done.returncode == 1
    assert "all 60 ratings are 9" in done.stdout


def test_two_files_are_compared(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(rated_rows(60, 20, seed=1), "train.csv")
    write_csv(rated_rows(30, 10, seed=2), "test.csv")
    assert calibrate("data", "audit", "train.csv", "test.csv").returncode == 0
    write_csv([*rated_rows(30, 10, seed=2), *rated_rows(60, 20, seed=1)[:5]], "test.csv")
    done = calibrate("data", "audit", "train.csv", "test.csv")
    assert done.returncode == 1
    assert "5 of its 35 items stand in train.csv too (first in rows 32, 33, 34)" in done.stdout


def test_what_cannot_be_read_is_2_and_one_line(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(rated_rows(20))
    for wrong in (
        ("nothing.csv",),
        ("nothing",),
        ("data.csv", "--score", "marks"),
        ("data.csv", "--aspect", "charm"),
        ("data.csv", "--scale", "five"),
        ("data.csv", "nothing.csv"),
    ):
        done = calibrate("data", "audit", *wrong)
        assert done.returncode == 2, wrong
        assert done.stderr.startswith("calibrate: ")
        assert len(done.stderr.splitlines()) == 1
        assert done.stdout == ""


def test_control_characters_in_names_do_not_reach_the_terminal(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv([{**r, "judge\x1b[31m[bold]": r["human_score"]} for r in rated_rows(60, 20)])
    done = calibrate("data", "audit", "data.csv")
    assert "\x1b" not in done.stdout
    assert "judge\\x1b[31m[bold]" in done.stdout


def test_the_demonstration_and_the_agreement_of_real_annotators(calibrate: Calibrate, real_data: Path) -> None:
    demo = calibrate("data", "audit", "demo")
    assert demo.returncode == 0, demo.stdout
    done = calibrate("data", "audit", "cseval", "--data-dir", real_data)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("cseval: 917 rows, 524 groups, 4 rated columns (")
    assert "3 annotators" in done.stdout.splitlines()[0]
    line = next(line for line in done.stdout.splitlines() if line.startswith("│ relevance"))
    assert [c.strip() for c in line.strip("│").split("│")] == "relevance,917,3,ordinal,0.67,0.67,0.70,0.76".split(",")
