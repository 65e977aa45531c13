"""The same item several times: does a judge repeat itself?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from calibrator.evaluation.agreement import failures_of, scores_of
from calibrator.evaluation.probes.base import Array, Figure, Finding, Line, Subject, mean_of
from calibrator.evaluation.probes.variant import Variant
from calibrator.records import Verdict
from calibrator.stats.correlation import spearman
from calibrator.texts import digest

MEMBERS = "it is its members that ask models; probe these"
ROUNDING = 1e-9  # of the scores: less apart is alike


@dataclass(frozen=True, slots=True)
class Repeatability:
    """Judges every item `repeats` times, the verdicts that are there already being the first.

    A model is asked anew each time. A judge that asks none is measured twice, the second time in another order and
    with items that it cannot know by their keys: that it repeats itself is found, not assumed.
    """

    repeats: int = 3
    name: ClassVar[str] = "repeatability"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        if subject.fixed:
            return "its scores, or some it goes by, were recorded once"
        return MEMBERS if subject.draws and subject.asked is None else ""

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        return (self.repeats - 1) * len(subject.items) * subject.draws

    def find(self, subject: Subject) -> Finding:
        """Return the spread of an item's scores, the share of items with all alike, the correlation of repeats."""
        again = self._again(subject)
        scores = np.array([subject.scores, *(subject.sign * scores_of(v) for v in again)])
        how = "each asked for anew" if subject.asked else "the second time in reverse order; no model is asked"
        return Finding(self.name, f"{len(scores)} judgments of each item, {how}", (_line(subject, scores, again),))

    def _again(self, subject: Subject) -> list[tuple[Verdict, ...]]:
        if subject.asked is not None:
            return [subject.judged_by(Variant(subject.asked, draw=k)) for k in range(1, self.repeats)]
        unknown = [replace(i, key=digest([i.key, "again"])) for i in reversed(subject.items)]
        return [tuple(reversed(subject.judge.judge(unknown)))]


def _line(subject: Subject, scores: Array, again: Sequence[Sequence[Verdict]]) -> Line:
    """Return the figures of `scores` (repeats, items).

    "spread" is the mean standard deviation of an item's scores, "alike" the share of items that got the same score each
    time, "rho" the mean of Spearman's rho over all pairs of repeats, all on the items with a score each time;
    "unsteady" is the share of all items that got a score at some times and a failure at others.
    """
    there = np.isfinite(scores)
    whole = np.flatnonzero(there.all(axis=0))
    kept = scores[:, whole]
    figures = {
        "spread": mean_of(kept.std(axis=0, ddof=1)),
        "alike": mean_of((np.ptp(kept, axis=0) < ROUNDING).astype(float)) if len(whole) else mean_of(kept[0]),
        "rho": _rho(kept),
    }
    unsteady = mean_of((there.any(axis=0) & ~there.all(axis=0)).astype(float))
    every = subject.line("", range(there.shape[1]), {"unsteady": unsteady})
    line = subject.line(f"{len(scores)} times", whole.tolist(), figures, **every.figures)
    failed = failures_of([v for verdicts in (subject.base, *again) for v in verdicts])
    return replace(line, failures=failed)


def _rho(scores: Array) -> Figure:
    """Return the mean correlation of all pairs of repeats as a figure; not defined where one of them is not."""
    pairs = list(combinations(range(len(scores)), 2))

    def figure(weights: NDArray[np.float64]) -> Array:
        return np.asarray(np.mean([spearman(scores[a], scores[b], weights) for a, b in pairs], axis=0))

    return figure
