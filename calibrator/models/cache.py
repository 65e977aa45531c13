"""Replies kept across runs, so that what was asked once is not asked, and paid for, again.

They lie in a diskcache: one SQLite file that several processes may use at once and that outlives a kill. Left to
itself diskcache unpickles what it finds in its folder, so that whoever can write there runs code here (CVE-2025-69872,
not fixed; its JSONDisk does it too), and it reads and deletes files wherever a row says they are. Hence the two guards
below: `_inspect` looks at a folder before diskcache does, and the disk of `_open` knows JSON text in the database and
nothing else. It never uses files, so that a row which names one is not ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

from calibrator.errors import CacheError
from calibrator.models.base import ChatReply, ChatRequest, Model, reply_from_json, reply_to_json, request_key

VARIABLE = "CALIBRATOR_CACHE"
SIZE_LIMIT = 2 * 2**30  # bytes; some millions of short replies
PATIENCE = 10.0  # seconds to wait while another process writes, which takes it a fraction of a millisecond


def cache_folder() -> Path:
    """Return where replies are kept: $CALIBRATOR_CACHE, else the user's folder for caches."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "calibrator" / "replies"


class Cached:
    """Answers from the replies of earlier runs where it can, and asks `model` where it must.

    Any reply that arrived is kept, but not one that was refused: a server may be started anew with a longer context or
    another filter. `complete` and `close` belong in one thread, since SQLite's connections do.
    """

    def __init__(self, model: Model, folder: Path) -> None:
        self.id, self.identity = model.id, model.identity
        # diskcache expands these by itself; we must look at the folder that it will open.
        self._folder = Path(os.path.expandvars(folder.expanduser())).absolute()
        self._model = model
        self._store: Any = None
        self._hits = 0

    @property
    def hits(self) -> int:
        """How many replies came from the store."""
        return self._hits

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request, with no calls if it was in store. See `Model`; raises CacheError too."""
        key = request_key(self.identity, request)
        # On the event loop: a look takes some 15 µs and a reply written down some 50, where handing either to a thread
        # takes more than 100 (and SQLite would have a connection open in each thread).
        with self._told():
            stored: ChatReply | None = self._opened().get(key)
        if stored is not None:
            self._hits += 1
            return replace(stored, calls=0, cost=None if stored.cost is None else 0.0)
        reply = await self._model.complete(request)
        if reply.finish != "refused":
            self._keep(key, reply)
        return reply

    async def close(self) -> None:
        """Close the store and the model."""
        if self._store is not None:
            store, self._store = self._store, None
            store.close()
        await self._model.close()

    def _keep(self, key: str, reply: ChatReply) -> None:
        from diskcache import Timeout

        # It is paid for: a full disk or a busy cache must not keep it from whoever asked.
        with contextlib.suppress(sqlite3.Error, OSError, Timeout):
            self._opened().set(key, reply)

    def _opened(self) -> Any:
        if self._store is None:
            self._store = _open(self._folder)
        return self._store

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one line what is the matter with the store."""
        from diskcache import Timeout

        try:
            yield
        except (sqlite3.Error, OSError, Timeout) as error:
            what = "another process holds it" if isinstance(error, Timeout) else str(error)
            damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
            mend = f", {_remove(self._folder)} makes room for a new one" if damaged else ""
            raise CacheError(
                f"{self._folder}: the cache of replies cannot be used ({what}); --no-cache goes on without it{mend}"
            ) from None


def _open(folder: Path) -> Any:
    """Open the store in a folder, which is made if need be. Raises CacheError if something else wrote to it."""
    from diskcache import Cache, Disk  # here, since it takes a while
    from diskcache.core import DEFAULT_SETTINGS, METADATA, MODE_RAW

    class JsonText(Disk):  # type: ignore[misc]
        """Writes replies as JSON text into the database, and reads nothing but that."""

        def put(self, key: str) -> tuple[str, bool]:
            return key, True

        def get(self, key: object, raw: object) -> str:
            return key if raw and isinstance(key, str) else _refuse(folder, "a key that is no text")

        def store(self, value: ChatReply, read: bool, key: object = None) -> tuple[int, int, None, str]:
            return 0, MODE_RAW, None, json.dumps(reply_to_json(value))  # in ASCII: holds even half a surrogate pair

        def fetch(self, mode: object, filename: object, value: object, read: bool) -> ChatReply:
            if mode != MODE_RAW or filename is not None or not isinstance(value, str):
                _refuse(folder, "a value that is no text")
            return _reply(value) or _refuse(folder, "a value that is no reply")

        def remove(self, file_path: object) -> None:
            _refuse(folder, "a row that names a file")

    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _inspect(folder, set(DEFAULT_SETTINGS), set(METADATA))
    # All settings are given, since diskcache would take from the database what is not.
    ours = {"size_limit": SIZE_LIMIT, "eviction_policy": "least-recently-stored", "statistics": 0}
    return Cache(str(folder), timeout=PATIENCE, disk=JsonText, **{**DEFAULT_SETTINGS, **ours})


def _inspect(folder: Path, settings: set[str], counts: set[str]) -> None:
    """Raise CacheError if the database in a folder holds what diskcache did not write there for us.

    diskcache makes attributes of itself out of all settings, and pragmas of some, before anyone can look at them.
    """
    with contextlib.closing(sqlite3.connect(folder / "cache.db", timeout=PATIENCE, isolation_level=None)) as database:
        # If it is locked or must not be written to, this says so; diskcache would try for a minute.
        database.execute("BEGIN IMMEDIATE")
        there = {name for (name,) in database.execute("SELECT lower(name) FROM sqlite_master")}
        if "settings" in there:
            found = dict(database.execute("SELECT key, value FROM Settings"))
            if set(found) - settings - counts or not all(type(found.get(name, 0)) is int for name in counts):
                _refuse(folder, "a setting")
        # The index on (key, raw) answers this; values are looked at when they are asked for.
        if "cache" in there and database.execute("SELECT 1 FROM Cache WHERE raw IS NOT 1 LIMIT 1").fetchone():
            _refuse(folder, "a key that is no text")


def _reply(text: str) -> ChatReply | None:
    """Return the reply that `text` is the JSON of, None if it is of none that would have been stored."""
    try:
        reply = reply_from_json(json.loads(text))
        usage = reply.usage
        # What json.dumps refuses (NaN) would only fail later, in the journal of the run.
        json.dumps(reply.cost, allow_nan=False)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    numbers = (usage.prompt, usage.completion, usage.cached, reply.calls)
    whole = all(type(number) is int for number in numbers) and isinstance(reply.cost, float | int | None)
    texts = isinstance(reply.text, str) and isinstance(reply.detail, str)
    return reply if whole and texts and reply.finish in ("stop", "length") else None


def _refuse(folder: Path, what: str) -> NoReturn:
    raise CacheError(
        f"{folder}: the cache of replies holds what this program did not write ({what}); nothing of that is read. "
        f"Delete it ({_remove(folder)}), or have another folder used with {VARIABLE}"
    )


def _remove(folder: Path) -> str:
    return f"rm -r {shlex.quote(str(folder))}"
