"""Models that stand in for true ones where a server would be too much."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.models.wire import TOO_LONG
from calibrator.records import Usage

CONTEXT = 4096  # words of a prompt that `well_behaved` takes


def well_behaved(request: ChatRequest) -> ChatReply:
    """Answer like a server that is in order: with words that are only this request's, and no more than were wanted."""
    asked = " ".join(message.content for message in request.messages)
    if len(asked.split()) > CONTEXT:
        return ChatReply("", "refused", TOO_LONG)
    digest = hashlib.sha256(repr(request.messages).encode()).hexdigest()
    words = [digest[at : at + 4] for at in range(0, 32, 4)]
    given = words[: request.sampling.max_tokens]
    usage = Usage(len(asked.split()), len(given))
    return ChatReply(" ".join(given), "stop" if given == words else "length", usage=usage, cost=0.001)


class Busy(ScriptedModel):
    """A scripted model that takes its time: the later of several requests are answered first.

    `in_flight` is how many requests it has at the moment, `most` how many it ever had at once, `asked` those that it
    answered. `gate`, while it is not set, holds all of them.
    """

    def __init__(self, script: Script, name: str = "scripted/double") -> None:
        super().__init__(script, name)
        self.in_flight = self.most = self.closed = self._came = 0
        self.gate = asyncio.Event()
        self.gate.set()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the scripted reply, after a while. See `ScriptedModel`."""
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        self._came += 1
        try:
            for _ in range(max(1, 20 - self._came)):
                await asyncio.sleep(0)
            await self.gate.wait()
            return await super().complete(request)
        finally:
            self.in_flight -= 1

    async def close(self) -> None:
        """Count how often it was closed."""
        self.closed += 1


async def until(condition: Callable[[], bool], turns: int = 10_000) -> None:
    """Let others run until `condition` is true."""
    for _ in range(turns):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it never came to that")
