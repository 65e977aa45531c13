"""Runs and ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from calibrator.errors import RunError
from calibrator.files import read_lines
from calibrator.store import Ledger, all_runs, create_run, find_run


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
