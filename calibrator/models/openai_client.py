"""The `openai` SDK as its backends use it: opened when it is first needed, and what its faults mean.

One policy of retries rules, and it is not the SDK's; answers are taken raw, so that `wire` decides what they say.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any
from urllib.parse import urlsplit

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnavailable
from calibrator.models.base import ChatReply
from calibrator.models.wire import answer_of
from calibrator.texts import digest

NEEDS_OPENAI = (
    "the openai package with its aiohttp transport is not installed; it comes with: pip install 'openai[aiohttp]>=2'"
)
OWN = "https://api.openai.com/v1"
KEY, URL = "OPENAI_API_KEY", "OPENAI_BASE_URL"
DEADLINE, CONNECT = 600.0, 20.0  # seconds for an answer to begin, and for a connection


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole HTTP answer, whatever it says."""

    status: int
    headers: Mapping[str, str]
    raw: bytes


class OpenAIClient:
    """OpenAI's API, or the one at $OPENAI_BASE_URL, as one model uses it; `name` is the model's.

    `deadline` is how many seconds an answer may take (None: for whoever asks to say). `own` says that it is OpenAI's,
    `endpoint` is what tells another one from it ("" for OpenAI's). Raises ModelMissing if the SDK is not installed,
    ConfigError if $OPENAI_BASE_URL is no address.
    """

    def __init__(self, name: str, deadline: float | None = DEADLINE) -> None:
        if not _installed():
            raise ModelMissing(f"{name}: {NEEDS_OPENAI}")
        self.url = _address()
        host = urlsplit(self.url).hostname or ""
        self.own = host == "api.openai.com" or host.endswith(".api.openai.com")
        self.endpoint = "" if self.url == OWN else digest(self.url)[:16]
        self._name, self._key = name, os.environ.get(KEY, "").strip()  # a line end, as from a file, is no part of it
        self._deadline = deadline
        self._sdk: Any = None
        self._client: Any = None
        self._opening = asyncio.Lock()
        self._reached = False

    def check(self) -> None:
        """Raise ModelMissing if there is no key, ConfigError if what stands in its place can be none."""
        if not self._key:
            raise ModelMissing(f"{self._name}: a key is missing; set it: export {KEY}=…")
        if not (self._key.isascii() and self._key.isprintable()):
            raise ConfigError(f"{self._name}: what stands in ${KEY} is no key; it has characters that none has")

    async def ask(self, call: Callable[[Any], Awaitable[Any]]) -> Answer:
        """Return the answer to a call that takes the SDK's client and gives a raw response.

        Raises ModelMissing if there is no key, ModelUnavailable if there was no answer, and ModelError if the server
        never gave one.
        """
        import aiohttp

        client = await self._opened()
        try:
            response = (await call(client)).http_response
        except self._sdk.APIStatusError as error:
            response = error.response
        except (self._sdk.APIConnectionError, aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._fault(error) from None
        self._reached = True
        raw = response.content
        if response.status_code != 200:  # here, since a message is cut, and what is left of a long key would stay
            raw = raw.replace(self._key.encode(), b"***")
        return Answer(response.status_code, response.headers, raw)

    def reply(self, answer: Answer) -> ChatReply:
        """Return the reply in an answer. Raises what `answer_of` raises, with the name of the model."""
        try:
            return answer_of(answer.status, answer.headers, answer.raw)
        except ModelUnavailable as error:
            raise error.told(self.named(error)) from None
        except ModelError as error:
            key = f"; the key is taken from ${KEY}" if answer.status in (401, 403) else ""
            raise ModelError(f"{self.named(error)}{key}") from None

    def named(self, problem: object) -> str:
        """Return a message that begins with the model's name and never has the key in it."""
        message = f"{self._name}: {problem}"
        return message.replace(self._key, "***") if self._key else message

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.close()

    async def _opened(self) -> Any:
        async with self._opening:
            if self._client is None:
                self.check()
                self._sdk = self._sdk or await asyncio.to_thread(_openai)
                self._client = self._sdk.AsyncOpenAI(
                    api_key=self._key,
                    base_url=self.url,
                    max_retries=0,
                    timeout=self._sdk.Timeout(self._deadline, connect=CONNECT),
                    http_client=self._sdk.DefaultAioHttpClient(),
                )
            return self._client

    def _fault(self, error: Exception) -> ModelError:
        """Return the error for a request without an answer. A server that never answered yet is not waited for."""
        import aiohttp

        origin = _origin(error)
        number = origin.errno if isinstance(origin, OSError) else None
        what = os.strerror(number) if number and number > 0 else str(origin) or type(origin).__name__
        unsent = isinstance(origin, aiohttp.InvalidURL | aiohttp.ClientConnectorError)
        if unsent and not self._reached:
            hint = "see that the network is there" if self.own else f"see that the server is running, and ${URL}"
            return ModelError(self.named(f"nothing answers at {self.url} ({what}); {hint}"))
        return ModelUnavailable(self.named(what), overload=isinstance(origin, TimeoutError), charged=not unsent)


def _origin(error: BaseException) -> BaseException:
    """Return what happened on the wire; the SDK's transport calls a broken connection a timeout."""
    import aiohttp

    while error.__cause__ is not None:
        error = error.__cause__
        if isinstance(error, aiohttp.ClientError | OSError):
            break
    return error


def _address() -> str:
    """Return the address before `/chat/completions`."""
    base = os.environ.get(URL, "").strip().rstrip("/") or OWN
    try:
        parts = urlsplit(base)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if usable and (parts.username or parts.password or parts.query or parts.fragment):
        raise ConfigError(f"${URL}: an address may hold no user, password or query; a key belongs in ${KEY}")
    if not usable:
        raise ConfigError(f"${URL}: what stands there is no address like {OWN}")
    return base


def _installed() -> bool:
    if importlib.util.find_spec("openai") is None:
        return False
    try:
        version = int(metadata.version("openai").partition(".")[0])
    except (metadata.PackageNotFoundError, ValueError):
        return False
    # From version 3 on the SDK has the transport in itself.
    return version >= 3 or (version == 2 and importlib.util.find_spec("httpx_aiohttp") is not None)


def _openai() -> Any:
    """Return the SDK with what a first request would import."""
    import openai
    import openai.resources.chat

    return openai
