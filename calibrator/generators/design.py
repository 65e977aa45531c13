"""What each text is asked to be: a type, a set of attributes, or nothing in particular; and balanced designs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from calibrator.calibration.seeds import seed_for
from calibrator.errors import ConfigError
from calibrator.generators.scheme import Method, Scheme, found_in

ALL, JOIN = "all", "+"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a text is asked to be: the name of a type, or names of attributes in the order of the scheme."""

    type: str = ""
    attributes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """It in one word, "" for nothing in particular."""
        return self.type or JOIN.join(self.attributes)


def asked_for(scheme: Scheme, method: Method, types: str, attributes: str) -> tuple[Asked, ...]:
    """Return what every source is asked to be answered with, one text for each.

    `types` are names with commas between, `attributes` likewise, where `+` joins those that one text should have
    together; "all" is each by itself. Raises ConfigError for a name that the scheme does not know.
    """
    if method == "typed":
        names = list(scheme.types) if types == ALL else [named_type(scheme, t) for t in _listed(types, "--types")]
        return tuple(Asked(type=name) for name in dict.fromkeys(names))
    if method == "controlled":
        sets = list(scheme.kinds()) if attributes == ALL else _listed(attributes, "--attributes")
        return tuple(dict.fromkeys(Asked(attributes=named_attributes(scheme, s.split(JOIN))) for s in sets))
    return (Asked(),)


def balanced(scheme: Scheme, attributes: str, count: int, seed: int) -> tuple[Asked, ...]:
    """Return what each of `count` sources is asked to be answered with, every attribute balanced by itself.

    Half of the texts are asked to have an attribute and half not to; the options of a choice are asked for equally
    often (where numbers do not divide, one more or less). Each is drawn by itself, as in Zheng, Ross and Magdy
    (section 4). `attributes` are names with commas between, that of a choice for all its options; "all" is all.
    Raises ConfigError for a name that the scheme does not know.
    """
    every = [*scheme.attributes, *scheme.choices]
    names = every if attributes == ALL else _listed(attributes, "--attributes")
    drawn: dict[str, list[str]] = {}
    for said in names:
        name = found_in(scheme.attributes, said)
        if name is None and said not in scheme.choices:
            raise ConfigError(f"--attributes: with --balanced '{said}' is none of {', '.join(every)}")
        shares = [name, ""] if name is not None else [f"{said}-{option}" for option in scheme.choices[said]]
        drawn[name or said] = _evenly(shares, count, seed_for(seed, "balanced", name or said))
    order = list(scheme.kinds())
    rows = [[column[k] for column in drawn.values() if column[k]] for k in range(count)]
    return tuple(Asked(attributes=tuple(sorted(row, key=order.index))) for row in rows)


def named_type(scheme: Scheme, said: str) -> str:
    """Return the name of the type that was said. Raises ConfigError, with those there are, for another."""
    name = found_in(scheme.types, said)
    if name is None:
        raise ConfigError(f"'{said}' is no type of the scheme {scheme.name}; it has {', '.join(scheme.types)}")
    return name


def named_attributes(scheme: Scheme, said: Sequence[str]) -> tuple[str, ...]:
    """Return the names of attributes that were said, in the order of the scheme.

    Raises ConfigError for one that the scheme does not know, and for two options of one choice.
    """
    kinds, options = scheme.kinds(), scheme.options()
    names = []
    for one in said:
        name = found_in(kinds, one)
        if name is None:
            raise ConfigError(f"'{one}' is no attribute of the scheme {scheme.name}; it has {', '.join(kinds)}")
        names.append(name)
    chosen = [options[name][0] for name in dict.fromkeys(names) if name in options]
    if len(set(chosen)) < len(chosen):
        raise ConfigError(f"'{JOIN.join(said)}' asks for two of one choice: a text has one of them")
    return tuple(sorted(set(names), key=list(kinds).index))


def _listed(text: str, option: str) -> list[str]:
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise ConfigError(f"{option}: nothing is named; say all, or names with commas between")
    return found


def _evenly(shares: Sequence[str], count: int, seed: int) -> list[str]:
    """Return `count` entries in a seeded order, each of `shares` as often as another, or once more."""
    draw = random.Random(seed)
    first = draw.sample(list(shares), len(shares))  # which of them has the one more
    entries = [first[k % len(first)] for k in range(count)]
    draw.shuffle(entries)
    return entries
