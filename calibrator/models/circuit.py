"""When to stop asking: a server that is gone should end the run with one message, not with a thousand tries."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from calibrator.errors import ModelError, ModelUnavailable

PATIENCE, FAULTS = 45.0, 8  # seconds without any reply, and faults meanwhile, after which a server is taken for gone


class Circuit:
    """Whether one model is still asked; shared by all requests to it.

    It opens when faults, at least `faults` of them, go on for `patience` seconds without one reply between; what the
    server asked to wait for comes on top. Whoever asks may open it too (`halt`), when nothing more is wanted.
    """

    def __init__(
        self, patience: float = PATIENCE, faults: int = FAULTS, now: Callable[[], float] | None = None
    ) -> None:
        self._patience, self._most, self._now = patience, faults, now
        self._faults, self._since, self._asked = 0, 0.0, 0.0
        self._halted = asyncio.Event()
        self._told: list[Callable[[], None]] = []

    def answered(self) -> None:
        """Note that a reply came."""
        self._faults = 0

    def fault(self, error: ModelUnavailable) -> None:
        """Note a fault. Raises ModelError if it was one too many: the server is gone."""
        now = (self._now or asyncio.get_running_loop().time)()
        if self._faults == 0:
            self._since = now
            self._asked = 0.0
        self._faults += 1
        silent = now - self._since
        if error.retry_after:
            self._asked = max(self._asked, silent + error.retry_after)
        if self._faults >= self._most and silent >= self._patience + self._asked:
            raise ModelError(f"{error}; no reply for {silent:.0f} s ({self._faults} requests), so nothing more is sent")

    async def pause(self, seconds: float) -> bool:
        """Wait, and return whether there is still anything wanted; no longer than until nothing is."""
        try:
            async with asyncio.timeout(seconds):
                await self._halted.wait()
        except TimeoutError:
            return True
        return False

    @property
    def halted(self) -> bool:
        """Whether nothing more is wanted."""
        return self._halted.is_set()

    def require_wanted(self, name: str) -> None:
        """Raise ModelError if nothing more is wanted of the model of that name."""
        if self.halted:
            raise self.unwanted(name)

    def unwanted(self, name: str) -> ModelError:
        """Return what they are told who wait, for whatever it is, to ask the model of that name."""
        return ModelError(f"{name}: not sent, since another request had failed")

    def on_halt(self, told: Callable[[], None]) -> None:
        """Have `told` called each time when nothing more is wanted."""
        self._told.append(told)

    def halt(self) -> None:
        """End all pauses: nothing more is wanted."""
        self._halted.set()
        for told in self._told:
            told()

    def begin(self) -> None:
        """Let requests be sent, and faults be waited out, again."""
        self._halted.clear()
        self._faults = 0
