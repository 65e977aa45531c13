"""Does a judge favour what its own model wrote?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrator.evaluation.agreement import systems_of
from calibrator.evaluation.probes.base import Array, Figure, Finding, Line, Subject, mean_of, point
from calibrator.stats.resampling import codes

EPSILON = 1e-12
NOISE = (
    "ratings of few humans carry noise of their own: where humans rate the own outputs better too, a part of the"
    " difference comes of that"
)
WITHIN_AT_LEAST = 0.5  # share of the own outputs that have another's beside them in their group


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """Sets the scores of the judge's own outputs, those of the systems named in `own`, beside the scores of others."""

    own: tuple[str, ...] = ()
    name: ClassVar[str] = "self-preference"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        systems = set(systems_of(subject.items)) - {""}
        if len(systems) < 2:
            return "the data names no two systems that wrote the texts"
        return "" if self.own else "nobody said which systems are the judge's own"

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        return 0

    def find(self, subject: Subject) -> Finding:
        """Return how much better the own outputs are judged at the same human rating, and the means of both kinds.

        "difference" is in points towards the better end, "p" two-sided by permutation.
        """
        scores, human = subject.scores, subject.human
        systems = systems_of(subject.items)
        kept = np.flatnonzero(np.isfinite(scores) & np.array([bool(s) for s in systems]))
        own = np.array([systems[k] in self.own for k in kept], dtype=float)
        if not own.any() or own.all():
            return Finding(self.name, undone="of the items with a score, all are of one kind: its own, or others'")
        x, y, groups = scores[kept], human[kept], [subject.items[k].group for k in kept]
        rng = np.random.default_rng(subject.seed)
        p, inside = permutation_p(x, y, own, groups, subject.resamples, rng)
        lines = (
            _means(subject, "own", kept[own > 0].tolist(), scores, human),
            _means(subject, "others", kept[own == 0].tolist(), scores, human),
            subject.line("own over others", kept.tolist(), {"difference": preference(x, y, own)}, p=point(p)),
        )
        how = "within groups" if inside else "over all items: few groups hold both kinds"
        basis = f"own: {', '.join(self.own)}; difference at the same human rating, by least squares; p permutes {how}"
        return Finding(self.name, basis, lines, (NOISE,))


def _means(subject: Subject, case: str, places: Sequence[int], scores: Array, human: Array) -> Line:
    at = list(places)
    means = {"judge": mean_of(subject.sign * scores[at]), "humans": mean_of(subject.sign * human[at])}
    return subject.line(case, at, means)


def preference(x: Array, human: Array, own: Array) -> Figure:
    """Return how much higher `x` is where `own` is 1 than where it is 0, at the same `human`; all (n,), as a figure.

    The coefficient of `own` in the least-squares fit of x on 1, human and own (analysis of covariance), worked out from
    what is left of x and of own after a line on human (Frisch and Waugh 1933). nan where all are of one kind.
    """

    def figure(weights: Array) -> Array:
        left_x, left_own = (_left(series, human, weights) for series in (x, own))
        spread = (weights * left_own**2).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(spread > EPSILON, (weights * left_x * left_own).sum(axis=1) / spread, np.nan)

    return figure


def _left(series: Array, human: Array, weights: Array) -> Array:
    """Return what is left of a series after its line on `human` in each resample, shape (b, n)."""
    total = weights.sum(axis=1, keepdims=True)
    dx, dy = (s - (weights @ s)[:, None] / total for s in (human, series))
    spread = (weights * dx**2).sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        slope = np.where(spread > EPSILON, (weights * dx * dy).sum(axis=1, keepdims=True) / spread, 0.0)
    return np.asarray(dy - slope * dx)


def permutation_p(
    x: Array, human: Array, own: Array, groups: Sequence[str], permutations: int, rng: np.random.Generator
) -> tuple[float, bool]:
    """Return the two-sided p of no preference, above 0 to 1, and whether items changed places within groups only.

    What is left of x after a line on human is permuted, put back on the line, and the preference worked out anew
    (Freedman and Lane 1983). p = (1 + those at least as large) / (permutations + 1). Items change places within their
    groups where at least half of the own ones have another's beside them, else among all.
    """
    everything = np.ones((1, len(x)))
    residuals = _left(x, human, everything)[0]
    line = x - residuals
    member = codes(groups)
    with_others = [own[k] > 0 and (own[member == member[k]] == 0).any() for k in range(len(own))]
    inside = bool(sum(with_others) >= WITHIN_AT_LEAST * own.sum())
    found = float(preference(x, human, own)(everything)[0])
    if not np.isfinite(found):
        return float("nan"), inside
    cells = member if inside else np.zeros(len(x), dtype=np.int64)
    order = np.argsort(cells, kind="stable")
    larger = 0
    for _ in range(permutations):
        drawn = np.lexsort((rng.random(len(x)), cells))  # the items of each cell in any order
        moved = np.empty(len(x))
        moved[order] = residuals[drawn]
        larger += bool(abs(float(preference(line + moved, human, own)(everything)[0])) >= abs(found) - EPSILON)
    return (1 + larger) / (permutations + 1), inside
