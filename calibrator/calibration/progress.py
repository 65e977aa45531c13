"""What the loop tells while it works; the terminal shows it, tests and libraries may ignore it."""

from __future__ import annotations

from types import TracebackType
from typing import Protocol

from calibrator.models.recorded import Spent
from calibrator.records import Verdict


class Progress(Protocol):
    """Hears of phases and of what they come to."""

    def phase(self, name: str, total: int, each: int = 1) -> None:
        """A phase begins that will handle `total` candidates, each in up to `each` judgments."""

    def verdict(self, verdict: Verdict) -> None:
        """One more verdict on the candidate at work; only judges that take their time tell it."""

    def spent(self, model: str, spent: Spent) -> None:
        """What a model was used for so far."""

    def advance(self, judgments: int) -> None:
        """One more candidate of the phase is done; it took so many judgments."""

    def best(self, value: float) -> None:
        """The best candidate's objective on the development set so far."""

    def news(self, line: str) -> None:
        """Something that takes hours has come further, such as a batch."""


class Silent:
    """Tells nobody."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Say nothing."""

    def phase(self, name: str, total: int, each: int = 1) -> None:
        """Say nothing."""

    def verdict(self, verdict: Verdict) -> None:
        """Say nothing."""

    def spent(self, model: str, spent: Spent) -> None:
        """Say nothing."""

    def advance(self, judgments: int) -> None:
        """Say nothing."""

    def best(self, value: float) -> None:
        """Say nothing."""

    def news(self, line: str) -> None:
        """Say nothing."""
