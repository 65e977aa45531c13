"""Schemes: what kind of text is generated, to what it answers, and which types and attributes it may be asked to have.

They stand in `data/generation/*.yaml`; a user may write one of his own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from calibrator.errors import ConfigError
from calibrator.resources import folder
from calibrator.texts import normalise
from calibrator.validation import checked, load_yaml

Method = Literal["zero-shot", "few-shot", "vanilla", "typed", "controlled"]
METHODS: tuple[Method, ...] = get_args(Method)
NAME = r"[a-z0-9]+(?:[-_][a-z0-9]+)*"


class Kind(BaseModel):
    """A type or an attribute: what it is called and, in a clause, what a text of this kind does.

    `also` are other names under which data sets have it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    label: str = Field(min_length=1)
    definition: str = Field(min_length=1)
    also: tuple[str, ...] = ()


class Scheme(BaseModel):
    """What is generated.

    `source` and `output` are what the two texts are called, without an article; `purpose` says in a sentence or two
    what such a text is for, `care` what it must never do. `words` is a limit on its length. `types` are exclusive;
    of `attributes` a text may have several, and of each of `choices` one (named `<choice>-<option>`). `default_for`
    are the methods for which the scheme is taken unless another is named.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=f"^{NAME}$")
    about: str = ""
    source: str = Field(min_length=1)
    output: str = Field(min_length=1)
    purpose: str = Field(min_length=1)
    care: str = ""
    words: int | None = Field(default=None, ge=1)
    default_for: tuple[Method, ...] = ()
    types: dict[str, Kind] = Field(default_factory=dict)
    attributes: dict[str, Kind] = Field(default_factory=dict)
    choices: dict[str, dict[str, Kind]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names(self) -> Self:
        """Raise ValueError for a name that cannot be said on the command line, or a spelling that means two things."""
        said = [*self.types, *self.attributes, *self.choices, *(o for c in self.choices.values() for o in c)]
        for name in said:
            if not re.fullmatch(NAME, name):
                problem = "may hold small letters and digits only, with single hyphens or underscores between"
                raise ValueError(f"'{name}' {problem}")
        for others, what in ((self.options(), "an option of a choice"), (self.choices, "a choice")):
            twice = sorted(set(self.attributes) & set(others))
            if twice:
                raise ValueError(f"'{twice[0]}' is an attribute and {what}")
        names = [f"{c}-{o}" for c, options in self.choices.items() for o in options]
        if len(self.options()) < len(names):
            raise ValueError(f"'{next(n for n in names if names.count(n) > 1)}' is an option of two choices")
        _check_spellings(self.types, "types")
        _check_spellings(self.kinds(), "attributes")
        return self

    def options(self) -> dict[str, tuple[str, str]]:
        """Return the choice and its option behind each name `<choice>-<option>`."""
        return {f"{c}-{o}": (c, o) for c, options in self.choices.items() for o in options}

    def kinds(self) -> dict[str, Kind]:
        """Return all attributes by the names they are asked for by, options of choices among them."""
        return self.attributes | {name: self.choices[c][o] for name, (c, o) in self.options().items()}


def found_in(kinds: Mapping[str, Kind], said: str) -> str | None:
    """Return the name of the kind that `said` means: its name, label or another name; None if it means none."""
    wanted = _spelling(said)
    return next((name for name, kind in kinds.items() if wanted in _spellings(name, kind)), None)


def _check_spellings(kinds: Mapping[str, Kind], what: str) -> None:
    """Raise ValueError for a name, a label or another name that two kinds share."""
    found: dict[str, str] = {}
    for name, kind in kinds.items():
        for spelled in sorted(_spellings(name, kind)):
            other = found.setdefault(spelled, name)
            if other != name:
                raise ValueError(f"the {what} '{other}' and '{name}' are both called '{spelled}'")


def _spellings(name: str, kind: Kind) -> set[str]:
    return {_spelling(n) for n in (name, kind.label, *kind.also)}


def _spelling(said: str) -> str:
    return normalise(said) or said.strip()


def shipped() -> dict[str, Path]:
    """Return where the schemes are that travel with the package, by name."""
    return {path.stem: path for path in sorted((folder("data") / "generation").glob("*.yaml"))}


def load_scheme(said: str | None, method: Method) -> Scheme:
    """Return the scheme that `said` names: one that is shipped, or a YAML file; None: the usual one for the method.

    Raises ConfigError, which names the file and the entry, if there is none, it is malformed, or lacks what the method
    asks for.
    """
    known = shipped()
    if said is None:
        schemes = [read_scheme(path) for path in known.values()]
        scheme = next((s for s in schemes if method in s.default_for), None)
        if scheme is None:
            raise ConfigError(f"--scheme: no scheme is the usual one for {method}; name one: {', '.join(known)}")
    elif said in known:
        scheme = read_scheme(known[said])
    elif Path(said).suffix in (".yaml", ".yml"):
        scheme = read_scheme(Path(said))
    else:
        raise ConfigError(f"--scheme: '{said}' is neither a YAML file nor one of {', '.join(known)}")
    if method == "typed" and not scheme.types:
        raise ConfigError(f"the scheme {scheme.name} has no types, which --method typed asks for; see --scheme")
    if method == "controlled" and not scheme.kinds():
        raise ConfigError(f"the scheme {scheme.name} has no attributes, which --method controlled asks for")
    return scheme


def read_scheme(path: Path) -> Scheme:
    """Return the scheme in a file. Raises ConfigError, which names the file and the entry, if it is none."""
    return checked(Scheme, load_yaml(path, ConfigError), path, ConfigError)
