"""What an optimizer of DSPy is given, what it may spend, and what it gives back."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from calibrator.errors import ConfigError
from calibrator.records import Item, Written

INSTALL = "pip install 'dspy[optuna]>=3.4.1,<4' 'litellm>=1.83.7' 'openai<3'"
NEEDS = {"dspy": "DSPy", "gepa": "GEPA", "optuna": "Optuna"}


@dataclass(frozen=True, slots=True)
class Caps:
    """The most that may be asked: `judgments` of items on train and dev, and `proposals`, requests to the drafter."""

    judgments: int
    proposals: int


@dataclass(frozen=True, slots=True)
class Optimized:
    """What an optimizer found: its rubric, how many judgments and proposals it asked for, and guides refused by why."""

    rubric: Written
    judgments: int
    proposals: int
    refused: Mapping[str, int] = field(default_factory=dict)


class Optimizer(Protocol):
    """Searches for a rubric in its own way; the same items, seed and replies give the same rubric."""

    @property
    def name(self) -> str:
        """What the user called it: "dspy-gepa"."""

    @property
    def id(self) -> str:
        """Who drafts, as it stands in signatures: name, version and model."""

    def settings(self, caps: Caps, train: int, dev: int) -> Mapping[str, int]:
        """Return its own settings, derived from what may be spent on so many items.

        Raises ConfigError if that is too little for it to try anything.
        """

    def optimize(self, caps: Caps, train: Sequence[Item], dev: Sequence[Item], seed: int) -> Optimized:
        """Learn from `train`, select on `dev`. Raises what the models raise."""


class Way(Protocol):
    """One of DSPy's optimizers: its settings within a budget, and the call to it."""

    def settings(self, caps: Caps, train: int, dev: int) -> dict[str, int]:
        """See `Optimizer`."""

    def compile(self, program: Any, work: Work) -> Any:
        """Return the program with the instruction that it chose."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a call to an optimizer needs: examples and metric of DSPy's kind, the model that proposes, its settings."""

    train: Sequence[Any]
    dev: Sequence[Any]
    lm: Any
    caps: Caps
    settings: Mapping[str, int]
    seed: int
    threads: int
    feedback: Any  # (example, prediction, …) -> score with feedback
    score: Any  # (example, prediction, trace) -> score


def require_dspy() -> None:
    """Raise ConfigError, with the command that provides it, if DSPy or what it needs is not installed."""
    missing = [said for package, said in NEEDS.items() if importlib.util.find_spec(package) is None]
    if missing:
        raise ConfigError(f"{' and '.join(missing)} must be installed for this: {INSTALL}")


def too_few(name: str, judgments: int, needed: int) -> ConfigError:
    """Return the error for a search that is too small to optimize anything in."""
    problem = f"a search of {judgments} judgments is too small for {name}, which needs {needed}"
    return ConfigError(f"--optimizer: {problem}; raise --trials, --rounds or --refinements")
