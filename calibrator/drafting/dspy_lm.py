"""A language model for DSPy over our own backends: cache, journal, budget and retries are ours, and nobody else's.

Imported only where DSPy is used. DSPy 3.4 asks models through an engine that takes its requests; a `BaseLM` with a
`forward` of its own is to go in 3.5 (https://dspy.ai/community/normalized-lm-api-migration).
"""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import dspy
from dspy.lm15 import ContextLengthError, Message, Request, Response, Usage

from calibrator.errors import CalibratorError
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.records import Message as OurMessage
from calibrator.texts import digest

NAME = "calibrator/model"  # not the model's: DSPy would take some names for those of reasoning models


class Halted(BaseException):
    """An error of ours that ends the whole work. DSPy takes an `Exception` for the failure of one example."""

    def __init__(self, error: CalibratorError) -> None:
        super().__init__(str(error))
        self.error = error


class BackendLM(dspy.LM):
    """Asks `client` for DSPy. Replies follow from what is asked, so that a journal finds them again.

    A temperature above 0 comes with a seed, made of `seed` and DSPy's rollout: another rollout is another draw. DSPy's
    own cache and retries are off. Raises `Halted` for what the client raises.
    """

    def __init__(self, client: Client, temperature: float, max_tokens: int, seed: int) -> None:
        self.asker = _Engine(client)
        super().__init__(
            NAME,
            engine=self.asker,
            async_engine=_AsyncEngine(self.asker),
            cache=False,
            num_retries=0,
            temperature=temperature,
            max_tokens=max_tokens,
        )
        self._base_seed = seed

    @property
    def calls(self) -> int:
        """How many requests were put, those among them that a journal answered."""
        return self.asker.calls

    def __call__(self, prompt: Any = None, *, messages: Any = None, **options: Any) -> Any:
        """Return the replies, as `dspy.LM` does."""
        return super().__call__(prompt, messages=messages, **self._seeded(prompt, options))

    async def acall(self, prompt: Any = None, *, messages: Any = None, **options: Any) -> Any:
        """Return the replies, as `dspy.LM` does."""
        return await super().acall(prompt, messages=messages, **self._seeded(prompt, options))

    def _seeded(self, prompt: Any, options: dict[str, Any]) -> dict[str, Any]:
        settings = {**self.kwargs, **options}
        if isinstance(prompt, Request) or "request" in options or "seed" in settings or not settings["temperature"]:
            return options
        return {**options, "seed": int(digest([self._base_seed, settings.get("rollout_id")])[:15], 16)}


class _Engine:
    """What DSPy calls an engine: one request, one response."""

    supports_response_schema = True  # a server that cannot follow one is asked without it
    supported_params = frozenset({"response_format"})

    def __init__(self, client: Client) -> None:
        self.client, self.calls = client, 0
        self._counting = threading.Lock()

    def complete(self, request: Request) -> Response:
        """Return the reply to a request of DSPy's."""
        with self._counting:
            self.calls += 1
        try:
            return response_of(self.client.ask([chat_request(request)])[0])
        except CalibratorError as error:
            raise Halted(error) from None


class _AsyncEngine:
    def __init__(self, engine: _Engine) -> None:
        self._engine = engine

    async def complete(self, request: Request) -> Response:
        return await asyncio.to_thread(self._engine.complete, request)


def chat_request(request: Request) -> ChatRequest:
    """Return what a request of DSPy's asks of our models; its system prompt is the first message."""
    config, form = request.config, request.config.response_format or {}
    messages = [OurMessage("system", text)] if (text := _text(request.system)) else []
    messages += [OurMessage(_role(m.role), _text(m.parts)) for m in request.messages]
    schema = form.get("schema") if form.get("type") == "json_schema" else {"type": "object"} if form else None
    sampling = Sampling(config.temperature or 0.0, config.max_tokens or Sampling().max_tokens, config.seed)
    return ChatRequest(tuple(messages), sampling, schema=json.dumps(schema) if schema is not None else None)


def response_of(reply: ChatReply) -> Response:
    """Return a reply as DSPy takes it. Raises DSPy's error for a request that was not put to the model."""
    if reply.finish == "refused":
        raise ContextLengthError(reply.detail)
    usage = Usage(input_tokens=reply.usage.prompt, output_tokens=reply.usage.completion)
    finish = "length" if reply.finish == "length" else "stop"
    message = Message.assistant(reply.text or " ")  # it takes no empty one
    return Response(id=None, model=reply.served or NAME, message=message, finish_reason=finish, usage=usage)


def _role(role: str) -> str:
    return "system" if role == "developer" else role


def _text(parts: Any) -> str:
    """Return the text of a prompt, which may be in parts."""
    if parts is None or isinstance(parts, str):
        return parts or ""
    return "".join(getattr(part, "text", "") for part in parts)
