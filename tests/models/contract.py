"""What every model must do; a test class inherits this and gives its model."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from calibrator.models.base import ChatReply, ChatRequest, Model, Sampling
from calibrator.records import Message

T = TypeVar("T")
KEY = "sk-not-for-the-eyes"  # where a model takes a key, the test gives it this one


def asking(text: str, max_tokens: int = 256, schema: str | None = None) -> ChatRequest:
    return ChatRequest((Message("user", text),), Sampling(max_tokens=max_tokens), schema=schema)


class ModelContract:
    """Inherit, and give `model()`; it must answer different numbered requests differently."""

    name = "scripted/double"
    together = 12

    def model(self) -> AbstractContextManager[Model]:
        raise NotImplementedError

    def numbered(self, number: int) -> ChatRequest:
        return asking(f"Say {number}.")

    def does(self, work: Callable[[Model], Awaitable[T]]) -> T:
        async def whole() -> T:
            try:
                return await work(model)
            finally:
                await model.close()

        with self.model() as model:
            return asyncio.run(whole())

    def reply(self, request: ChatRequest) -> ChatReply:
        return self.does(lambda model: model.complete(request))

    def test_a_reply_is_whole(self) -> None:
        reply = self.reply(self.numbered(1))
        assert isinstance(reply, ChatReply)
        assert reply.text and isinstance(reply.text, str)
        assert (reply.finish, reply.detail) == ("stop", "")
        counted = (reply.usage.prompt, reply.usage.completion, reply.usage.cached)
        assert all(type(number) is int and number >= 0 for number in counted)
        assert reply.cost is None or reply.cost >= 0
        assert reply.calls == 1

    def test_each_gets_the_reply_that_is_its_own(self) -> None:
        requests = [self.numbered(n) for n in range(self.together)]

        async def work(model: Model) -> list[ChatReply]:
            return list(await asyncio.gather(*map(model.complete, requests)))

        async def one_by_one(model: Model) -> list[ChatReply]:
            return [await model.complete(request) for request in requests]

        texts = [reply.text for reply in self.does(work)]
        assert texts == [reply.text for reply in self.does(one_by_one)]
        assert len(set(texts)) == len(texts)

    def test_the_same_is_answered_the_same(self) -> None:
        async def twice(model: Model) -> list[ChatReply]:
            return [await model.complete(self.numbered(1)) for _ in range(2)]

        first, second = self.does(twice)
        assert (first.text, first.finish) == (second.text, second.finish)

    def test_a_reply_that_was_cut_off_says_so(self) -> None:
        reply = self.reply(asking("Say what you think of rivers, at length.", max_tokens=2))
        assert (reply.finish, reply.detail) == ("length", "")
        assert reply.text

    def test_a_prompt_that_is_too_long_is_refused(self) -> None:
        reply = self.reply(asking("word " * 9000))
        assert (reply.text, reply.finish, reply.calls) == ("", "refused", 1)
        assert "too long" in reply.detail

    def test_any_text_may_be_asked(self) -> None:
        async def work(model: Model) -> list[ChatReply]:
            texts = ("ü 語 🙂 \u202e", "a\x00b\r\nc", "half a pair: \ud83d", "\udc00", "")
            return [await model.complete(asking(text, max_tokens=4)) for text in texts]

        replies = self.does(work)
        assert {reply.finish for reply in replies} <= {"stop", "length"}
        for reply in replies:
            reply.text.encode()  # nothing that a journal could not hold

    def test_it_has_a_name_and_no_key(self) -> None:
        with self.model() as model:
            assert model.id == self.name
            assert isinstance(model.identity, str) and model.identity
            assert KEY not in model.id + model.identity + repr(model)

    def test_it_can_be_closed_twice_and_used_again(self) -> None:
        async def work(model: Model) -> list[ChatReply]:
            replies = []
            for _ in range(2):
                await model.close()
                await model.close()
                replies.append(await model.complete(self.numbered(1)))
            return replies

        first, second = self.does(work)
        assert first.text == second.text != ""
