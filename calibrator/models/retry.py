"""Asking again, where a fault may pass: with growing, jittered pauses, or as long as the server asks for."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrator.errors import CalibratorError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Model

if TYPE_CHECKING:
    from tenacity import RetryCallState

TRIES, FIRST, LONGEST = 7, 0.5, 60.0  # pauses of about 0.5, 1, 2, 4, 8, 16 seconds


class Retrying:
    """Asks `model` up to `tries` times. A reply that arrived is never asked for again, whatever it says."""

    def __init__(self, model: Model, tries: int = TRIES, first: float = FIRST) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._tries, self._first = model, tries, first

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply with the number of calls it took. Raises the last fault if none of the tries succeeds."""
        import tenacity

        # A new object for each call: one that is shared counts the tries of all together.
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, CalibratorError) and e.retryable),
            stop=tenacity.stop_after_attempt(self._tries),
            wait=self._pause,
            reraise=True,
        )
        calls = 0
        try:
            async for attempt in attempts:
                with attempt:
                    calls += 1
                    reply = await self._model.complete(request)
        except ModelUnavailable as error:
            raise error.told(f"{error} (given up after {calls} tries)") from None
        return replace(reply, calls=calls)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ModelUnavailable) else None
        grown = self._first * (2 ** (state.attempt_number - 1) + random.random())
        return min(max(asked if asked is not None else grown, 0.0), LONGEST)
