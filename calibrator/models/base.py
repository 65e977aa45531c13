"""The one protocol of all models: a chat request in, a reply out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, Protocol

from calibrator.records import Message, Usage
from calibrator.texts import digest

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
    should follow; a server that can hold its model to it does so, and others are asked without it.
    """

    messages: tuple[Message, ...]
    sampling: Sampling = Sampling()
    sample: int = 0
    schema: str | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What came back.

    `finish` is "stop" for a whole reply, "length" for one that was cut off, and "refused" where the server would not
    put the request to the model (it is too long for the context, or a filter held it back): `detail` then says why and
    `text` is empty. `cost` is in US dollars, None where it is not known. `calls` is how many requests were sent for
    it: more than one after retries, none if it was in store.
    """

    text: str
    finish: Finish = "stop"
    detail: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    calls: int = 1


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
    """Return the digest a reply is stored under: model and endpoint, messages, sampling, sample; nothing else."""
    return digest({"model": identity, **asdict(request)})


def reply_to_json(reply: ChatReply) -> dict[str, Any]:
    """Return a reply as a JSON object."""
    return asdict(reply)


def reply_from_json(value: Mapping[str, Any]) -> ChatReply:
    """Return the reply of a JSON object. Raises KeyError or TypeError if it is none."""
    return ChatReply(**{**value, "usage": Usage(**value["usage"])})
