"""`calibrate metrics` through its entry point."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from tests.cli.test_llm import command

ROWS = [
    ("Cyclists never stop.", "Most do; look at any junction.", "Most cyclists do stop at a junction.", "one"),
    ("The library is a waste.", "Many people read there every day.", "Every day many people read there.", "one"),
    ("Nobody needs parks.", "", "Parks are where children play.", "two"),
    ("Music lessons are useless.", "Children who play learn to listen.", "", "two"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with (tmp_path / "texts.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["input", "output", "reference", "system"])
        writer.writerows(ROWS)
    return tmp_path


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_row_gets_a_column_for_each_metric_and_why_there_is_no_value(folder: Path) -> None:
    done = command(folder, "metrics", "texts.csv", "--metrics", "rouge-l,flesch-kincaid,distinct-1")
    assert done.returncode == 0, done.stderr
    rows = rows_of(folder / "texts.metrics.csv")
    assert [r["output"] for r in rows] == [r[1] for r in ROWS]
    assert float(rows[1]["metric/rouge-l"]) == pytest.approx(4 / 6, abs=1e-6)  # "many people read there", of 6 and 6
    assert [r["metric/rouge-l"] for r in rows[2:]] == ["", ""]
    assert [r["metric/rouge-l_failure"] for r in rows[2:]] == ["empty text", "no reference"]
    assert rows[3]["metric/flesch-kincaid"]
    assert "distinct-1" in done.stdout
    assert "2 metrics of 4 texts" in done.stdout


def test_the_columns_are_judges_of_a_comparison(folder: Path) -> None:
    done = command(folder, "metrics", "texts.csv", "-m", "rouge-1", "-q")
    assert done.returncode == 0, done.stderr
    assert list(rows_of(folder / "texts.metrics.csv")[0])[-2:] == ["metric/rouge-1", "metric/rouge-1_failure"]


def test_json_has_means_by_system_and_signatures(folder: Path) -> None:
    done = command(folder, "metrics", "texts.csv", "-m", "rouge-1,entropy-1", "--json")
    found = json.loads(done.stdout)
    rouge = found["metrics"]["rouge-1"]
    assert rouge["values"]["all"]["n"] == rouge["values"]["one"]["n"] == 2
    assert rouge["values"]["two"] == {"n": 0, "mean": None, "sd": None}
    assert rouge["failures"] == {"empty text": 1, "no reference": 1}
    assert rouge["signature"].startswith("rouge-1|calibrator:")
    assert "rouge-score:" in rouge["signature"]
    assert math.isclose(found["metrics"]["entropy-1"]["values"]["two"], math.log(7))  # six words and the full stop


def test_without_names_all_that_need_no_model_and_what_is_absent_is_told(folder: Path) -> None:
    done = command(folder, "metrics", "texts.csv", "--reference", "none")
    assert done.returncode == 0, done.stderr
    header = rows_of(folder / "texts.metrics.csv")[0]
    assert "metric/flesch-kincaid" in header
    assert not any("rouge" in name for name in header)


def test_novelty_is_beside_a_corpus(folder: Path) -> None:
    (folder / "known.csv").write_text("output\nChildren who play learn to listen.\n", encoding="utf-8")
    done = command(folder, "metrics", "texts.csv", "-m", "novelty", "--corpus", "known.csv", "-q")
    assert done.returncode == 0, done.stderr
    values = [r["metric/novelty"] for r in rows_of(folder / "texts.metrics.csv")]
    assert values == ["1.0", "1.0", "", "0.0"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("texts.csv", "-m", "rougel"), "did you mean rouge-l"),
        (("texts.csv", "-m", "rouge-l", "--reference", "none"), "rouge-l needs the reference"),
        (
            ("texts.csv", "-m", "bertscore@nowhere/at-all"),
            "hf download nowhere/at-all (or name a folder); or let this command fetch it: --download",
        ),
        (("texts.csv", "-o", "texts.csv"), "is the file to be measured"),
        (("texts.csv", "-o", "texts.doc"), "unknown kind of file"),
        (("missing.csv",), "there is no such file"),
        (("texts.csv", "-m", "novelty"), "--corpus FILE"),
        (("texts.csv", "-m", "novelty", "--corpus", "missing.csv"), "there is no such file"),
        ((), "name a file of texts"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(folder: Path, arguments: tuple[str, ...], said: str) -> None:
    done = command(folder, "metrics", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (folder / "texts.metrics.csv").exists()


def test_a_second_time_is_refused_unless_it_is_said_and_nothing_is_lost(folder: Path) -> None:
    command(folder, "metrics", "texts.csv", "-m", "rouge-l", "-q")
    before = (folder / "texts.metrics.csv").read_bytes()
    again = command(folder, "metrics", "texts.csv", "-m", "rouge-1")
    assert again.returncode == 2
    assert "texts.metrics.csv is there already; name another file (--out), or replace it (--overwrite)" in again.stderr
    own = command(folder, "metrics", "texts.metrics.csv", "-m", "rouge-l")
    assert own.returncode == 2
    assert "has a column 'metric/rouge-l' already" in own.stderr
    assert (folder / "texts.metrics.csv").read_bytes() == before
    assert command(folder, "metrics", "texts.csv", "-m", "rouge-1", "--overwrite", "-q").returncode == 0
    assert "metric/rouge-1" in rows_of(folder / "texts.metrics.csv")[0]


def test_what_a_reference_would_allow_is_told(folder: Path) -> None:
    done = command(folder, "metrics", "texts.csv", "--reference", "none", "-q")
    assert "no column looks like the reference; name it: --reference (columns: input, output" in done.stderr
    assert "rouge-l" in done.stderr


def test_the_list_names_families_models_and_sources(folder: Path) -> None:
    done = command(folder, "metrics", "--list")
    assert done.returncode == 0
    for word in ("overlap", "bleu-4", "roberta-large", "Lin 2004", "neural"):
        assert word in done.stdout
    listed = json.loads(command(folder, "metrics", "--list", "--json").stdout)
    assert {m["name"]: m["reference"] for m in listed}["meteor"] is True
