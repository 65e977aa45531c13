"""Replies written to a run's journal before they are used, and read from it when the run is taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, Model, reply_from_json, reply_to_json, request_key

PREFIX = "reply/"
NAMES = 8


@dataclass(frozen=True, slots=True)
class Spent:
    """What a model was used for: different requests answered, their tokens, and the calls that were made for them.

    Replies and tokens follow from the run alone; `calls` are fewer where replies were in store, more after retries.
    `cost` is in US dollars, None as soon as one reply has no known price. `served` are the names under which servers
    said that they answered, at most `NAMES` of them.
    """

    replies: int = 0
    prompt: int = 0
    completion: int = 0
    calls: int = 0
    cost: float | None = 0.0
    served: tuple[str, ...] = ()

    def plus(self, reply: ChatReply) -> Spent:
        """Return the sum with one reply more."""
        cost = None if self.cost is None or reply.cost is None else self.cost + reply.cost
        usage, served = reply.usage, self.served
        if reply.served and reply.served not in served and len(served) < NAMES:
            served = (*served, reply.served)
        return Spent(
            self.replies + 1,
            self.prompt + usage.prompt,
            self.completion + usage.completion,
            self.calls + reply.calls,
            cost,
            served,
        )


def spent_in(journal: Journal) -> dict[str, Spent]:
    """Return what each model was used for, by the replies in a journal."""
    sums: dict[str, Spent] = {}
    for key, value in journal.items():
        if key.startswith(PREFIX):
            model, reply = value["model"], reply_from_json(value["reply"])
            sums[model] = sums.get(model, Spent()).plus(reply)
    return sums


class Recorded:
    """Answers from the journal where it can, asks `model` where it must, and never asks the same thing twice.

    Without a journal it only counts. `told` hears of the sum after each reply.
    """

    def __init__(
        self, model: Model, journal: Journal | None = None, told: Callable[[Spent], None] | None = None
    ) -> None:
        self.id, self.identity = model.id, model.identity
        self.spent = spent_in(journal).get(model.id, Spent()) if journal is not None else Spent()
        self._model, self._journal, self._told = model, journal, told
        self._asking: dict[str, asyncio.Future[ChatReply]] = {}
        self._noted: set[str] = set()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request; whoever asks the same meanwhile waits for the same reply. See `Model`."""
        key = self._key(request)
        while True:
            if (stored := self._stored(key, request)) is not None:
                return stored
            if (asking := self._asking.get(key)) is None:
                return await self._ask(key, request)
            await asyncio.wait([asking])
            if not asking.cancelled() and (reply := asking.result()).answers(request):
                return reply

    def note(self, request: ChatRequest, reply: ChatReply) -> None:
        """Write a reply down that has come, but has not reached whoever asked: a cache may be busy with it."""
        key = self._key(request)
        self._put(key, reply)
        self._noted.add(key)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    def _key(self, request: ChatRequest) -> str:
        # By name, not by endpoint: a run may go on with its server at another address.
        return f"{PREFIX}{request_key(self.id, request)}"

    def _put(self, key: str, reply: ChatReply) -> None:
        if self._journal is not None:
            self._journal.put(key, {"model": self.id, "reply": reply_to_json(reply)})

    def _stored(self, key: str, request: ChatRequest) -> ChatReply | None:
        value = self._journal.get(key) if self._journal is not None else None
        reply = reply_from_json(value["reply"]) if value is not None else None
        return reply if reply is not None and reply.answers(request) else None

    async def _ask(self, key: str, request: ChatRequest) -> ChatReply:
        self._asking[key] = told = asyncio.get_running_loop().create_future()
        try:
            reply = await self._model.complete(request)
            if key not in self._noted:
                self._put(key, reply)
            told.set_result(reply)
        except Exception as error:
            told.set_exception(error)
            told.exception()  # nobody need have waited for it
            raise
        finally:
            del self._asking[key]
            self._noted.discard(key)
            told.cancel()  # whoever asked has given up: one of those who wait asks instead
        self.spent = self.spent.plus(reply)
        if self._told is not None:
            self._told(self.spent)
        return reply
