"""Limits by the minute: requests and tokens are let through evenly, so that no minute has more than was allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from calibrator.models.base import ChatReply, ChatRequest, Model

MINUTE = 60.0
LETTERS_A_TOKEN = 4  # bytes of English in a token, roughly; replies tell the true number


class Paced:
    """Lets at most `rpm` requests and `tpm` tokens (prompt and reply) a minute through to `model`.

    A request's tokens are reckoned as its letters by `LETTERS_A_TOKEN` and the longest reply it may have; the
    difference to what it took is made good when the reply is there.
    """

    def __init__(
        self,
        model: Model,
        rpm: float | None = None,
        tpm: float | None = None,
        now: Callable[[], float] | None = None,
    ) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._now = model, now
        self._request = MINUTE / rpm if rpm else 0.0  # seconds that a request takes up, and a token
        self._token = MINUTE / tpm if tpm else 0.0
        self._next_request = self._next_token = 0.0

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request, sent when its turn has come. See `Model`."""
        reckoned = _reckoned(request)
        now = (self._now or asyncio.get_running_loop().time)()
        turn = max(now, self._next_request, self._next_token)
        self._next_request = turn + self._request
        self._next_token = turn + reckoned * self._token
        if turn > now:
            await asyncio.sleep(turn - now)
        reply = await self._model.complete(request)
        if counted := reply.usage.prompt + reply.usage.completion:
            self._next_token += (counted - reckoned) * self._token
        return reply

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()


def _reckoned(request: ChatRequest) -> float:
    letters = sum(len(m.content.encode("utf-8", "replace")) for m in request.messages)
    return letters / LETTERS_A_TOKEN + request.sampling.max_tokens
