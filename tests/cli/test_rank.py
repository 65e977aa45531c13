"""`calibrate rank`, through the installed command."""

from __future__ import annotations

import csv
import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from calibrator.studies.ranking.result import RankResult
from tests.cli.test_llm import DATA, command
from tests.conftest import Calibrate
from tests.doubles.server import serving

QUICK = ("--resamples", 200, "--repeats", 100)
Write = Callable[..., Path]
WORDS = "river garden window market street teacher music paper bridge winter coffee letter".split()


def scored_rows(systems: int = 6, sources: int = 20, seed: int = 0) -> list[dict[str, object]]:
    """Return rated rows of systems that are better one by one, with a good recorded judge and one upside down."""
    draw = random.Random(seed)
    rows: list[dict[str, object]] = []
    for source in range(sources):
        asked = " ".join(draw.choices(WORDS, k=4)) + f" number {source}"
        for k in range(systems):
            merit = 1.2 + 3.0 * k / systems + draw.gauss(0, 0.5)
            human = [min(5, max(1, round(merit + draw.gauss(0, 0.4)))) for _ in range(2)]
            good = min(5.0, max(1.0, merit + draw.gauss(0, 0.4)))
            rows.append(
                {
                    "input": asked,
                    "output": " ".join(draw.choices(WORDS, k=4 + k)) + f" {source} {k}.",
                    "system": f"system {chr(65 + k)}",
                    "relevance_score_a1": human[0],
                    "relevance_score_a2": human[1],
                    "good/relevance": round(good, 3),
                    "inverse/relevance": round(6 - good, 3),
                }
            )
    return rows


def result(text: str) -> RankResult:
    return RankResult.model_validate_json(text)


def test_recorded_judges_on_all_items(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    path = write_csv(scored_rows())
    done = calibrate("rank", "-a", "neutral/relevance", "-d", path, *QUICK, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "recorded:good can be trusted to rank these systems" in done.stdout
    assert "recorded:inverse cannot be trusted" in done.stdout
    assert "look 1 at this test side" in done.stdout
    files = {p.name for p in (tmp_path / "found").iterdir()}
    assert files == {"rank.md", "rank.json", "rank.csv", "rank.svg"}
    found = result((tmp_path / "found" / "rank.json").read_text())
    (table,) = found.tables
    assert (table.items, table.sources, len(table.systems)) == (120, 20, 6)
    assert table.annotators is not None
    assert table.annotators > 0.5
    assert [(o.judge, o.aspects) for o in found.overall] == [("recorded:good", 1), ("recorded:inverse", 1)]
    assert found.overall[0].tau == table.judges[0].tau.value
    assert table.choice.judge == "recorded:good"
    ET.parse(tmp_path / "found" / "rank.svg")
    with (tmp_path / "found" / "rank.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 12
    again = calibrate("rank", "-a", "neutral/relevance", "-d", path, *QUICK, "--json")
    assert result(again.stdout) == found
    assert len((tmp_path / "runs" / "ledger.jsonl").read_text().splitlines()) == 1, "the same study, the same look"


def test_a_fitted_judge_is_ranked_on_the_test_side_with_all_others(calibrate: Calibrate, write_csv: Write) -> None:
    path = write_csv(scored_rows())
    done = calibrate("rank", "-a", "neutral/relevance", "-d", path, "-j", "recorded:good,criteria", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    (table,) = result(done.stdout).tables
    assert [j.name for j in table.judges] == ["recorded:good", "criteria"]
    assert {j.items for j in table.judges} == {table.items}
    assert table.items < 60, "the test side, and not the 120 rows"
    assert "criteria saw the other ratings" in table.side


def test_unrated_rows_are_what_the_judge_says_more_about(calibrate: Calibrate, write_csv: Write) -> None:
    rows = scored_rows(sources=40)
    for row in rows[120:]:
        row["relevance_score_a1"] = row["relevance_score_a2"] = ""
    path = write_csv(rows)
    done = calibrate(
        "rank", "-a", "neutral/relevance", "-d", path, "-j", "recorded:good", "--by", "win-rate", *QUICK, "--json"
    )
    (table,) = result(done.stdout).tables
    assert (table.items, table.unrated, table.score) == (120, 120, "win rate")
    (part,) = table.powered
    assert {(r.labelled, r.unlabelled) for r in part.rows} == {(20, 20)}
    fitted = calibrate("rank", "-a", "neutral/relevance", "-d", path, "-j", "criteria", *QUICK, "--json")
    (table,) = result(fitted.stdout).tables
    assert table.unrated == 120, "no source of theirs was among those it was fitted to"


def test_some_labels_in_place_of_all(calibrate: Calibrate, write_csv: Write) -> None:
    path = write_csv(scored_rows())
    wanted = ("rank", "-a", "neutral/relevance", "-d", path, "-j", "recorded:good", *QUICK)
    (part,) = result(calibrate(*wanted, "--labelled", 8, "--json").stdout).tables[0].powered
    assert {(r.labelled, r.unlabelled) for r in part.rows} == {(8, 12)}
    assert part.taus is not None
    assert set(part.taus) == {"judge only", "labels only", "both"}
    done = calibrate(*wanted, "--labelled", 50)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--labelled 50: a system has only 20 items" in done.stderr


def label_rows() -> list[dict[str, Any]]:
    draw = random.Random(1)
    rows: list[dict[str, Any]] = []
    for source in range(30):
        for k, system in enumerate("PQRSTU"):
            meant = draw.choice(["yes", "no"])
            said = meant if draw.random() < 0.95 - 0.09 * k else {"yes": "no", "no": "yes"}[meant]

            def label(slips: float, said: str = said) -> str:
                return said if draw.random() > slips else draw.choice(["yes", "no"])

            rows.append(
                {"prompt": f"p{source}", "model": system, "meant": meant, "h1": label(0.05), "h2": label(0.05)}
                | {"h3": label(0.05), "close": label(0.1), "wild": label(1.0)}
            )
    return rows


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_labels(calibrate: Calibrate, write_csv: Write, tmp_path: Path, ending: str) -> None:
    rows: list[dict[str, Any]] = label_rows()
    path = write_csv(rows)
    if ending == "jsonl":
        path = tmp_path / "labels.jsonl"
        path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    done = calibrate(
        *("rank", "-d", path, "--human-labels", "h1,h2,h3", "--judge-labels", "wild,close", "--intended", "meant"),
        *("--co-occurrence", "h1,h2", *QUICK, "--json"),
    )
    assert done.returncode == 0, done.stderr
    found = result(done.stdout)
    (table,) = found.tables
    assert (table.score, table.kappas is not None) == ("macro-F1", True)
    assert table.kappas is not None
    assert table.kappas.names == ("h1", "h2", "h3", "wild", "close")
    assert (table.kappas.fleiss or 0) > 0.7
    verdicts = {j.name: j.verdict for j in table.judges}
    assert verdicts["wild"] == "not trusted"
    assert found.co_occurrence is not None
    assert found.co_occurrence.labels == ("h1", "h2")


def test_labels_of_a_part_correct_the_macro_f1(calibrate: Calibrate, write_csv: Write) -> None:
    rows = label_rows()
    for row in rows[120:]:
        row["h1"] = row["h2"] = row["h3"] = ""
    wanted = ("--human-labels", "h1,h2,h3", "--judge-labels", "close", "--intended", "meant", *QUICK, "--json")
    done = calibrate("rank", "-d", write_csv(rows), *wanted)
    assert done.returncode == 0, done.stderr
    (table,) = result(done.stdout).tables
    (part,) = table.powered
    assert {(r.labelled, r.unlabelled) for r in part.rows} == {(20, 10)}
    assert all(r.powered.low is not None and r.labels_only.low is not None for r in part.rows)
    assert len(part.differences) == 5
    assert any("only 20 labelled items of a system" in c for c in table.cautions)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say what to judge"),
        (("-a", "neutral/relevance", "--by", "median"), "--by: 'median' is none"),
        (("-a", "neutral/relevance", "-j", "panel:criteria+recorded:good"), "freeze it with `calibrate panel`"),
        (("-a", "neutral/relevance", "-j", "human"), "the humans are always there"),
        (("-a", "neutral/relevance", "-j", "recorded:nobody"), "no column holds the scores of a judge 'nobody'"),
        (("-a", "neutral/relevance", "--system", "none"), "the data names no systems"),
        (("-a", "neutral/relevance", "--sizes", "1.5"), "--sizes: give whole numbers"),
        (("-a", "neutral/relevance", "--co-occurrence", "nothing"), "there is no such column"),
        (("-j", "criteria", "--human-labels", "system"), "--judges: not with --human-labels"),
        (("--human-labels", "system"), "takes both"),
    ],
)
def test_a_mistake_is_one_line(
    calibrate: Calibrate, write_csv: Write, arguments: tuple[object, ...], said: str
) -> None:
    done = calibrate("rank", "-d", write_csv(scored_rows()), *QUICK, *arguments)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("warning:")]
    assert len(lines) == 1, done.stderr
    assert said in lines[0]


def test_one_system_is_said_before_any_look(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    path = write_csv([row | {"system": "only"} for row in scored_rows()])
    done = calibrate("rank", "-a", "neutral/relevance", "-d", path, *QUICK)
    assert (done.returncode, "all rated texts are of one system ('only')" in done.stderr) == (2, True)
    assert not (tmp_path / "runs" / "ledger.jsonl").exists() or not (tmp_path / "runs" / "ledger.jsonl").read_text()


def test_the_real_systems_of_topical_chat(calibrate: Calibrate, real_data: Path) -> None:
    done = calibrate(
        *("rank", "-d", "topical-chat", "-a", "overall", *QUICK, "--json"), env={"CALIBRATOR_DATA": str(real_data)}
    )
    assert done.returncode == 0, done.stderr
    (table,) = result(done.stdout).tables
    assert len(table.systems) == 6
    by_name = {j.name: j for j in table.judges}
    assert by_name["recorded:claude-3-haiku/overall1-5"].tau.value == pytest.approx(0.6)
    assert by_name["recorded:claude-3-haiku/overall1-5"].top == 1.0


def test_a_model_is_asked_for_every_item_once(write_csv: Write, tmp_path: Path) -> None:
    write_csv(scored_rows(sources=6))
    with serving(tmp_path / "log") as double:
        wanted = ("rank", *DATA, "-j", "recorded:good,zero-shot", "--model", f"{double.url}#double", *QUICK)
        done = command(tmp_path, *wanted, "--no-cache")
        assert done.returncode == 0, done.stderr
        assert "up to 36 calls" in done.stdout
        asked = len(double.asked())
        again = command(tmp_path, *wanted, "--no-cache", "--threshold", 0.5, "--json")
        assert len(double.asked()) == asked, "another threshold is another reading of the same scores"
    (table,) = result(again.stdout).tables
    judge = table.judges[1]
    assert judge.name.startswith("zero-shot@")
    assert judge.items + sum(judge.failures.values()) >= 36
    assert len((tmp_path / "runs" / "ledger.jsonl").read_text().splitlines()) == 1
