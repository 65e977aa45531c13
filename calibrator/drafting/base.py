"""The one protocol of all drafters, and what they are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from calibrator.aspects import Aspect
from calibrator.records import Disagreement, Item, Rubric


@dataclass(frozen=True, slots=True)
class DraftRequest:
    """Draft a rubric for `aspect` from rated exemplars. `temperature` (0 and up) is how far drafts may vary.

    `seed` decides everything that is left to chance: the same request gives the same rubric.
    """

    aspect: Aspect
    exemplars: tuple[Item, ...]
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class RefineRequest:
    """Better `rubric` by one of the drafter's moves, with the items on which its judge and the humans differ most.

    `exemplars` are the rated items the drafter may learn from besides.
    """

    aspect: Aspect
    rubric: Rubric
    move: str
    disagreements: tuple[Disagreement, ...]
    exemplars: tuple[Item, ...]
    temperature: float
    seed: int


class Drafter(Protocol):
    """Writes rubrics. A drafter sees only what a request holds."""

    @property
    def id(self) -> str:
        """Who drafts, as it stands in signatures."""

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves it knows for refining; those of Auto-CSEval are modify, paraphrase, add, calibrate."""

    def draft(self, request: DraftRequest) -> Rubric:
        """Return a rubric for the aspect."""

    def refine(self, request: RefineRequest) -> Rubric:
        """Return a changed rubric; the old one if the move finds nothing to change."""

    def refit(self, aspect: Aspect, rubrics: Sequence[Rubric], items: Sequence[Item], seed: int) -> Rubric:
        """Return the rubric to hand over, made of `rubrics` (the best of a search, best first) on all `items`.

        A drafter that fits makes one that they have in common and fits it to all items; a drafter of free text, which
        has nothing to fit, returns the first unchanged.
        """
