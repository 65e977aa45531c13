"""What `calibrate rank` says beside its figures: what is read, what is used for what, and what it may rest on."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

from tests.cli.test_rank import QUICK, label_rows, result, scored_rows
from tests.conftest import Calibrate

Write = Callable[..., Path]
SCORES = ("rank", "-a", "neutral/relevance", "-d", "data.csv", "-j", "recorded:good", *QUICK)
LABELS = ("rank", "-d", "data.csv", "--human-labels", "h1,h2,h3", "--judge-labels", "close", "--intended", "meant")


def test_the_columns_are_said(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(scored_rows())
    line = "columns   source=input (guessed); output=output (guessed); system=system (guessed); annotators="
    assert line in calibrate(*SCORES).stdout
    assert "columns   " not in calibrate(*SCORES, "-q").stdout
    (table,) = result(calibrate(*SCORES, "--json").stdout).tables
    assert table.columns.startswith("source=input (guessed)")
    write_csv(label_rows())
    assert (
        "columns   human=h1, h2, h3; judges=close; intended=meant; system=model (guessed)"
        in calibrate(*LABELS, *QUICK).stdout
    )


def test_what_unrated_rows_are_used_for(calibrate: Calibrate, write_csv: Write) -> None:
    rows = scored_rows(sources=30)
    for row in rows[120:]:
        row["relevance_score_a1"] = row["relevance_score_a2"] = ""
    write_csv(rows)
    done = calibrate(*SCORES)
    assert "60 rows have no rating: what judges give them counts in the corrected scores" in done.stderr
    assert "left out" not in done.stderr
    assert "assumed that the labelled rows are a random part" in done.stdout


def test_few_resamples_and_few_rows_are_refused(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv(scored_rows(sources=1))
    few = calibrate(*SCORES)
    assert (few.returncode, few.stderr.count("\n")) == (2, 1)
    assert "6 rated rows are too few to rank systems by" in few.stderr
    for resamples in (0, 99):
        done = calibrate(*SCORES[:-4], "--resamples", resamples)
        assert done.returncode == 2
        assert "--resamples" in done.stderr


def test_more_labels_than_there_are(calibrate: Calibrate, write_csv: Write) -> None:
    write_csv([r for k, r in enumerate(scored_rows()) if r["system"] != "system F" or k < 18])
    done = calibrate(*SCORES, "--sizes", "2,200")
    assert "200 ‡ labels" in done.stdout
    assert (
        "‡ extrapolated: more than the 3 labels that every system has; system F has no more, others do." in done.stdout
    )
    assert "systems have from 3 (system F) to 20 rated items" in done.stdout
    none = calibrate(*SCORES[:5], "-j", "recorded:inverse", *QUICK, "--sizes", "2,200")
    assert "–: not within 200 labels" in none.stdout


def test_a_judge_of_a_part_stands_beside_the_humans_on_its_items(
    calibrate: Calibrate, write_csv: Write, tmp_path: Path
) -> None:
    rows = scored_rows()
    for row in rows[:60]:
        row["good/relevance"] = ""
    write_csv(rows)
    done = calibrate(*SCORES[:5], "-j", "recorded:inverse,recorded:good", *QUICK, "--out", "found")
    assert "A judge with † has the items that its tau is on, and the humans' score on these." in done.stdout
    with (tmp_path / "found" / "rank.csv").open(encoding="utf-8", newline="") as file:
        written = {(r["system"], r["judge"]): r for r in csv.DictReader(file)}
    own = [r for r in rows[60:] if r["system"] == "system A"]
    mean = sum((int(str(r["relevance_score_a1"])) + int(str(r["relevance_score_a2"]))) / 2 for r in own) / len(own)
    cell = written["system A", "recorded:good"]
    assert (cell["items"], round(float(cell["human"]), 6)) == ("10", round(mean, 6))
    assert written["system A", "recorded:inverse"]["items"] == "20"


def test_the_look_at_labels_stands_in_the_ledger(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> None:
    rows = label_rows()
    write_csv(rows)
    ledger = tmp_path / "runs" / "ledger.jsonl"
    assert "look 1 at these labels" in calibrate(*LABELS, *QUICK).stdout
    write_csv(rows[::-1])
    assert "look 1 at these labels" in calibrate(*LABELS, *QUICK, "--threshold", 0.5).stdout, "the same judges"
    other = [part if part != "close" else "wild" for part in LABELS]
    assert "look 2 at these labels" in calibrate(*other, *QUICK).stdout
    assert len(ledger.read_text().splitlines()) == 2
    write_csv([row | {"model": "one"} for row in rows], "one.csv")
    alone = calibrate(*("one.csv" if part == "data.csv" else part for part in LABELS), *QUICK)
    assert (alone.returncode, "one system only" in alone.stderr) == (2, True)
    assert len(ledger.read_text().splitlines()) == 2, "what cannot be ranked is not looked at"
