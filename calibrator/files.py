"""Files that outlive any end of the process: whole ones, JSON lines, and what is only appended to."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Set
from io import FileIO
from pathlib import Path
from typing import Any

from calibrator.errors import RunError


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Append one JSON line and wait until it is on disk. Raises RunError if the place cannot be written to."""
    with contextlib.closing(Appending(path)) as end:
        end.add(line_of(record))
        end.sync()


def line_of(record: Mapping[str, Any]) -> str:
    """Return a record as one JSON line, with its end."""
    return _encode(record) + "\n"


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


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
    """Return the JSON lines of a file but for a torn last one (the writer was killed, or is still writing).

    Raises RunError if the file cannot be read, or another line is damaged or lacks one of `keys`.
    """
    return [record for _, record in placed_lines(path, keys)]


def placed_lines(path: Path, keys: Set[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield where each line begins, in bytes, and what it says. See `read_lines`."""
    try:
        with path.open("rb") as file:
            place = 0
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    record = json.loads(line)
                except ValueError:
                    record = None
                if not isinstance(record, dict) or not keys <= set(record):
                    raise RunError(f"{path}, line {number}: damaged; move the file away if it cannot be mended")
                yield place, record
                place += len(line)
    except FileNotFoundError:
        return
    except OSError as error:
        raise RunError(f"{path}: cannot be read: {error.strerror or error}") from None


def _cut_torn(file: FileIO, step: int = 2**16) -> None:
    """Cut what stands behind the last line end of a file."""
    size = left = file.seek(0, os.SEEK_END)
    while left:
        begin = max(0, left - step)
        file.seek(begin)
        if (end := file.read(left - begin).rfind(b"\n")) >= 0:
            left = begin + end + 1
            break
        left = begin
    if left < size:
        file.truncate(left)


def write_whole(path: Path, text: str) -> None:
    """Write a text file so that it is there whole or not at all. Raises RunError if the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.{os.getpid()}.part")
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from None


class Appending:
    """A file of lines that is only appended to and stays open; what was added outlives any end of the process.

    A torn last line, which a writer that was killed has left, is cut off before anything is added.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: FileIO | None = None

    def add(self, text: str) -> int:
        """Append a line, with its end, in one piece and return where it begins, in bytes.

        The system has it then, but it is not waited for the disk: thousands of short replies could not afford that.
        Raises RunError if the place cannot be written to; nothing of the line is there then.
        """
        raw = text.encode()
        try:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._opened()
            written = self._file.write(raw)
            place = self._file.tell() - written
            if written != len(raw):
                self._file.truncate(place)  # what is added when there is room again must not stand behind half a line
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return place
        except OSError as error:
            raise RunError(f"{self.path}: cannot be written: {error.strerror or error}") from None

    def sync(self) -> None:
        """Wait until all that was added is on disk. Raises RunError if it cannot be brought there."""
        if self._file is not None:
            try:
                os.fsync(self._file.fileno())
            except OSError as error:
                raise RunError(f"{self.path}: cannot be written: {error.strerror or error}") from None

    def close(self) -> None:
        """Close the file; what is added later opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self) -> FileIO:
        file = self.path.open("a+b", buffering=0)
        _cut_torn(file)
        return file


def fingerprint(path: Path) -> str:
    """Return what tells a model file from others of its name: its size, and a digest of its first and last MiB."""
    size, part = path.stat().st_size, 2**20
    with path.open("rb") as file:
        head = file.read(part)
        file.seek(max(0, size - part))
        return f"{size}-{hashlib.sha256(head + file.read(part)).hexdigest()[:16]}"
