"""The named data sets: the bundled one holds what its README says, the real ones are read whole."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest

from calibrator.aspects import find_aspect
from calibrator.catalog import SETS, data_folder, open_source
from calibrator.columns import Wanted, map_columns
from calibrator.dataset import Dataset, rated_items
from calibrator.errors import ConfigError, DataError
from calibrator.resources import folder
from tests.conftest import Calibrate

COUNTERSPEECH = ("relevance", "aggressiveness", "coherence", "suitableness")
SUMMARY = ("coherence", "consistency", "fluency", "relevance")


def load(name: str, aspect: str, data_dir: Path | None = None) -> Dataset:
    """Return a named set's items for an aspect, read as a run reads them."""
    source = open_source(name, data_dir)
    found, _ = find_aspect(aspect, source.suite)
    assert found.suite == SETS[name].suite
    return rated_items(source.table, map_columns(source.table, source.wanted, found), found.scale, source.name)


def low_and_high(aspect: str) -> tuple[float, float]:
    return (1, 3) if aspect == "suitableness" else (1, 5)


# -- the bundled set ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aspect", COUNTERSPEECH)
def test_the_demonstration_is_large_and_varied_enough(aspect: str) -> None:
    demo = load("demo", aspect)
    ratings = [i.human for i in demo.items if i.human is not None]
    low, high = low_and_high(aspect)
    assert len(ratings) >= 160
    assert demo.groups >= 30
    assert set(ratings) == {float(r) for r in range(int(low), int(high) + 1)}
    assert demo.warnings == ()


def test_the_demonstration_has_four_aspects_and_no_empty_cell() -> None:
    table = open_source("demo").table
    assert [c for c in table.columns if c.endswith("_score")] == [f"{a}_score" for a in COUNTERSPEECH]
    assert all(str(cell).strip() for row in table.rows for cell in row.values())


def test_the_demonstration_has_every_kind_of_reply() -> None:
    kinds = Counter(row["kind"] for row in open_source("demo").table.rows)
    wanted = "on_topic generic wrong_group aggressive sarcastic garbled too_short evidence".split()
    assert min(kinds[kind] for kind in wanted) >= 5


def test_the_demonstration_repeats_no_text() -> None:
    replies = Counter(i.output for i in load("demo", "relevance").items)
    assert max(replies.values()) == 1


def test_the_demonstration_says_what_its_ratings_are() -> None:
    told = " ".join((folder("data") / "demo" / "README.md").read_text(encoding="utf-8").split())
    table = open_source("demo").table
    assert "The ratings are the project's authors' own" in told
    assert "**not** those of experts" in told
    assert f"{len(table.rows)} rows: {len({r['hatespeech'] for r in table.rows})} statements" in told


# -- the real sets -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("aspect", COUNTERSPEECH)
def test_cseval_joins_three_annotators_to_every_row(aspect: str, real_data: Path) -> None:
    found = load("cseval", aspect, real_data)
    assert Counter(len(i.ratings) for i in found.items) == {3: 917}
    off = [i.row for i in found.items if abs(sum(i.ratings) / 3 - (i.human or 0)) > 0.02]
    assert len(off) == 0


def test_cseval_groups_by_statement_and_takes_no_column_for_the_system(real_data: Path) -> None:
    found = load("cseval", "relevance", real_data)
    assert found.mapped.system is None
    assert found.mapped.reference == "counterspeech"
    assert found.groups == len({i.group for i in found.items}) < 917


@pytest.mark.parametrize("aspect", COUNTERSPEECH)
def test_cseval_is_read_from_the_annotators_alone(aspect: str, real_data: Path, tmp_path: Path) -> None:
    (tmp_path / "cseval").mkdir()
    shutil.copy(real_data / "cseval" / "annotators.csv", tmp_path / "cseval")
    found = load("cseval", aspect, tmp_path)
    assert Counter(len(i.ratings) for i in found.items) == {3: 917}
    assert "annotators.csv: 4 rows have no rating and are left out" in found.warnings
    assert found.mapped.reference is None


def test_cseval_is_read_from_the_recorded_judges_alone(real_data: Path, tmp_path: Path) -> None:
    (tmp_path / "cseval").mkdir()
    shutil.copy(real_data / "cseval" / "recorded_judges.csv", tmp_path / "cseval")
    assert Counter(len(i.ratings) for i in load("cseval", "relevance", tmp_path).items) == {1: 917}


@pytest.mark.parametrize("aspect", COUNTERSPEECH)
def test_cseval_dev_has_500_items(aspect: str, real_data: Path) -> None:
    assert len(load("cseval-dev", aspect, real_data).items) == 500


@pytest.mark.parametrize("aspect", "coherence engagingness groundedness naturalness overall understandability".split())
def test_topical_chat_has_six_replies_to_each_of_60_dialogues(aspect: str, real_data: Path) -> None:
    found = load("topical-chat", aspect, real_data)
    assert set(Counter(i.group for i in found.items).values()) == {6}
    assert (len(found.items), found.groups, len({i.system for i in found.items})) == (360, 60, 6)
    assert {len(i.ratings) for i in found.items} == {3}


@pytest.mark.parametrize("aspect", SUMMARY)
def test_dialsummeval_has_fourteen_summaries_of_each_of_100_dialogues(aspect: str, real_data: Path) -> None:
    found = load("dialsummeval", aspect, real_data)
    assert set(Counter(i.group for i in found.items).values()) == {14}
    assert (len(found.items), found.groups, len({i.system for i in found.items})) == (1400, 100, 14)
    assert {len(i.ratings) for i in found.items} == {3}


# -- what is not there -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cseval", "cseval-dev"])
def test_a_missing_set_that_can_be_downloaded_says_how(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"calibrate data get cseval.*--data-dir or \$CALIBRATOR_DATA") as caught:
        open_source(name, tmp_path)
    assert str(caught.value).startswith(str(tmp_path / SETS[name].files[0]))


@pytest.mark.parametrize("name", ["topical-chat", "dialsummeval"])
def test_a_missing_set_that_cannot_be_downloaded_says_where_it_goes(name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"put the file there, or name its folder with --data-dir") as caught:
        open_source(name, tmp_path)
    assert str(caught.value).startswith(str(tmp_path / SETS[name].files[0]))
    assert "data get" not in str(caught.value)


def test_a_name_that_is_neither_file_nor_set_lists_the_sets() -> None:
    with pytest.raises(DataError, match=r"nowhere: .*demo, cseval, cseval-dev, topical-chat, dialsummeval"):
        open_source("nowhere")


def test_a_file_of_ones_own_has_no_suite(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("text\na\n", encoding="utf-8")
    source = open_source(str(tmp_path / "mine.csv"))
    assert (source.suite, source.wanted) == (None, Wanted())


def test_the_folder_is_the_one_said_else_that_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALIBRATOR_DATA", "elsewhere")
    assert data_folder(tmp_path) == tmp_path
    assert data_folder() == Path("elsewhere")
    monkeypatch.delenv("CALIBRATOR_DATA")
    assert data_folder() == Path.home() / ".local" / "share" / "calibrator"


# -- the commands ------------------------------------------------------------------------------------------------------


def test_the_list_says_which_sets_are_here_and_how_to_get_the_others(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "cseval").mkdir()
    (tmp_path / "cseval" / "dev_set_500.csv").write_text("hatespeech\n", encoding="utf-8")
    done = calibrate("data", "list", env={"CALIBRATOR_DATA": str(tmp_path), "COLUMNS": "200"})
    assert done.returncode == 0, done.stderr
    lines = [line.replace("│", "|") for line in done.stdout.splitlines()]
    here = {c[0]: c[2] for line in lines if len(c := [p.strip() for p in line.strip("|").split("|")]) == 4}
    assert here == {"demo": "yes", "cseval": "no", "cseval-dev": "yes", "topical-chat": "no", "dialsummeval": "no"}
    missing = "".join(lines)
    assert "(calibrate data get cseval)" in missing
    assert "topical_chat.jsonl (put it there by hand)" in missing


@pytest.mark.parametrize("name", ["nope", "demo", "topical-chat"])
def test_what_cannot_be_downloaded_says_what_can(name: str, calibrate: Calibrate) -> None:
    done = calibrate("data", "get", name)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"calibrate: '{name}' cannot be downloaded; those that can: cseval\n"


def test_a_run_on_a_missing_set_ends_in_one_line(calibrate: Calibrate, tmp_path: Path) -> None:
    done = calibrate("run", "--aspect", "relevance", "--data", "cseval", "--data-dir", tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "calibrate data get cseval" in done.stderr


def test_the_config_error_names_the_set() -> None:
    from calibrator.catalog import manifest_of

    with pytest.raises(ConfigError, match="'nope' cannot be downloaded"):
        manifest_of("nope")
