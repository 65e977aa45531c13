"""Asking again, where a fault may pass: with growing, jittered pauses, or as long as the server asks for."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from calibrator.errors import CalibratorError, ModelError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.circuit import Circuit

if TYPE_CHECKING:
    from tenacity import RetryCallState

TRIES, FIRST, LONGEST = 10, 0.5, 30.0  # pauses of about 0.5, 1, 2, 4 … seconds
MOST_ASKED = 900.0  # seconds of Retry-After that are waited; a quota of the day is better waited for by resuming


class Retrying:
    """Asks `model` up to `tries` times. A reply that arrived is never asked for again, whatever it says.

    All pauses end when `circuit` says that nothing more is wanted; the last fault is raised then.
    """

    def __init__(self, model: Model, tries: int = TRIES, first: float = FIRST, circuit: Circuit | None = None) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._tries, self._first = model, tries, first
        self._circuit = circuit or Circuit()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply with the number of calls it took. Raises the last fault if none of the tries succeeds."""
        try:
            reply = await self._model.complete(request)
        except ModelUnavailable as error:
            return await self._again(request, error)
        self._circuit.answered()
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    async def _again(self, request: ChatRequest, first: ModelUnavailable) -> ChatReply:
        """Go on after the first try, which most requests never need: the machinery costs as much as a request."""
        import tenacity

        calls, last = 0, first

        async def ask() -> ChatReply:
            nonlocal calls, last
            calls += 1
            try:
                if calls == 1:
                    raise first
                reply = await self._model.complete(request)
            except ModelUnavailable as error:
                last = error
                self._circuit.fault(error)
                raise
            self._circuit.answered()
            return replace(reply, calls=calls)

        async def pause(seconds: float) -> None:
            if not await self._circuit.pause(seconds):
                raise _Halted

        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda e: isinstance(e, CalibratorError) and e.retryable),
            stop=tenacity.stop_after_attempt(self._tries),
            wait=self._pause,
            sleep=pause,
            reraise=True,
        )
        try:
            return await attempts(ask)
        except _Halted:
            raise last from None
        except ModelUnavailable as error:
            raise error.told(f"{error} (given up after {calls} tries)") from None

    def _pause(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, ModelUnavailable) else None
        grown = min(self._first * 2.0 ** (state.attempt_number - 1), LONGEST) * (0.5 + random.random())
        if asked is None:
            return grown
        if asked > MOST_ASKED:
            raise ModelError(f"{error}; the server asks to wait for {asked / 60:.0f} minutes")
        return asked + min(grown, 1 + asked / 4) * random.random()  # not all at once when the time is over


class _Halted(Exception):  # noqa: N818
    """Nothing more is wanted."""
