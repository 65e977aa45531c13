"""Journal, runs and ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from calibrator.errors import RunError
from calibrator.files import read_lines, write_whole
from calibrator.journal import Journal
from calibrator.store import Ledger, Run, all_runs, create_run, find_run


def test_what_is_in_the_journal_is_not_worked_out_again(tmp_path: Path) -> None:
    calls = []

    def compute() -> list[float]:
        calls.append(1)
        return [0.1 + 0.2, 1e-17, 3]

    first = Journal(tmp_path / "j.jsonl").once("a", compute)
    again = Journal(tmp_path / "j.jsonl").once("a", compute)
    assert again == first == [0.1 + 0.2, 1e-17, 3]
    assert len(calls) == 1


def test_a_value_is_on_disk_before_it_is_used(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.once("a", lambda: 1)
    assert json.loads((tmp_path / "j.jsonl").read_text()) == {"key": "a", "value": 1}


@pytest.mark.parametrize("torn", ['{"key": "b", "val', '{"key"', "{", '{"key": "b", "value": 2}'])
def test_a_torn_last_line_is_cut_off_and_written_anew(tmp_path: Path, torn: str) -> None:
    path = tmp_path / "j.jsonl"
    Journal(path).once("a", lambda: 1)
    with path.open("a") as file:
        file.write(torn)
    journal = Journal(path)
    assert len(journal) == 1
    assert journal.once("b", lambda: 3) == 3
    assert [r["key"] for r in read_lines(path)] == ["a", "b"]


def test_a_line_damaged_in_the_middle_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"key": "a", "value": 1}\n{"key\n{"key": "c", "value": 1}\n')
    with pytest.raises(RunError, match="line 2"):
        Journal(path)


def test_runs_are_found_by_id_part_and_last(tmp_path: Path) -> None:
    one = create_run(tmp_path, "relevance", {"seed": 1})
    two = create_run(tmp_path, "fluency", {"seed": 2})
    assert {r.id for r in all_runs(tmp_path)} == {one.id, two.id}
    assert find_run(tmp_path, one.id).config() == {"seed": 1}
    assert find_run(tmp_path, two.id[-4:]).config() == {"seed": 2}
    assert find_run(tmp_path, str(one.folder)).config() == {"seed": 1}
    assert find_run(tmp_path, "last").id == max(one.id, two.id)


def test_an_unknown_run_lists_the_latest(tmp_path: Path) -> None:
    run = create_run(tmp_path, "relevance", {})
    with pytest.raises(RunError, match=run.id):
        find_run(tmp_path, "nothing-like-it")


def test_an_unfinished_run_has_no_result(tmp_path: Path) -> None:
    assert create_run(tmp_path, "x", {}).result() is None


def test_a_damaged_config_is_one_clear_error(tmp_path: Path) -> None:
    run = create_run(tmp_path, "x", {})
    (run.folder / "config.json").write_text("{")
    with pytest.raises(RunError, match=r"config\.json"):
        run.config()


def test_looks_are_counted_per_test_side(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.look("t1", "s1", "run-a") == 1
    assert ledger.look("t1", "s2", "run-b") == 2
    assert ledger.look("t2", "s1", "run-b") == 1
    assert Ledger(tmp_path).look("t1", "s1", "run-c") == 3


def test_the_same_run_looking_again_is_the_same_look(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.look("t1", "s1", "run-a")
    ledger.look("t1", "s1", "run-b")
    assert ledger.look("t1", "s1", "run-a") == 1
    assert len(read_lines(ledger.path)) == 2


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    write_whole(tmp_path / "deep" / "a.txt", "one")
    assert (tmp_path / "deep" / "a.txt").read_text() == "one"
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RunError, match="cannot be written"):
        write_whole(tmp_path / "file" / "a.txt", "two")
    assert Run(tmp_path / "deep").write("a.txt", "three").read_text() == "three"
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["a.txt"]
