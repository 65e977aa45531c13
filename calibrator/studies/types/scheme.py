"""Label schemes: the labels there are, what each means, and how else it is spelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from calibrator.errors import ConfigError
from calibrator.resources import folder
from calibrator.studies.labels import label_text
from calibrator.texts import normalise
from calibrator.validation import checked, load_yaml

NONE = ("none", "none of them", "none of these", "none of the above", "no label")
TEXT = "text"


@dataclass(frozen=True, slots=True)
class Label:
    """A label: its name in results, what it means ("" where nobody said), and other spellings."""

    name: str
    definition: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scheme:
    """The labels that a text may bear, in the order of results.

    `empty` says whether a text may bear none. `subject` is what the texts are called in a prompt, `about` what they
    are; `name` is "" for a scheme that was read off the data. Raises ValueError if two labels are spelled alike.
    """

    labels: tuple[Label, ...]
    empty: bool = False
    name: str = ""
    subject: str = TEXT
    about: str = ""

    def __post_init__(self) -> None:
        """See that every spelling means one label."""
        _ = self._spelled

    @property
    def names(self) -> tuple[str, ...]:
        """The labels' names."""
        return tuple(label.name for label in self.labels)

    def find(self, text: str) -> str | None:
        """Return the name of the label that is spelled so; case, accents and punctuation do not count."""
        return self._spelled.get(spelling(text))

    def allowing_none(self) -> Scheme:
        """Return the same scheme, under which a text may bear no label."""
        return replace(self, empty=True)

    @cached_property
    def _spelled(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for label in self.labels:
            for text in (label.name, *label.aliases):
                if found.setdefault(spelling(text), label.name) != label.name:
                    raise ValueError(f"'{text}' is spelled like another label, {found[spelling(text)]}")
        return found


def spelling(text: str) -> str:
    """Return a label as it is compared with others; one of signs alone (such as "+") stays as it is, 1.0 is 1."""
    plain = label_text(text)
    return normalise(plain) or plain


class LabelFile(BaseModel):
    """A label as it stands in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(min_length=1)
    definition: str = ""
    aliases: tuple[str, ...] = ()


class SchemeFile(BaseModel):
    """A scheme as it stands in a file, `data/types/<name>.yaml` or one of the user's."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    labels: tuple[LabelFile, ...] = Field(min_length=1)
    subject: str = TEXT
    about: str = ""
    empty: bool = False
    basis: str = ""


def shipped() -> tuple[str, ...]:
    """Return the names of the schemes that come with the package."""
    return tuple(sorted(path.stem for path in folder("data").joinpath("types").glob("*.yaml")))


def find_scheme(name: str) -> Scheme:
    """Return the scheme of a name, or of a YAML file. Raises ConfigError if there is none or it is malformed."""
    if name in shipped():
        return read_scheme(folder("data") / "types" / f"{name}.yaml", name)
    if Path(name).suffix.lower() in (".yaml", ".yml"):
        return read_scheme(Path(name), Path(name).stem)
    raise ConfigError(f"--scheme: '{name}' is none; give a YAML file, or one of {', '.join(shipped())}")


def read_scheme(path: Path, name: str) -> Scheme:
    """Return the scheme in a YAML file. Raises ConfigError, which names file and entry, if it is malformed."""
    file = checked(SchemeFile, load_yaml(path, ConfigError), path, ConfigError)
    labels = tuple(Label(label.name, label.definition.strip(), label.aliases) for label in file.labels)
    try:
        return Scheme(labels, file.empty, name, file.subject, file.about.strip())
    except ValueError as error:
        raise ConfigError(f"{path}: labels: {error}") from None


def scheme_of(spelled: Iterable[str]) -> Scheme:
    """Return the scheme that is read off the data: every label there is, in the spelling it mostly has, by name."""
    counts = Counter(spelled)
    by_form: dict[str, list[str]] = {}
    for text in sorted(counts, key=lambda t: (-counts[t], t)):
        by_form.setdefault(spelling(text), []).append(text)
    return Scheme(tuple(Label(forms[0]) for forms in sorted(by_form.values())))


def guess_scheme(spelled: Sequence[str]) -> Scheme | None:
    """Return the one shipped scheme that has all these labels; None where none or several have."""
    fitting = [s for s in map(find_scheme, shipped()) if spelled and all(s.find(text) for text in spelled)]
    return fitting[0] if len(fitting) == 1 else None
