"""What a run leaves behind: `runs/<id>/` with config, journal, result and report, and the ledger of looks.

Resume is replay: `Journal.once` returns what the journal already holds under a key and only otherwise works it out,
and what is worked out is on disk before it is used.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.errors import RunError

LEDGER = "ledger.jsonl"


def append_line(path: Path, record: Mapping[str, Any], *, wait: bool = True) -> None:
    """Append one JSON line and `wait` until it is on disk. Raises RunError if the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
            file.flush()
            if wait:
                os.fsync(file.fileno())
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextlib.contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """Hold the file at `path` (made if need be); the system frees it when the process ends, however it ends.

    Waits for its turn, or, with `busy`, raises RunError with that message if another process holds it. On systems
    without `fcntl` nothing is held.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a")
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise RunError(busy or "") from None
        yield


def read_lines(path: Path, keys: Set[str] = frozenset()) -> list[dict[str, Any]]:
    """Return the JSON lines of a file; a torn last line (the writer was killed) is cut off, on disk too.

    Raises RunError if the file cannot be read, or another line is damaged or lacks one of `keys`.
    """
    try:
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            with path.open("r+b") as file:
                file.truncate(len(whole))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror or error}") from None
    records = []
    for number, line in enumerate(whole.splitlines(), 1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not keys <= set(record):
            raise RunError(f"{path}, line {number}: damaged; move the file away if it cannot be mended")
        records.append(record)
    return records


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that it is there whole or not at all. Raises RunError if the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None


class Journal:
    """The append-only record of a run: one JSON line for each thing that happened, found again by its key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known = {r["key"]: r["value"] for r in read_lines(path, {"key", "value"})}

    def __len__(self) -> int:
        return len(self._known)

    def get(self, key: str) -> Any:
        """Return the JSON value that stands under `key`, None if there is none."""
        return self._known.get(key)

    def items(self) -> ItemsView[str, Any]:
        """Return all keys with their values, oldest first."""
        return self._known.items()

    def put(self, key: str, value: Any) -> None:
        """Write a JSON value down under a key that is not there yet.

        The system has it when this returns, so that no end of the process loses it; it is not waited for the disk,
        which thousands of short replies could not afford.
        """
        append_line(self.path, {"key": key, "value": value}, wait=False)
        self._known[key] = value

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the JSON value that stands under `key`; if there is none, compute it and write it down first."""
        return next(self.each([key], lambda _: [compute()]))

    def each(self, keys: Sequence[str], compute: Callable[[Sequence[int]], Iterable[Any]]) -> Iterator[Any]:
        """Yield the value of each key; `compute` gives, in order, those of the places that are not there yet.

        Each is written down, and on disk, before it is yielded.
        """
        missing = [place for place, key in enumerate(keys) if key not in self._known]
        fresh = iter(compute(missing) if missing else ())
        for key in keys:
            if key not in self._known:
                value = next(fresh)
                append_line(self.path, {"key": key, "value": value})
                self._known[key] = value
            yield self._known[key]


class Tally:
    """A count that outlives any end of the process: a file with one byte for each thing counted."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def count(self) -> int:
        """Return how many were counted."""
        return self._path.stat().st_size if self._path.exists() else 0

    def add(self) -> None:
        """Count one more. Raises RunError if the place cannot be written to."""
        try:
            with self._path.open("ab", buffering=0) as file:
                file.write(b".")
        except OSError as error:
            raise RunError(f"{self._path}: cannot be written: {error.strerror or error}") from None


@dataclass(frozen=True, slots=True)
class Run:
    """The folder of one run."""

    folder: Path

    @property
    def id(self) -> str:
        """The name of the folder."""
        return self.folder.name

    def journal(self) -> Journal:
        """Return the journal, with what it holds already."""
        return Journal(self.folder / "journal.jsonl")

    def calls(self) -> Tally:
        """Return the count of calls that were made to models."""
        return Tally(self.folder / "calls")

    def config(self) -> dict[str, Any]:
        """Return the configuration the run was started with. Raises RunError if it is missing or damaged."""
        return _load(self.folder / "config.json")

    def result(self) -> dict[str, Any] | None:
        """Return the result, None while the run is unfinished."""
        path = self.folder / "result.json"
        return _load(path) if path.exists() else None

    def held(self) -> contextlib.AbstractContextManager[None]:
        """Hold the run while it is worked on. Raises RunError if another process works on it."""
        return locked(self.folder / "journal.jsonl", f"{self.id}: another process is working on this run")

    def write(self, name: str, content: str) -> Path:
        """Write a file of the run and return where it is."""
        write_whole(self.folder / name, content)
        return self.folder / name


def _load(path: Path) -> dict[str, Any]:
    try:
        loaded = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: not readable: {error}") from None
    if not isinstance(loaded, dict):
        raise RunError(f"{path}: not a JSON object")
    return loaded


def create_run(runs: Path, label: str, config: Mapping[str, Any]) -> Run:
    """Make the folder of a new run, named after the time and `label`, and write its configuration."""
    now = time.time()
    stamp = f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}-{int(now * 1000) % 1000:03d}"
    folder = runs / f"{stamp}-{re.sub(r'[^a-z0-9]+', '-', label.lower())}-{secrets.token_hex(2)}"
    run = Run(folder)
    run.write("config.json", json.dumps(config, ensure_ascii=False, indent=1) + "\n")
    return run


def find_run(runs: Path, name: str) -> Run:
    """Return the run that `name` means: its folder, its id, or the beginning or end of one id; "last" is the newest.

    Raises RunError with the ids there are.
    """
    if (Path(name) / "config.json").exists():
        return Run(Path(name))
    ids = [r.id for r in all_runs(runs)]
    matching = ids[-1:] if name == "last" else [i for i in ids if i.startswith(name) or i.endswith(name)]
    if len(matching) == 1:
        return Run(runs / matching[0])
    problem = f"'{name}' means several runs" if matching else f"there is no run '{name}'"
    listed = ", ".join((matching or ids)[-5:]) or "none"
    raise RunError(f"{problem} in {runs} (the latest: {listed}); see `calibrate runs`")


def all_runs(runs: Path) -> Iterator[Run]:
    """Yield the runs in a folder, oldest first."""
    if runs.is_dir():
        yield from (Run(p) for p in sorted(runs.iterdir()) if (p / "config.json").exists())


class Ledger:
    """Every look at a test side, entered before it happens; one file for all runs of a folder."""

    def __init__(self, runs: Path) -> None:
        self.path = runs / LEDGER

    def look(self, test_digest: str, split_digest: str, run: str) -> int:
        """Enter the look of a run at a test side and return its number, from 1 up.

        The same run looking again (it was resumed) is the same look.
        """
        with locked(self.path):
            if run not in self._runs(test_digest):
                entered = time.strftime("%Y-%m-%dT%H:%M:%S%z")
                append_line(self.path, {"test": test_digest, "split": split_digest, "run": run, "entered": entered})
            return self._runs(test_digest).index(run) + 1

    def check(self) -> None:
        """Raise RunError if the ledger is damaged or cannot be written to; better before the work than after it."""
        with locked(self.path):
            self._runs("")
            if self.path.exists() and not os.access(self.path, os.W_OK):
                raise RunError(f"{self.path}: cannot be written to; every look at a test side is entered there")

    def _runs(self, test_digest: str) -> list[str]:
        entries = read_lines(self.path, {"test", "run"})
        return [entry["run"] for entry in entries if entry["test"] == test_digest]
