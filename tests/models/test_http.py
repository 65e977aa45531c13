"""The client of OpenAI-compatible servers: what it says where something is wrong, and what it keeps to itself."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest

from calibrator.errors import ModelError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.budget import Budget, Budgeted
from calibrator.models.names import open_model
from calibrator.models.retry import Retrying
from tests.doubles.server import Double, serving
from tests.models.contract import KEY, asking


def ask(model: Model, *texts: str) -> list[ChatReply]:
    async def work() -> list[ChatReply]:
        try:
            return [await model.complete(asking(text)) for text in texts]
        finally:
            await model.close()

    return asyncio.run(work())


def model_of(double: Double) -> Model:
    return open_model(f"{double.url}#double", 1)


def nowhere() -> str:
    """Return an address at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return f"http://127.0.0.1:{taken.getsockname()[1]}/v1"


def test_where_nothing_listens_it_is_said_at_once() -> None:
    url, budget = nowhere(), Budget(None)
    with pytest.raises(ModelError) as caught:
        ask(Retrying(Budgeted(open_model(f"{url}#m", 1), budget)), "x")
    message = str(caught.value)
    assert not caught.value.retryable
    assert budget.spent.calls == 1
    assert message.startswith(f"{url}#m: nothing answers at {url} (")
    assert message.rpartition("; ")[2].count("running") == 1 and "\n" not in message


def test_how_vllm_is_started_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", nowhere())
    with pytest.raises(ModelError, match=r"^vllm/org/m: nothing answers .*; start it with\W+vllm serve org/m\W?$"):
        ask(open_model("vllm/org/m", 1), "x")


def test_a_server_that_answered_once_is_waited_for(tmp_path: Path) -> None:
    async def work() -> None:
        with serving(tmp_path / "log") as double:
            model = model_of(double)
            await model.complete(asking("x"))
        try:
            with pytest.raises(ModelUnavailable) as caught:
                await model.complete(asking("x"))
            assert str(caught.value).startswith(model.id)
        finally:
            await model.close()

    asyncio.run(work())


def test_the_key_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path / "log", "--require-key", KEY) as double:
        for given in (KEY, f"{KEY}\n"):  # the second as it is read from a file
            monkeypatch.setenv("CALIBRATOR_API_KEY", given)
            assert ask(model_of(double), "x")[0].finish == "stop"
    assert len(double.answered()) == 2


@pytest.mark.parametrize("given", [None, "", "sk-another"])
def test_where_the_key_is_wrong_it_is_said_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str | None
) -> None:
    for variable, prefix in (("CALIBRATOR_API_KEY", "http"), ("VLLM_API_KEY", "vllm")):
        if given is None:
            monkeypatch.delenv(variable, raising=False)
        else:
            monkeypatch.setenv(variable, given)
        with serving(tmp_path / prefix, "--require-key", KEY) as double:
            monkeypatch.setenv("VLLM_BASE_URL", double.url)
            model = model_of(double) if prefix == "http" else open_model("vllm/double", 1)
            with pytest.raises(ModelError, match=r"HTTP 401: Incorrect API key provided") as caught:
                ask(model, "x")
        message = str(caught.value)
        unset = "" if given else ", which is not set"
        assert message.endswith(f"the key is taken from ${variable}{unset}") and not caught.value.retryable
        assert "sk-another" not in message and KEY not in message


class Speaker:
    """A server that says the same to everyone, whatever it is asked, once `together` requests have come."""

    def __init__(self, said: bytes, together: int = 1) -> None:
        self.said, self.url, self.missing = said, "", together
        self.all_came = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        await reader.readexactly(length)
        self.missing -= 1
        if not self.missing:
            self.all_came.set()
        await self.all_came.wait()
        writer.write(self.said)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    async def ask(self, requests: Sequence[ChatRequest] = (asking("x"),)) -> list[ChatReply]:
        async with await asyncio.start_server(self.answer, "127.0.0.1", 0) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            model = open_model(f"{self.url}#m", 1)
            try:
                async with asyncio.timeout(30):  # instead of hanging
                    return await asyncio.gather(*map(model.complete, requests))
            finally:
                await model.close()


def test_a_server_that_repeats_the_key_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALIBRATOR_API_KEY", KEY)
    for status in (b"403 Forbidden", b"503 Busy"):
        problem = json.dumps({"error": {"message": f"no: {KEY}"}}).encode()
        head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n" % (status, len(problem))
        with pytest.raises(ModelError, match=r"no: \*\*\*") as caught:
            asyncio.run(Speaker(head + problem).ask())
        assert KEY not in str(caught.value)
        assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
    ],
    ids=["nothing", "half a head", "half a body", "half a chunk", "no gzip", "another protocol", "no JSON"],
)
def test_an_answer_that_is_broken_off_may_be_asked_for_again(said: bytes) -> None:
    speaker = Speaker(said)
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(speaker.ask())
    message = str(caught.value)
    assert message.startswith(f"{speaker.url}#m: ") and len(message) > len(f"{speaker.url}#m: ")


def test_a_reset_in_mid_body_may_be_asked_again(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--fail", "reset:1") as double, pytest.raises(ModelUnavailable):
        ask(model_of(double), "x")
    assert (len(double.asked()), double.answered()) == (1, [])


def test_one_server_may_be_asked_for_much_at_once() -> None:
    """More than the hundred connections that aiohttp would allow: none is answered before all have come."""
    reply = json.dumps({"choices": [{"message": {"content": "4"}}]}).encode()
    said = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(reply), reply)
    speaker, waiting = Speaker(said, 120), [asking(str(n)) for n in range(120)]
    assert asyncio.run(speaker.ask(waiting)) == [ChatReply("4")] * 120
