"""OpenAI's API through its SDK: what it is asked, what is learnt from its objections, and what is kept to itself."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnavailable
from calibrator.models.base import NEED_LOGPROBS, ChatReply, ChatRequest, Model
from calibrator.models.openai_client import OpenAIClient
from calibrator.models.openai_sdk import Dialect, OpenAIModel, priced
from calibrator.models.prices import Price
from calibrator.models.retry import Retrying
from calibrator.records import Usage
from tests.doubles.server import serving
from tests.models.contract import KEY, asking

pytest.importorskip("openai")

NAME = "openai/gpt-4o-mini"
SCHEMA = '{"type": "object", "properties": {"score": {"type": "integer"}}}'
OTHER = '{"type": "object", "properties": {"steps": {"type": "array"}}}'
USAGE = {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 600}}
FOUR = {"choices": [{"message": {"content": "4"}, "finish_reason": "stop"}], "usage": USAGE, "model": "served-as"}
NO_SCHEMA = "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."
NO_TEMPERATURE = (
    "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
)
NO_LOGPROBS = "You are not allowed to request logprobs from this model"
NO_MAX = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def objection(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


class Script:
    """A server that gives the answers it was told, one after the other, and keeps what it was sent."""

    def __init__(self, *answers: tuple[int, Any] | bytes) -> None:
        self.answers, self.sent, self.heads = list(answers), list[dict[str, Any]](), list[str]()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await self._read(reader):
            answer = self.answers.pop(0)
            if isinstance(answer, bytes):
                writer.write(answer)
                break
            status, value = answer
            raw = json.dumps(value).encode()
            more = b"Retry-After: 7\r\n" if status == 429 else b""
            writer.write(b"HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s" % (status, more, len(raw), raw))
            self.heads.append(head)
        await writer.drain()
        writer.close()

    async def _read(self, reader: asyncio.StreamReader) -> str:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
        except asyncio.IncompleteReadError:
            return ""
        length = next(int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:"))
        self.sent.append(json.loads(await reader.readexactly(length)))
        return head

    def ask(
        self,
        monkeypatch: pytest.MonkeyPatch,
        requests: Sequence[ChatRequest] = (asking("x"),),
        name: str = NAME,
        retrying: bool = False,
    ) -> list[ChatReply]:
        """Return the replies to requests put one after the other."""

        async def work() -> list[ChatReply]:
            async with await asyncio.start_server(self, "127.0.0.1", 0) as server:
                monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
                model: Model = OpenAIModel(name)
                model = Retrying(model, first=0.001) if retrying else model
                try:
                    async with asyncio.timeout(30):  # instead of hanging
                        return [await model.complete(request) for request in requests]
                finally:
                    await model.close()

        return asyncio.run(work())


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


# --- what is asked and what comes back -------------------------------------------------------------------------------


def test_a_reply_has_its_price_and_the_name_of_who_served_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrator.models.openai_sdk.price_of", lambda name: Price(1e-6, 2e-6, 5e-7))
    script = Script((200, FOUR))
    (reply,) = script.ask(monkeypatch)
    assert (reply.text, reply.usage, reply.served) == ("4", Usage(1000, 10, 600), "served-as")
    assert reply.cost == pytest.approx(400e-6 + 300e-6 + 20e-6)
    assert f"authorization: bearer {KEY}" in script.heads[0].lower()


def test_an_unknown_price_is_no_price() -> None:
    counted = ChatReply("4", usage=Usage(10, 1))
    assert priced(counted, None).cost is None
    assert priced(ChatReply("4"), Price(1.0, 1.0)).cost is None  # nobody counted its tokens
    assert priced(ChatReply("", "refused"), Price(1.0, 1.0)).cost == 0.0
    assert priced(counted, Price(1.0, 1.0)).cost == 11.0


def test_openai_itself_is_asked_by_the_newer_name(monkeypatch: pytest.MonkeyPatch) -> None:
    for url, name in (
        ("", "max_completion_tokens"),
        ("https://api.openai.com/v1/", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://not-api.openai.com.example/v1", "max_tokens"),
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        body = Dialect(NAME, OpenAIClient(NAME)).body(asking("x", max_tokens=9))
        assert body == {
            "model": "gpt-4o-mini",
            "messages": [{"role": "user", "content": "x"}],
            "temperature": 0.0,
            name: 9,
        }


def test_log_probabilities_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    token = {"token": "4", "logprob": -0.1, "top_logprobs": [{"token": "4", "logprob": -0.1}]}
    choice = FOUR["choices"][0] | {"logprobs": {"content": [token]}}  # type: ignore[index]
    script = Script((200, FOUR | {"choices": [choice]}))
    (reply,) = script.ask(monkeypatch, [replace(asking("x"), logprobs=5)])
    assert script.sent[0]["top_logprobs"] == 5
    assert reply.tokens[0].top == (("4", -0.1),)


# --- what is learnt --------------------------------------------------------------------------------------------------


def test_a_model_that_knows_no_schema_is_asked_without_it_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script((400, objection(NO_SCHEMA)), (200, FOUR), (200, FOUR), (200, FOUR))
    requests = [asking("x", schema=SCHEMA), asking("y", schema=SCHEMA), asking("z")]
    replies = script.ask(monkeypatch, requests, retrying=True)
    assert ["response_format" in body for body in script.sent] == [True, False, False, False]
    assert [reply.calls for reply in replies] == [2, 1, 1]


def test_one_schema_that_is_not_held_to_says_nothing_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = "Invalid schema for response_format 'reply': 'additionalProperties' is required to be supplied"
    script = Script((400, objection(problem)), (200, FOUR), (200, FOUR))
    script.ask(monkeypatch, [asking("x", schema=SCHEMA), asking("y", schema=OTHER)], retrying=True)
    assert ["response_format" in body for body in script.sent] == [True, False, True]


def test_what_is_asked_again_differently_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match="asked again without a JSON schema") as caught:
        Script((400, objection(NO_SCHEMA))).ask(monkeypatch, [asking("x", schema=SCHEMA)])
    assert (caught.value.charged, caught.value.overload, caught.value.retry_after) == (False, False, 0.0)


def test_another_server_may_want_the_newer_name_too(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script((400, objection(NO_MAX)), (200, FOUR), (200, FOUR))
    script.ask(monkeypatch, [asking("x", max_tokens=9), asking("y", max_tokens=9)], retrying=True)
    assert [(b.get("max_tokens"), b.get("max_completion_tokens")) for b in script.sent] == [(9, None)] + [(None, 9)] * 2


@pytest.mark.parametrize(
    ("status", "problem", "request_", "said"),
    [
        (400, NO_TEMPERATURE, asking("x"), "it cannot be asked at temperature 0 ("),
        (
            403,
            NO_LOGPROBS,
            replace(asking("x"), logprobs=5),
            NEED_LOGPROBS,
        ),
        (400, "no logprobs here", replace(asking("x"), logprobs=5), "it gives no log-probabilities ("),
        (403, NO_LOGPROBS, asking("x"), "the key is taken from $OPENAI_API_KEY"),
        (400, NO_SCHEMA, asking("x"), "HTTP 400: Invalid parameter"),
        (404, "The model does not exist", asking("x"), "HTTP 404: The model does not exist"),
    ],
)
def test_what_a_model_does_not_take_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, status: int, problem: str, request_: ChatRequest, said: str
) -> None:
    script = Script((status, objection(problem)))
    with pytest.raises(ModelError) as caught:
        script.ask(monkeypatch, [request_], retrying=True)
    message = str(caught.value)
    assert message.startswith(f"{NAME}: ") and said in message and "\n" not in message
    assert not caught.value.retryable and len(script.sent) == 1


# --- faults ----------------------------------------------------------------------------------------------------------


def test_where_nothing_listens_it_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    model = OpenAIModel(NAME)

    async def work() -> None:
        try:
            await model.complete(asking("x"))
        finally:
            await model.close()

    with pytest.raises(ModelError) as caught:
        asyncio.run(work())
    assert str(caught.value).startswith(f"{NAME}: nothing answers at {url} (Connection refused); see that")
    assert not caught.value.retryable and "$OPENAI_BASE_URL" in str(caught.value)


def test_a_server_that_answered_once_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        with serving(tmp_path / "log") as double:
            monkeypatch.setenv("OPENAI_BASE_URL", double.url)
            model = OpenAIModel("openai/double")
            await model.complete(asking("x"))
        try:
            with pytest.raises(ModelUnavailable, match=r"^openai/double: .") as caught:
                await model.complete(asking("x"))
            assert not caught.value.overload
        finally:
            await model.close()

    asyncio.run(work())


@pytest.mark.parametrize(
    ("answer", "flags", "wait"),
    [
        ((429, objection("Rate limit reached")), (True, False), 7.0),
        ((503, objection("busy")), (True, False), None),
        ((500, objection("oh")), (False, False), None),
        ((504, objection("late")), (True, True), None),
        ((200, ["no reply"]), (False, True), None),
        (b"", (False, True), None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", (False, True), None),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>", (False, True), None),
    ],
    ids=["429", "503", "500", "504", "another value", "nothing", "half a body", "no JSON"],
)
def test_faults_that_may_pass(
    monkeypatch: pytest.MonkeyPatch, answer: Any, flags: tuple[bool, bool], wait: float | None
) -> None:
    script = Script(answer)
    with pytest.raises(ModelUnavailable, match=f"^{NAME}: .") as caught:
        script.ask(monkeypatch)
    assert (caught.value.overload, caught.value.charged) == flags
    assert caught.value.retry_after == wait
    assert len(script.sent) == 1  # the SDK does not try again by itself


def test_an_account_without_money_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with pytest.raises(ModelError, match="insufficient_quota") as caught:
        Script((429, error)).ask(monkeypatch)
    assert not caught.value.retryable


def test_a_prompt_that_is_held_back_is_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    error = {"error": {"message": "This model's maximum context length is 9", "code": "context_length_exceeded"}}
    (reply,) = Script((400, error)).ask(monkeypatch)
    assert (reply.text, reply.finish) == ("", "refused")


# --- keys, addresses, and what is installed --------------------------------------------------------------------------


def test_a_server_that_repeats_the_key_is_not_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    for status in (401, 403, 503, 400):
        with pytest.raises(ModelError, match=r"no: \*\*\*") as caught:
            Script((status, objection(f"no: {KEY}"))).ask(monkeypatch)
        assert KEY not in str(caught.value)
        assert str(caught.value).endswith("the key is taken from $OPENAI_API_KEY") == (status in (401, 403))


def test_a_key_is_wanted_and_must_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for none in (None, "", " \n"):
        monkeypatch.delenv("OPENAI_API_KEY") if none is None else monkeypatch.setenv("OPENAI_API_KEY", none)
        for use in (OpenAIModel(NAME).check, lambda: asyncio.run(OpenAIModel(NAME).complete(asking("x")))):
            with pytest.raises(ModelMissing, match=r"a key is missing; set it: export OPENAI_API_KEY=…$"):
                use()
    for wrong in ("sk-…", "sk-a\nb"):
        monkeypatch.setenv("OPENAI_API_KEY", wrong)
        with pytest.raises(ConfigError, match=r"what stands in \$OPENAI_API_KEY is no key") as caught:
            OpenAIModel(NAME).check()
        assert wrong not in str(caught.value)
    monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}\n")  # as it is read from a file
    OpenAIModel(NAME).check()
    assert Script((200, FOUR)).ask(monkeypatch)[0].text == "4"


def test_an_identity_tells_endpoints_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    identities = []
    for url in (
        "",
        "https://api.openai.com/v1",
        "https://api.openai.com/v1/",
        "http://a/v1",
        "http://a/v1/",
        "http://b",
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        model = OpenAIModel(NAME)
        assert model.id == NAME
        identities.append(model.identity)
    assert identities[0] == identities[1] == identities[2] == NAME
    assert identities[3] == identities[4] != NAME
    assert len(set(identities)) == 3


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://host/v1", "http://", "http://host:x/v1", "http://u:p@host/v1"]
)
def test_what_is_no_address(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    with pytest.raises(ConfigError, match=r"^\$OPENAI_BASE_URL: ") as caught:
        OpenAIModel(NAME)
    assert "u:p" not in str(caught.value)


@pytest.mark.parametrize("absent", ["openai", "httpx_aiohttp"])
def test_the_command_that_installs_it_is_said(absent: str) -> None:
    code = (
        "import importlib.util, importlib.metadata; find = importlib.util.find_spec\n"
        f"importlib.util.find_spec = lambda name, *a: None if name == {absent!r} else find(name, *a)\n"
        "importlib.metadata.version = lambda name: '2.9.1'\n"
        "from calibrator.models.names import open_model; open_model('openai/m', 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ModelMissing: openai/m: " in done.stderr
    assert done.stderr.rstrip().endswith("pip install 'openai[aiohttp]>=2'")


def test_the_sdk_is_not_imported_before_it_is_asked() -> None:
    code = (
        "import sys; from calibrator.models.names import open_model; open_model('openai/m', 1).check()\n"
        "assert 'openai' not in sys.modules and 'httpx' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
