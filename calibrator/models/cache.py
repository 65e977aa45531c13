"""Replies kept across runs, so that what was asked once is not asked, and paid for, again."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from calibrator.errors import CacheError
from calibrator.models.base import ChatReply, ChatRequest, Model, request_key
from calibrator.models.replies import UNUSABLE, ReplyStore
from calibrator.models.thread import Thread

MOST_WAITING, GATHER = 1_000, 0.05  # replies that wait to be written, and seconds in which they gather


class Cached:
    """Answers from the replies of earlier runs where it can, and asks `model` where it must.

    Any reply that arrived is kept, but not one that was refused: a server may be started anew with a longer context or
    another filter. Replies are written in a thread, those that come together together, since another process may hold
    the store for a while. Looked up they are at once, which takes some 20 µs and waits for nobody. `arrived` hears of
    each reply that was asked for, before it is written here; with it (it is a journal's) replies are used before they
    are in the store, else only then.
    """

    def __init__(
        self, model: Model, folder: Path, arrived: Callable[[ChatRequest, ChatReply], None] | None = None
    ) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._store, self._arrived = model, ReplyStore(folder), arrived
        self._batch: list[tuple[str, ChatReply]] = []  # what is written next, and the word that it is
        self._written = asyncio.Event()
        self._writing: asyncio.Task[None] | None = None
        self._thread: Thread | None = None
        self._opening = asyncio.Lock()
        self._problem: CacheError | None = None
        self.hits = 0  # how many replies came from the store

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request, with no calls if it was in store. See `Model`; raises CacheError too."""
        if self._thread is None:
            await self._open()
        key = request_key(self.identity, request)
        stored = self._store.get(key)
        if stored is not None and stored.answers(request):
            self.hits += 1
            return _free(stored)
        reply = await self._model.complete(request)
        if self._arrived is not None:
            self._arrived(request, reply)
        if reply.finish != "refused":
            await self._keep(key, reply)
        return reply

    async def close(self) -> None:
        """Write what is to be written, and close the store and the model."""
        try:
            if self._writing is not None:
                await self._writing
            if self._thread is not None:
                thread, self._thread = self._thread, None
                await thread.do(self._store.close)
                thread.close()
            self._store.close()
        finally:
            await self._model.close()

    async def _open(self) -> None:
        """Open the store, in the thread: another process may be writing to it."""
        async with self._opening:
            if self._thread is None:
                thread = Thread("calibrator-cache")
                try:
                    await thread.do(self._store.open)
                except BaseException:
                    thread.close()
                    raise
                self._thread = thread

    async def _keep(self, key: str, reply: ChatReply) -> None:
        self._batch.append((key, reply))
        written = self._written
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        if self._arrived is None or len(self._batch) > MOST_WAITING:
            await written.wait()
        if self._problem is not None:
            raise self._problem

    async def _write_all(self) -> None:
        """Write what came since the last time, until nothing did."""
        while self._batch and self._thread is not None:
            if self._arrived is not None:
                await asyncio.sleep(GATHER)  # many rows at once take half as long
            batch, self._batch = self._batch, []
            written, self._written = self._written, asyncio.Event()
            try:
                await self._thread.do(partial(self._write, batch))
            except CacheError as error:
                self._problem = error
            finally:
                written.set()

    def _write(self, batch: Sequence[tuple[str, ChatReply]]) -> None:
        # They are paid for: a full disk or a busy store must not keep them from whoever asked.
        with contextlib.suppress(*UNUSABLE):
            self._store.put((key, self.identity, reply) for key, reply in batch)


def _free(reply: ChatReply) -> ChatReply:
    """Return a reply from the store: it took no call, and costs nothing where its price is known."""
    cost = None if reply.cost is None else 0.0
    return ChatReply(reply.text, reply.finish, reply.detail, reply.usage, cost, 0, reply.tokens, reply.served)
