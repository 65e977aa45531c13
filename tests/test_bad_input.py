"""Bad input through the installed command: one clear line and exit code 2, or a counted warning and exit code 0."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Calibrate, rated_rows

SMALL = ("--trials", 1, "--rounds", 0, "--resamples", 100)
Rows = list[dict[str, Any]]
Write = Callable[..., Path]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(calibrate: Calibrate) -> Run:
    """Start a small run on a file, with further options behind it."""

    def start(data: object, *options: object) -> subprocess.CompletedProcess[str]:
        return calibrate("run", "--aspect", "helpfulness", "--data", data, *SMALL, *options)

    return start


def changed(**values: object) -> Rows:
    """Forty good rows of which the sixth, row 7 of a CSV file, is changed."""
    rows = rated_rows()
    rows[5] |= values
    return rows


def every(**values: object) -> Rows:
    return [row | values for row in rated_rows()]


def good() -> str:
    """Return a good file as text."""
    return "input,output,human_score\n" + "".join(
        f"{r['input']},{r['output']},{r['human_score']}\n" for r in rated_rows()
    )


def one_line(done: subprocess.CompletedProcess[str], *said: object) -> None:
    """Check that the command refused in one line that says all of `said`."""
    assert done.returncode == 2, done.stderr or done.stdout
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.startswith("calibrate: ")
    assert done.stderr.count("\n") == 1
    missing = [str(words) for words in said if str(words) not in done.stderr]
    assert not missing, done.stderr


def warned(done: subprocess.CompletedProcess[str], said: str) -> None:
    """Check that the command went on with a warning; lines are joined because the terminal breaks them."""
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert said in " ".join(done.stdout.split()), done.stdout


CONTENTS = {
    "cp1252": ("data.csv", good().replace(".", "é", 1).encode("cp1252"), ("not readable as UTF-8", "line 2", "cp1252")),
    "utf-16": ("data.csv", good().encode("utf-16"), ("UTF-16", "--encoding utf-16")),
    "0 bytes": ("data.csv", b"", ("empty (0 bytes)",)),
    "binary": ("data.csv", bytes(range(256)) * 20, ("binary",)),
    "binary parquet": ("data.parquet", bytes(range(256)) * 20, ("not readable as Parquet",)),
    "header without rows": ("data.csv", b"input,output,human_score\n", ("a header but no rows",)),
    "ragged": ("data.csv", good().encode() + b"a garden,a river\n", ("row 42", "2 fields", "header has 3")),
    "open quotation mark": ("data.csv", good().encode() + b'a garden,"a river,3\n', ("row 42", "quotation mark")),
    "header twice": ("data.csv", b"input,output,output\na,b,c\n", ("row 1", "column 'output'", "twice")),
    "unknown ending": ("data.xlsx", b"hello", ("unknown kind of file", ".csv", ".parquet")),
    "broken jsonl": ("data.jsonl", b'{"input": "a"}\n{"input": \n', ("row 2", "not JSON")),
}


@pytest.mark.parametrize(("name", "content", "said"), CONTENTS.values(), ids=CONTENTS.keys())
def test_a_file_that_cannot_be_read_is_refused(
    name: str, content: bytes, said: Sequence[str], run: Run, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    one_line(run(name), f"calibrate: {name}", *said)


def test_a_missing_file_is_refused(run: Run) -> None:
    one_line(run("nowhere.csv"), "nowhere.csv: there is no such file")


ROWS = {
    "score outside": (changed(human_score=9), (), ("row 7", "column 'human_score'", "9 is outside the scale 1-5")),
    "score no number": (changed(human_score="good"), (), ("row 7", "column 'human_score'", "'good' is not a number")),
    "fewer than 12": (rated_rows(11), (), ("column 'human_score'", "11 rated rows", "at least 12")),
    "one constant score": (every(human_score=3), (), ("column 'human_score'", "all 40 ratings are 3")),
    "one group": (every(input="the same garden"), (), ("column 'input'", "1 group only")),
    "ids twice": (every(name="a"), ("--id", "name"), ("row 3", "column 'name'", "1 ids stand in several rows")),
    "column missing": (
        rated_rows(),
        ("--score", "humanscore"),
        ("column 'humanscore'", "no such column", "nearest: human_score"),
    ),
    "test overlaps": (rated_rows(), ("--test", "data.csv"), ("40 of its items", "groups stand in the training data")),
}


@pytest.mark.parametrize(("rows", "options", "said"), ROWS.values(), ids=ROWS.keys())
def test_rows_that_cannot_be_calibrated_on_are_refused(
    rows: Rows, options: Sequence[str], said: Sequence[str], run: Run, write_csv: Write
) -> None:
    write_csv(rows)
    one_line(run("data.csv", *options), "calibrate: data.csv", *said)


TWICE = changed(input=rated_rows()[6]["input"], output=rated_rows()[6]["output"])
TWICE[5]["human_score"] = 1 if TWICE[6]["human_score"] != 1 else 2
WARNED = {
    "empty text": (
        changed(output=" \n "),
        "1 rows have no word to judge (first in row 7, column 'output') and are left out",
    ),
    "no rating": (changed(human_score="n/a"), "1 rows have no rating and are left out"),
    "ids twice, guessed": (every(id="a"), "column 'id' is not used as id: 1 ids stand in several rows"),
    "text twice": (TWICE, "1 rows repeat the text of another row, 1 of these texts with other ratings"),
}


@pytest.mark.parametrize(("rows", "said"), WARNED.values(), ids=WARNED.keys())
def test_odd_rows_are_counted_and_the_work_goes_on(rows: Rows, said: str, run: Run, write_csv: Write) -> None:
    write_csv(rows)
    warned(run("data.csv"), said)


def test_result_and_report_hold_the_warnings_and_count_every_row(run: Run, write_csv: Write, tmp_path: Path) -> None:
    rows = changed(output="")
    rows[0]["human_score"] = ""
    write_csv(rows)
    result = json.loads(run("data.csv", "--json").stdout)
    left_out, empty = result["data"]["warnings"]
    assert "1 rows have no rating and are left out" in left_out
    assert "1 rows have no word to judge" in empty
    assert result["data"]["items"] == len(rows) - 2
    report = (tmp_path / result["report"]).read_text(encoding="utf-8")
    assert left_out in report
    assert empty in report


def test_a_text_of_200_000_characters_is_counted_and_judged(run: Run, write_csv: Write) -> None:
    write_csv(changed(output="a river in the garden. " * 8_700))
    warned(run("data.csv"), "1 rows have more than 100,000 characters (first row 7, with 200,")


def test_an_unknown_aspect_lists_those_that_exist(calibrate: Calibrate) -> None:
    one_line(
        calibrate("run", "--aspect", "nope"), "'nope'", "neutral: coherence", "cseval: aggressiveness", "--aspect-file"
    )


FILES = {
    "aspect no yaml": ("--aspect-file", "name: mine\nscale: {min: 1\n", ("not readable as YAML", "line 2")),
    "aspect scale": (
        "--aspect-file",
        "name: m\ndefinition: d\nscale: {min: 5, max: 1}\n",
        ("scale: ", "min must be below"),
    ),
    "config unknown entry": ("--config", "trails: 3\n", ("trails: not a setting", "trials")),
}


@pytest.mark.parametrize(("option", "content", "said"), FILES.values(), ids=FILES.keys())
def test_a_malformed_yaml_file_is_refused(
    option: str, content: str, said: Sequence[str], run: Run, tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(content, encoding="utf-8")
    one_line(run("demo", option, "mine.yaml"), "mine.yaml: ", *said)


def test_a_malformed_calibrate_yaml_of_the_folder_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "calibrate.yaml").write_text("seed: [1\n", encoding="utf-8")
    one_line(run("demo"), "calibrate.yaml: not readable as YAML")


VALUES = [
    ("--shots", "x"),
    ("--temperature", "3-1"),
    ("--objective", "foo"),
    ("--trials", "0"),
]


@pytest.mark.parametrize(("option", "value"), VALUES, ids=map("".join, VALUES))
def test_a_nonsense_value_is_refused_by_the_name_of_its_option(option: str, value: str, run: Run) -> None:
    one_line(run("demo", option, value), f"calibrate: {option}: ")


def test_a_nonsense_scale_is_refused(run: Run) -> None:
    one_line(run("demo", "--scale", "5-1"), "'5-1' is no scale")


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_a_number_of_shots_that_is_none_is_refused(value: str, run: Run) -> None:
    one_line(run("demo", "--shots", value), "calibrate: --shots: ")


def test_malformed_columns_in_a_settings_file_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "calibrate.yaml").write_text("columns: 3\n", encoding="utf-8")
    one_line(run("demo"), "columns")
