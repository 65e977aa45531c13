"""Where frozen judges lie: a file by its name, and what a new one would replace."""

from __future__ import annotations

import os
from pathlib import Path

from calibrator.errors import ConfigError, RubricError
from calibrator.judges.frozen import HEAD, read_frozen
from calibrator.resources import folder


def check_place(path: Path) -> str | None:
    """Return what a frozen judge written to `path` would replace, None if there is nothing.

    Raises RubricError if `path` is no YAML file, is a file of another kind, or cannot be written to: better before the
    work than after it.
    """
    if path.suffix not in (".yaml", ".yml"):
        raise RubricError(f"--out: {path} does not end in .yaml")
    folder_there = next(p for p in path.absolute().parents if p.exists())
    if not folder_there.is_dir() or not os.access(folder_there, os.W_OK) or (path.exists() and not path.is_file()):
        raise RubricError(f"--out: {path} cannot be written; name another place")
    if not path.exists():
        return None
    if not path.read_bytes().startswith(HEAD.encode()):
        raise RubricError(f"--out: {path} is there already and is no frozen judge; name another file")
    try:
        origin = read_frozen(path).origin
    except RubricError:
        return "a judge that was changed or is of another version"
    return f"the judge calibrated on {origin.data} (seed {origin.seed})"


def check_folder(folder: Path) -> None:
    """Raise ConfigError if nothing can be written to a folder, which need not be there yet."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise ConfigError(f"--out: {folder} cannot be written to; name another folder")


def find_frozen(name: str, working: Path | None = None) -> Path:
    """Return the file that `name` means: a path, or the name of a frozen judge.

    A name is looked for in `rubrics/frozen/` of the working folder first, then among those that are shipped; there a
    bare aspect stands for the only suite that has it. Raises RubricError with the names there are.
    """
    if name.endswith((".yaml", ".yml")) or Path(name).is_absolute() or Path(name).is_file():
        return Path(name)
    own = (working or Path.cwd()) / "rubrics" / "frozen"
    shipped = folder("rubrics") / "frozen"
    if os.path.lexists(own / f"{name}.yaml"):
        return own / f"{name}.yaml"
    for root in (own, shipped):
        below = [p for p in sorted(root.glob("*/*.yaml")) if name in (p.stem, f"{p.parent.name}/{p.stem}")]
        if len(below) == 1:
            return below[0]
        if below:
            named = ", ".join(f"{p.parent.name}/{p.stem}" for p in below)
            raise RubricError(f"'{name}' is frozen for several suites; name one of {named}")
    files = [(own, p) for p in own.rglob("*.yaml")] + [(shipped, p) for p in shipped.glob("*/*.yaml")]
    known = sorted({p.relative_to(root).with_suffix("").as_posix() for root, p in files})
    raise RubricError(f"there is no frozen judge '{name}'; those there are: {', '.join(known) or 'none'}")
