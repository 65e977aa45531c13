"""The one protocol of all judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from calibrator.records import Item, Verdict


class Judge(Protocol):
    """Gives each item a score on its aspect's scale, or a failure with the reason.

    A judge answers for every item, in their order, and never raises because of a text; the same item gets the same
    verdict, whatever stands beside it. A failure is never a number.
    """

    @property
    def id(self) -> str:
        """What scored, as it stands in signatures: method and version or model."""

    @property
    def mode(self) -> str:
        """How a score is obtained, recorded in every judgment."""

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item, in their order."""
