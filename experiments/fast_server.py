"""A server that answers every chat request after the same time, so cheaply that no client has to wait for more.

    python experiments/fast_server.py [--delay 0.1] [--core 1]

It prints the address to ask at and serves until its standard input is closed. A text that says "Leaflet 001234" gets
the score `score_of(b"001234")`, so that a client can check that each reply belongs to its request. Asked under
/reason/v1, it gives a reason beside the score, without which G-Eval takes no reply. GET /stats says how many requests
came, the most that were in flight, how late answers were on average, and the processor seconds the server used.

asyncio wakes up on whole milliseconds, so that answers are up to one late, never early.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path

MARK, DIGITS = b"Leaflet ", 6


def score_of(digits: bytes) -> int:
    """Return the score, 1 to 5, for the text with this number, or for a body of this length."""
    return 1 + zlib.crc32(digits) % 5


def _http(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _completion(text: str) -> bytes:
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "bench",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 500, "completion_tokens": 7, "total_tokens": 507},
    }
    return _http("200 OK", json.dumps(body).encode())


SCORES = {k: _completion(json.dumps({"score": k})) for k in range(1, 6)}
REASONED = {k: _completion(json.dumps({"score": k, "reason": "It fits."})) for k in range(1, 6)}


class Desk:
    """What was asked and is not answered yet, and the counts. One delay for all: first come, first served."""

    def __init__(self, delay: float) -> None:
        self._delay, self._loop = delay, asyncio.get_running_loop()
        self._due: deque[tuple[float, asyncio.WriteTransport, bytes]] = deque()
        self.requests = self.peak = 0
        self._late = 0.0

    def take(self, transport: asyncio.WriteTransport, response: bytes) -> None:
        """Have a response sent when the delay is over."""
        when = self._loop.time() + self._delay
        if not self._due:
            self._loop.call_at(when, self._answer)
        self._due.append((when, transport, response))
        self.requests += 1
        self.peak = max(self.peak, len(self._due))

    def stats(self) -> bytes:
        """Return the counts as JSON."""
        answered = max(1, self.requests - len(self._due))
        counts = {
            "requests": self.requests,
            "peak": self.peak,
            "late_ms": 1000 * self._late / answered,
            "cpu_s": time.process_time(),
        }
        return json.dumps(counts).encode()

    def _answer(self) -> None:
        now, due = self._loop.time(), self._due
        while due and due[0][0] <= now:
            when, transport, response = due.popleft()
            self._late += now - when
            if not transport.is_closing():
                transport.write(response)
        if due:
            self._loop.call_at(due[0][0], self._answer)


class Connection(asyncio.Protocol):
    """One connection: requests one after another, also several in one read or one over several reads."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._read, self._wanted = b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep what answers are written to."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take all requests that are whole by now."""
        self._read = self._read + data if self._read else data
        while len(self._read) >= max(1, self._wanted):
            head_end = self._read.find(b"\r\n\r\n") + 4
            if head_end < 4:
                return
            end = head_end + _length(self._read[:head_end].lower())
            if len(self._read) < end:
                self._wanted = end
                return
            request, self._read, self._wanted = self._read[:end], self._read[end:], 0
            self._handle(request, head_end)

    def _handle(self, request: bytes, head_end: int) -> None:
        if request.startswith(b"POST "):
            at = request.find(MARK, head_end)
            begin = at + len(MARK)
            score = score_of(request[begin : begin + DIGITS] if at >= 0 else b"%d" % (len(request) - head_end))
            answers = REASONED if request.startswith(b"POST /reason/") else SCORES
            self._desk.take(self._transport, answers[score])
        elif request.startswith(b"GET /stats "):
            self._transport.write(_http("200 OK", self._desk.stats()))
        else:
            self._transport.write(_http("404 Not Found", b"{}"))


def _length(head: bytes) -> int:
    """Return the length of the body that a head, in small letters, announces."""
    name = b"\r\ncontent-length:"
    at = head.find(name)
    return int(head[at + len(name) : head.find(b"\r\n", at + 2)]) if at >= 0 else 0


async def serve(delay: float) -> None:
    """Serve until standard input is closed."""
    loop, closed = asyncio.get_running_loop(), asyncio.Event()

    def watch() -> None:
        while os.read(0, 4096):
            pass
        loop.call_soon_threadsafe(closed.set)

    desk = Desk(delay)
    server = await loop.create_server(lambda: Connection(desk), "127.0.0.1", 0, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    threading.Thread(target=watch, daemon=True).start()
    await closed.wait()


def pin(core: int | None) -> None:
    """Keep this process on one processor, where the system can."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


@contextlib.contextmanager
def serving(delay: float, core: int | None = None) -> Iterator[str]:
    """Run the server in a process of its own; yields the address to ask at."""
    options = [] if core is None else ["--core", str(core)]
    command = [sys.executable, str(Path(__file__).absolute()), "--delay", str(delay), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise RuntimeError("the server did not start")
            yield url
        finally:
            process.stdin.close()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def stats(url: str) -> dict[str, float]:
    """Return the server's counts."""
    with urllib.request.urlopen(f"{url.removesuffix('/v1')}/stats", timeout=10) as answer:
        counts: dict[str, float] = json.load(answer)
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.1, help="seconds before each answer")
    parser.add_argument("--core", type=int, help="the processor to stay on")
    arguments = parser.parse_args()
    pin(arguments.core)
    gc.disable()  # nothing here is cyclic but connections, which are few
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(arguments.delay))


if __name__ == "__main__":
    main()
