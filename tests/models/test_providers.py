"""Providers through litellm: log-probabilities and schemas where they are known, and prices."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from calibrator.errors import ModelError
from calibrator.models.base import NEED_LOGPROBS, ChatReply, ChatRequest
from calibrator.models.names import open_model
from tests.models.contract import KEY, asking

# Not `importorskip`, which would import it, and it would fetch its price list.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("litellm") is None, reason="not installed: litellm")

SCHEMA = '{"type": "object", "properties": {"score": {"type": "integer"}}}'
TOP = [{"token": "4", "logprob": -0.1, "bytes": None}, {"token": "5", "logprob": -2.5, "bytes": None}]
TOKENS = {"content": [{"token": "4", "logprob": -0.1, "bytes": None, "top_logprobs": TOP}]}
FOUR = {
    "id": "x",
    "object": "chat.completion",
    "created": 0,
    "model": "served-as",
    "service_tier": "default",  # litellm wants it of Groq
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8},
}


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for provider in ("HOSTED_VLLM", "ANTHROPIC", "GROQ"):
        monkeypatch.setenv(f"{provider}_API_KEY", KEY)
    yield


def ask(
    monkeypatch: pytest.MonkeyPatch, name: str, request: ChatRequest, logprobs: Any = None
) -> tuple[Any, ChatReply]:
    """Return what the provider was sent, and the reply."""
    sent: list[Any] = []

    async def answer(asked: web.Request) -> web.Response:
        sent.append(await asked.json())
        choice = FOUR["choices"][0] | {"logprobs": logprobs}  # type: ignore[index]
        return web.json_response(FOUR | {"choices": [choice]})

    async def work() -> ChatReply:
        application = web.Application()
        application.router.add_post("/v1/chat/completions", answer)
        runner = web.AppRunner(application)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        model = None
        try:
            for variable in ("HOSTED_VLLM_API_BASE", "GROQ_API_BASE"):
                monkeypatch.setenv(variable, f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
            model = open_model(name, 1)
            return await model.complete(request)
        finally:
            if model is not None:
                await model.close()
            await runner.cleanup()

    reply = asyncio.run(work())
    return sent[0], reply


def test_log_probabilities_are_asked_for_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, reply = ask(monkeypatch, "hosted_vllm/double", replace(asking("x"), logprobs=2), TOKENS)
    assert (sent["logprobs"], sent["top_logprobs"]) == (True, 2)
    assert [(t.text, t.logprob, t.top) for t in reply.tokens] == [("4", -0.1, (("4", -0.1), ("5", -2.5)))]
    assert (reply.text, reply.usage.prompt, reply.cost) == ("4", 7, None)


def test_where_there_are_no_log_probabilities_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError) as caught:
        asyncio.run(open_model("anthropic/claude-sonnet-4-5", 1).complete(replace(asking("x"), logprobs=5)))
    message = str(caught.value)
    assert message == (f"anthropic/claude-sonnet-4-5 gives no log-probabilities; {NEED_LOGPROBS}")
    assert not caught.value.retryable


def test_a_schema_is_sent_where_it_is_held_to(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, reply = ask(monkeypatch, "groq/openai/gpt-oss-20b", asking("x", schema=SCHEMA))
    assert sent["response_format"]["json_schema"]["schema"] == json.loads(SCHEMA)
    assert reply.cost is not None and reply.cost > 0
    sent, _ = ask(monkeypatch, "hosted_vllm/double", asking("x", schema=SCHEMA))
    assert "response_format" not in sent
