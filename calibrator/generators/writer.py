"""Who writes: what a model is called beside others of its name, and whether replies that are there are its own."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from calibrator.journal import Journal
from calibrator.models.names import open_model
from calibrator.texts import digest

MADE_BY, EXAMPLES = "made-by", "examples/"


@dataclass(frozen=True, slots=True)
class Writer:
    """A model as it is asked: its name, its `identity` (see `Model`), and the arguments that are part of that."""

    name: str
    identity: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    @property
    def called(self) -> str:
        """Its name, with these arguments in brackets where there are any; paths without the folders they lie in."""
        told = ";".join(f"{key}={value}" for key, value in sorted(self.arguments.items()))
        return f"{self.name}[{told}]" if told else self.name


def writer_of(name: str, arguments: Mapping[str, str]) -> Writer:
    """Return the model that is asked. An argument is part of it if without it the model would be another.

    Raises what `open_model` raises.
    """
    if not arguments:
        return Writer(name, open_model(name, 1).identity)
    given = {key.strip().replace("-", "_"): text for key, text in arguments.items()}
    bare = open_model(name, 1, {}).identity
    alone = {key: open_model(name, 1, {key: text}).identity for key, text in given.items()}
    told = {key: _told(given[key], identity) for key, identity in alone.items() if identity != bare}
    return Writer(name, open_model(name, 1, given).identity, told)


def _told(text: str, identity: str) -> str:
    with suppress(OSError, RuntimeError):  # too long for a path, or it names no user
        if (path := Path(text).expanduser()).exists():
            return f"{path.resolve().name}#{digest(identity)[:6]}"  # checkpoints of several trainings share their names
    return text


def take_up(journal: Journal, writer: Writer) -> str | None:
    """Note in a journal whose replies it holds; return what differs if there are another's in it, None if all is well.

    Replies are kept by the model's name; what else the model is, such as an adapter, stands in this note alone.
    """
    own = {"model": writer.name, "identity": writer.identity, "arguments": dict(writer.arguments)}
    if (differing := difference(journal, writer)) is not None:
        return differing
    if journal.get(MADE_BY) != own:
        journal.put(MADE_BY, own)
    return None


def difference(journal: Journal, writer: Writer) -> str | None:
    """Return in words by what the model whose replies a journal holds differs; None if it does not, or holds none."""
    there = journal.get(MADE_BY)
    if not holds_work(journal) or (there is not None and there["identity"] == writer.identity):
        return None
    if there is None:
        return "do not say which model wrote them"
    if there["model"] != writer.name:
        return f"are those of {there['model']}, not of {writer.name}"
    before, now = there["arguments"], writer.arguments
    parts = []
    for key in sorted({*before, *now}):
        if key not in before:
            parts.append(f"without {key}")
        elif before[key] != now.get(key):
            parts.append(f"with {key}={before[key]}{f', not {now[key]}' if key in now else ''}")
    if parts:
        return f"were written {', '.join(parts)} (--model-arg)"
    return f"are those of another {writer.name}: its files, or where it is served, have changed"


def holds_work(journal: Journal) -> bool:
    """Whether more is in a journal than what can be had again for nothing: replies, or batches that are under way."""
    return any(key != MADE_BY and not key.startswith(EXAMPLES) for key, _ in journal.items())
