"""Named public data sets, and where they are: the bundled demonstration, or a folder the user has or downloads to."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from calibrator.columns import Wanted
from calibrator.download import Manifest, load_manifest
from calibrator.errors import ConfigError, DataError
from calibrator.resources import folder
from calibrator.tables import Table, read_table


@dataclass(frozen=True, slots=True)
class NamedSet:
    """A data set known by name: its aspects' suite, its files below the data folder, its columns, how it is read."""

    name: str
    suite: str
    about: str
    files: tuple[str, ...]
    wanted: Wanted
    download: str | None = None
    read: Callable[[tuple[Path, ...]], Table] = lambda paths: read_table(paths[0])


@dataclass(frozen=True, slots=True)
class Source:
    """A table with what its name tells: the suite of its aspects and its columns."""

    name: str
    table: Table
    suite: str | None = None
    wanted: Wanted = field(default_factory=Wanted)


def _joined(paths: tuple[Path, ...]) -> Table:
    """Return the recorded judges with the annotators' columns joined on the normalised texts; either alone if need be.

    A row of the first file without annotators keeps its mean ratings.
    """
    there = [read_table(p) for p in paths if p.exists()]
    if len(there) == 1:
        return there[0]
    main, annotators = there
    found = {_pair(row): row for row in annotators.rows}
    extra = [c for c in annotators.columns if c not in main.columns]
    rows = [dict(row) | {c: found.get(_pair(row), {}).get(c) for c in extra} for row in main.rows]
    return Table(main.path, (*main.columns, *extra), tuple(rows), tuple(rows), main.row_numbers, main.delimiter)


def _pair(row: Mapping[str, Any]) -> tuple[str, str]:
    """Only letters and digits of the Latin alphabet: the two files differ in how they garble quotation marks."""

    def bare(text: str) -> str:
        return "".join(c for c in unicodedata.normalize("NFKD", text).lower() if c.isascii() and c.isalnum())

    return bare(str(row.get("hatespeech") or "")), bare(str(row.get("predicted_counterspeech") or ""))


# The reference, `counterspeech`, is left to the guess: annotators.csv alone has none.
_COUNTERSPEECH = Wanted(output="predicted_counterspeech", source="hatespeech", system="none", group="none")
SETS: dict[str, NamedSet] = {
    s.name: s
    for s in (
        NamedSet(
            "demo",
            "cseval",
            "bundled: mild statements and replies, rated by the project's authors",
            ("demo/demo.csv",),
            Wanted("predicted_counterspeech", "hatespeech", "counterspeech", "none", "none", "id"),
        ),
        NamedSet(
            "cseval",
            "cseval",
            "CSEval, test side: recorded judges joined with three annotators each",
            ("cseval/recorded_judges.csv", "cseval/annotators.csv"),
            _COUNTERSPEECH,
            download="cseval",
            read=_joined,
        ),
        NamedSet(
            "cseval-dev",
            "cseval",
            "CSEval, its development set of 500; a part of it stands in cseval too",
            ("cseval/dev_set_500.csv",),
            _COUNTERSPEECH,
            download="cseval",
        ),
        NamedSet(
            "topical-chat",
            "topical-chat",
            "dialogue responses of six systems, three annotators each (USR, 2020)",
            ("other/topical_chat.jsonl",),
            Wanted(output="inputs.response", source="inputs.dialogue"),
        ),
        NamedSet(
            "dialsummeval",
            "dialsummeval",
            "dialogue summaries of fourteen systems, three annotators each (2022)",
            ("other/dialsummeval.jsonl",),
            Wanted(output="inputs.summary", source="inputs.dialogue"),
        ),
    )
}


def data_folder(said: Path | None = None) -> Path:
    """Return the folder of downloaded sets: `said`, else $CALIBRATOR_DATA, else `~/.local/share/calibrator`."""
    if said is not None:
        return said
    named = os.environ.get("CALIBRATOR_DATA")
    return Path(named) if named else Path.home() / ".local" / "share" / "calibrator"


def files_of(named: NamedSet, data_dir: Path | None = None) -> tuple[Path, ...]:
    """Return where the files of a named set are expected."""
    root = folder("data") if named.name == "demo" else data_folder(data_dir)
    return tuple(root / f for f in named.files)


def is_there(named: NamedSet, data_dir: Path | None = None) -> bool:
    """Whether a named set can be read."""
    return any(p.exists() for p in files_of(named, data_dir))


def open_source(data: str, data_dir: Path | None = None, encoding: str | None = None) -> Source:
    """Return the table that `data` means: a named set, or the path of a file.

    Raises DataError if neither exists; for a named set it says how to get it.
    """
    named = SETS.get(data)
    if not data:
        raise ConfigError(f"--data is empty; name a file or a data set: {', '.join(SETS)}")
    if named is None:
        if "." not in Path(data).name and not Path(data).exists():
            raise DataError(f"there is no file and no data set of this name; named sets: {', '.join(SETS)}", file=data)
        return Source(Path(data).name, read_table(Path(data), encoding))
    if not is_there(named, data_dir):
        where = files_of(named, data_dir)[0]
        how = f"`calibrate data get {named.download}`, or " if named.download else ""
        problem = f"the data set '{data}' is not here; get it by {how}put the file there, or name its folder"
        raise DataError(f"{problem} with --data-dir or $CALIBRATOR_DATA", file=where)
    return Source(data, named.read(files_of(named, data_dir)), named.suite, named.wanted)


def manifest_of(name: str) -> Manifest:
    """Return the manifest by which a named set is downloaded. Raises ConfigError if it cannot be."""
    named = SETS.get(name)
    if named is None or named.download is None:
        possible = ", ".join(dict.fromkeys(s.download for s in SETS.values() if s.download))
        raise ConfigError(f"'{name}' cannot be downloaded; those that can: {possible}")
    return load_manifest(folder("data") / "catalog" / f"{named.download}.yaml")
