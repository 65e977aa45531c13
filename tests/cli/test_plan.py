"""`calibrate plan` through the installed command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Calibrate, rated_rows


def test_it_says_widths_labels_and_work(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate("plan", "--aspect", "relevance")
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout
    for told in ("split     train", "plan      protocol default", "no call to any model", "design effect"):
        assert told in done.stdout
    assert re.search(r"^expected  Spearman 0\.\d{3} \[", done.stdout, re.M)
    for labels in ("25", "50", "100", "200", "400", "800", "here: 60"):
        assert re.search(rf"│ +{labels} │ -?0\.\d{{3}} … 0\.\d{{3}} +│ 0\.\d{{3}} │", done.stdout), labels
    assert re.search(r"^needed    .*test labels: [\d,]+ rated items in all", done.stdout, re.M)
    assert "caution: only 11 groups" in done.stdout
    assert not list(tmp_path.iterdir())  # no run, no ledger, no cache


def test_json_is_all_that_stands_on_standard_output(calibrate: Calibrate) -> None:
    done = calibrate("plan", "--aspect", "relevance", "--seed", 3, "--json")
    found = json.loads(done.stdout)
    assert found["aspect"] == "cseval/relevance"
    assert sum(found["split"][side] for side in ("train", "dev", "test")) == found["items"] == 199
    assert [row["labels"] for row in found["widths"]] == [25, 50, 100, 200, 400, 800]
    assert found["test_side"]["labels"] == found["split"]["test"]
    assert found["expected"] == {"spearman": found["pilot"]["spearman"]["value"], "said": False}
    assert found["pilot"]["items"] == found["split"]["train"] + found["split"]["dev"]  # the test side stays sealed
    assert found["needed"]["rated_items"] > found["needed"]["test_labels"] > 0
    # 24 drafts and three rounds of 20: all on the first 30 items of dev, at most half of them on the others.
    assert found["work"]["judgments"] == 84 * 30 + 42 * (found["split"]["dev"] - 30)
    assert found["work"]["prompt_tokens"] is None
    assert calibrate("plan", "--aspect", "relevance", "--seed", 3, "--json").stdout == done.stdout


def test_what_the_user_expects(calibrate: Calibrate) -> None:
    done = calibrate("plan", "--aspect", "relevance", "--expect", 0.6)
    assert "Spearman 0.6, as given; the pilot's is 0." in done.stdout
    widths = [
        {r["labels"]: r["half_width"] for r in json.loads(calibrate(*asked, "--json").stdout)["widths"]}
        for asked in (("plan", "-a", "relevance", "--expect", r) for r in (0.3, 0.9))
    ]
    assert widths[1][100] < widths[0][100]


def test_little_data_promises_nothing(calibrate: Calibrate, write_csv: Callable[..., Path]) -> None:
    write_csv(rated_rows(14, 14))
    asked = ("plan", "--aspect", "neutral/relevance", "--data", "data.csv")
    done = calibrate(*asked)
    assert done.returncode == 0, done.stderr
    few = r"caution: the pilot stands on (\d+) items in (\d+) groups, too few to expect anything from; "
    (caution,) = [line for line in done.stdout.splitlines() if "pilot" in line]
    assert re.match(few + r"say what you expect: --expect 0\.6$", caution)
    assert "design effect 1" not in done.stdout and "test labels │" not in done.stdout
    found = json.loads(calibrate(*asked, "--json").stdout)
    assert found["expected"] == {"spearman": None, "said": False}
    assert found["pilot"]["spearman"] == {"value": None, "low": None, "high": None}
    assert found["pilot"]["design_effect"] is None
    assert found["needed"] == {"half_width": 0.05, "test_labels": None, "rated_items": None}
    assert {row["low"] for row in found["widths"]} == {None}
    said = calibrate(*asked, "--expect", 0.6)
    assert "Spearman 0.6, as given" in said.stdout and re.search(r"│ +400 │ 0\.\d", said.stdout)
    assert [re.sub(few, "", line) for line in said.stdout.splitlines() if re.match(few, line)] == [
        "the design effect is taken as 1, and intervals may come out wider"
    ]


@pytest.mark.parametrize("wrong", ["1", "1.2", "-1", "nan"])
def test_what_is_no_correlation_is_refused(calibrate: Calibrate, wrong: str) -> None:
    done = calibrate("plan", "--aspect", "relevance", "--expect", wrong)
    assert done.returncode == 2
    assert done.stderr.startswith("calibrate: --expect: ")


@pytest.mark.parametrize("model", ["vllm/some/model", "openai/some-model", "http://localhost:9/v1#m", "local/smollm2"])
def test_a_model_need_not_be_there_to_be_planned_for(calibrate: Calibrate, model: str) -> None:
    done = calibrate("plan", "--aspect", "relevance", "--model", model, env={"VLLM_BASE_URL": "", "OPENAI_API_KEY": ""})
    assert done.returncode == 0, done.stderr
    assert f"judge {model}, drafter {model}" in done.stdout
    assert re.search(r"about [\d,]+ prompt tokens", done.stdout)


def test_a_users_own_file_with_a_test_file_and_settings(
    calibrate: Calibrate, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    def renamed(count: int, groups: int, seed: int) -> list[dict[str, object]]:
        rows = rated_rows(count, groups, seed)
        return [{"question": f"{seed} {r['input']}", "reply": r["output"], "stars": r["human_score"]} for r in rows]

    write_csv(renamed(80, 30, 0), "mine.csv")
    write_csv(renamed(40, 20, 1), "held-out.csv")
    settings = (
        "aspect: helpfulness\ndata: mine.csv\ntest: held-out.csv\ntrials: 2\nrounds: 0\ncolumns: {score: stars}\n"
    )
    (tmp_path / "calibrate.yaml").write_text(settings)
    done = calibrate("plan", "--output", "reply", "--source", "question", "--json")
    assert done.returncode == 0, done.stderr
    assert "settings  calibrate.yaml" in done.stderr
    found = json.loads(done.stdout)
    assert (found["pilot"]["items"], found["test_side"]["labels"]) == (80, 40)
    assert found["work"]["drafts"] == 6 and found["work"]["refinements"] == 0
    assert found["needed"]["test_labels"] and found["needed"]["rated_items"] is None


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (rated_rows(8, 8), "too few to calibrate on"),
        ([{"input": "a", "output": "b c"}] * 20, "name it with --score"),
    ],
)
def test_files_that_cannot_be_calibrated_on_are_refused_as_by_run(
    calibrate: Calibrate, write_csv: Callable[..., Path], rows: list[dict[str, object]], problem: str
) -> None:
    write_csv(rows)
    done = calibrate("plan", "--aspect", "neutral/relevance", "--data", "data.csv")
    assert done.returncode == 2
    assert problem in done.stderr
    assert done.stdout == ""
