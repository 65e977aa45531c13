"""A small OpenAI-compatible server that answers from its wits and counts what it is asked.

    python -m tests.doubles.server --log FILE [--delay 0.05] [--fail 429:0.1] [--strike hang:0.2] [--seed 7]
        [--require-key KEY] [--tell-key] [--answers echo] [--uncounted]

It prints the address to ask at and serves until its standard input is closed, so that it never outlives a test, however
the test ends. Every line of the log is {"event": …, "key": …}: "asked" when a request came, "answered" once the whole
answer is with the system's socket, "failed" for a fault that was made up (`fault` names it). The key is the same for
the same request. What it answers follows from the request alone, and which attempts fail from the request and how often
it was put. A client may have its answer a moment before the log says so; once the server has ended, the log is whole.

`tests.doubles.faults` has the kinds of faults. With `--fail` every attempt may meet one. With `--strike` some requests
do, which `--seed` draws: each once with every kind that strikes it, and then it is answered.

With `--answers echo` it gives the request's body back, as much of it as `max_tokens` allow, and refuses prompts of more
than CONTEXT tokens; so a test can see what was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.doubles.faults import FINAL, HANG, ODD, PAGE, PASSING, SLOW, Faults, Rates, chance
from tests.doubles.wits import CONTEXT, MODEL, STEPS, TOO_LONG, _completion, _echo, _tokens, key_of, reply_to

__all__ = [
    "CONTEXT",
    "FINAL",
    "MODEL",
    "ODD",
    "PASSING",
    "RENAMED",
    "STEPS",
    "TOO_LONG",
    "Double",
    "Server",
    "chance",
    "key_of",
    "reply_to",
    "serving",
]

ROOT = Path(__file__).resolve().parent.parent.parent
RENAMED = "another-double"
JSON, PLAIN = "application/json", "text/plain"


class Server:
    """What is asked and answered, and where it is written down."""

    def __init__(
        self,
        log: Path,
        delay: float,
        faults: Rates,
        required: str | None,
        answers: str,
        *,
        struck: Rates = (),
        seed: int = 0,
        tells: bool = False,
        counts: bool = True,
    ) -> None:
        self._log, self._delay, self._required, self._tells = log, delay, required, tells
        self._faults = Faults(faults, struck, seed)
        self._counts = counts
        self._echoes = answers == "echo"
        self._attempts: Counter[str] = Counter()

    def application(self) -> web.Application:
        """Return what aiohttp serves."""
        application = web.Application(client_max_size=2**26)
        application.router.add_get("/v1/models", self._models)
        application.router.add_post("/v1/chat/completions", self._completions)
        return application

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if not self._welcome(request):
            return await _send(request, 401, _unwelcome())
        return await _send(request, 200, {"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        key = key_of(body)
        self._write("asked", key)
        if not self._welcome(request):
            self._write("failed", key, "401")
            return await _send(request, 401, _unwelcome(self._told(request)))
        self._attempts[key] += 1
        met = self._faults.met(key, self._attempts[key])
        await asyncio.sleep(self._delay + (SLOW if "slow" in met else 0.0))
        try:
            if met and met[0] in PASSING:
                self._write("failed", key, met[0])
                return await self._fail(request, met[0], key)
            response = await self._answer(request, body, key, met)
        except ConnectionError:
            return web.Response()  # whoever asked is gone: nothing was answered
        self._write("answered", key)
        return response

    def _welcome(self, request: web.Request) -> bool:
        return self._required is None or request.headers.get("Authorization") == f"Bearer {self._required}"

    def _told(self, request: web.Request) -> str:
        """Return what a careless server says of the key that came."""
        return f": {request.headers.get('Authorization', 'none')}" if self._tells else ""

    async def _answer(
        self, request: web.Request, body: Mapping[str, Any], key: str, met: tuple[str, ...]
    ) -> web.StreamResponse:
        if "toolong" in met or (self._echoes and _tokens(body) > CONTEXT):
            return await _send(request, 400, {"error": TOO_LONG})
        final = next((kind for kind in met if kind in FINAL), "")
        answer = _echo(body, key) if self._echoes else _completion(body, key, final)
        if "renamed" in met:
            answer["model"] = RENAMED
        if not self._counts:
            del answer["usage"]
        return await _send(request, 200, answer, {"Content-Type": PLAIN if "plain" in met else JSON})

    async def _fail(self, request: web.Request, fault: str, key: str) -> web.StreamResponse:
        """Answer with a fault that passes. Raises ConnectionError if whoever asked is gone."""
        whole = {"id": key, "object": "chat.completion", "choices": []}
        if fault.startswith("429"):
            error = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
            return await _send(request, 429, {"error": error}, self._faults.retry_after(fault, key))
        if fault in ("500", "503"):
            problem = f"Something went wrong{self._told(request)}"
            return await _send(request, int(fault), {"error": {"message": problem, "type": "server_error"}})
        if fault == "truncated":
            return await _send(request, 200, json.dumps(whole).encode()[:-9])
        if fault == "html":
            return await _send(request, 200, PAGE, {"Content-Type": "text/html"})
        if fault == "empty":
            return await _send(request, 200, whole)
        if fault == "hang":
            await asyncio.sleep(HANG)
        return await _send(request, 200, whole, broken=True)

    def _write(self, event: str, key: str, fault: str = "") -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "key": key} | ({"fault": fault} if fault else {})) + "\n")


def _unwelcome(told: str = "") -> dict[str, Any]:
    message = f"Incorrect API key provided{told}"
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}


async def _send(
    request: web.Request,
    status: int,
    value: Mapping[str, Any] | bytes,
    headers: Mapping[str, str] | None = None,
    *,
    broken: bool = False,
) -> web.StreamResponse:
    """Send an answer and return once the system has all of it; a broken one ends, with its connection, half-way.

    Raises ConnectionError if whoever asked is gone.
    """
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    if request.transport is None:
        raise ConnectionResetError("nobody waits for the answer")
    request.transport.set_write_buffer_limits(high=0)  # else "drained" would mean: with us, not with the system
    response = web.StreamResponse(status=status, headers={"Content-Type": JSON, **(headers or {})})
    response.content_length = len(raw)
    await response.prepare(request)
    await response.write(raw[: len(raw) // 2] if broken else raw)
    if broken and request.transport is not None:
        request.transport.close()
    else:
        await response.write_eof()
    return response


async def _serve(application: web.Application) -> None:
    """Serve until standard input is closed."""
    closed, loop = asyncio.Event(), asyncio.get_running_loop()

    def watch() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(closed.set)

    runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)  # what is being answered may end
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        print(f"http://127.0.0.1:{runner.addresses[0][1]}/v1", flush=True)
        threading.Thread(target=watch, daemon=True).start()
        await closed.wait()
    finally:
        await runner.cleanup()


def _fault(text: str) -> tuple[str, float]:
    kind, _, rate = text.partition(":")
    if kind not in PASSING + FINAL + ODD:
        raise argparse.ArgumentTypeError(f"{kind!r} is none of {', '.join(PASSING + FINAL + ODD)}")
    return kind, float(rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--answers", choices=["judge", "echo"], default="judge", help="what to answer like")
    parser.add_argument("--fail", type=_fault, action="append", default=[], metavar="KIND:RATE", help="may be repeated")
    parser.add_argument("--strike", type=_fault, action="append", default=[], metavar="KIND:RATE", help="likewise")
    parser.add_argument("--seed", type=int, default=0, help="draws the requests that are struck")
    parser.add_argument("--require-key", metavar="KEY")
    parser.add_argument("--tell-key", action="store_true", help="errors repeat the key that came")
    parser.add_argument("--uncounted", action="store_true", help="answers do not say how many tokens they took")
    options = parser.parse_args()
    server = Server(
        options.log,
        options.delay,
        options.fail,
        options.require_key,
        options.answers,
        struck=options.strike,
        seed=options.seed,
        tells=options.tell_key,
        counts=not options.uncounted,
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(server.application()))


@dataclass(frozen=True, slots=True)
class Double:
    """A running server: where it is, and the keys of what it was asked and has answered, in the order it happened."""

    url: str
    log: Path
    process: subprocess.Popen[str]

    def asked(self) -> list[str]:
        return self._keys("asked")

    def answered(self) -> list[str]:
        return self._keys("answered")

    def failed(self) -> list[str]:
        return self._keys("failed")

    def events(self) -> list[dict[str, str]]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]

    def _keys(self, event: str) -> list[str]:
        return [record["key"] for record in self.events() if record["event"] == event]


@contextlib.contextmanager
def started(module: str, log: Path, *arguments: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a double's module in a process of its own; yield where it is, and the process."""
    command = [sys.executable, "-m", module, "--log", str(log.absolute()), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the server did not start; what it said is in the captured output")
            yield url, process
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


@contextlib.contextmanager
def serving(log: Path, *arguments: str) -> Iterator[Double]:
    """Run the server, with arguments as on its command line, in a process of its own."""
    with started("tests.doubles.server", log, *arguments) as (url, process):
        yield Double(url, log, process)


if __name__ == "__main__":
    main()
