"""Classifiers beside each other: made on one side, asked on the other, and what they come to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrator.errors import DataError
from calibrator.judges.frozen_parts import Figure
from calibrator.records import Failure
from calibrator.stats.multilabel import MEASURES, label_f1
from calibrator.stats.resampling import codes, group_weights, percentile_interval, resampled
from calibrator.studies.types.base import Answer, Array, Assigned, Classifier, Example, Tick, ignored, indicators
from calibrator.studies.types.data import leak, true_labels
from calibrator.studies.types.result import ClassifierRow, TypesResult
from calibrator.studies.types.scheme import Scheme
from calibrator.texts import digest, digest_set

RESAMPLES = 2000
MANY = 0.05  # failures above which figures on the rest are not to be trusted
FEW = 20  # groups on the test side below which intervals are rough


@dataclass(frozen=True, slots=True)
class Candidate:
    """A classifier that is to be made: `name` is what it is called in the result."""

    name: str
    make: Callable[[], Classifier]


@dataclass(frozen=True, slots=True)
class Answered:
    """A classifier that was made, with one answer for each test example."""

    name: str
    classifier: Classifier
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Sides:
    """What is learnt from and what is reported on; every example has labels, and `scheme` are those that can be given.

    `warnings` are what was found while the data was read.
    """

    train: tuple[Example, ...]
    test: tuple[Example, ...]
    scheme: Scheme
    warnings: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The scheme's labels and, behind them, those that are true of a test text and not in the scheme."""
        beside = {label for labels in true_labels(self.test) for label in labels} - set(self.scheme.names)
        return (*self.scheme.names, *sorted(beside))

    @property
    def test_digest(self) -> str:
        """What tells test sides apart: texts, sources and labels, in any order; the ledger of looks has it."""
        return _digest(self.test)

    @property
    def digest(self) -> str:
        """What tells these two sides apart from others."""
        return digest([_digest(self.train), self.test_digest])


def _digest(side: Sequence[Example]) -> str:
    return digest_set(digest([e.text, e.source, sorted(e.labels or ())]) for e in side)


def answer_all(
    sides: Sides, candidates: Sequence[Candidate], begin: Callable[[str], Tick] = lambda name: ignored
) -> tuple[Answered, ...]:
    """Make each classifier and ask it about every test example; `begin` hears of each, and counts its answers.

    Raises DataError if there is nothing to report on.
    """
    if not sides.test:
        raise DataError("no row of the test side has labels")
    done = []
    for candidate in candidates:
        tick = begin(candidate.name)
        made = candidate.make()
        done.append(Answered(candidate.name, made, made.predict(sides.test, tick)))
    return tuple(done)


def compare(
    sides: Sides, answered: Sequence[Answered], default: str, seed: int = 0, resamples: int = RESAMPLES
) -> TypesResult:
    """Return the figures of classifiers, and how each differs from the one called `default`.

    One set of resamples serves all, so that differences are paired; each draws whole groups (a source with all its
    texts).
    """
    names, test = sides.labels, sides.test
    groups = [e.group for e in test]
    bench = _Bench(
        indicators(true_labels(test), names),
        codes(groups),
        group_weights(groups, resamples, np.random.default_rng(seed)),
        names,
        len(sides.scheme.names),
    )
    judged = {a.name: _Said.of(a.answers, names) for a in answered}
    rows = tuple(_row(bench, a, judged[a.name], None if a.name == default else judged[default]) for a in answered)
    repeated = leak(sides.train, test)
    truth = Counter(label for labels in true_labels(test) for label in labels)
    key = digest([[e.text, e.source, sorted(e.labels or ())] for e in (*sides.train, *test)])
    return TypesResult(
        scheme=sides.scheme.name,
        labels=names,
        empty=sides.scheme.empty,
        train=len(sides.train),
        test=len(test),
        groups=len(set(groups)),
        mean_labels=sum(truth.values()) / len(test),
        frequency={name: truth[name] for name in names},
        repeated_texts=repeated.texts,
        repeated_sources=repeated.sources,
        default=default,
        rows=rows,
        warnings=(*sides.warnings, *_few(groups, test), *_told(sides, repeated.texts, repeated.sources, rows)),
        signature=f"items:{len(test)}|groups:{len(set(groups))}|data:{key[:12]}|seed:{seed}|resamples:{resamples}",
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """The truth (n, L), groups (n,), the resamples (b, n) and the labels; the first `known` of them can be given."""

    truth: Array
    groups: NDArray[np.int64]
    weights: Array
    names: tuple[str, ...]
    known: int

    def draws(self, measure: Callable[..., Array], said: _Said, where: NDArray[np.bool_]) -> tuple[Array, Array]:
        """Return a figure on the items in `where`, and the same in each resample; nan there if all are of one group.

        However often one group is drawn, the figure stays what it is: that is no interval.
        """
        truth, given = self.truth[where], said.labels[where]
        draws = resampled(measure, truth, given, self.weights[:, where])
        several = len(np.unique(self.groups[where])) > 1
        return measure(truth, given), draws if several else np.full_like(draws, np.nan)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a classifier said: its labels (n, L), and which items it classified."""

    labels: Array
    there: NDArray[np.bool_]
    failures: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, answers: Sequence[Answer], names: Sequence[str]) -> _Said:
        sets = [a.labels if isinstance(a, Assigned) else frozenset[str]() for a in answers]
        there = np.array([isinstance(a, Assigned) for a in answers], dtype=bool)
        failures = Counter(a.reason for a in answers if isinstance(a, Failure))
        return cls(indicators(sets, names), there, dict(failures.most_common()))


def _row(bench: _Bench, answered: Answered, said: _Said, default: _Said | None) -> ClassifierRow:
    figures, gains = {}, {}
    common = said.there & default.there if default is not None else said.there
    for name, measure in MEASURES.items():
        figures[name] = _figure(*bench.draws(measure, said, said.there))
        if default is not None:
            (mine, my_draws), (its, its_draws) = (bench.draws(measure, s, common) for s in (said, default))
            gains[name] = _figure(mine - its, my_draws - its_draws)
    value, draws = bench.draws(label_f1, said, said.there)
    labels = {name: _figure(value[k], draws[:, k]) for k, name in enumerate(bench.names)}
    return ClassifierRow(
        name=answered.name,
        id=answered.classifier.id,
        items=int(said.there.sum()),
        failures=dict(said.failures),
        figures=figures,
        labels=labels,
        gains=gains,
        common=int(common.sum()) if default is not None else 0,
        notes=notes_of(answered.classifier),
    )


def notes_of(classifier: Classifier) -> dict[str, Any]:
    """Return how a classifier was made, as far as it says."""
    trained = getattr(classifier, "trained", None)
    if trained is not None:
        return {"epoch kept": trained.kept, "validation losses": [round(loss, 4) for loss in trained.losses]}
    labels = getattr(classifier, "labels", None)
    return {"labels": sorted(labels)} if labels is not None else dict(getattr(classifier, "notes", {}))


def _figure(value: Array, draws: Array) -> Figure:
    interval = percentile_interval(float(value), draws)
    return Figure(**{k: _known(getattr(interval, k)) for k in ("value", "low", "high")})


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _few(groups: Sequence[str], test: Sequence[Example]) -> list[str]:
    """Return a caution where there are too few groups for what is said of others than these."""
    count, what = len(set(groups)), "source" if any(e.source for e in test) else "text"
    if count < 2:
        return [f"only {count} {what} on the test side: there is no interval"]
    return [f"only {count} {what}s on the test side: intervals over so few are rough"] if count < FEW else []


def _told(sides: Sides, texts: int, sources: int, rows: Sequence[ClassifierRow]) -> list[str]:
    """Return what a reader must know of the figures, a line each."""
    told = []
    if texts:
        told.append(
            f"{texts} of {len(sides.test)} test texts stand in train too: what was learnt by heart counts there"
        )
    if sources:
        told.append(f"{sources} of {len(sides.test)} test rows have a source that stands in train too")
    for label in sides.labels[len(sides.scheme.names) :]:
        count = sum(label in labels for labels in true_labels(sides.test))
        told.append(f"'{label}' is true of {count} test texts and not in the scheme: nobody can give it")
    learnt = Counter(label for labels in true_labels(sides.train) for label in labels)
    told += [f"no text to learn from bears '{name}'" for name in sides.scheme.names if sides.train and not learnt[name]]
    for row in rows:
        failed = sum(row.failures.values())
        if failed > MANY * (failed + row.items):
            told.append(f"{row.name} failed on {failed} of {failed + row.items} texts: its figures are on the others")
    return told
