"""`calibrate score`: a file comes back as it was, with a score and a reason more."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from calibrator import load_judge
from calibrator.columns import Wanted
from calibrator.errors import ConfigError, DataError, ScoringFailed
from calibrator.judges.loaded import LoadedJudge
from calibrator.judges.scoring import Scored, score_file
from calibrator.tables import read_table
from tests.conftest import Calibrate, rated_rows

Rows = list[dict[str, Any]]
ADDED = ["judge_helpfulness", "judge_helpfulness_failure"]
# Cells as people have them: order that is none, spaces, line breaks, quotes, other scripts, numbers with zeros.
ROWS: Rows = [
    {"nr": "007", "output": " A calm answer, with a comma. ", "note": "", "input": "Is it so?"},
    {"nr": "3.50", "output": 'Two\nlines and "quotes"; a tab\there', "note": "NA", "input": "Why?\r\nTell me."},
    {"nr": "", "output": "", "note": "no text", "input": "What now?"},
    {"nr": "1e3", "output": "नमस्ते, это ответ 🌻", "note": "'=1+1", "input": ""},
    {"nr": "007", "output": "…!?", "note": "no word", "input": "And then?"},
]
FAILURES = ["", "", "empty text", "", "the text has no word"]


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judge frozen by a small run on made-up data."""
    home = tmp_path_factory.mktemp("run")
    with (home / "data.csv").open("w", encoding="utf-8", newline="") as file:
        rows = rated_rows(60, 20)
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    program = Path(sys.executable).parent / "calibrate"
    options = "--aspect helpfulness --data data.csv --trials 1 --rounds 0 --resamples 100 --out judge.yaml --quiet"
    subprocess.run([str(program), "run", *options.split()], cwd=home, check=True, capture_output=True, timeout=120)
    return home / "judge.yaml"


@pytest.fixture
def judge(frozen: Path) -> LoadedJudge:
    return load_judge(frozen)


def write(path: Path, rows: Sequence[dict[str, Any]] = ROWS) -> Path:
    """Write rows by other means than the package's own."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    else:
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writeheader()
            writer.writerows(rows)
    return path


def read(path: Path) -> Rows:
    """Read rows by other means than the package's own."""
    if path.suffix == ".parquet":
        return list(pq.read_table(path).to_pylist())
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


def by_hand(judge: LoadedJudge, rows: Rows) -> list[float | None]:
    """Score the rows one by one."""
    scores: list[float | None] = []
    for row in rows:
        try:
            scores.append(judge.score(source=row["input"], output=row["output"]))
        except ScoringFailed:
            scores.append(None)
    return scores


def scored(path: Path, judge: LoadedJudge, **said: Any) -> Scored:
    return score_file(path, judge, Wanted(), **said)


# -- the command -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_columns_rows_and_cells_are_kept_and_two_columns_added(
    ending: str, calibrate: Calibrate, frozen: Path, judge: LoadedJudge, tmp_path: Path
) -> None:
    write(tmp_path / f"texts{ending}")
    done = calibrate("score", f"texts{ending}", "--rubric", frozen)
    assert done.returncode == 0, done.stderr
    result = read(tmp_path / f"texts.scored{ending}")
    assert [list(row) for row in result] == [[*ROWS[0], *ADDED]] * len(ROWS)
    assert [{k: row[k] for k in ROWS[0]} for row in result] == ROWS
    assert [row[ADDED[1]] or "" for row in result] == FAILURES
    expected = by_hand(judge, ROWS)
    assert [row[ADDED[0]] in ("", None) for row in result] == [score is None for score in expected]
    got = [float(row[ADDED[0]]) for row in result if row[ADDED[0]] not in ("", None)]
    assert got == pytest.approx([score for score in expected if score is not None], abs=1e-6)


def test_the_command_says_what_it_read_and_how_many_failed(calibrate: Calibrate, frozen: Path, tmp_path: Path) -> None:
    write(tmp_path / "texts.csv")
    done = calibrate("score", "texts.csv", "--rubric", frozen)
    assert "source=input (guessed); output=output (guessed)" in done.stdout
    assert "3 scores, 2 failures (1 × empty text; 1 × the text has no word)" in done.stdout
    assert "column 'judge_helpfulness' of texts.scored.csv" in done.stdout


def test_columns_can_be_named(calibrate: Calibrate, frozen: Path, judge: LoadedJudge, tmp_path: Path) -> None:
    write(tmp_path / "texts.csv", [{"q": "Why?", "a": "Because the river is near.", "output": "not this"}])
    options = ["--source", "q", "--output", "a", "--column", "mine", "-o", "new/out.jsonl", "-q"]
    done = calibrate("score", "texts.csv", "-r", frozen, *options)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    row = read(tmp_path / "new" / "out.jsonl")[0]
    assert row["mine"] == pytest.approx(judge.score(source="Why?", output="Because the river is near."), abs=1e-6)
    assert row["mine_failure"] is None


def test_a_column_that_is_there_is_refused_in_one_line(calibrate: Calibrate, frozen: Path, tmp_path: Path) -> None:
    write(tmp_path / "texts.csv", [{"output": "a", "judge_helpfulness": "kept"}])
    done = calibrate("score", "texts.csv", "--rubric", frozen)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "texts.csv has a column 'judge_helpfulness' already; give another name with --column" in done.stderr
    assert not (tmp_path / "texts.scored.csv").exists()


def test_a_file_that_is_not_there_is_refused_in_one_line(calibrate: Calibrate, frozen: Path) -> None:
    done = calibrate("score", "nowhere.csv", "--rubric", frozen)
    assert done.returncode == 2
    assert done.stderr == "calibrate: nowhere.csv: there is no such file\n"


# -- the function behind it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", ADDED)
def test_either_name_that_is_taken_is_refused(taken: str, judge: LoadedJudge, tmp_path: Path) -> None:
    path = write(tmp_path / "texts.csv", [{"output": "a", taken: "kept"}])
    with pytest.raises(ConfigError, match=f"a column '{taken}' already"):
        scored(path, judge)


def test_a_name_that_is_taken_by_an_object_is_refused(judge: LoadedJudge, tmp_path: Path) -> None:
    path = write(tmp_path / "texts.jsonl", [{"output": "a", ADDED[0]: {"old": 1}}])
    with pytest.raises(ConfigError, match="already"):
        scored(path, judge)


@pytest.mark.parametrize("start", [".csv", ".tsv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("end", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_another_ending_is_another_format_with_the_same_cells(
    start: str, end: str, judge: LoadedJudge, tmp_path: Path
) -> None:
    path = write(tmp_path / f"texts{start}")
    result = scored(path, judge, out=tmp_path / f"out{end}")
    assert result.out == tmp_path / f"out{end}"
    assert [{k: row[k] for k in ROWS[0]} for row in read(result.out)] == ROWS


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_the_file_itself_is_left_as_it_is(ending: str, judge: LoadedJudge, tmp_path: Path) -> None:
    path = write(tmp_path / f"texts{ending}")
    before = path.read_bytes()
    scored(path, judge)
    assert path.read_bytes() == before


def test_the_counts_are_those_of_the_file(judge: LoadedJudge, tmp_path: Path) -> None:
    result = scored(write(tmp_path / "texts.csv"), judge)
    assert (result.judged, result.failures) == (3, {"empty text": 1, "the text has no word": 1})


def test_a_score_does_not_depend_on_the_rows_beside_it(judge: LoadedJudge, tmp_path: Path) -> None:
    rows: Rows = rated_rows(30)
    all_at_once = read(scored(write(tmp_path / "all.csv", rows), judge).out)
    some = read(scored(write(tmp_path / "some.csv", rows[7:9][::-1]), judge).out)
    assert [r[ADDED[0]] for r in some] == [r[ADDED[0]] for r in all_at_once[7:9]][::-1]


def test_nested_records_come_back_nested(judge: LoadedJudge, tmp_path: Path) -> None:
    record = {"id": 1, "inputs": {"source": "Why?", "output": "A calm answer."}, "votes": [1, 2], "x": None}
    result = scored(write(tmp_path / "texts.jsonl", [record]), judge)
    row = read(result.out)[0]
    assert {k: row[k] for k in record} == record
    assert row[ADDED[0]] == pytest.approx(judge.score(source="Why?", output="A calm answer."), abs=1e-6)


def test_an_unknown_ending_of_the_result_is_refused_before_the_work(judge: LoadedJudge, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"out\.xlsx: unknown kind of file"):
        scored(tmp_path / "not even there.csv", judge, out=tmp_path / "out.xlsx")


def test_a_header_without_rows_is_refused(judge: LoadedJudge, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_text("input,output\n", encoding="utf-8")
    with pytest.raises(DataError, match="a header but no rows"):
        scored(tmp_path / "texts.csv", judge)


def test_a_text_in_another_encoding_is_written_as_utf_8(judge: LoadedJudge, tmp_path: Path) -> None:
    (tmp_path / "texts.csv").write_bytes("input,output\n,Un café près de la rivière.\n".encode("cp1252"))
    result = scored(tmp_path / "texts.csv", judge, encoding="cp1252")
    assert read_table(result.out).rows[0]["output"] == "Un café près de la rivière."
