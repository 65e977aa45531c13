"""The one protocol of all models: a chat request in, a reply out."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from calibrator.records import Message, Usage

Finish = Literal["stop", "length", "refused"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn: temperature (0 … 2), most tokens of the reply, and the seed where one is wanted."""

    temperature: float = 0.0
    max_tokens: int = 256
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What a model is asked.

    `sample` tells repeated draws of the same request apart. `schema` is a JSON schema (as JSON text) that the reply
    should follow; a server that can hold its model to it does so, and others are asked without it. `logprobs` is how
    many alternatives of each token, with their log-probabilities, are wanted (0: none); it does not change the reply.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    sample: int = 0
    schema: str | None = None
    logprobs: int = 0


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a reply with its natural log-probability; `top` are the likeliest in its place, itself among them.

    Servers may give fewer of them than were wanted, and leave the token itself out. Of `top` all are kept only where a
    part of a number is among them, which is all that a score needs, and else two.
    """

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What came back.

    `finish` is "stop" for a whole reply, "length" for one that was cut off, and "refused" where the server would not
    put the request to the model (it is too long for the context, or a filter held it back): `detail` then says why and
    `text` is empty. `cost` is in US dollars, None where it is not known. `calls` is how many requests were sent for
    it: more than one after retries, none if it was in store. `tokens` are there where log-probabilities were wanted and
    the server gave them. `served` is what the server calls the model that answered, "" if it does not say.
    """

    text: str
    finish: Finish = "stop"
    detail: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    calls: int = 1
    tokens: tuple[Token, ...] = ()
    served: str = ""

    def answers(self, request: ChatRequest) -> bool:
        """Whether a stored reply is all that `request` wants: one without log-probabilities may lack them."""
        return not request.logprobs or bool(self.tokens) or not self.text


NEED_LOGPROBS = "score mode 'expected' needs them, text and sample:5 do not"  # said where a model gives none


class Model(Protocol):
    """Answers chat requests, many at a time.

    `complete` raises ModelUnavailable (retryable) where the same request may succeed later, and ModelError where it
    will not. A reply that arrived is never an error, whatever it says.
    """

    @property
    def id(self) -> str:
        """Its name in the one grammar of model names."""

    @property
    def identity(self) -> str:
        """What a stored reply is kept under: the name, and where it matters the endpoint or the file; never a key."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request."""

    async def close(self) -> None:
        """Let go of connections and processes; the model may be used again afterwards."""


def request_key(identity: str, request: ChatRequest) -> str:
    """Return the digest a reply is stored under: model and endpoint, messages, sampling, sample; nothing else.

    What a reply is read for has no part in it: neither `logprobs` nor a score mode.
    """
    said = [[m.role, len(m.content)] for m in request.messages]  # the lengths tell the texts apart that follow
    drawn = _drawn(request.sampling, request.sample, request.schema)
    whole = "".join((_text([identity, said]), drawn, *(m.content for m in request.messages)))
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()


@functools.lru_cache(maxsize=256)
def _drawn(sampling: Sampling, sample: int, schema: str | None) -> str:
    """Return what is the same for thousands of requests as it stands in their keys."""
    return _text([sampling.temperature, sampling.max_tokens, sampling.seed, sample, schema])


_text = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def reply_to_json(reply: ChatReply) -> dict[str, Any]:
    """Return a reply as a JSON object, without what is as usual."""
    usage = reply.usage
    value: dict[str, Any] = {
        "text": reply.text,
        "finish": reply.finish,
        "usage": [usage.prompt, usage.completion, usage.cached],
        "cost": reply.cost,
        "calls": reply.calls,
    }
    if reply.detail:
        value["detail"] = reply.detail
    if reply.tokens:
        value["tokens"] = [[t.text, t.logprob, *([list(map(list, t.top))] if t.top else [])] for t in reply.tokens]
    if reply.served:
        value["served"] = reply.served
    return value


def reply_from_json(value: Mapping[str, Any]) -> ChatReply:
    """Return the reply of a JSON object. Raises KeyError, TypeError or ValueError if it is none."""
    prompt, completion, cached = value["usage"]
    return ChatReply(
        value["text"],
        value["finish"],
        value.get("detail", ""),
        Usage(prompt, completion, cached),
        value["cost"],
        value["calls"],
        tuple(_token(*token) for token in value["tokens"]) if "tokens" in value else (),
        value.get("served", ""),
    )


def _token(text: str, logprob: float, top: Sequence[Sequence[Any]] = ()) -> Token:
    return Token(text, logprob, tuple((t, p) for t, p in top))
