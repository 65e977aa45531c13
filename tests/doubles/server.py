"""A small OpenAI-compatible server that answers from its wits and counts what it is asked.

    python -m tests.doubles.server --log FILE [--delay 0.05] [--fail 429:0.1] [--require-key KEY] [--answers echo]

It prints the address to ask at and serves until its standard input is closed, so that it never outlives a test, however
the test ends. Every line of the log is {"event": …, "key": …}: "asked" when a request came, "answered" once the whole
answer is with the system's socket, "failed" for a fault that was made up (`fault` names it). The key is the same for
the same request. What it answers follows from the request alone, and which attempts fail from the request and how often
it was put. A client may have its answer a moment before the log says so; once the server has ended, the log is whole.

With `--answers echo` it gives the request's body back, as much of it as `max_tokens` allow, and refuses prompts of more
than CONTEXT tokens; so a test can see what was sent.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
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

ROOT = Path(__file__).resolve().parent.parent.parent
MODEL = "double"
PASSING = ("429", "500", "reset")  # another attempt may succeed
CONTEXT, LETTERS = 4096, 4  # tokens of a prompt that `echo` takes, and letters to a token
FINAL = ("refusal", "length", "toolong")  # answers, if unwelcome ones
STEPS = (
    "Note what the text says about the river and the garden.",
    "Check whether each sentence follows from the one before.",
    "Count how many points of the source the text takes up.",
    "Ask whether a calm reader would go on reading.",
    "Compare the tone with that of a friendly letter.",
    "Look for a suggestion that somebody could act on.",
    "Weigh how much of the text could stand anywhere else.",
    "Consider whether the words are plain and well chosen.",
)
TOO_LONG = {
    "code": 400,
    "message": "request (18031 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "type": "exceed_context_size_error",
}


def key_of(body: Mapping[str, Any]) -> str:
    """Return the digest of what makes a request the same as another."""
    asked = [body.get(name) for name in ("model", "messages", "temperature", "max_tokens", "seed")]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def chance(*of: object) -> float:
    """Return a number from 0 up to 1 that looks drawn, and is always the same for the same things."""
    return int.from_bytes(hashlib.sha256(json.dumps(of).encode()).digest()[:8], "big") / 2**64


def reply_to(messages: list[Mapping[str, str]], key: str) -> str:
    """Return steps where the last message asks for them, else a score.

    The score rises with the number of words in the last quotation; the whole prompt shifts it by up to one point.
    """
    last = next((m["content"] for m in reversed(messages) if m["role"] == "user"), "")
    if '"steps"' in last:
        order = sorted(STEPS, key=lambda step: chance(key, step))
        return json.dumps({"steps": order[: 3 + int(3 * chance(key))]})
    merit = 1 + min(len(_last_quotation(last).split()), 24) / 6
    shift = 2 * chance([m["content"] for m in messages]) - 1
    return json.dumps({"score": max(1, min(5, round(merit + shift)))})


def _last_quotation(text: str) -> str:
    lines: list[str] = []
    for line in reversed(text.splitlines()):
        if line.startswith("> "):
            lines.insert(0, line[2:])
        elif lines:
            break
    return "\n".join(lines)


class Server:
    """What is asked and answered, and where it is written down."""

    def __init__(
        self, log: Path, delay: float, faults: list[tuple[str, float]], required: str | None, answers: str
    ) -> None:
        self._log, self._delay, self._faults, self._required = log, delay, faults, required
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
            return await _send(request, 401, _unwelcome())
        fault = self._fault(key)
        await asyncio.sleep(self._delay)
        try:
            if fault in PASSING:
                self._write("failed", key, fault)
                return await self._fail(request, fault, key)
            if fault == "toolong" or (self._echoes and _tokens(body) > CONTEXT):
                response = await _send(request, 400, {"error": TOO_LONG})
            else:
                answer = _echo(body, key) if self._echoes else _completion(body, key, fault)
                response = await _send(request, 200, answer)
        except ConnectionError:
            return web.Response()  # whoever asked is gone: nothing was answered
        self._write("answered", key)
        return response

    def _welcome(self, request: web.Request) -> bool:
        return self._required is None or request.headers.get("Authorization") == f"Bearer {self._required}"

    def _fault(self, key: str) -> str:
        """Return which fault this attempt meets, "" if none."""
        self._attempts[key] += 1
        return next((kind for kind, rate in self._faults if chance(key, self._attempts[key], kind) < rate), "")

    async def _fail(self, request: web.Request, fault: str, key: str) -> web.StreamResponse:
        if fault == "429":
            error = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
            return await _send(request, 429, {"error": error}, {"Retry-After": "0"})
        if fault == "500":
            return await _send(request, 500, {"error": {"message": "Something went wrong", "type": "server_error"}})
        return await _send(request, 200, {"id": key, "object": "chat.completion"}, broken=True)

    def _write(self, event: str, key: str, fault: str = "") -> None:
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, "key": key} | ({"fault": fault} if fault else {})) + "\n")


def _unwelcome() -> dict[str, Any]:
    message = "Incorrect API key provided"
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": "invalid_api_key"}}


def _completion(body: Mapping[str, Any], key: str, fault: str) -> dict[str, Any]:
    text = reply_to(body["messages"], key)
    if fault == "refusal":
        text = "I would rather not rate this text."
    elif fault == "length":
        text = text[: len(text) // 2]
    return _answer(body, key, text, "length" if fault == "length" else "stop")


def _echo(body: Mapping[str, Any], key: str) -> dict[str, Any]:
    text = json.dumps(body)
    room = LETTERS * int(body["max_tokens"])
    return _answer(body, key, text[:room], "length" if len(text) > room else "stop")


def _tokens(body: Mapping[str, Any]) -> int:
    return sum(len(m["content"]) for m in body["messages"]) // LETTERS


def _answer(body: Mapping[str, Any], key: str, text: str, reason: str) -> dict[str, Any]:
    prompt, completion = _tokens(body), max(1, len(text) // LETTERS)
    return {
        "id": f"chatcmpl-{key[:12]}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", MODEL),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }


async def _send(
    request: web.Request,
    status: int,
    value: Mapping[str, Any],
    headers: Mapping[str, str] | None = None,
    *,
    broken: bool = False,
) -> web.StreamResponse:
    """Send an answer and return once the system has all of it; a broken one ends, with its connection, half-way.

    Raises ConnectionError if whoever asked is gone.
    """
    raw = json.dumps(value).encode()
    if request.transport is None:
        raise ConnectionResetError("nobody waits for the answer")
    request.transport.set_write_buffer_limits(high=0)  # else "drained" would mean: with us, not with the system
    response = web.StreamResponse(status=status, headers={"Content-Type": "application/json", **(headers or {})})
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
    if kind not in PASSING + FINAL:
        raise argparse.ArgumentTypeError(f"{kind!r} is none of {', '.join(PASSING + FINAL)}")
    return kind, float(rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--answers", choices=["judge", "echo"], default="judge", help="what to answer like")
    parser.add_argument("--fail", type=_fault, action="append", default=[], metavar="KIND:RATE", help="may be repeated")
    parser.add_argument("--require-key", metavar="KEY")
    options = parser.parse_args()
    server = Server(options.log, options.delay, options.fail, options.require_key, options.answers)
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

    def _keys(self, event: str) -> list[str]:
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        return [record["key"] for record in map(json.loads, lines) if record["event"] == event]


@contextlib.contextmanager
def serving(log: Path, *arguments: str) -> Iterator[Double]:
    """Run the server, with arguments as on its command line, in a process of its own."""
    command = [sys.executable, "-m", "tests.doubles.server", "--log", str(log.absolute()), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the server did not start; what it said is in the captured output")
            yield Double(url, log, process)
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


if __name__ == "__main__":
    main()
