"""What the server double answers, which follows from the request alone."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from tests.doubles.faults import chance

MODEL = "double"
CONTEXT, LETTERS = 4096, 4  # tokens of a prompt that `echo` takes, and letters to a token
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

_FIELD = re.compile(r'^  "(\w+)": "\{\1\}"', re.MULTILINE)  # as DSPy asks for its fields


def key_of(body: Mapping[str, Any]) -> str:
    """Return the digest of what makes a request the same as another."""
    asked = [body.get(name) for name in ("model", "messages", "temperature", "max_tokens", "seed")]
    asked[3] = asked[3] or body.get("max_completion_tokens")  # OpenAI's newer name of it
    return hashlib.sha256(json.dumps(asked, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def reply_to(messages: list[Mapping[str, str]], key: str) -> str:
    """Return steps where the last message asks for them or the first for an object of texts, else a score.

    The score rises with the number of words in the last quotation; the whole prompt shifts it by up to one point.
    """
    last = next((m["content"] for m in reversed(messages) if m["role"] == "user"), "")
    if '"steps"' in last:
        order = sorted(STEPS, key=lambda step: chance(key, step))
        return json.dumps({"steps": order[: 3 + int(3 * chance(key))]})
    if fields := _FIELD.findall(next((m["content"] for m in messages if m["role"] == "system"), "")):
        order = sorted(STEPS, key=lambda step: chance(key, step))[: 3 + int(3 * chance(key))]
        return json.dumps({field: "\n".join(f"{n}. {step}" for n, step in enumerate(order, 1)) for field in fields})
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
