"""OpenAI's own API, through its SDK: `openai/<m>`, with the key in $OPENAI_API_KEY.

$OPENAI_BASE_URL names another address; what else the SDK takes from the environment (organisation, project) is its own
affair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calibrator.errors import ModelError, ModelUnavailable, ModelUnfit
from calibrator.models.base import NEED_LOGPROBS, ChatReply, ChatRequest
from calibrator.models.openai_client import Answer, OpenAIClient
from calibrator.models.prices import Price, price_of
from calibrator.models.wire import request_body, told

_OBJECTIONS = frozenset({400, 403, 422})  # how a server says that it does not take what was asked


class OpenAIModel:
    """A model of OpenAI's; `name` is `openai/<model>`.

    Raises ModelMissing if the SDK is not installed, ConfigError if $OPENAI_BASE_URL is no address.
    """

    def __init__(self, name: str) -> None:
        self._client = OpenAIClient(name, None)
        self._dialect = Dialect(name, self._client)
        self._price = price_of(name)
        self.id, self.identity = name, identity_of(name, self._client)

    def check(self) -> None:
        """Raise ModelMissing if there is no key."""
        self._client.check()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`."""
        body = self._dialect.body(request)
        answer = await self._client.ask(lambda client: client.chat.completions.with_raw_response.create(**body))
        return priced(self._dialect.reply(request, body, answer), self._price)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


class Dialect:
    """How one model is asked: what it does not take is learnt from what its server objects to.

    OpenAI's newer models refuse `max_tokens`; other servers may know nothing else, and some silently ignore the newer
    name. A JSON schema is left out where the server would not hold the model to it.
    """

    def __init__(self, name: str, client: OpenAIClient) -> None:
        self._client, self._model = client, name.partition("/")[2]
        self._limit = "max_completion_tokens" if client.own else "max_tokens"
        self._unheld: set[str] = set()

    def body(self, request: ChatRequest, *, learnt: bool = True) -> dict[str, Any]:
        """Return the body of a request; with `learnt` false as it was before anything was learnt."""
        held = not learnt or request.schema not in self._unheld
        body = request_body(request, self._model, structured=held)
        body[self._limit] = body.pop("max_tokens")
        return body

    def reply(self, request: ChatRequest, body: Mapping[str, Any], answer: Answer) -> ChatReply:
        """Return the reply in the answer to a body.

        Raises ModelUnavailable where the same request is now put in a way that the server may take, and what
        `OpenAIClient.reply` raises.
        """
        try:
            return self._client.reply(answer)
        except ModelUnavailable:
            raise
        except ModelError:
            if answer.status in _OBJECTIONS:
                self._learn(request, body, told(answer.raw))
            raise

    def _learn(self, request: ChatRequest, body: Mapping[str, Any], problem: str) -> None:
        """Raise the error for an objection to a part of the body; return if it is to something else."""
        low = problem.lower()
        if "response_format" in body and ("response_format" in low or "json_schema" in low):
            self._unheld.add(request.schema or "")
            raise self._differently("without a JSON schema", problem)
        unknown = any(sign in low for sign in ("not support", "unsupported", "not allowed"))
        if unknown and "max_tokens" in body and "max_completion_tokens" in low:
            self._limit = "max_completion_tokens"
            raise self._differently("with max_completion_tokens", problem)
        if request.logprobs and "logprobs" in low:
            raise ModelUnfit(self._client.named(f"it gives no log-probabilities ({problem}); {NEED_LOGPROBS}"))
        if unknown and "temperature" in low:
            asked = f"it cannot be asked at temperature {request.sampling.temperature:g}"
            raise ModelUnfit(self._client.named(f"{asked} ({problem}); choose a model that can"))

    def _differently(self, how: str, problem: str) -> ModelUnavailable:
        return ModelUnavailable(self._client.named(f"asked again {how} ({problem})"), 0.0, charged=False)


def identity_of(name: str, client: OpenAIClient) -> str:
    """Return what replies are kept under: the name, and what tells another endpoint from OpenAI's."""
    return f"{name} at {client.endpoint}" if client.endpoint else name


def priced(reply: ChatReply, price: Price | None) -> ChatReply:
    """Return a reply with its cost, None where the price is unknown or nobody counted the tokens."""
    counted = reply.finish == "refused" or reply.usage.prompt + reply.usage.completion > 0
    return replace(reply, cost=price.cost(reply.usage) if price is not None and counted else None)
