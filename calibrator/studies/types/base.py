"""What all classifiers share: texts with label sets in, label sets or failures out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrator.records import Failure
from calibrator.studies.types.scheme import Scheme

Array = NDArray[np.float64]
Labels = frozenset[str]
Tick = Callable[[int], None]  # told how many more texts are done


@dataclass(frozen=True, slots=True)
class Example:
    """A text with the labels that humans gave it, None where it has not been labelled.

    `group` is what must not stand on two sides of a split: the source the text answers, or the text itself where there
    is none. `row` is where it stands in its file.
    """

    id: str
    text: str
    labels: Labels | None = None
    source: str = ""
    group: str = ""
    row: int | None = None


@dataclass(frozen=True, slots=True)
class Assigned:
    """The labels that a classifier gives a text; none of them only where the scheme allows that."""

    item: str
    labels: Labels


Answer = Assigned | Failure


def ignored(count: int) -> None:
    """Tell nobody how far it is."""


class Classifier(Protocol):
    """Gives each text its labels, or a failure with the reason.

    It answers for every example, in their order, from the text alone, never raises because of one, and gives the same
    text the same labels whatever stands beside it. A text without a word is a failure, and so is whatever would leave a
    text without a label where the scheme does not allow that: a failure is never an empty set.
    """

    @property
    def id(self) -> str:
        """What classified, as it stands in results: method and model."""

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example, in their order."""


class Learner(Protocol):
    """Makes a classifier from labelled texts."""

    def fit(self, train: Sequence[Example], scheme: Scheme) -> Classifier:
        """Return a classifier for the labels of `scheme`; all that is chosen is chosen on `train`.

        Every example of `train` has labels. Raises DataError if there is too little to learn from.
        """


def indicators(sets: Sequence[Labels], names: Sequence[str]) -> Array:
    """Return label sets as an array of 0 and 1, shape (sets, names)."""
    return np.array([[float(name in labels) for name in names] for labels in sets]).reshape(len(sets), len(names))
