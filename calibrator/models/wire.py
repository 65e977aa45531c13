"""The form in which OpenAI-compatible servers take a request and give a reply, an error among them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from calibrator.errors import ModelError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Finish, Token
from calibrator.records import Usage

TOO_LONG, FILTERED = "the prompt is too long for the model's context", "the server's content filter held it back"
_TOO_LONG = ("exceed_context_size", "context_length_exceeded", "context length", "context size", "context window")
_FILTERED = ("content_filter", "content_policy", "content management policy")
_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
_OVERLOAD = frozenset({408, 429, 503, 504, 524, 529})
_LATE = frozenset({408, 504, 524})  # the model may be at work on it
_QUOTA = "insufficient_quota"  # OpenAI's word for an account without money, which no waiting mends
SEEDS = 2**31  # servers take a seed of 32 bits with a sign
LEAST = -9999.0  # what OpenAI gives for a token that is next to impossible


def request_body(request: ChatRequest, model: str, *, structured: bool = False) -> dict[str, Any]:
    """Return the body of a request to `/chat/completions`; `structured` says that the server can follow a schema."""
    sampling = request.sampling
    body: dict[str, Any] = {
        "model": model,
        "messages": [{"role": m.role, "content": _whole(m.content)} for m in request.messages],
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
    }
    if sampling.seed is not None:
        body["seed"] = sampling.seed % SEEDS
    if request.logprobs:
        body |= {"logprobs": True, "top_logprobs": request.logprobs}
    if structured and request.schema is not None:
        form = {"name": "reply", "strict": True, "schema": json.loads(request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return body


def reply_of(body: Mapping[str, Any]) -> ChatReply:
    """Return the reply in the body of an answer. Raises ModelUnavailable if there is none in it."""
    try:
        choice = body["choices"][0]
        message, reason = choice["message"], choice.get("finish_reason")
        text = message.get("content") or message.get("refusal") or ""
        usage = _usage(body.get("usage") or {})
        tokens = _tokens((choice.get("logprobs") or {}).get("content") or ())
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError):
        raise ModelUnavailable("the answer holds no reply") from None
    if not isinstance(text, str):
        raise ModelUnavailable("the reply is no text")
    served = body.get("model")
    served = _whole(served) if isinstance(served, str) else ""
    if reason == "content_filter":
        return ChatReply("", "refused", FILTERED, usage, served=served)
    finish: Finish = "length" if reason == "length" else "stop"
    return ChatReply(_whole(text), finish, usage=usage, tokens=tokens, served=served)


def _tokens(content: Sequence[Mapping[str, Any]]) -> tuple[Token, ...]:
    return tuple(token_of(t["token"], t["logprob"], _top(t.get("top_logprobs") or ())) for t in content)


def _top(listed: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    return ((t["token"], t["logprob"]) for t in listed)


def token_of(text: str, logprob: float, top: Iterable[tuple[str, float]]) -> Token:
    """Return a token as replies keep it. Raises TypeError or ValueError for what is no text or no number."""
    kept = tuple((_whole(t), _bounded(p)) for t, p in top)
    # Of others two are enough to see that the server gives alternatives at all.
    return Token(_whole(text), _bounded(logprob), kept if any(_of_a_number(t) for t, _ in kept) else kept[:2])


def _of_a_number(text: str) -> bool:
    """Whether a token has a digit, or is the point or the sign of a number."""
    return text.strip() in (".", "-") or any(map(str.isdigit, text))


def _bounded(logprob: float) -> float:
    """Return a log-probability as a finite number: servers write minus infinity in several ways."""
    return round(min(0.0, float(logprob)), 6) if logprob > LEAST else LEAST


def _whole(text: str) -> str:
    """Return a text without half surrogate pairs, which no file can hold and no server takes."""
    return text.encode("utf-8", "replace").decode()


def _usage(counted: Mapping[str, Any]) -> Usage:
    details = counted.get("prompt_tokens_details") or {}
    return Usage(
        prompt=max(0, int(counted.get("prompt_tokens") or 0)),
        completion=max(0, int(counted.get("completion_tokens") or 0)),
        cached=max(0, int(details.get("cached_tokens") or 0)),
    )


def refusal(problem: str) -> ChatReply | None:
    """Return the reply that stands for a request which the server would not put to the model, None if it is another."""
    low = problem.lower()
    if any(sign in low for sign in _TOO_LONG):
        return ChatReply("", "refused", TOO_LONG)
    if any(sign in low for sign in _FILTERED):
        return ChatReply("", "refused", FILTERED)
    return None


def answer_of(status: int, headers: Mapping[str, str], raw: bytes) -> ChatReply:
    """Return the reply in a whole HTTP answer.

    Raises ModelUnavailable for what may pass (overload, an answer that is no JSON), ModelError for what will not; the
    messages say what the server said.
    """
    if status == 200:
        return reply_of(_json(raw))
    problem = told(raw)
    if status in (400, 413, 422):
        held = ChatReply("", "refused", TOO_LONG) if status == 413 else refusal(problem)
        if held is not None:
            return held
    message = f"HTTP {status}: {problem}"
    if status not in _PASSING or (status == 429 and _QUOTA in problem):
        raise ModelError(message)
    overload, charged = status in _OVERLOAD, status in _LATE
    raise ModelUnavailable(message, retry_after(headers.get("Retry-After")), overload=overload, charged=charged)


def _json(raw: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        raise ModelUnavailable("the answer is no JSON") from None
    if not isinstance(body, dict):
        raise ModelUnavailable("the answer is no JSON object")
    return body


def told(raw: bytes) -> str:
    """Return what a server says is wrong, in one line of at most 300 characters."""
    text = raw.decode("utf-8", "replace")
    try:
        error = json.loads(text)
        error = error.get("error", error) if isinstance(error, dict) else error
        if isinstance(error, dict) and error.get("message"):
            code = error.get("code")  # where it is a word, it says more: "context_length_exceeded"
            kind = code if code and isinstance(code, str) else error.get("type") or code
            text = f"{error['message']}" + (f" ({kind})" if kind else "")
    except (ValueError, RecursionError):
        pass
    line = " ".join(_whole(text).split())
    return f"{line[:297]}..." if len(line) > 300 else line or "no explanation"


def retry_after(header: str | None) -> float | None:
    """Return the seconds that a Retry-After header (seconds or an HTTP date) asks to wait, None if it does not say."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
