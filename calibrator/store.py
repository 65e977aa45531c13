"""What a run leaves behind: `runs/<id>/` with config, journal, result and report, and the ledger of looks."""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.errors import RunError
from calibrator.files import append_line, locked, read_lines, write_whole
from calibrator.journal import Journal, Tally

LEDGER = "ledger.jsonl"


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
        """Return what calls to models took."""
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
