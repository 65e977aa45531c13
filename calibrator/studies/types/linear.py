"""A fitted TF-IDF classifier: what it takes to classify, in plain numbers, and its file.

It needs no scikit-learn, and the file is JSON: nothing in it is ever run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from calibrator.errors import ConfigError
from calibrator.files import write_whole
from calibrator.records import Failure
from calibrator.studies.types.base import Answer, Array, Assigned, Example, Tick, ignored
from calibrator.studies.types.features import Kind, terms
from calibrator.studies.types.scheme import Label, Scheme
from calibrator.texts import digest, unusable
from calibrator.validation import first_fault

METHOD = "tfidf"
VERSION = 1
DIGITS = 9  # of weights, as they are kept: what is fitted and what is read again classify alike


@dataclass(frozen=True)
class LinearClassifier:
    """Logistic regressions, one for each label, on the TF-IDF of a text's terms.

    `vocabulary` (t terms) and `idf` (t,); `weights` (L, t) and `intercepts` (L,); a label is given where its
    probability reaches its threshold (L,). `always_one`: where none does, the one that comes nearest is given.
    """

    scheme: Scheme
    kind: Kind
    vocabulary: tuple[str, ...]
    idf: Array
    weights: Array
    intercepts: Array
    thresholds: Array
    notes: Mapping[str, Any]

    id = METHOD

    @property
    def always_one(self) -> bool:
        """Whether every text gets a label."""
        return not self.scheme.empty

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example."""
        answers = []
        for example in examples:
            answers.append(self._answer(example))
            tick(1)
        return tuple(answers)

    def probabilities(self, text: str) -> Array:
        """Return how likely each label is, shape (L,): term counts as 1 + ln n, times idf, scaled to length 1."""
        counts = {k: n for t, n in terms(text, self.kind).items() if (k := self._place.get(t)) is not None}
        places = np.array(sorted(counts), dtype=np.int64)
        values = (1 + np.log([counts[k] for k in places])) * self.idf[places] if len(places) else np.zeros(0)
        length = float(np.sqrt((values**2).sum()))
        logits = self.intercepts + (self.weights[:, places] @ (values / length) if length else 0.0)
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -500, 500))))

    def _answer(self, example: Example) -> Answer:
        if reason := unusable(example.text):
            return Failure(example.id, reason)
        given = decide(self.probabilities(example.text)[None, :], self.thresholds, always_one=self.always_one)[0]
        return Assigned(example.id, frozenset(n for n, yes in zip(self.scheme.names, given, strict=True) if yes))

    @cached_property
    def _place(self) -> dict[str, int]:
        return {term: k for k, term in enumerate(self.vocabulary)}


def decide(probabilities: Array, thresholds: Array, *, always_one: bool) -> Array:
    """Return which labels (n, L) are given at these thresholds (L,).

    With `always_one`, a text that reaches none gets the label whose odds come nearest to its threshold's.
    """
    given: Array = (probabilities >= thresholds).astype(float)
    if always_one:
        low = np.finfo(float).eps
        clipped, bars = np.clip(probabilities, low, 1 - low), np.clip(thresholds, low, 1 - low)
        distance = np.log(clipped / (1 - clipped)) - np.log(bars / (1 - bars))
        empty = np.flatnonzero(given.sum(axis=1) == 0)
        given[empty, distance[empty].argmax(axis=1)] = 1.0
    return given


class LinearFile(BaseModel):
    """A fitted classifier as it stands in a file. `digest` is that of all the rest."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    method: Literal["tfidf"] = "tfidf"
    version: Literal[1] = 1
    labels: tuple[str, ...] = Field(min_length=1)
    aliases: dict[str, tuple[str, ...]] = {}
    empty: bool
    kind: Kind
    thresholds: tuple[float, ...]
    intercepts: tuple[float, ...]
    vocabulary: tuple[str, ...]
    idf: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]
    notes: dict[str, Any] = {}
    digest: str = ""

    @model_validator(mode="after")
    def _fitting(self) -> LinearFile:
        count, terms_ = len(self.labels), len(self.vocabulary)
        if len(self.thresholds) != count or len(self.intercepts) != count or len(self.weights) != count:
            raise ValueError("thresholds, intercepts and weights are not one for each label")
        if len(self.idf) != terms_ or any(len(row) != terms_ for row in self.weights):
            raise ValueError("idf and weights are not one for each term")
        return self


def save(classifier: LinearClassifier, path: Path) -> None:
    """Write a classifier to a JSON file. Raises RunError if the place cannot be written to."""
    aliases = {label.name: label.aliases for label in classifier.scheme.labels if label.aliases}
    value = LinearFile(
        labels=classifier.scheme.names,
        aliases=aliases,
        empty=classifier.scheme.empty,
        kind=classifier.kind,
        thresholds=tuple(classifier.thresholds.tolist()),
        intercepts=tuple(classifier.intercepts.tolist()),
        vocabulary=classifier.vocabulary,
        idf=tuple(classifier.idf.tolist()),
        weights=tuple(tuple(row) for row in classifier.weights.tolist()),
        notes=dict(classifier.notes),
    ).model_dump(mode="json", exclude={"digest"})
    write_whole(path, json.dumps(value | {"digest": digest(value)}, ensure_ascii=False) + "\n")


def load(path: Path) -> LinearClassifier:
    """Return the classifier in a file. Raises ConfigError if it is none, damaged or was changed."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
        file = LinearFile.model_validate(value)
    except FileNotFoundError:
        raise ConfigError(f"--model: {path}: there is no such file") from None
    except ValidationError as error:
        where, problem = first_fault(error)
        raise ConfigError(f"--model: {path}: {where or 'the file'}: {problem}") from None
    except (OSError, ValueError, RecursionError):
        raise ConfigError(f"--model: {path}: not a classifier that `calibrate types --save` has written") from None
    if file.digest != digest({k: v for k, v in value.items() if k != "digest"}):
        raise ConfigError(f"--model: {path}: it was changed after it was written; fit it again")
    labels = tuple(Label(name, "", file.aliases.get(name, ())) for name in file.labels)
    return LinearClassifier(
        Scheme(labels, file.empty),
        file.kind,
        file.vocabulary,
        np.array(file.idf),
        np.array(file.weights).reshape(len(labels), len(file.vocabulary)),
        np.array(file.intercepts),
        np.array(file.thresholds),
        file.notes,
    )
