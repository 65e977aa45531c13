"""What all probes share: the judge that is probed, and the figures that they hand over.

Scores are turned so that more is better (an aspect says which end of its scale that is): a rise, a shift or a lenience
above 0 is always towards the better end. What is not defined is nan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.evaluation.agreement import failures_of, scores_of
from calibrator.judges.base import Judge
from calibrator.judges.llm import LLMJudge
from calibrator.judges.mapped import MappedJudge
from calibrator.records import Item, Verdict
from calibrator.stats.correlation import spearman
from calibrator.stats.resampling import PART, Interval, group_weights, percentile_interval

Array = NDArray[np.float64]
Figure = Callable[[Array], Array]
RESAMPLES = 2000
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Line:
    """One case of a probe: its figures by name, the items and groups that they stand on, the failures by reason."""

    case: str
    figures: Mapping[str, Interval]
    items: int
    groups: int
    failures: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe found.

    `basis` says in words what the figures stand on. `absent` says why the probe does not apply to this judge,
    `undone` why it applies but could not be carried out; there are no lines then.
    """

    probe: str
    basis: str = ""
    lines: tuple[Line, ...] = ()
    notes: tuple[str, ...] = ()
    absent: str = ""
    undone: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """The judge that is probed, and the rated items it is probed on.

    `steps` are those of its rubric, empty for one that has none. `draws` is how many requests a judgment takes, 0 where
    no model is asked, and `opening` how many it makes once before all others. `fixed`: its scores, or some it goes by,
    were given before and stand in a column, so that it can judge no other text. `base` are its verdicts on `items` as
    they are.
    """

    judge: Judge
    aspect: Aspect
    items: tuple[Item, ...]
    seed: int = 0
    steps: tuple[str, ...] = ()
    draws: int = 0
    opening: int = 0
    fixed: bool = False
    resamples: int = RESAMPLES
    base: tuple[Verdict, ...] = ()

    @property
    def asked(self) -> LLMJudge | None:
        """The LLM judge that it is, by itself or under a score map, so that its prompt can be varied; None if none."""
        inner = self.judge.inner if isinstance(self.judge, MappedJudge) else self.judge
        return inner if isinstance(inner, LLMJudge) else None

    def judged_by(self, variant: LLMJudge) -> tuple[Verdict, ...]:
        """Return the verdicts of a variant of `asked` on the items, under the judge's score map if it has one."""
        judge = MappedJudge(variant, self.judge.map) if isinstance(self.judge, MappedJudge) else variant
        return judge.judge(self.items)

    @property
    def sign(self) -> float:
        """1 where the upper end of the scale is the better one, -1 where the lower is."""
        return sign_of(self.aspect)

    @property
    def scores(self) -> Array:
        """The scores of `base`, turned so that more is better, nan for failures; shape (items,)."""
        return self.sign * scores_of(self.base)

    @property
    def human(self) -> Array:
        """The humans' figures, turned so that more is better; shape (items,)."""
        return self.sign * np.array([i.human for i in self.items], dtype=float)

    @property
    def groups(self) -> list[str]:
        """The group of each item."""
        return [i.group for i in self.items]

    def line(self, case: str, kept: Sequence[int], figures: Mapping[str, Figure], **more: Interval) -> Line:
        """Return a line on the items at some places; the functions in `figures` take weights (b, kept) to (b,)."""
        groups = [self.items[k].group for k in kept]
        found = {name: over_groups(of, groups, self.seed, self.resamples) for name, of in figures.items()}
        return Line(case, {**found, **more}, len(kept), len(set(groups)))


class Probe(Protocol):
    """Tries one cause that should not move the scores of a judge."""

    @property
    def name(self) -> str:
        """As it is chosen by, and stands in results."""

    def absent(self, subject: Subject) -> str:
        """Return why the probe does not apply to the judge, "" if it does."""

    def calls(self, subject: Subject) -> int:
        """Return how many requests it puts to models at most, beside those for the verdicts in `subject.base`."""

    def find(self, subject: Subject) -> Finding:
        """Return what it finds; `subject.base` is there. Raises what the models raise."""


def sign_of(aspect: Aspect) -> float:
    """Return 1 where more is better, -1 where less is."""
    return 1.0 if aspect.better == "higher" else -1.0


def over_groups(figure: Figure, groups: Sequence[str], seed: int, resamples: int) -> Interval:
    """Return a figure with its 95 % percentile interval by bootstrap over groups.

    `figure` takes weights (b, n), how often each of the n items counts, and gives (b,). With fewer than two groups
    there is no interval, without items no figure.
    """
    if not len(groups):
        return Interval(NAN, NAN, NAN)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(figure(np.ones((1, len(groups))))[0])
        if len(set(groups)) < 2:
            return Interval(value, NAN, NAN)
        weights = group_weights(groups, resamples, np.random.default_rng(seed))
        rows = max(1, PART // len(groups))
        draws = [figure(weights[k : k + rows]) for k in range(0, resamples, rows)]
    return percentile_interval(value, np.concatenate(draws))


def point(value: float) -> Interval:
    """Return a figure that has no interval."""
    return Interval(value, NAN, NAN)


def mean_of(x: Array) -> Figure:
    """Return the mean of `x` (n,) as a figure."""
    return lambda weights: np.asarray((weights @ x) / weights.sum(axis=1))


def ratio_of(above: Array, below: Array) -> Figure:
    """Return the sum of `above` (n,) over that of `below` (n,) as a figure: a mean over several cases of each item."""
    return lambda weights: np.asarray((weights @ above) / (weights @ below))


def rho_of(x: Array, y: Array) -> Figure:
    """Return Spearman's rho of `x` with `y`, both (n,), as a figure."""
    return lambda weights: spearman(x, y, weights)


def beside(subject: Subject, case: str, before: Array, verdicts: Sequence[Verdict]) -> Line:
    """Return how far other verdicts on the same items are from the scores `before`, which are turned already.

    "rho" is Spearman's with the scores before, "shift" the mean of the differences (above 0: judged better), "change"
    the mean of their sizes, both in points. On the items that have both scores.
    """
    after = subject.sign * scores_of(verdicts)
    kept = np.flatnonzero(np.isfinite(before) & np.isfinite(after))
    moved = after[kept] - before[kept]
    figures = {"rho": rho_of(before[kept], after[kept]), "shift": mean_of(moved), "change": mean_of(np.abs(moved))}
    line = subject.line(case, kept.tolist(), figures)
    return Line(line.case, line.figures, line.items, line.groups, failures_of(verdicts))
