"""The cache of replies: what it keeps, what it refuses, and what it survives."""

from __future__ import annotations

import asyncio
import json
import pickle
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from calibrator.errors import CacheError, ModelUnavailable
from calibrator.models import replies
from calibrator.models.base import ChatReply, ChatRequest, Sampling, request_key
from calibrator.models.cache import Cached
from calibrator.models.replies import cache_folder
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.records import Message, Usage
from tests.conftest import ROOT

MODEL = "scripted/double"
PLAIN = Sampling()
FULL = ChatReply('{"score": 4}', "length", "cut", Usage(120, 7, 64), 0.0021, calls=3)
GOOD = json.dumps({"text": "4", "finish": "stop", "detail": "", "usage": [0, 0, 0], "cost": None, "calls": 1})


def asking(text: str = "How calm is this?", sampling: Sampling = PLAIN, sample: int = 0) -> ChatRequest:
    return ChatRequest((Message("system", "You judge."), Message("user", text)), sampling, sample)


def unasked(request: ChatRequest) -> None:
    """Tell the double nothing, so that it fails when it is asked."""


def ask(folder: Path, script: Script, *requests: ChatRequest, name: str = MODEL) -> tuple[list[ChatReply], int]:
    """Put requests to a model with a cache in `folder`, and return the replies and how many came from the cache."""

    async def work() -> tuple[list[ChatReply], int]:
        cached = Cached(ScriptedModel(script, name), folder)
        try:
            return [await cached.complete(request) for request in requests], cached.hits
        finally:
            await cached.close()

    return asyncio.run(work())


def sql(folder: Path, statement: str, values: Sequence[object] = ()) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        return database.execute(statement, tuple(values)).fetchall()


def plant(folder: Path, **columns: object) -> None:
    """Put a row into a cache that was in use before, by default one for what `asking()` asks."""
    ask(folder, lambda _: "3", asking("something else"))
    row = {"key": request_key(MODEL, asking()), "raw": 1, "store_time": 1.0, "mode": 1, "value": GOOD, **columns}
    marks = ", ".join("?" * len(row))
    sql(folder, f"INSERT INTO Cache({', '.join(row)}) VALUES ({marks})", list(row.values()))


class Payload:
    """What creates a file as soon as it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.trace,)


def refused(folder: Path, script: Script = unasked) -> str:
    with pytest.raises(CacheError) as caught:
        ask(folder, script, asking())
    message = str(caught.value)
    assert str(folder) in message and f"rm -r {folder}" in message and "CALIBRATOR_CACHE" in message
    assert "\n" not in message
    return message


# --- what it keeps ---------------------------------------------------------------------------------------------------


def test_what_was_asked_is_not_asked_again_not_even_by_another_process(tmp_path: Path) -> None:
    free = replace(FULL, calls=0, cost=0.0)
    assert ask(tmp_path, lambda _: FULL, asking(), asking()) == ([FULL, free], 1)
    assert ask(tmp_path, unasked, asking()) == ([free], 1)


def test_a_price_that_is_not_known_stays_unknown(tmp_path: Path) -> None:
    ask(tmp_path, lambda _: "4", asking())
    assert ask(tmp_path, unasked, asking()) == ([ChatReply("4", cost=None, calls=0)], 1)


def test_another_request_or_model_is_another_entry(tmp_path: Path) -> None:
    others = [
        asking("How warm is this?"),
        asking(sampling=Sampling(temperature=0.5)),
        asking(sampling=Sampling(max_tokens=255)),
        asking(sampling=Sampling(seed=1)),
        asking(sample=1),
        ChatRequest(asking().messages[1:]),
    ]
    ask(tmp_path, lambda _: "first", asking())
    replies, hits = ask(tmp_path, lambda _: "other", *others)
    assert [r.text for r in replies] == ["other"] * len(others) and hits == 0
    assert ask(tmp_path, lambda _: "third", asking(), name="http://elsewhere/v1#double") == ([ChatReply("third")], 0)


def test_a_refused_reply_is_given_but_not_kept(tmp_path: Path) -> None:
    held = ChatReply("", "refused", "the prompt is too long")
    assert ask(tmp_path, lambda _: held, asking()) == ([held], 0)
    assert ask(tmp_path, lambda _: "fits now", asking()) == ([ChatReply("fits now")], 0)


def test_an_error_is_raised_and_not_kept(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable):
        ask(tmp_path, lambda _: ModelUnavailable("overloaded"), asking())
    assert ask(tmp_path, lambda _: "now", asking()) == ([ChatReply("now")], 0)


@pytest.mark.parametrize(
    "text",
    ["", "ü 語 🙂 \u202e", "a\x00b\nc", "half a pair: \ud83d", "x" * 200_000, "語" * 40_000],
    ids=["empty", "unicode", "control", "surrogate", "200 KB", "120 KB of UTF-8"],
)
def test_any_text_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    ask(tmp_path, lambda _: text, asking(text))
    assert ask(tmp_path, unasked, asking(text)) == ([ChatReply(text, calls=0)], 1)
    assert {p.name for p in tmp_path.iterdir()} == {"cache.db"}  # long ones, too, are in the database


def test_it_can_be_used_again_after_close(tmp_path: Path) -> None:
    closed: list[bool] = []

    class Watched(ScriptedModel):
        async def close(self) -> None:
            closed.append(True)

    async def work() -> int:
        cached = Cached(Watched(lambda _: "3"), tmp_path)
        assert (cached.id, cached.identity) == (MODEL, MODEL)
        await cached.close()
        for _ in range(2):
            await cached.complete(asking())
            await cached.close()
        return cached.hits

    assert asyncio.run(work()) == 1
    assert closed == [True] * 3


def test_no_word_of_a_request_is_in_the_files(tmp_path: Path) -> None:
    async def work() -> None:
        cached = Cached(ScriptedModel(lambda _: "a mild reply"), tmp_path)
        await cached.complete(asking("confidential wording"))
        files = b"".join(p.read_bytes() for p in tmp_path.iterdir())  # before close: the write-ahead log is there too
        assert b"a mild reply" in files
        assert b"confidential" not in files and b"You judge" not in files
        await cached.close()

    asyncio.run(work())
    assert sql(tmp_path, "SELECT key, raw, tag, filename FROM Cache") == [
        (request_key(MODEL, asking("confidential wording")), 1, MODEL, None)
    ]


def test_the_oldest_replies_make_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRATOR_CACHE_SIZE", "1MB")
    requests = [asking(str(n)) for n in range(200)]
    ask(tmp_path, lambda _: "x" * 20_000, *requests)
    assert (tmp_path / "cache.db").stat().st_size < 2**20 + 2**18
    assert ask(tmp_path, unasked, *requests[-20:])[1] == 20
    assert ask(tmp_path, lambda _: "again", requests[0]) == ([ChatReply("again")], 0)


def test_where_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CALIBRATOR_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/home/someone")
    assert cache_folder() == Path("/home/someone/.cache/calibrator/replies")
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert cache_folder() == Path("/var/caches/calibrator/replies")
    monkeypatch.setenv("CALIBRATOR_CACHE", "~/replies")
    assert cache_folder() == Path("/home/someone/replies")


# --- what it refuses -------------------------------------------------------------------------------------------------


def test_the_payload_of_these_tests_works(tmp_path: Path) -> None:
    """A plain diskcache does run it; else the tests below would show nothing."""
    import diskcache

    plant(tmp_path, mode=4, value=pickle.dumps(Payload(tmp_path / "trace")))
    with closing(diskcache.Cache(tmp_path)) as plain:
        plain.get(request_key(MODEL, asking()))
    assert (tmp_path / "trace").exists()


def test_a_pickle_in_the_database_is_not_read(tmp_path: Path) -> None:
    folder, trace = tmp_path / "c", tmp_path / "trace"
    plant(folder, mode=4, value=pickle.dumps(Payload(trace)))
    refused(folder)
    assert not trace.exists()


@pytest.mark.parametrize("mode", [0, 2, 3, 4, None])
def test_a_value_of_another_kind_is_not_read(tmp_path: Path, mode: int | None) -> None:
    plant(tmp_path, mode=mode)
    refused(tmp_path)


def test_a_pickle_in_a_file_is_not_read(tmp_path: Path) -> None:
    folder, trace = tmp_path / "c", tmp_path / "trace"
    plant(folder, mode=4, value=None, filename="x.val")
    (folder / "x.val").write_bytes(pickle.dumps(Payload(trace)))
    refused(folder)
    assert not trace.exists()


def test_a_pickle_as_key_is_not_read_whatever_is_asked(tmp_path: Path) -> None:
    folder, trace = tmp_path / "c", tmp_path / "trace"
    plant(folder, key=pickle.dumps(Payload(trace)), raw=0)
    refused(folder)
    assert not trace.exists()


def test_a_pickled_key_that_comes_later_is_not_read_either(tmp_path: Path) -> None:
    folder, trace = tmp_path / "c", tmp_path / "trace"
    folder.mkdir()
    with closing(replies._open(folder, 2**20)) as store:
        sql(folder, "INSERT INTO Cache(key, raw) VALUES (?, 0)", [pickle.dumps(Payload(trace))])
        with pytest.raises(CacheError):
            list(store)
    assert not trace.exists()


@pytest.mark.parametrize("mode", [1, 2, 3, 4])
@pytest.mark.parametrize("absolute", [False, True])
def test_a_file_elsewhere_is_neither_read_nor_deleted(tmp_path: Path, mode: int, absolute: bool) -> None:
    folder, other = tmp_path / "c", tmp_path / "other.txt"
    other.write_text(GOOD)
    plant(folder, mode=mode, value=GOOD if mode == 1 else None, filename=str(other) if absolute else "../other.txt")
    refused(folder)
    assert other.exists()


def test_a_file_elsewhere_is_not_deleted_when_its_row_makes_room(tmp_path: Path) -> None:
    """diskcache removes the file of a row that has expired with the next reply it stores."""
    folder, other = tmp_path / "c", tmp_path / "other.txt"
    other.write_text("needed")
    plant(folder, key="0" * 64, expire_time=1.0, filename="../other.txt")
    assert "names a file" in refused(folder, lambda _: "3")
    assert other.read_text() == "needed"


@pytest.mark.parametrize(
    "value",
    [
        "",
        "three",
        GOOD.encode(),
        3,
        None,
        "null",
        "[]",
        "{}",
        pytest.param("[" * 100_000, id="deep"),
        GOOD.replace('"4"', "4"),
        GOOD.replace('"stop"', '"refused"'),
        GOOD.replace("[0, 0, 0]", "[]"),
        GOOD.replace("[0, 0, 0]", '["many", 0, 0]'),
        GOOD.replace("[0, 0, 0]", '{"prompt": 1}'),
        GOOD.replace("}", ', "tokens": 1}'),
        GOOD.replace("}", ', "tokens": [["4"]]}'),
        GOOD.replace("}", ', "tokens": [["4", "likely"]]}'),
        GOOD.replace("}", ', "tokens": [["4", -0.1, [["4", NaN]]]]}'),
        GOOD.replace("}", ', "served": 4}'),
        GOOD.replace("null", "NaN"),
        GOOD.replace("null", '"dear"'),
        GOOD.replace('"calls"', '"more"'),
    ],
)
def test_what_is_no_reply_is_refused(tmp_path: Path, value: object) -> None:
    plant(tmp_path, value=value)
    refused(tmp_path)


def test_what_is_a_reply_is_given(tmp_path: Path) -> None:
    """Else the tests above would show nothing."""
    plant(tmp_path)
    assert ask(tmp_path, unasked, asking()) == ([ChatReply("4", calls=0)], 1)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("_directory", "/somewhere/else"),
        ("sqlite_writable_schema", 1),
        ("disk_fetch", "x"),
        (b"size_limit", 1),
        ("size", "much"),
    ],
)
def test_a_setting_of_others_is_refused_before_diskcache_reads_it(tmp_path: Path, key: object, value: object) -> None:
    ask(tmp_path, lambda _: "3", asking())
    sql(tmp_path, "INSERT OR REPLACE INTO Settings VALUES (?, ?)", [key, value])
    assert "a setting" in refused(tmp_path)


def test_the_settings_in_the_database_do_not_count(tmp_path: Path) -> None:
    ask(tmp_path, lambda _: "3", asking())
    sql(tmp_path, "UPDATE Settings SET value = 'none' WHERE key = 'eviction_policy'")
    sql(tmp_path, "UPDATE Settings SET value = 1 WHERE key IN ('size_limit', 'disk_min_file_size', 'statistics')")
    with closing(replies._open(tmp_path, replies.SIZE_LIMIT)) as store:
        assert (store.eviction_policy, store.size_limit) == ("least-recently-stored", replies.SIZE_LIMIT)
        assert store.statistics == 0
    assert ask(tmp_path, unasked, asking())[1] == 1


def test_the_folder_that_is_looked_at_is_the_one_that_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """diskcache expands variables in the name of its folder."""
    monkeypatch.setenv("PLACE", "there")
    ask(tmp_path / "$PLACE", lambda _: "3", asking())
    assert [p.name for p in tmp_path.iterdir()] == ["there"]


# --- what it survives ------------------------------------------------------------------------------------------------


def unusable(folder: Path) -> str:
    with pytest.raises(CacheError) as caught:
        ask(folder, unasked, asking())
    message = str(caught.value)
    assert str(folder) in message and "--no-cache" in message and "\n" not in message
    return message


def test_no_folder_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    unusable(tmp_path / "file")
    unusable(tmp_path / "file" / "below")


def test_no_database(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"not a database, " * 1000)
    assert "rm -r" in unusable(tmp_path)


def test_a_damaged_database(tmp_path: Path) -> None:
    ask(tmp_path, lambda _: "x" * 1000, *[asking(str(n)) for n in range(200)])
    with (tmp_path / "cache.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 100_000)
    unusable(tmp_path)


def test_another_table_under_the_name(tmp_path: Path) -> None:
    sql(tmp_path, "CREATE TABLE cache (something)")
    unusable(tmp_path)


def test_a_database_that_another_process_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "PATIENCE", 0.05)
    ask(tmp_path, lambda _: "3", asking())

    async def work() -> None:
        cached = Cached(ScriptedModel(lambda _: "3"), tmp_path)
        await cached.complete(asking())
        with closing(sqlite3.connect(tmp_path / "cache.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            await cached.complete(asking())  # reading goes on
            assert (await cached.complete(asking("new"))).text == "3"  # it is paid for, and goes on without being kept
            unlucky = Cached(ScriptedModel(lambda _: "3"), tmp_path)
            with pytest.raises(CacheError, match=r"locked.*--no-cache"):
                await unlucky.complete(asking())
            await unlucky.close()
        again = [await cached.complete(asking("new")) for _ in range(2)]
        assert [(reply.text, reply.calls) for reply in again] == [("3", 1), ("3", 0)]
        await cached.close()


def test_a_full_disk_keeps_no_reply_from_who_asked(tmp_path: Path) -> None:
    async def work() -> tuple[ChatReply, int]:
        cached = Cached(ScriptedModel(lambda _: "x" * 10_000), tmp_path)
        await cached.complete(asking())

        def fill() -> None:
            query = cached._store._opened()._sql
            query(f"PRAGMA max_page_count = {query('PRAGMA page_count').fetchone()[0]}").fetchone()

        assert cached._thread is not None
        await cached._thread.do(fill)  # it has a connection of its own
        replies = [await cached.complete(asking(str(n))) for n in range(5)]
        hits = cached.hits
        await cached.close()
        return replies[-1], hits

    assert asyncio.run(work()) == (ChatReply("x" * 10_000), 0)
    kept = ask(tmp_path, lambda _: "again", *[asking(str(n)) for n in range(5)])[1]
    assert kept < 5  # else the disk was not full

    asyncio.run(work())


WRITER = """
import asyncio, itertools, sys
from pathlib import Path
from calibrator.models.cache import Cached
from calibrator.models.scripted import ScriptedModel
from tests.models.test_cache import asking

async def work(folder, name, count):
    cached = Cached(ScriptedModel(lambda request: request.messages[-1].content * 50), Path(folder))
    for n in itertools.count() if count == "-" else range(int(count)):
        await cached.complete(asking(f"{name} {n}"))
        await cached.complete(asking(f"all {n}"))
        if count == "-":
            print(n, flush=True)
    await cached.close()

asyncio.run(work(*sys.argv[1:]))
"""


def writer(folder: Path, name: str, count: str) -> subprocess.Popen[str]:
    """Start a process that writes `count` replies ("-": until it is killed, telling the number of each)."""
    command = [sys.executable, "-c", WRITER, str(folder), name, count]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def test_several_processes_write_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "c"  # not there yet: they also make it at once
    running = [writer(folder, f"w{k}", "100") for k in range(4)]
    for process in running:
        with process:
            process.communicate(timeout=60)
        assert process.returncode == 0
    names = [f"w{k}" for k in range(4)] + ["all"]
    requests = [asking(f"{name} {n}") for name in names for n in range(100)]
    replies, hits = ask(folder, unasked, *requests)
    assert hits == 500
    assert [r.text for r in replies] == [r.messages[-1].content * 50 for r in requests]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill outright")
def test_what_was_written_outlives_a_kill(tmp_path: Path) -> None:
    for wait in (0.0, 0.013, 0.05):
        with writer(tmp_path, f"w{wait}", "-") as process:
            assert process.stdout is not None
            for _ in range(20):
                process.stdout.readline()
            time.sleep(wait)
            process.kill()
            told = 20 + process.stdout.read().count("\n")
        assert process.returncode == -signal.SIGKILL
        requests = [asking(f"w{wait} {n}") for n in range(told)]
        assert ask(tmp_path, unasked, *requests)[1] == told
        assert sql(tmp_path, "PRAGMA integrity_check") == [("ok",)]
        assert ask(tmp_path, lambda _: "on", asking(f"after {wait}"))[0] == [ChatReply("on")]
