"""How many requests are in flight: a number that finds its level; and a deadline for each of them.

It goes up while all places are taken and replies come, and is halved when the server says that it is too much
(additive increase, multiplicative decrease: Chiu and Jain 1989; the doubling start is that of TCP, RFC 5681).
"""

from __future__ import annotations

import asyncio
from collections import deque

from calibrator.errors import ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.circuit import Circuit

LATE, GRACE = 0.1, 1.0  # a deadline that is noticed so many seconds late was slept through: so many more are given


class Limited:
    """Lets no more requests through to `model` at a time than it bears; the others wait for their turn.

    It begins with `start` at a time (None: `most`) and never has more than `most`. Where the server asks to wait
    (Retry-After), nobody is sent meanwhile. When `circuit` says that nothing more is wanted, those who wait are sent
    away.
    """

    def __init__(self, model: Model, most: int, start: int | None = None, circuit: Circuit | None = None) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._most, self._circuit = model, most, circuit or Circuit()
        self._circuit.on_halt(self._dismiss)
        self.level = float(min(most, start or most))
        self.in_flight = 0
        self._doubling = True
        self._halved = self._open = 0.0  # when the level was last halved, and from when on requests may be sent
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`; raises ModelError, and sends nothing, if it is not wanted."""
        clock = asyncio.get_running_loop().time
        self._circuit.require_wanted(self.id)
        await self._enter(clock())
        begun = clock()
        try:
            self._circuit.require_wanted(self.id)
            reply = await self._model.complete(request)
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

    def _dismiss(self) -> None:
        """Send away all who wait, for their turn or for the end of a pause."""
        self._open = 0.0
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(self._circuit.unwanted(self.id))

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
            if turn.done() and not turn.cancelled() and turn.exception() is None:
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
            if self._alarm is None:
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
        if begun > self._halved:
            self.level, self._halved, self._doubling = max(1.0, self.level / 2), now, False
        if pause:
            self._open = max(self._open, now + pause)


class Timed:
    """Breaks a request to `model` off that has no reply within `deadline` seconds.

    It stands next to the model, so that waiting for a turn or for the budget does not count.
    """

    def __init__(self, model: Model, deadline: float) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._deadline = model, deadline

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`; raises ModelUnavailable where the deadline is over."""
        loop = asyncio.get_running_loop()
        due = loop.time() + self._deadline

        def over() -> None:
            # A process that was stopped, or busy, wakes to deadlines and replies at once: what is there is read first.
            late = loop.time() - due > LATE
            limit.reschedule(loop.time() + (GRACE if late else 0.0))

        try:
            async with asyncio.timeout(None) as limit:
                alarm = loop.call_at(due, over)
                try:
                    return await self._model.complete(request)
                finally:
                    alarm.cancel()
        except TimeoutError:
            if not limit.expired():
                raise
            raise ModelUnavailable(f"{self.id}: no reply within {self._deadline:g} s", overload=True) from None

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
