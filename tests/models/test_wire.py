"""The form of requests and answers: what is sent, and what is made of whatever comes back."""

from __future__ import annotations

import json
import time
from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.errors import ModelError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.wire import FILTERED, TOO_LONG, answer_of, reply_of, request_body, retry_after, told
from calibrator.records import Message, Usage

MESSAGES = (Message("system", "You judge."), Message("user", "How calm is this?"))
SCHEMA = '{"type": "object"}'
PASSING = [408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]

VLLM = {
    "object": "error",
    "message": "This model's maximum context length is 4096 tokens. However, you requested 9120 tokens.",
    "type": "BadRequestError",
    "param": None,
    "code": 400,
}
LLAMA = {
    "error": {
        "code": 400,
        "message": "request (18031 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "type": "exceed_context_size_error",
        "n_prompt_tokens": 18031,
        "n_ctx": 4096,
    }
}
OPENAI = {
    "error": {
        "message": "Your messages resulted in 9120 tokens. Please reduce the length of the messages.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}
AZURE = {"error": {"message": "The response was filtered", "type": None, "param": "prompt", "code": "content_filter"}}
UNKNOWN = {"error": {"message": "The model `m` does not exist", "type": "NotFoundError", "code": 404}}
HTML = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>nginx</body>\r\n</html>"


def body(message: object = None, reason: object = "stop", **more: object) -> dict[str, Any]:
    said = {"role": "assistant", "content": "4"} if message is None else message
    return {"choices": [{"index": 0, "message": said, "finish_reason": reason}], **more}


def answer(status: int, value: object, headers: dict[str, str] | None = None) -> ChatReply:
    return answer_of(status, headers or {}, value if isinstance(value, bytes) else json.dumps(value).encode())


# --- what is sent ----------------------------------------------------------------------------------------------------


def test_a_request_is_messages_and_sampling_and_nothing_else() -> None:
    assert request_body(ChatRequest(MESSAGES, Sampling(0.5, 64), sample=3, schema=SCHEMA), "m") == {
        "model": "m",
        "messages": [{"role": "system", "content": "You judge."}, {"role": "user", "content": "How calm is this?"}],
        "temperature": 0.5,
        "max_tokens": 64,
    }


def test_a_schema_is_sent_to_who_can_follow_it() -> None:
    form = {"name": "reply", "strict": True, "schema": {"type": "object"}}
    sent = request_body(ChatRequest(MESSAGES, schema=SCHEMA), "m", structured=True)
    assert sent["response_format"] == {"type": "json_schema", "json_schema": form}
    assert "response_format" not in request_body(ChatRequest(MESSAGES), "m", structured=True)


@pytest.mark.parametrize("seed", [0, 7, 2**31, 2**63 + 5, -1])
def test_a_seed_fits_in_what_servers_take(seed: int) -> None:
    sent = request_body(ChatRequest(MESSAGES, Sampling(seed=seed)), "m")["seed"]
    assert 0 <= sent < 2**31
    assert sent == seed or not 0 <= seed < 2**31


def test_half_a_surrogate_pair_is_not_sent() -> None:
    sent = request_body(ChatRequest((Message("user", "a\ud83db 🙂"),)), "m")
    assert sent["messages"] == [{"role": "user", "content": "a?b 🙂"}]


# --- what comes back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "reply"),
    [
        (body(), ChatReply("4")),
        (body(reason="length"), ChatReply("4", "length")),
        (body(reason=None), ChatReply("4")),
        (body(reason="eos"), ChatReply("4")),
        (body({"content": None}), ChatReply("")),
        (body({"role": "assistant"}), ChatReply("")),
        (body({"content": ""}, "length"), ChatReply("", "length")),
        (body({"content": None, "refusal": "I would rather not."}), ChatReply("I would rather not.")),
        (body({"content": "4", "refusal": None}), ChatReply("4")),
        (body({"content": "half"}, "content_filter"), ChatReply("", "refused", FILTERED)),
        (body({"content": None}, "content_filter"), ChatReply("", "refused", FILTERED)),
        (body({"content": "a\ud83db"}), ChatReply("a?b")),
        (body({"content": "ü 語 🙂\x00"}), ChatReply("ü 語 🙂\x00")),
        (body(usage=None), ChatReply("4")),
        (body(usage={}), ChatReply("4")),
        (body(usage={"prompt_tokens": 9, "completion_tokens": 2}), ChatReply("4", usage=Usage(9, 2))),
        (body(usage={"prompt_tokens": 9, "prompt_tokens_details": None}), ChatReply("4", usage=Usage(9))),
        (
            body(usage={"prompt_tokens": 9, "prompt_tokens_details": {"cached_tokens": 5}}),
            ChatReply("4", usage=Usage(9, 0, 5)),
        ),
        (body(usage={"prompt_tokens": -1, "completion_tokens": None}), ChatReply("4")),
        ({**body(), "choices": body()["choices"] * 2, "extra": 1}, ChatReply("4")),
    ],
)
def test_an_answer_with_a_reply(value: dict[str, Any], reply: ChatReply) -> None:
    assert reply_of(value) == reply
    assert answer(200, value) == reply


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": {}},
        {"choices": "4"},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "4"}]},
        {"choices": [{"text": "4"}]},
        {"error": {"message": "overloaded"}},
        body({"content": 4}),
        body({"content": [{"type": "text", "text": "4"}]}),
        body({"content": {"score": 4}}),
        body(usage=[1]),
        body(usage={"prompt_tokens": "many"}),
        body(usage={"prompt_tokens": float("inf")}),
        body(usage={"prompt_tokens": float("nan")}),
        body(usage={"prompt_tokens_details": 5}),
    ],
    ids=json.dumps,
)
def test_an_answer_without_a_reply_may_be_asked_for_again(value: dict[str, Any]) -> None:
    with pytest.raises(ModelUnavailable, match=r"^the (answer holds no reply|reply is no text)$"):
        reply_of(value)
    with pytest.raises(ModelUnavailable):
        answer(200, value)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        HTML,
        json.dumps(body()).encode()[:-9],
        json.dumps(body()).encode() + b"}",
        b"data: {}\n\n",
        b"null",
        b"[]",
        b'"4"',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"choices":' * 100_000,
    ],
    ids=[
        "nothing",
        "HTML",
        "truncated",
        "too much",
        "a stream",
        "null",
        "list",
        "text",
        "bytes",
        "deep",
        "deep objects",
    ],
)
def test_an_answer_that_is_no_object_may_be_asked_for_again(raw: bytes) -> None:
    with pytest.raises(ModelUnavailable, match=r"^the answer is no JSON( object)?$"):
        answer(200, raw)


# --- errors of servers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [VLLM, LLAMA, OPENAI, {"error": VLLM}, {"detail": "context window is 4096"}])
@pytest.mark.parametrize("status", [400, 422])
def test_a_prompt_that_is_too_long_is_refused(status: int, value: dict[str, Any]) -> None:
    assert answer(status, value) == ChatReply("", "refused", TOO_LONG)


@pytest.mark.parametrize("value", [LLAMA, UNKNOWN, HTML, b""])
def test_what_is_too_large_for_the_server_is_refused(value: object) -> None:
    assert answer(413, value) == ChatReply("", "refused", TOO_LONG)


def test_what_a_filter_held_back_is_refused() -> None:
    assert answer(400, AZURE) == ChatReply("", "refused", FILTERED)
    policy = {"error": {"message": "Against Azure's content management policy.", "code": "400"}}
    assert answer(400, policy) == ChatReply("", "refused", FILTERED)


@pytest.mark.parametrize("status", [204, 301, 400, 401, 403, 404, 405, 422, 451, 501])
def test_what_will_not_pass_is_an_error(status: int) -> None:
    with pytest.raises(ModelError, match=rf"^HTTP {status}: The model `m` does not exist \(NotFoundError\)$") as caught:
        answer(status, UNKNOWN, {"Retry-After": "3"})
    assert not caught.value.retryable


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_only_a_bad_request_can_be_too_long(status: int) -> None:
    with pytest.raises(ModelError):
        answer(status, OPENAI)


@pytest.mark.parametrize("status", PASSING)
def test_what_may_pass_can_be_asked_again(status: int) -> None:
    with pytest.raises(ModelUnavailable, match=f"^HTTP {status}: <html>") as caught:
        answer(status, HTML)
    assert (caught.value.retryable, caught.value.retry_after) == (True, None)


@pytest.mark.parametrize("status", [429, 503])
def test_the_server_says_when_to_come_back(status: int) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        answer(status, UNKNOWN, {"Retry-After": "2.5"})
    assert caught.value.retry_after == 2.5


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("", None),
        ("soon", None),
        ("12", 12.0),
        (" 12 ", 12.0),
        ("0", 0.0),
        ("-3", 0.0),
        ("nan", 0.0),
        ("1e3", 1000.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 0001 07:28:00 GMT", 0.0),
    ],
)
def test_seconds_or_a_date_to_come_back(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_a_date_in_the_future_is_as_far_away_as_it_is() -> None:
    seconds = retry_after(formatdate(time.time() + 600, usegmt=True))
    assert seconds is not None and 500 < seconds <= 600


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"", "no explanation"),
        (b"  \n ", "no explanation"),
        (b"Internal\n  Server Error\n", "Internal Server Error"),
        (b'{"error": {"message": "no\\nsuch model", "type": "NotFoundError"}}', "no such model (NotFoundError)"),
        (b'{"error": {"message": "no", "code": 404}}', "no (404)"),
        (b'{"error": {"message": "no", "type": "a", "code": 404}}', "no (a)"),
        (b'{"error": {"message": "no", "type": "a", "code": "b"}}', "no (b)"),
        (b'{"message": "no", "type": null}', "no"),
        (b'{"error": "no such model"}', '{"error": "no such model"}'),
        (b'{"error": {"message": ""}}', '{"error": {"message": ""}}'),
        (b'{"error": {"message": ["a", 1]}}', "['a', 1]"),
        (b'{"detail": [{"loc": ["body"]}]}', '{"detail": [{"loc": ["body"]}]}'),
        (b'[{"error": {"message": "no"}}]', '[{"error": {"message": "no"}}]'),
        (b'{"error": {"message": "half a pair: \\ud83d"}}', "half a pair: ?"),
        (b"caf\xe9", "caf\ufffd"),
        (b"x" * 300, "x" * 300),
        (b"x" * 301, "x" * 297 + "..."),
        (b"[" * 100_000, "[" * 297 + "..."),
    ],
    ids=range(18),
)
def test_what_a_server_says_is_wrong_in_one_line(raw: bytes, line: str) -> None:
    assert told(raw) == line


# --- anything at all -------------------------------------------------------------------------------------------------

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters())  # with surrogates
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
MAYBE = VALUES | st.none()
CHOICES = st.fixed_dictionaries(
    {
        "message": st.fixed_dictionaries({}, optional={"content": MAYBE, "refusal": MAYBE}) | VALUES,
        "finish_reason": st.sampled_from(["stop", "length", "content_filter"]) | VALUES,
    }
)
NUMBERS = st.integers() | st.floats() | VALUES
COUNTS = st.fixed_dictionaries(
    {},
    optional={
        "prompt_tokens": NUMBERS,
        "completion_tokens": NUMBERS,
        "prompt_tokens_details": st.dictionaries(st.just("cached_tokens"), NUMBERS) | VALUES,
    },
)
ANSWERS = st.fixed_dictionaries({"choices": st.lists(CHOICES, max_size=2), "usage": COUNTS | VALUES})
ERRORS = st.fixed_dictionaries(
    {"error": st.fixed_dictionaries({}, optional={"message": VALUES, "type": VALUES, "code": VALUES}) | VALUES}
)
STATUSES = st.sampled_from([200, 200, 400, 401, 413, 422, *PASSING]) | st.integers(100, 599)


def in_order(status: int, raw: bytes, headers: dict[str, str] | None = None) -> None:
    """Check that an answer is a reply as the contract has it, or one of our errors in one line."""
    try:
        reply = answer_of(status, headers or {}, raw)
    except ModelError as error:
        line = str(error)
        line.encode()  # can be printed
        assert line and "\n" not in line and len(line) < 400
        return
    assert isinstance(reply.text, str) and reply.finish in ("stop", "length", "refused")
    reply.text.encode()  # can be written down
    assert (reply.finish == "refused") == bool(reply.detail)
    assert reply.finish != "refused" or not reply.text
    counted = (reply.usage.prompt, reply.usage.completion, reply.usage.cached)
    assert all(type(number) is int and number >= 0 for number in counted)


@given(STATUSES, st.binary())
def test_any_bytes_are_a_reply_or_our_error(status: int, raw: bytes) -> None:
    in_order(status, raw)


@given(STATUSES, VALUES | ANSWERS | ERRORS)
def test_any_json_is_a_reply_or_our_error(status: int, value: object) -> None:
    in_order(status, json.dumps(value).encode())


@given(ANSWERS)
def test_anything_in_the_place_of_a_reply_is_a_reply_or_our_error(value: object) -> None:
    in_order(200, json.dumps(value).encode())


@given(st.text() | st.from_regex(r"[A-Z][a-z]{2}, \d{1,2} (Jan|Feb|Dec) \d{1,5} \d\d:\d\d:\d\d ([+-]\d{4}|GMT)"))
def test_any_retry_after_is_seconds_or_none(header: str) -> None:
    seconds = retry_after(header)
    assert seconds is None or seconds >= 0
