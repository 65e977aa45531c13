"""What the loop tells while it works; the terminal shows it, tests and libraries may ignore it."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Hears of phases and of what they come to."""

    def phase(self, name: str, total: int) -> None:
        """A phase begins that will handle `total` candidates."""

    def advance(self, judgments: int) -> None:
        """One more candidate of the phase is done; it took so many judgments."""

    def best(self, value: float) -> None:
        """The best candidate's objective on the development set so far."""


class Silent:
    """Tells nobody."""

    def phase(self, name: str, total: int) -> None:
        """Say nothing."""

    def advance(self, judgments: int) -> None:
        """Say nothing."""

    def best(self, value: float) -> None:
        """Say nothing."""
