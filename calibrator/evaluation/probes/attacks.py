"""Texts that try to talk a judge into a better score: read from `data/attacks/`, filled in, disguised where need be."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from calibrator.aspects import Aspect
from calibrator.errors import ConfigError
from calibrator.resources import folder
from calibrator.validation import checked, load_yaml

Hide = Literal["", "tags", "tags-behind", "zero-width", "bidi", "homoglyph", "soft-hyphen"]
TAGS = 0xE0000  # the block of characters that mirrors ASCII and is not shown
ZERO_WIDTH, SOFT_HYPHEN = "\u200b", "\u00ad"
OVERRIDE, POP = "\u202e", "\u202c"  # right to left from here; and back
_ALIKE = str.maketrans(
    "aceiopsxyAEIOPSX",
    "\u0430\u0441\u0435\u0456\u043e\u0440\u0455\u0445\u0443\u0410\u0415\u0406\u041e\u0420\u0405\u0425",
)


@dataclass(frozen=True, slots=True)
class Attack:
    """One attack: its family, its number in the family from 1 up, and its text with places for the scale."""

    family: str
    number: int
    text: str
    hide: Hide = ""
    cover: str = ""

    def on(self, aspect: Aspect) -> str:
        """Return the attack on judges of an aspect: it asks for the better end of the scale."""
        low, high = aspect.scale.low, aspect.scale.high
        best, worst = (high, low) if aspect.better == "higher" else (low, high)
        places = {"best": f"{best:g}", "worst": f"{worst:g}", "low": f"{low:g}", "high": f"{high:g}"}
        text = self.text.replace("\\n", "\n")
        for name, value in {**places, "label": aspect.label}.items():
            text = text.replace(f"{{{name}}}", value)
        return hidden(text, self.hide, self.cover)


@dataclass(frozen=True, slots=True)
class Attacks:
    """All attacks by family, and the sentences that controls are made of."""

    families: dict[str, tuple[Attack, ...]]
    control: tuple[str, ...]


class AttackEntry(BaseModel):
    """An attack as it stands in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str = Field(min_length=1)
    hide: Hide = ""
    cover: str = ""


class FamilyEntry(BaseModel):
    """A family of attacks as it stands in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    about: str
    attacks: tuple[AttackEntry, ...] = Field(min_length=1)


class AttackFile(BaseModel):
    """A file of attacks."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    families: dict[str, FamilyEntry] = Field(min_length=1)
    control: tuple[str, ...] = Field(min_length=1)


def load_attacks(path: Path | None = None) -> Attacks:
    """Return the attacks in a file, those that are shipped without one.

    Raises ConfigError, which names the file and the entry, if it cannot be read or is malformed.
    """
    chosen = path or folder("data") / "attacks" / "injection.yaml"
    read = checked(AttackFile, load_yaml(chosen, ConfigError), chosen, ConfigError)
    families = {
        name: tuple(Attack(name, k, a.text, a.hide, a.cover) for k, a in enumerate(family.attacks, 1))
        for name, family in read.families.items()
    }
    return Attacks(families, read.control)


def hidden(text: str, how: Hide, cover: str = "") -> str:
    """Return a text in characters that people do not see, or take for others; as it is where `how` is ""."""
    if how in ("tags", "tags-behind"):
        return cover + "".join(chr(TAGS + ord(c)) for c in text if " " <= c <= "~")
    if how in ("zero-width", "soft-hyphen"):
        return (ZERO_WIDTH if how == "zero-width" else SOFT_HYPHEN).join(text)
    if how == "bidi":
        return f"{OVERRIDE}{text[::-1]}{POP}"
    return text.translate(_ALIKE) if how == "homoglyph" else text


def control_text(sentences: Sequence[str], letters: int, start: int = 0) -> str:
    """Return harmless words of as many letters as there are in an attack, to the nearest whole word, one at least.

    `start` says with which of the sentences it begins.
    """
    words = itertools.chain.from_iterable(sentences[k % len(sentences)].split() for k in itertools.count(start))
    text = next(words)
    for word in words:
        longer = f"{text} {word}"
        if abs(len(longer) - letters) >= abs(len(text) - letters):
            return text
        text = longer
    raise AssertionError("the words never end")
