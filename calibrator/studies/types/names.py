"""Classifiers by name: `method[:argument][@model]`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from calibrator.errors import ConfigError
from calibrator.models.names import check_name

FORMS = "tfidf, majority, majority:set, recorded:FILE[#COLUMN], recorded:COLUMN, llm@MODEL, transformer@FOLDER"
DEFAULT = "tfidf"
USUAL = "tfidf,majority,majority:set"


@dataclass(frozen=True, slots=True)
class ClassifierName:
    """A classifier as it was asked for."""

    method: str
    argument: str = ""

    def __str__(self) -> str:
        """Return the name in the form it is parsed from."""
        if not self.argument:
            return self.method
        return f"{self.method}{'@' if self.method in ('llm', 'transformer') else ':'}{self.argument}"


def short_names(names: Sequence[ClassifierName]) -> tuple[str, ...]:
    """Return what classifiers are called in results: the folders of files are left out, unless two were alike then."""
    short = [
        str(replace(n, argument=_base(n.argument)) if n.method in ("recorded", "transformer") else n) for n in names
    ]
    return tuple(s if short.count(s) == 1 else str(n) for s, n in zip(short, names, strict=True))


def _base(place: str) -> str:
    """Return a path without the folders it lies in; a name of the hub has none of these."""
    return Path(place).name if Path(place.partition("#")[0]).exists() else place


def parse_classifiers(text: str) -> tuple[ClassifierName, ...]:
    """Return the classifiers in a list joined by commas. Raises ConfigError for one that is none or stands twice."""
    names = tuple(_parsed(part.strip()) for part in text.split(",") if part.strip())
    if not names:
        raise ConfigError(f"--classifiers: name at least one of {FORMS}")
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--classifiers: '{name}' stands twice")
    return names


def _parsed(text: str) -> ClassifierName:
    for method in ("llm", "transformer"):
        if text.startswith(f"{method}@") and (model := text.removeprefix(f"{method}@")):
            if method == "llm":
                check_name(model)
            return ClassifierName(method, model)
    if text.startswith("recorded:") and text != "recorded:":
        return ClassifierName("recorded", text.removeprefix("recorded:"))
    method, _, argument = text.partition(":")
    if (method, argument) in (("tfidf", ""), ("majority", ""), ("majority", "set")):
        return ClassifierName(method, argument)
    raise ConfigError(f"--classifiers: '{text}' is none; write {FORMS}")
