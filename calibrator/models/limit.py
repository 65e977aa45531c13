"""Bounded concurrency: no more than so many requests in flight."""

from __future__ import annotations

import asyncio

from calibrator.models.base import ChatReply, ChatRequest, Model


class Limited:
    """Lets at most `width` requests through to `model` at a time; the others wait for their turn."""

    def __init__(self, model: Model, width: int) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._free = model, asyncio.Semaphore(width)

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`."""
        async with self._free:
            return await self._model.complete(request)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
