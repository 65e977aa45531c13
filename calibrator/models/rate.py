"""Limits by the minute: requests and tokens are let through evenly, so that no minute has more than was allowed."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass

from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.circuit import Circuit

MINUTE = 60.0
LETTERS_A_TOKEN = 4  # bytes of English in a token, roughly; replies tell the true number
AGAIN = 1.0  # seconds after which whoever waits looks again: replies may have told that there is more room


@dataclass(slots=True)
class _Sent:
    """A request that was sent: when, and its tokens as far as they are known; `recent` within the last minute."""

    at: float
    tokens: float
    recent: bool = True


class Paced:
    """Lets at most `rpm` requests and `tpm` tokens (prompt and reply) a minute through to `model`.

    They go in the order in which they came. A request's tokens are reckoned as its letters by `LETTERS_A_TOKEN` and the
    longest reply it may have; the difference to what it took is made good when the reply is there. When `circuit` says
    that nothing more is wanted, those who wait are sent away.
    """

    def __init__(
        self, model: Model, rpm: float | None = None, tpm: float | None = None, circuit: Circuit | None = None
    ) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._tpm, self._circuit = model, tpm, circuit or Circuit()
        self._request = MINUTE / rpm if rpm else 0.0  # seconds that a request takes up, and a token
        self._token = MINUTE / tpm if tpm else 0.0
        self._next_request = self._next_token = 0.0
        self._door = asyncio.Lock()  # the first in the row waits for its turn, the others for the door
        self._minute: deque[_Sent] = deque()
        self._in_minute = 0.0  # their tokens

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request, sent when its turn has come. See `Model`."""
        async with self._door:
            sent = await self._turn(_reckoned(request))
        reply = await self._model.complete(request)
        if counted := reply.usage.prompt + reply.usage.completion:
            self._correct(sent, counted)
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    async def _turn(self, tokens: float) -> _Sent:
        """Wait until a request of so many tokens may be sent, and enter it."""
        clock = asyncio.get_running_loop().time
        came = now = clock()
        while (turn := max(came, self._next_request, self._next_token, self._room_from(now, tokens))) > now:
            if not await self._circuit.pause(min(turn - now, AGAIN)):
                raise self._circuit.unwanted(self.id)
            now = clock()
        self._next_request = turn + self._request
        self._next_token = turn + tokens * self._token
        sent = _Sent(now, tokens)
        if self._tpm:
            self._minute.append(sent)
            self._in_minute += tokens
        return sent

    def _room_from(self, now: float, tokens: float) -> float:
        """Return from when on the minute before has room for so many tokens."""
        while self._minute and self._minute[0].at <= now - MINUTE:
            gone = self._minute.popleft()
            gone.recent = False
            self._in_minute -= gone.tokens
        over, room = self._in_minute + tokens - (self._tpm or 0.0), 0.0
        for sent in self._minute:
            if over <= 0:
                break
            over -= sent.tokens
            room = sent.at + MINUTE
        return room

    def _correct(self, sent: _Sent, tokens: float) -> None:
        """Enter the tokens that a request took in place of those it was reckoned with."""
        more = tokens - sent.tokens
        self._next_token += more * self._token
        if sent.recent:
            sent.tokens = tokens
            self._in_minute += more


def _reckoned(request: ChatRequest) -> float:
    letters = sum(len(m.content.encode("utf-8", "replace")) for m in request.messages)
    return letters / LETTERS_A_TOKEN + request.sampling.max_tokens
