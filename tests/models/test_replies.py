"""The store of replies itself: what it holds, what may be taken out, and when it cannot be used."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from calibrator.errors import CacheError
from calibrator.models.base import ChatReply, Token, reply_from_json
from calibrator.models.replies import SIZE_LIMIT, ReplyStore, export_replies, open_store, size_limit
from calibrator.records import Usage
from tests.conftest import ROOT

FULL = ChatReply("4", "length", "cut", Usage(120, 7, 64), 0.25, 3, (Token("4", -0.1, (("4", -0.1), ("5", -2.0))),), "m")
MB = 2**20


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ReplyStore]:
    store = ReplyStore(tmp_path / "replies", 64 * MB)
    yield store
    store.close()


def fill(store: ReplyStore, **models: int) -> None:
    """Put so many replies of each model."""
    for model, count in models.items():
        store.put((f"{model} {n}", model, replace(FULL, text=f"{model} {n}")) for n in range(count))


def sql(store: ReplyStore, statement: str) -> None:
    with closing(sqlite3.connect(store.folder / "cache.db")) as database, database:
        database.execute(statement)


def test_what_was_put_is_there(store: ReplyStore) -> None:
    assert store.get("a") is None
    store.put([("a", "one", FULL), ("b", "one", ChatReply("")), ("a", "one", replace(FULL, text="5"))])
    assert (store.get("a"), store.get("b"), store.get("c")) == (replace(FULL, text="5"), ChatReply(""), None)


def test_what_is_kept_by_model(store: ReplyStore) -> None:
    begun = time.time() - 1
    assert store.kept() == []
    fill(store, b=3, a=2)
    one, other = store.kept()
    assert [(k.model, k.replies) for k in (one, other)] == [("a", 2), ("b", 3)]
    for kept in (one, other):
        assert begun <= kept.first <= kept.last <= time.time() + 1
        assert 100 * kept.replies < kept.size < 1000 * kept.replies
    assert store.volume() >= one.size + other.size


def test_all_of_them_come_oldest_first(store: ReplyStore) -> None:
    fill(store, a=1500, b=700)  # more than are read at once
    rows = list(store.each())
    assert [key for key, _, _ in rows] == [f"{m} {n}" for m, count in (("a", 1500), ("b", 700)) for n in range(count)]
    assert all(reply == replace(FULL, text=key) and key.startswith(model) for key, model, reply in rows)
    assert [key for key, _, _ in store.each("b")] == [f"b {n}" for n in range(700)]
    assert list(store.each("none of them")) == []


def test_replies_that_come_or_go_meanwhile_do_no_harm(store: ReplyStore) -> None:
    fill(store, a=1500)
    rows = store.each()
    first = next(rows)[0]
    fill(store, b=3)
    store.clear("a")
    assert first == "a 0"
    assert [key for key, _, _ in rows][-3:] == ["b 0", "b 1", "b 2"]


def test_all_is_forgotten_or_what_is_kept_of_one_model(store: ReplyStore) -> None:
    fill(store, a=250, b=120, c=1)
    assert store.clear("b") == 120
    assert [(k.model, k.replies) for k in store.kept()] == [("a", 250), ("c", 1)]
    assert store.clear("b") == 0
    assert store.clear() == 251
    assert store.kept() == [] and store.clear() == 0


@pytest.mark.parametrize(
    ("said", "size"),
    [
        ("", SIZE_LIMIT),
        ("  ", SIZE_LIMIT),
        ("1MB", MB),
        ("1 MiB", MB),
        ("1048576", MB),
        ("1.5g", 3 * 2**29),
        (" 2 TB ", 2**41),
        ("500mb", 500 * MB),
        ("9" * 30 + "TB", 2**62),
        ("9" * 400, 2**62),
    ],
)
def test_how_much_may_be_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str, size: int) -> None:
    monkeypatch.setenv("CALIBRATOR_CACHE_SIZE", said)
    assert size_limit() == size
    store = ReplyStore(tmp_path)
    fill(store, a=1)
    assert store.limit == size and store.get("a 0")
    store.close()


@pytest.mark.parametrize("said", ["0", "1023k", "much", "-5GB", "5 PB", "1e9", "5GB or so", "٥GB", "inf", "nan"])
def test_what_is_no_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str) -> None:
    monkeypatch.setenv("CALIBRATOR_CACHE_SIZE", said)
    with pytest.raises(CacheError) as caught:
        ReplyStore(tmp_path)
    told = f"'{said}' is no size of at least a megabyte, like 500MB or 2GB"
    assert str(caught.value) == f"$CALIBRATOR_CACHE_SIZE: {told}"


def test_it_does_not_grow_beyond_what_was_allowed(tmp_path: Path) -> None:
    store = ReplyStore(tmp_path, MB)
    for n in range(40):
        store.put((f"{n} {k}", "m", ChatReply("x" * 10_000)) for k in range(10))
    assert store.volume() < 1.5 * MB
    assert store.get("39 9") and not store.get("0 0")
    store.close()


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="nothing is read-only for this user")
def test_a_folder_that_is_read_only(store: ReplyStore) -> None:
    fill(store, a=1)
    store.close()
    (store.folder / "cache.db").chmod(0o400)
    store.folder.chmod(0o500)
    try:
        with pytest.raises(CacheError, match=r"the cache of replies cannot be used \(.*readonly.*\); --no-cache"):
            ReplyStore(store.folder).get("a 0")
    finally:
        store.folder.chmod(0o700)


def test_a_folder_that_cannot_be_made() -> None:
    with pytest.raises(CacheError, match="the cache of replies cannot be used") as caught:
        ReplyStore(Path("/dev/null/replies")).kept()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE Cache SET value = NULL",
        "UPDATE Cache SET store_time = 'yesterday'",
        "UPDATE Cache SET store_time = NULL",
        "UPDATE Cache SET store_time = 1e300",
        "UPDATE Cache SET store_time = -1e300",
    ],
)
def test_rows_that_are_not_whole_are_not_counted(store: ReplyStore, change: str) -> None:
    fill(store, a=2)
    sql(store, change)
    with pytest.raises(CacheError, match=r"holds what this program did not write .*Delete it \(rm -r "):
        store.kept()


@pytest.mark.parametrize("model", ["", "a"])
def test_a_row_that_names_a_file_is_not_followed_when_all_is_forgotten(
    store: ReplyStore, tmp_path: Path, model: str
) -> None:
    fill(store, a=2)
    (tmp_path / "needed").touch()
    sql(store, "UPDATE Cache SET filename = '../needed'")
    with pytest.raises(CacheError, match="a row that names a file"):
        store.clear(model)
    assert (tmp_path / "needed").exists()


WRITER = """
import sys
from pathlib import Path
from calibrator.models.replies import ReplyStore
from tests.models.test_replies import fill

store = ReplyStore(Path(sys.argv[1]), 2**26)
for n in range(50):
    fill(store, **{f"{sys.argv[2]}_{n}": 5})
    store.kept()
    if n == 25:
        store.clear(f"{sys.argv[2]}_0")
store.close()
"""


def test_several_processes_fill_count_and_forget_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "replies"
    running = [subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name], cwd=ROOT) for name in "abc"]
    for process in running:
        assert process.wait(timeout=60) == 0
    store = ReplyStore(folder, 64 * MB)
    assert {k.model: k.replies for k in store.kept()} == {f"{m}_{n}": 5 for m in "abc" for n in range(1, 50)}
    assert len(list(store.each())) == 3 * 49 * 5
    store.close()


def test_several_threads(store: ReplyStore) -> None:
    def work(name: str) -> None:
        for n in range(20):
            fill(store, **{f"{name}_{n}": 3})
        store.close()  # the connection of this thread

    threads = [threading.Thread(target=work, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sum(k.replies for k in store.kept()) == 180


# --- taking them out -------------------------------------------------------------------------------------------------


def test_they_are_written_to_a_file(store: ReplyStore, tmp_path: Path) -> None:
    fill(store, a=3, b=2)
    store.put([("c 0", "c", ChatReply("half a pair: \ud83d, ü\u2028"))])
    assert export_replies(store, tmp_path / "all.jsonl") == 6
    assert export_replies(store, tmp_path / "b.jsonl", "b") == 2
    rows = list(map(json.loads, (tmp_path / "all.jsonl").read_text().splitlines()))
    assert [(row["key"], row["model"], reply_from_json(row["reply"])) for row in rows] == list(store.each())
    assert (tmp_path / "all.jsonl").read_text().splitlines()[3:5] == (tmp_path / "b.jsonl").read_text().splitlines()


def test_no_file_is_overwritten_and_half_a_file_not_left(store: ReplyStore, tmp_path: Path) -> None:
    fill(store, a=2)
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    with pytest.raises(CacheError, match=r"out\.jsonl: cannot be written: File exists$"):
        export_replies(store, out)
    assert out.read_text() == "mine"
    with pytest.raises(CacheError, match="cannot be written: No such file or directory"):
        export_replies(store, tmp_path / "none" / "out.jsonl")
    sql(store, "UPDATE Cache SET value = 'no reply' WHERE key = 'a 1'")
    with pytest.raises(CacheError, match="a value that is no reply"):
        export_replies(store, tmp_path / "other.jsonl")
    assert not (tmp_path / "other.jsonl").exists()


def test_looking_at_the_usual_folder_does_not_make_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CALIBRATOR_CACHE", str(tmp_path / "none"))
    told = r"there is no cache of replies yet; a run with a model makes one$"
    with pytest.raises(CacheError, match=told), open_store():
        pass
    assert not (tmp_path / "none").exists()
    monkeypatch.setenv("CALIBRATOR_CACHE", str(tmp_path / "there"))
    made = ReplyStore(tmp_path / "there")
    fill(made, a=1)
    made.close()
    with open_store() as opened:
        assert opened.get("a 0")
