"""The journal of a run and the tally of its calls.

Resume is replay: `Journal.once` returns what the journal already holds under a key and only otherwise works it out,
and what is worked out is on disk before it is used.
"""

from __future__ import annotations

import json
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.errors import RunError
from calibrator.files import Appending, line_of, placed_lines


class Journal:
    """The append-only record of a run: one JSON line for each thing that happened, found again by its key.

    Values stay on disk, since a run has thousands of replies; where each line begins is kept. One process writes at a
    time (see `Run.held`).
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places = {r["key"]: place for place, r in placed_lines(path, {"key", "value"})}
        self._end = Appending(path)
        weakref.finalize(self, self._end.close)

    def __len__(self) -> int:
        return len(self._places)

    def get(self, key: str) -> Any:
        """Return the JSON value that stands under `key`, None if there is none."""
        place = self._places.get(key)
        return None if place is None else self._at(place)

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield all keys with their values, in the order in which they were written."""
        lines = placed_lines(self.path, {"key", "value"}) if self._places else ()
        return ((r["key"], r["value"]) for place, r in lines if self._places.get(r["key"]) == place)

    def put(self, key: str, value: Any) -> None:
        """Write a JSON value down; it replaces what stood under `key`.

        The system has it when this returns, so that no end of the process loses it; it is not waited for the disk.
        """
        self._places[key] = self._end.add(line_of({"key": key, "value": value}))

    def once(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return the JSON value that stands under `key`; if there is none, compute it and write it down first."""
        return next(self.each([key], lambda _: [compute()]))

    def each(self, keys: Sequence[str], compute: Callable[[Sequence[int]], Iterable[Any]]) -> Iterator[Any]:
        """Yield the value of each key; `compute` gives, in order, those of the places that are not there yet.

        Each is written down, and on disk, before it is yielded.
        """
        missing = [place for place, key in enumerate(keys) if key not in self._places]
        fresh = iter(compute(missing) if missing else ())
        for key in keys:
            if key not in self._places:
                self.put(key, next(fresh))
                self._end.sync()
            yield self.get(key)

    def close(self) -> None:
        """Close the file; what is put down later opens it again."""
        self._end.close()

    def _at(self, place: int) -> Any:
        """Return the value in the line that begins at a place."""
        try:
            with self.path.open("rb") as file:
                file.seek(place)
                return json.loads(file.readline())["value"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise RunError(f"{self.path}: not what it was; another process has changed it ({error})") from None


@dataclass(frozen=True, slots=True)
class Outlay:
    """What calls to models took: their number, tokens, and US dollars (None as soon as one has no known price)."""

    calls: int = 0
    tokens: int = 0
    usd: float | None = 0.0


class Tally:
    """What was laid out for calls, in a file that outlives any end of the process.

    A call is entered with the most that it may take, before it is sent; once it is known what it took, the difference
    is. So a process that is killed leaves no call out, and those under way count with the most.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._end = path, Appending(path)
        weakref.finalize(self, self._end.close)

    def total(self) -> Outlay:
        """Return the sum of all that is entered. Raises RunError if the file is damaged or cannot be read."""
        calls, tokens, usd = 0, 0, 0.0
        known = True
        try:
            text = self._path.read_text(encoding="ascii") if self._path.exists() else ""
            for line in text[: text.rfind("\n") + 1].splitlines():  # what is torn was not sent
                kind, count, price = line.split(" ")
                calls += {"call": 1, "took": 0}[kind]
                tokens += int(count)
                known = known and price != "?"
                usd += float(price) if price != "?" else 0.0
        except (OSError, ValueError, KeyError) as error:
            raise RunError(f"{self._path}: not readable: {error}") from None
        return Outlay(calls, tokens, usd if known else None)

    def call(self, tokens: int, usd: float | None) -> None:
        """Enter a call with the most that it may take, before it is sent. Raises RunError if it cannot be written."""
        self._enter("call", tokens, usd)

    def settle(self, tokens: int, usd: float | None) -> None:
        """Enter by how much a call took more (below 0: less) than was entered for it."""
        self._enter("took", tokens, usd)

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        self._end.close()

    def _enter(self, kind: str, tokens: int, usd: float | None) -> None:
        self._end.add(f"{kind} {tokens} {'?' if usd is None else repr(usd)}\n")
