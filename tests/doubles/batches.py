"""A server with OpenAI's Batch API, beside the chat completions of `tests.doubles.server`, and with its wits.

    python -m tests.doubles.batches --log FILE [--answers echo] [--fail 429:0.5] [--once expire] [--stumble]

What is said there of the address, the log and the end holds here too. In the log, "asked" is a request of a batch that
was made (`key` is its `custom_id`), "uploaded", "created", "retrieved", "listed" and "fetched" are what was done with
files and batches (`key` is their id), "failed" a fault that was made up.

A batch has another status each time that it is looked at; its output is in no order, with a line that nobody asked for
and one that is no JSON. Faults of lines meet each request when it is put for the first time:

    --fail KIND:RATE   429, 500 (in the error file), error (an error and no answer), missing (no line at all)

and those of batches the first one, or the first `--times` ones:

    --once expire      it expires with half of its requests done
    --once invalid     validation turns it down
    --once crowded     it is turned down because too many tokens wait already
    --once unsaid      it is made, but the connection breaks before the answer
    --stumble          everything about files and batches fails three times: 500, 429, a broken connection
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from tests.doubles.server import (
    CONTEXT,
    TOO_LONG,
    Double,
    Server,
    _completion,
    _echo,
    _send,
    _serve,
    _tokens,
    _unwelcome,
    chance,
    key_of,
    started,
)

COURSE = ("validating", "in_progress", "finalizing", "completed")
STUMBLES = ("500", "429", "reset")
LINES, BATCHES = ("429", "500", "error", "missing"), ("expire", "invalid", "crowded", "unsaid")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
PROBLEMS = {
    "invalid": {"code": "invalid_json_line", "message": "This line is not parseable as valid JSON.", "line": 1},
    "crowded": {
        "code": "token_limit_exceeded",
        "message": "Enqueued token limit reached for double. Please try again once some batches have been completed.",
        "line": None,
    },
}


class BatchServer(Server):
    """What is asked and answered; see the module."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options.log, 0.0, [], options.require_key, options.answers)
        self._line_faults, self._once, self._stumbles = options.fail, options.once, options.stumble
        self._times = options.times
        self._files: dict[str, bytes] = {}
        self._made: dict[str, dict[str, Any]] = {}
        self._put: set[str] = set()
        self._falls: Counter[str] = Counter()

    def application(self) -> web.Application:
        """Return what aiohttp serves."""
        application = super().application()
        for method, path, handler in (
            ("POST", "/v1/files", self._upload),
            ("GET", "/v1/files/{id}/content", self._content),
            ("POST", "/v1/batches", self._create),
            ("GET", "/v1/batches", self._list),
            ("GET", "/v1/batches/{id}", self._retrieve),
            ("POST", "/v1/batches/{id}/cancel", self._cancel),
        ):
            application.router.add_route(method, path, self._guarded(handler))
        return application

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: web.Request) -> web.StreamResponse:
            if not self._welcome(request):
                return await _send(request, 401, _unwelcome())
            what = f"{request.method} {request.path}"
            if self._stumbles and self._falls[what] < len(STUMBLES):
                self._falls[what] += 1
                self._write("failed", what)
                return await self._fail(request, STUMBLES[self._falls[what] - 1], "")
            with contextlib.suppress(ConnectionError):
                return await handler(request)
            return web.Response()

        return guarded

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        form = await request.post()
        part = form["file"]
        assert form["purpose"] == "batch" and isinstance(part, web.FileField)
        name = f"file-{len(self._files)}"
        self._files[name] = part.file.read()
        self._write("uploaded", name)
        return await _send(request, 200, {"id": name, "object": "file", "purpose": "batch"})

    async def _content(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["id"]
        if name not in self._files:
            return await _send(request, 404, {"error": {"message": f"No such File object: {name}"}})
        self._write("fetched", name)
        return web.Response(body=self._files[name], content_type="application/octet-stream")

    async def _create(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        assert asked["endpoint"] == "/v1/chat/completions" and asked["completion_window"] == "24h"
        lines = [json.loads(line) for line in self._files[asked["input_file_id"]].split(b"\n") if line]
        name, total = f"batch_{len(self._made)}", len(lines)
        first = len(self._made) < self._times
        self._made[name] = {
            "id": name,
            "object": "batch",
            "status": COURSE[0],
            "created_at": int(time.time()),
            "metadata": asked.get("metadata"),
            "request_counts": {"total": total, "completed": 0, "failed": 0},
            "_lines": lines,
            "_fate": self._once if first else None,
        }
        self._write("created", name)
        for line in lines:
            self._write("asked", line["custom_id"])
        return await self._tell(request, name, broken=first and self._once == "unsaid")

    async def _list(self, request: web.Request) -> web.StreamResponse:
        self._write("listed", request.query.get("after", ""))
        names = list(reversed(self._made))
        start = names.index(request.query["after"]) + 1 if "after" in request.query else 0
        page = names[start : start + 2]  # few, so that there are several pages
        listed = [_public(self._made[name]) for name in page]
        return await _send(request, 200, {"object": "list", "data": listed, "has_more": start + 2 < len(names)})

    async def _retrieve(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["id"]
        if name not in self._made:
            return await _send(request, 404, {"error": {"message": f"No batch found with id '{name}'."}})
        self._write("retrieved", name)
        response = await self._tell(request, name)
        self._advance(self._made[name])
        return response

    async def _cancel(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["id"]
        self._made[name]["status"] = "cancelled"
        self._write("cancelled", name)
        return await self._tell(request, name)

    async def _tell(self, request: web.Request, name: str, broken: bool = False) -> web.StreamResponse:
        return await _send(request, 200, _public(self._made[name]), broken=broken)

    def _advance(self, batch: dict[str, Any]) -> None:
        if batch["status"] not in COURSE[:-1]:
            return
        if batch["_fate"] in PROBLEMS:
            batch |= {"status": "failed", "errors": {"object": "list", "data": [PROBLEMS[batch["_fate"]]]}}
            return
        batch["status"] = COURSE[COURSE.index(batch["status"]) + 1]
        if batch["status"] == "completed":
            self._answer(batch)

    def _answer(self, batch: dict[str, Any]) -> None:
        """Write the files of a batch whose time has come."""
        lines, output, errors = batch["_lines"], [], []
        expired = batch["_fate"] == "expire"
        for place, line in enumerate(lines):
            if expired and place >= len(lines) // 2:
                text = "This request could not be executed before the completion window expired."
                errors.append(_line(line, None, {"code": "batch_expired", "message": text}))
                continue
            status, answer, error = self._line_answer(line)
            if status == 200:
                output.append(_line(line, {"status_code": 200, "request_id": "req", "body": answer}, None))
            elif status:
                errors.append(_line(line, {"status_code": status, "request_id": "req", "body": answer}, None))
            elif error:
                errors.append(_line(line, None, error))
        output.append(_line({"custom_id": "nobody"}, {"status_code": 200, "body": {"choices": []}}, None))
        random.Random(batch["id"]).shuffle(output)
        batch["status"] = "expired" if expired else "completed"
        batch["request_counts"] |= {"completed": len(output) - 1, "failed": len(errors)}
        for kind, rows in (("output", output), ("error", errors)):
            if rows:
                name = batch[f"{kind}_file_id"] = f"file-{len(self._files)}"
                text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)  # with all ends of lines
                self._files[name] = text.encode("utf-8", "replace") + b'{"cut off'

    def _line_answer(self, line: Mapping[str, Any]) -> tuple[int, Any, Any]:
        """Return the status and the answer to one request, or 0 and the error (None: no line)."""
        body, name = line["body"], line["custom_id"]
        first = name not in self._put
        self._put.add(name)
        fault = next((kind for kind, rate in self._line_faults if first and chance(name, kind) < rate), "")
        if fault:
            self._write("failed", name, fault)
            error = {"message": f"made up: {fault}", "type": "server_error", "code": None}
            return int(fault) if fault.isdigit() else 0, {"error": error}, error if fault == "error" else None
        if self._echoes and _tokens(body) > CONTEXT:
            return 400, {"error": TOO_LONG}, None
        key = key_of(body)
        return 200, _echo(body, key) if self._echoes else _completion(body, key, ""), None


def _line(line: Mapping[str, Any], response: Any, error: Any) -> dict[str, Any]:
    return {"id": "batch_req\u2028", "custom_id": line["custom_id"], "response": response, "error": error}


def _public(batch: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in batch.items() if not key.startswith("_")}


def _fault(text: str) -> tuple[str, float]:
    kind, _, rate = text.partition(":")
    if kind not in LINES:
        raise argparse.ArgumentTypeError(f"{kind!r} is none of {', '.join(LINES)}")
    return kind, float(rate)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", type=Path, required=True)
    parser.add_argument("--answers", choices=["judge", "echo"], default="echo")
    parser.add_argument("--fail", type=_fault, action="append", default=[], metavar="KIND:RATE", help="may be repeated")
    parser.add_argument("--once", choices=BATCHES)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--stumble", action="store_true")
    parser.add_argument("--require-key", metavar="KEY")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve(BatchServer(parser.parse_args()).application()))


class Batches(Double):
    """A running server with batches."""

    def seen(self, event: str) -> list[str]:
        """Return the keys of an event in the log, in the order it happened."""
        return self._keys(event)


@contextlib.contextmanager
def serving_batches(log: Path, *arguments: str) -> Iterator[Batches]:
    """Run the server, with arguments as on its command line, in a process of its own."""
    with started("tests.doubles.batches", log, *arguments) as (url, process):
        yield Batches(url, log, process)


if __name__ == "__main__":
    main()
