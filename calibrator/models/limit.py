"""How many requests are in flight: a number that finds its level, and a deadline for each of them.

It goes up while all places are taken and replies come, and is halved when the server says that it is too much
(additive increase, multiplicative decrease: Chiu and Jain 1989; the doubling start is that of TCP, RFC 5681).
"""

from __future__ import annotations

import asyncio
from collections import deque

from calibrator.errors import ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Model


class Limited:
    """Lets no more requests through to `model` at a time than it bears; the others wait for their turn.

    It begins with `start` at a time (None: `most`) and never has more than `most`. A request that has no reply within
    `deadline` seconds is broken off. Where the server asks to wait (Retry-After), nobody is sent meanwhile.
    """

    def __init__(self, model: Model, most: int, start: int | None = None, deadline: float | None = None) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._most, self._deadline = model, most, deadline
        self.level = float(min(most, start or most))
        self.in_flight = 0
        self._doubling = True
        self._halved = self._open = 0.0  # when the level was last halved, and from when on requests may be sent
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`; raises ModelUnavailable where the deadline is over."""
        clock = asyncio.get_running_loop().time
        await self._enter(clock())
        begun = clock()
        try:
            reply = await self._in_time(request)
        except ModelUnavailable as error:
            if error.overload:
                self._less(begun, clock(), error.retry_after)
            raise
        else:
            if self.in_flight >= int(self.level):
                self.level = min(self._most, self.level + (1.0 if self._doubling else 1.0 / self.level))
            return reply
        finally:
            self.in_flight -= 1
            self._wake()

    async def close(self) -> None:
        """Close the model."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        await self._model.close()

    async def _in_time(self, request: ChatRequest) -> ChatReply:
        try:
            async with asyncio.timeout(self._deadline) as limit:
                return await self._model.complete(request)
        except TimeoutError:
            if not limit.expired():
                raise
            raise ModelUnavailable(f"{self.id}: no reply within {self._deadline:g} s", overload=True) from None

    async def _enter(self, now: float) -> None:
        if self._free() and not self._waiting and now >= self._open:
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._wake()
        try:
            await turn  # whoever wakes it has taken the place for it
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.in_flight -= 1
                self._wake()
            raise

    def _free(self) -> bool:
        return self.in_flight < int(self.level)

    def _wake(self) -> None:
        """Give free places to those who wait, or, if the server asked for a pause, see that it is done after it."""
        if not self._waiting:
            return
        loop = asyncio.get_running_loop()
        if (pause := self._open - loop.time()) > 0:
            if self._alarm is None or self._alarm.cancelled():
                self._alarm = loop.call_later(pause, self._after_pause)
            return
        while self._waiting and self._free():
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def _after_pause(self) -> None:
        self._alarm = None
        self._wake()

    def _less(self, begun: float, now: float, pause: float | None) -> None:
        """Halve the level, once for all requests that were under way together."""
        if begun >= self._halved:
            self.level, self._halved, self._doubling = max(1.0, self.level / 2), now, False
        if pause:
            self._open = max(self._open, now + pause)
