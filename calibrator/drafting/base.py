"""The one protocol of all drafters, and what they are asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from calibrator.aspects import Aspect
from calibrator.records import Disagreement, Item, Rubric, Written


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
    """Writes rubrics. A drafter sees only what a request holds, and gives one answer to each request, in their order.

    The same request gives the same answer, whatever stands beside it.
    """

    @property
    def id(self) -> str:
        """Who drafts, as it stands in signatures."""

    @property
    def moves(self) -> tuple[str, ...]:
        """The moves it knows for refining; those of Auto-CSEval are modify, paraphrase, add, calibrate."""

    def draft(self, requests: Sequence[DraftRequest]) -> Iterable[Written]:
        """Yield a rubric for each request."""

    def refine(self, requests: Sequence[RefineRequest]) -> Iterable[Written]:
        """Yield a changed rubric for each request; the old one if the move finds nothing to change."""
