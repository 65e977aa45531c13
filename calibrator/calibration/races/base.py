"""What is raced, what a rule may know, and what it decides.

Candidates are scored on blocks of the development set, all in the same order, so that any two of them have a common
prefix of items. A rule sees the standings after each round and says who is scored on a further block and who stops.
Nothing here knows a judge, a model or a rubric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.resampling import group_weights

Array = NDArray[np.float64]
Block = tuple[int, ...]
Draws = Callable[[Array, NDArray[np.int64], Array], Array]

RESAMPLES = 500
FEW_GROUPS = 5  # with fewer, resamples of groups are too much alike to show any doubt


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a candidate has come.

    `scores` (n,) are those on the items of dev, nan where it has not judged or has failed; `judged` is the number of
    blocks it has judged, in their order. `known` candidates were scored on all of dev before: they cost nothing, are
    never stopped, and set the bar.
    """

    name: str
    scores: Array = field(compare=False)
    judged: int = 0
    known: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """A candidate is scored no further.

    `after` is the number of items it has judged, `chance` its probability then of belonging to the top k (0 if it fails
    too often), and `value` its objective then, made comparable with those that were scored further (see `estimates`).
    """

    name: str
    after: int
    chance: float
    value: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Who is scored on the next block, and who stops; with nobody to score the race is over."""

    score: tuple[str, ...]
    stops: tuple[Stop, ...] = ()


@dataclass(frozen=True)
class Course:
    """What is the same for all candidates through a whole race.

    `human` (n,) are the ratings of dev, `blocks` a partition of its items, `k` how many are looked for, `draws` gives
    the objective of scores (c, m) on the items at some places (m,) in each row of weights (b, m), shape (c, b), higher
    is better (see `evaluation.aim`); `weights` (b, n) are the resamples, the same for every decision, so that
    candidates never differ by the luck of the draw.
    More than `most_failures` of dev without a score make a candidate ineligible.
    """

    human: Array
    blocks: tuple[Block, ...]
    k: int
    draws: Draws
    weights: Array
    most_failures: float = 0.05

    @cached_property
    def prefixes(self) -> tuple[NDArray[np.int64], ...]:
        """The items of the first 0, 1, 2 … blocks."""
        order = np.array([i for block in self.blocks for i in block], dtype=np.int64)
        ends = np.cumsum([0, *map(len, self.blocks)])
        return tuple(order[:end] for end in ends)


class Rule(Protocol):
    """Decides from the standings of those still racing and of the known ones. The order they come in means nothing."""

    @property
    def name(self) -> str:
        """What the rule is called in a report."""

    def decide(self, standings: Sequence[Standing], course: Course) -> Decision:
        """Return who goes on; all that are neither scored, nor stopped, nor through, wait.

        At the end at least k candidates are scored on all of dev, so that the final choice is made on all of it; fewer
        only where no more are left that do not fail too often.
        """


def units_of(groups: Sequence[str]) -> Sequence[str]:
    """Return what a resample draws: the items' groups, or each item by itself if there are fewer than `FEW_GROUPS`."""
    return groups if len(set(groups)) >= FEW_GROUPS else [str(i) for i in range(len(groups))]


def make_course(
    human: Array,
    groups: Sequence[str],
    blocks: Sequence[Block],
    k: int,
    draws: Draws,
    rng: np.random.Generator,
    resamples: int = RESAMPLES,
    most_failures: float = 0.05,
) -> Course:
    """Return the course; its resamples draw whole groups of dev, or items if there are fewer than `FEW_GROUPS`.

    Raises ValueError if there are no items, the blocks are no partition of them, or k is below 1.
    """
    if not len(human) or sorted(i for block in blocks for i in block) != list(range(len(human))) or not all(blocks):
        raise ValueError("blocks must hold every item of dev once, and none may be empty")
    if k < 1:
        raise ValueError(f"a race looks for 1 candidate at least, not {k}")
    weights = group_weights(units_of(groups), resamples, rng)
    return Course(human, tuple(tuple(b) for b in blocks), k, draws, weights, most_failures)
