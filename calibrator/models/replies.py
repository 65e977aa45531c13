"""The folder in which replies are kept: one SQLite file that several processes may use and that outlives a kill.

It is a diskcache. Left to itself diskcache unpickles what it finds in its folder, so that whoever can write there runs
code here (CVE-2025-69872, not fixed; its JSONDisk does it too), and it reads and deletes files wherever a row says they
are. Hence the two guards below: `_inspect` looks at a folder before diskcache does, and the disk of `_open` knows JSON
text in the database and nothing else. It never uses files, so that a row which names one is not ours.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, cast

from calibrator.errors import CacheError
from calibrator.models.base import ChatReply, Token, reply_from_json, reply_to_json

VARIABLE, SIZE_VARIABLE = "CALIBRATOR_CACHE", "CALIBRATOR_CACHE_SIZE"
SIZE_LIMIT = 2 * 2**30  # bytes; some millions of short replies
LARGEST, LATEST = 2**62, 2**40  # what SQLite can note, and what a calendar can
UNUSABLE = (sqlite3.Error, OSError)  # a full disk, a store that is held; TimeoutError is an OSError
PATIENCE = 10.0  # seconds to wait while another process writes, which takes it a fraction of a millisecond
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def cache_folder() -> Path:
    """Return where replies are kept: $CALIBRATOR_CACHE, else the user's folder for caches."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "calibrator" / "replies"


def size_limit() -> int:
    """Return how many bytes may be kept: $CALIBRATOR_CACHE_SIZE ("500MB", "2G"), else `SIZE_LIMIT`.

    Raises CacheError if it is no size.
    """
    named = os.environ.get(SIZE_VARIABLE, "").strip()
    if not named:
        return SIZE_LIMIT
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?", named.lower())
    size = float(match[1]) * _UNITS[match[2]] if match else 0.0
    if size < _UNITS["m"]:
        raise CacheError(f"${SIZE_VARIABLE}: '{named}' is no size of at least a megabyte, like 500MB or 2GB")
    return int(min(size, LARGEST))


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of one model: its identity, how many replies, their bytes, and when the first and last were stored.

    Times are seconds since 1970.
    """

    model: str
    replies: int
    size: int
    first: float
    last: float


class ReplyStore:
    """The replies in a folder, which is made when it is first used; may be used in several threads.

    Every method raises CacheError, in one line, if the folder holds what is not ours, and, but for `put`, if it cannot
    be used.
    """

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        # diskcache expands these by itself; we must look at the folder that it will open.
        self.folder = Path(os.path.expandvars(folder.expanduser())).absolute()
        self.limit = size_limit() if limit is None else limit
        self._cache: Any = None

    def open(self) -> None:
        """Make the folder if need be, and see that what is in it is ours."""
        with self._told():
            self._opened()

    def get(self, key: str) -> ChatReply | None:
        """Return the reply under a key, None if there is none."""
        try:
            reply: ChatReply | None = self._opened().get(key)
            return reply
        except (*UNUSABLE, _timeout()) as error:
            raise self._trouble(error) from None

    def put(self, replies: Iterable[tuple[str, str, ChatReply]]) -> None:
        """Keep replies, given as key, identity of the model and reply; all of them or, after an error, none.

        Raises one of `UNUSABLE` where there is no room or another process holds the store.
        """
        try:
            cache = self._opened()
            with cache.transact(retry=False):
                for key, model, reply in replies:
                    cache.set(key, reply, tag=model)
        except _timeout() as error:
            raise TimeoutError("another process holds it") from error

    def kept(self) -> list[Kept]:
        """Return what is kept, by model."""
        asked = "SELECT tag, COUNT(*), SUM(LENGTH(value) + LENGTH(key)), MIN(store_time), MAX(store_time) FROM Cache"
        with self._told():
            rows = self._opened()._sql(f"{asked} GROUP BY tag ORDER BY tag").fetchall()
        if not all(isinstance(n, int | float) and 0 <= n < LATEST for _, *counts in rows for n in counts):
            _refuse(self.folder, "a row that is not whole")
        return [Kept(str(tag or ""), *counts) for tag, *counts in rows]

    def volume(self) -> int:
        """Return the bytes of the whole file."""
        with self._told():
            return int(self._opened().volume())

    def each(self, model: str = "") -> Iterator[tuple[str, str, ChatReply]]:
        """Yield key, model and reply of all that is kept, oldest first; of one model if it is named."""
        asked = "SELECT rowid, key, tag FROM Cache WHERE (? = '' OR tag = ?) AND rowid > ? ORDER BY rowid LIMIT 1000"
        last = 0
        while True:
            with self._told():
                rows = self._opened()._sql(asked, (model, model, last)).fetchall()
            if not rows:
                return
            last = rows[-1][0]
            for _, key, tag in rows:
                if (reply := self.get(str(key))) is not None:
                    yield str(key), str(tag or ""), reply

    def clear(self, model: str = "") -> int:
        """Forget everything, or what is kept of one model; return how many replies that were."""
        with self._told():
            cache = self._opened()
            return int(cache.evict(model, retry=True) if model else cache.clear(retry=True))

    def close(self) -> None:
        """Close the connection of this thread."""
        if self._cache is not None:
            self._cache.close()

    def _opened(self) -> Any:
        if self._cache is None:
            self._cache = _open(self.folder, self.limit)
        return self._cache

    @contextlib.contextmanager
    def _told(self) -> Iterator[None]:
        """Say in one line what is the matter with the store."""
        try:
            yield
        except (*UNUSABLE, _timeout()) as error:
            raise self._trouble(error) from None

    def _trouble(self, error: Exception) -> CacheError:
        what = "another process holds it" if isinstance(error, _timeout()) else str(error)
        damaged = isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError)
        mend = f", {_remove(self.folder)} makes room for a new one" if damaged else ""
        problem = f"the cache of replies cannot be used ({what})"
        return CacheError(f"{self.folder}: {problem}; --no-cache goes on without it{mend}")


def _timeout() -> type[Exception]:
    """Return what diskcache raises where another process holds the store for too long."""
    from diskcache import Timeout

    return cast(type[Exception], Timeout)


@contextlib.contextmanager
def open_store() -> Iterator[ReplyStore]:
    """Give the store in the usual folder. Raises CacheError if there is none yet, or it cannot be used."""
    store = ReplyStore(cache_folder())
    if not (store.folder / "cache.db").exists():
        raise CacheError(f"{store.folder}: there is no cache of replies yet; a run with a model makes one")
    try:
        yield store
    finally:
        store.close()


def check_model(store: ReplyStore, model: str) -> None:
    """Raise CacheError if a model is named of which nothing is kept."""
    if model and model not in (known := [k.model for k in store.kept()]):
        raise CacheError(f"nothing is kept of '{model}'; those there are: {', '.join(known) or 'none'}")


def export_replies(store: ReplyStore, out: Path, model: str = "") -> int:
    """Write the replies of a store as JSON lines and return how many there were.

    Raises CacheError if the file is there already or cannot be written; half a file is not left behind.
    """
    count = 0
    try:
        with out.open("x", encoding="utf-8") as file, _gone_after_fault(out):
            for key, named, reply in store.each(model):
                file.write(json.dumps({"key": key, "model": named, "reply": reply_to_json(reply)}) + "\n")
                count += 1
            file.flush()
    except OSError as error:
        raise CacheError(f"{out}: cannot be written: {error.strerror or error}") from None
    return count


@contextlib.contextmanager
def _gone_after_fault(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _open(folder: Path, limit: int) -> Any:
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
    # Else the whole file would come to lie in memory, where a reply is looked up once.
    kept = {"sqlite_cache_size": 2**10, "sqlite_mmap_size": 0}
    ours = {"size_limit": limit, "eviction_policy": "least-recently-stored", "statistics": 0, **kept}
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
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    usage = reply.usage
    whole = all(type(number) is int for number in (usage.prompt, usage.completion, usage.cached, reply.calls))
    texts = all(isinstance(said, str) for said in (reply.text, reply.detail, reply.served))
    known = reply.finish in ("stop", "length") and (reply.cost is None or _finite(reply.cost))
    return reply if whole and texts and known and all(map(_is_token, reply.tokens)) else None


def _is_token(token: Token) -> bool:
    return all(isinstance(text, str) and _finite(p) for text, p in ((token.text, token.logprob), *token.top))


def _finite(number: object) -> bool:
    """Whether a number is one that a journal can hold, too."""
    return isinstance(number, float | int) and math.isfinite(number)


def _refuse(folder: Path, what: str) -> NoReturn:
    raise CacheError(
        f"{folder}: the cache of replies holds what this program did not write ({what}); nothing of that is read. "
        f"Delete it ({_remove(folder)}), or have another folder used with {VARIABLE}"
    )


def _remove(folder: Path) -> str:
    return f"rm -r {shlex.quote(str(folder))}"
