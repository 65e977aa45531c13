"""`calibrate cache`: what is kept across runs, as users look at it, take it out and forget it."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from calibrator.models.base import ChatReply
from calibrator.models.replies import ReplyStore
from calibrator.records import Usage
from tests.cli.test_llm import PROGRAM

A, B = "http://127.0.0.1:1/v1#a", "openai/b"


def command(folder: Path, *arguments: str, said: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `calibrate cache` with the cache in `folder`/cache; `said` is what the user types."""
    return subprocess.run(
        [PROGRAM, "cache", *arguments],
        cwd=folder,
        env={**os.environ, "CALIBRATOR_CACHE": str(folder / "cache"), **variables},
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one line that the command failed with."""
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("calibrate: ")
    return line


def kept(folder: Path) -> dict[str, int]:
    store = ReplyStore(folder / "cache", 2**26)
    try:
        return {k.model: k.replies for k in store.kept()}
    finally:
        store.close()


def sql(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "cache" / "cache.db")) as database, database:
        database.execute(statement)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A folder whose cache holds three replies of one model and two of another."""
    store = ReplyStore(tmp_path / "cache", 2**26)
    for model, count in ((A, 3), (B, 2)):
        store.put((f"{model} {n}", model, ChatReply(f"{n}", usage=Usage(10, 1))) for n in range(count))
    store.close()
    return tmp_path


@pytest.mark.parametrize("asked", [("info",), ("ls",), ("export", "out.jsonl"), ("clear",), ("clear", "--yes")])
def test_before_there_is_one(tmp_path: Path, asked: tuple[str, ...]) -> None:
    line = one_line(command(tmp_path, *asked))
    assert line == f"calibrate: {tmp_path}/cache: there is no cache of replies yet; a run with a model makes one"
    assert list(tmp_path.iterdir()) == []


def test_info(filled: Path) -> None:
    done = command(filled, "info", CALIBRATOR_CACHE_SIZE="500MB")
    assert done.returncode == 0, done.stderr
    folder, holds, size = done.stdout.splitlines()
    assert folder == f"folder    {filled}/cache ($CALIBRATOR_CACHE)"
    assert holds == "holds     5 replies of 2 models"
    assert re.fullmatch(
        r"size      \d+\.\d KiB of at most 500\.0 MiB \(\$CALIBRATOR_CACHE_SIZE\); the oldest replies make room", size
    )


def test_ls(filled: Path) -> None:
    done = command(filled, "ls")
    assert done.returncode == 0, done.stderr
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["replies", "size", "first", "last", "model"]
    rows = [re.fullmatch(r" +(\d+) +\d+ B  (\d{4}-\d\d-\d\d)  (\d{4}-\d\d-\d\d)  (\S+)", line) for line in lines]
    assert [(row[4], row[1]) for row in rows if row] == [(A, "3"), (B, "2")]


def test_what_a_name_holds_does_not_steer_the_terminal(filled: Path) -> None:
    sql(filled, "UPDATE Cache SET tag = 'x' || char(27) || '[2J' || char(8238)")
    done = command(filled, "ls")
    assert done.stdout.splitlines()[1].endswith(r"x\x1b[2J\x202e")


def test_an_empty_one(filled: Path) -> None:
    assert command(filled, "clear", "--yes").stdout == "5 replies forgotten\n"
    assert command(filled, "ls").stdout == "the cache is empty\n"
    assert "holds     0 replies of 0 models" in command(filled, "info").stdout
    assert command(filled, "clear").stdout == "0 replies forgotten\n"  # nothing to ask about


def test_export(filled: Path) -> None:
    assert command(filled, "export", "all.jsonl").stdout == "5 replies in all.jsonl\n"
    assert command(filled, "export", "b.jsonl", "--model", B).stdout == "2 replies in b.jsonl\n"
    rows = list(map(json.loads, (filled / "all.jsonl").read_text().splitlines()))
    assert [(row["key"], row["model"], row["reply"]["text"]) for row in rows] == [
        (f"{model} {n}", model, f"{n}") for model, count in ((A, 3), (B, 2)) for n in range(count)
    ]
    before = (filled / "all.jsonl").read_bytes()
    assert one_line(command(filled, "export", "all.jsonl")) == "calibrate: all.jsonl: cannot be written: File exists"
    assert (filled / "all.jsonl").read_bytes() == before
    assert kept(filled) == {A: 3, B: 2}


@pytest.mark.parametrize(
    ("options", "said", "asked", "left"),
    [
        ((), "y\n", "Forget 5 replies? [y/N]: ", {}),
        (("-m", B), "y\n", f"Forget 2 replies of {B}? [y/N]: ", {A: 3}),
        (("--yes",), "", "", {}),
        (("-y", "--model", A), "", "", {B: 2}),
    ],
)
def test_clear(filled: Path, options: tuple[str, ...], said: str, asked: str, left: dict[str, int]) -> None:
    done = command(filled, "clear", *options, said=said)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{asked}{5 - sum(left.values())} replies forgotten\n"
    assert kept(filled) == left


@pytest.mark.parametrize("asked", [("clear", "-y"), ("export", "out.jsonl")])
def test_a_model_of_which_nothing_is_kept_is_told(filled: Path, asked: tuple[str, ...]) -> None:
    done = command(filled, *asked, "--model", "openai/none")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"calibrate: nothing is kept of 'openai/none'; those there are: {A}, {B}\n"
    assert kept(filled) == {A: 3, B: 2} and not (filled / "out.jsonl").exists()


@pytest.mark.parametrize("said", ["", "n\n", "\n"], ids=["nobody there", "no", "just enter"])
def test_nothing_is_forgotten_unless_it_is_wanted(filled: Path, said: str) -> None:
    done = command(filled, "clear", said=said)
    assert done.returncode == 1
    assert "forgotten" not in done.stdout and "Traceback" not in done.stderr
    assert kept(filled) == {A: 3, B: 2}


@pytest.mark.parametrize("asked", [("info",), ("ls",), ("export", "out.jsonl"), ("clear", "--yes")])
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE Cache SET raw = 0, key = x'80049500' WHERE rowid = 1",
        "INSERT INTO Settings VALUES ('_directory', '/')",
        "ALTER TABLE Cache RENAME COLUMN value TO other",
    ],
)
def test_a_cache_that_somebody_tampered_with_is_told_in_one_line(
    filled: Path, asked: tuple[str, ...], change: str
) -> None:
    sql(filled, change)
    line = one_line(command(filled, *asked))
    assert f"{filled}/cache: the cache of replies " in line
    assert not (filled / "out.jsonl").exists()


@pytest.mark.parametrize(
    ("asked", "change"),
    [
        (("info",), "UPDATE Cache SET store_time = 'yesterday'"),
        (("ls",), "UPDATE Cache SET value = NULL"),
        (("export", "out.jsonl"), "UPDATE Cache SET value = 'x' WHERE key LIKE '% 2'"),
        (("export", "out.jsonl"), "UPDATE Cache SET mode = 4"),
        (("clear", "--yes"), "UPDATE Cache SET filename = '../needed'"),
    ],
)
def test_rows_that_somebody_tampered_with_are_told_in_one_line(
    filled: Path, asked: tuple[str, ...], change: str
) -> None:
    (filled / "needed").touch()
    sql(filled, change)
    line = one_line(command(filled, *asked))
    assert f"{filled}/cache: the cache of replies holds what this program did not write" in line
    assert f"rm -r {filled}/cache" in line
    assert (filled / "needed").exists() and not (filled / "out.jsonl").exists()


def test_what_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "cache.db").write_bytes(b"something else " * 500)
    line = one_line(command(tmp_path, "info"))
    assert "the cache of replies cannot be used (file is not a database)" in line


def test_a_size_that_is_none(filled: Path) -> None:
    line = one_line(command(filled, "info", CALIBRATOR_CACHE_SIZE="much"))
    assert line == "calibrate: $CALIBRATOR_CACHE_SIZE: 'much' is no size of at least a megabyte, like 500MB or 2GB"
