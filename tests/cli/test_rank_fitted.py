"""`calibrate rank` with judges that were fitted: to the systems they rank, or perhaps to the very items."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrator.judges.frozen import read_frozen
from tests.cli.test_rank import QUICK, result, scored_rows
from tests.conftest import Calibrate

Write = Callable[..., Path]
WORDS = (
    "people think because really maybe however facts always never good hope please listen learn respect history "
    "science data law church school city river we you they"
).split()
RELEVANCE = ("-a", "neutral/relevance")


def styled_rows(systems: int = 8, sources: int = 60) -> list[dict[str, object]]:
    """Return rows of systems that differ in style; how good each is has nothing to do with its style."""
    draw = random.Random(1)
    styles = []
    for _ in range(systems):
        style = {"length": draw.randint(8, 60), "asks": draw.random(), "cries": draw.random()}
        styles.append(style | {"commas": draw.random() * 0.4, "words": draw.sample(WORDS, 10)})
    merits = [1.5 + 3 * k / (systems - 1) for k in range(systems)]
    draw.shuffle(merits)
    rows: list[dict[str, object]] = []
    for source in range(sources):
        asked = f"prompt {source} " + " ".join(draw.sample(WORDS, 4))
        for k, style in enumerate(styles):
            count = max(4, int(draw.gauss(style["length"], 3)))
            text = " ".join(
                draw.choice(style["words"]) + ("," if draw.random() < style["commas"] else "") for _ in range(count)
            )
            text += ("?" if draw.random() < style["asks"] else ".") + ("!" if draw.random() < style["cries"] else "")
            score = min(5, max(1, round(merits[k] + draw.gauss(0, 0.8))))
            rows.append({"source": asked, "output": text, "system": f"s{k}", "human_score": score})
    return rows


def test_a_judge_that_knows_the_systems_is_trusted_for_these_only(
    calibrate: Calibrate, write_csv: Write, tmp_path: Path
) -> None:
    write_csv(styled_rows())
    done = calibrate("rank", "-a", "neutral/helpfulness", "-d", "data.csv", "-j", "criteria", *QUICK, "--out", "found")
    assert done.returncode == 0, done.stderr
    assert "criteria can be trusted to rank these systems" in done.stdout
    assert "For these systems only, not for new ones (tau " in done.stdout
    (table,) = result((tmp_path / "found" / "rank.json").read_text()).tables
    (judge,) = table.judges
    assert judge.new_systems is not None
    assert judge.new_systems.tau is not None
    assert judge.verdict == "trusted"
    assert (judge.tau.value or 0) > 0.7
    assert (judge.new_systems.tau.value or 0) < 0.4, "its order of new systems is none"
    assert judge.new_systems.verdict == "not trusted"


@pytest.fixture
def frozen(calibrate: Calibrate, write_csv: Write, tmp_path: Path) -> Path:
    """A frozen judge of data.csv, calibrated with seed 0."""
    write_csv(scored_rows(sources=30))
    few = ("--trials", 2, "--rounds", 1, "--resamples", 200)
    done = calibrate("run", *RELEVANCE, "-d", "data.csv", *few, "-o", "judge.yaml")
    assert done.returncode == 0, done.stderr
    return tmp_path / "judge.yaml"


def test_a_frozen_judge_is_ranked_on_its_own_test_side_alone(
    calibrate: Calibrate, frozen: Path, tmp_path: Path
) -> None:
    wanted = ("rank", *RELEVANCE, "-d", "data.csv", "-j", "calibrated:judge.yaml", *QUICK)
    own = calibrate(*wanted, "--json")
    assert own.returncode == 0, own.stderr
    (table,) = result(own.stdout).tables
    assert "calibrated:judge.yaml saw the other ratings" in table.side
    assert table.judges[0].new_systems is not None
    assert "frozen" in table.judges[0].new_systems.unchecked
    ledger = (tmp_path / "runs" / "ledger.jsonl").read_text()
    other = calibrate(*wanted, "--seed", 3)
    assert (other.returncode, other.stderr.count("\n")) == (2, 1)
    assert "it was calibrated on items of this test side; name its seed: --seed 0" in other.stderr
    assert (tmp_path / "runs" / "ledger.jsonl").read_text() == ledger, "refused before any look"
    assert read_frozen(frozen).origin.seed == 0


def test_of_another_version_of_its_file_a_frozen_judge_may_have_seen_items(
    calibrate: Calibrate, frozen: Path, write_csv: Write
) -> None:
    write_csv(scored_rows(sources=30)[:-1], "nearly.csv")
    wanted = ("rank", *RELEVANCE, "-d", "nearly.csv", "-j", "calibrated:judge.yaml", *QUICK, "--json")
    (table,) = result(calibrate(*wanted).stdout).tables
    assert table.items == 179
    assert table.judges[0].verdict == "may have seen these items"
    assert "cannot be said: it may have been calibrated on some of these items" in table.judges[0].sentence
    (said,) = result(calibrate(*wanted, "--unseen").stdout).tables
    assert said.judges[0].verdict == "trusted"
    assert "new ones could not be checked" in said.judges[0].sentence
    assert "the user's word" in said.judges[0].notes[0]
