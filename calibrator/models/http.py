"""Any OpenAI-compatible server (vLLM, llama.cpp, Ollama, SGLang …), through a thin client of our own.

An SDK costs several times the CPU of a short judgment; a local server would wait for its client.
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import TYPE_CHECKING, Any

from calibrator.errors import ConfigError, ModelError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.wire import answer_of, request_body

if TYPE_CHECKING:
    import aiohttp

CONNECT = 20.0  # seconds for a connection


class HttpModel:
    """One model of a server.

    `url` ends before `/chat/completions`; `hint` says how such a server is started; `structured` that it can hold a
    reply to a JSON schema. `key_variable` is the environment variable that `key` came from; the key is sent as a bearer
    token, and nowhere else does it appear. Raises ConfigError if it can be no key.
    """

    def __init__(
        self,
        name: str,
        url: str,
        model: str,
        *,
        key: str | None = None,
        key_variable: str = "",
        hint: str = "",
        structured: bool = False,
    ) -> None:
        if key and not (key.isascii() and key.isprintable()):
            raise ConfigError(f"{name}: what stands in ${key_variable} is no key; it has characters that none has")
        self.id, self.identity = name, f"{url}#{model}{' structured' if structured else ''}"
        self._structured = structured
        self._url, self._model, self._key = url, model, key
        self._key_variable, self._hint = key_variable, hint
        self._session: aiohttp.ClientSession | None = None
        self._completions: Any = f"{url}/chat/completions"
        self._reached = False

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. See `Model`."""
        import aiohttp

        body = json.dumps(request_body(request, self._model, structured=self._structured)).encode()
        session = self._session = self._session or self._open()
        try:
            async with session.post(self._completions, data=body) as response:
                status, headers = response.status, response.headers
                raw = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise self._fault(error) from None
        self._reached = True
        if status != 200 and self._key:  # here, since a message is cut, and what is left of a long key would stay
            raw = raw.replace(self._key.encode(), b"***")
        try:
            return answer_of(status, headers, raw)
        except ModelUnavailable as error:
            raise error.told(self._named(error)) from None
        except ModelError as error:
            asks = self._key_variable and status in (401, 403)
            unset = "" if self._key else ", which is not set"
            key = f"; the key is taken from ${self._key_variable}{unset}" if asks else ""
            raise ModelError(f"{self._named(error)}{key}") from None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp
        import yarl

        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        # How many requests are in flight, and for how long, is decided outside; a limit here would only hide it.
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=60)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT)
        with contextlib.suppress(ValueError):  # said when it is asked
            self._completions = yarl.URL(self._completions)  # parsed once, not for each request
        jar = aiohttp.DummyCookieJar()
        return aiohttp.ClientSession(connector=connector, headers=headers, timeout=timeout, cookie_jar=jar)

    def _named(self, error: Exception) -> str:
        message = f"{self.id}: {error}"
        return message.replace(self._key, "***") if self._key else message

    def _fault(self, error: Exception) -> ModelError:
        """Return the error for a request without an answer. A server that never answered yet is not waited for."""
        import aiohttp

        number = error.errno if isinstance(error, OSError) else None
        what = os.strerror(number) if number and number > 0 else str(error) or type(error).__name__
        if isinstance(error, aiohttp.InvalidURL | aiohttp.ClientConnectorError) and not self._reached:
            hint = f"; {self._hint}" if self._hint else ""
            return ModelError(f"{self.id}: nothing answers at {self._url} ({what}){hint}")
        unsent = isinstance(error, aiohttp.ClientConnectorError)
        overload = isinstance(error, TimeoutError)
        return ModelUnavailable(f"{self.id}: {what}", overload=overload, charged=not unsent)
