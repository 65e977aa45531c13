"""Reads the score out of what a model replied.

A wrong score does more harm than none: a reply that does not say clearly which number it means is a failure, and
failures are counted by their reason. JSON is what models are asked for; a few other plain statements are read too.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from calibrator.aspects import Scale
from calibrator.judges.statements import Form, Reader, Value, as_float, normal, reader_for


@dataclass(frozen=True, slots=True)
class Found:
    """A score that lies on the scale, and whether it stood in JSON or was stated otherwise."""

    score: float
    form: Form


@dataclass(frozen=True, slots=True)
class NoScore:
    """Why a reply gives no score; `reason` is for people and the same for all replies that fail in the same way."""

    kind: Literal["empty", "off scale", "cut off", "contradiction", "refusal", "no score"]
    reason: str


_CUT_OFF = NoScore("cut off", "the reply was cut off before its score was complete")

_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought)>", re.I)  # between such tags models think aloud
_OBJECT = re.compile(r"\{\s*+([\"'])")  # begins with a key, which braces in prose do not; some quote it singly
_TOKENS = {  # strings are passed whole, so that nothing in them counts; one that is not closed runs to the end
    q: re.compile(rf"{q}(?P<inside>(?:[^{q}\\]|\\.)*+)(?P<close>{q}?)|[{{}}\[\]]", re.S) for q in "\"'"
}
# int() refuses very long numbers, so all become floats; pairs are kept, as a key may stand there twice.
_DECODER = json.JSONDecoder(strict=False, parse_int=float, parse_constant=str, object_pairs_hook=tuple)
_COLON = re.compile(r"\s*+:\s*+")  # makes the string before it a key
_UNQUOTED = re.compile(r"[^\"'{}\[\]\n]*")  # a broken object's bare value, up to whatever ends it
_REFUSAL = re.compile(  # how a refusal begins
    r"\W*+(?:(?:i['’]m|i am) (?:very |so |truly )?(?:sorry|unable|not able)|i (?:can ?not|can['’]t|won['’]t|will not)|"
    r"i must decline|i apologi[sz]e|sorry|(?:as|being) an ai\b|unfortunately, i)\b",
    re.I,
)


def read_score(text: str, scale: Scale, *, cut_off: bool = False, names: Collection[str] = ()) -> Found | NoScore:
    """Return the score that a reply gives on `scale`, or why it gives none.

    `cut_off`: the server cut the reply at its length limit. `names`: what the number may be called besides "score" and
    "rating", such as the aspect's name.
    """
    said = outside_thought(text)
    if said is None:
        return _CUT_OFF
    reader = _reader(scale, tuple(names))
    objects, rest = _split(said)
    values = [v for o in objects for v in _values(o, reader, cut_off)]
    if any(v.cut for v in values):
        return _CUT_OFF
    if any(v.named for v in values):
        values = [v for v in values if v.named]
    values += [Value(True, n, "stated") for n in reader.statements(rest, cut_off)]
    if not objects and not cut_off and (whole := reader.whole.fullmatch(rest)):
        values.append(Value(True, as_float(whole["n"]), "stated"))
    numbers = {v.number for v in values if v.number is not None}
    if len(numbers) > 1:
        return NoScore("contradiction", "the reply gives several different scores")
    for score in numbers:
        if not scale.holds(score):
            return NoScore("off scale", f"the score {score:g} is not on the scale {scale}")
        return Found(score, "json" if any(v.form == "json" for v in values if v.number is not None) else "stated")
    return _failure(said, cut_off)


@functools.cache
def _reader(scale: Scale, names: tuple[str, ...]) -> Reader:
    return reader_for(scale, tuple(sorted({normal(n) for n in names} - {""})))


def _failure(said: str, cut_off: bool) -> NoScore:
    if cut_off:
        return _CUT_OFF
    if not said.strip():
        return NoScore("empty", "the reply is empty")
    if _REFUSAL.match(said):
        return NoScore("refusal", "the model refused to answer")
    return NoScore("no score", "the reply states no score clearly")


def outside_thought(text: str) -> str | None:
    """Return the reply without what was only thought, None if it ends in thought."""
    kept: list[str] = []
    thinking, last = False, 0
    for tag in _THOUGHT.finditer(text):
        if tag[1] and not thinking:
            kept.clear()  # the opening tag stood in the prompt: all of this was thought
        elif not thinking:
            kept.append(text[last : tag.start()])
        thinking, last = not tag[1], tag.end()
    return None if thinking else "\n".join([*kept, text[last:]])


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object, or what was meant as one: where it stands and its strings on the first level."""

    text: str
    start: int
    end: int
    closed: bool
    quote: str
    strings: list[re.Match[str]]


def _split(text: str) -> tuple[list[_Object], str]:
    """Return the objects of a reply and the text around them, each character looked at once."""
    objects, rest, end = [], [], 0
    while opening := _OBJECT.search(text, end):
        rest.append(text[end : opening.start()])
        objects.append(_object(text, opening.start(), opening[1]))
        end = objects[-1].end
    return objects, "\n".join([*rest, text[end:]])


def _object(text: str, start: int, quote: str) -> _Object:
    depth, strings = 0, []
    for token in _TOKENS[quote].finditer(text, start):
        if token["inside"] is None:
            depth += 1 if token[0] in "{[" else -1
        elif depth == 1:
            strings.append(token)
        if depth == 0:
            return _Object(text, start, token.end(), True, quote, strings)
    return _Object(text, start, len(text), False, quote, strings)


def _values(found: _Object, reader: Reader, cut_off: bool) -> list[Value]:
    if not found.closed:
        return _broken(found, reader, cut_off)
    try:
        return list(_valid(_DECODER.decode(found.text[found.start : found.end]), reader))
    except (ValueError, RecursionError):
        return _broken(found, reader, cut=False)


def _valid(pairs: Any, reader: Reader) -> Iterator[Value]:
    """Yield what a decoded object says; lists hold parts of a judgement, never the score."""
    waiting = [(pairs, False)]
    while waiting:
        pairs, inside = waiting.pop()
        for key, value in pairs:
            role = reader.role(key)
            named = inside or role == "score"
            if role == "beside":
                continue
            if isinstance(value, tuple):
                waiting.append((value, named))
            elif isinstance(value, float):
                yield Value(named, value + 0.0)
            else:
                yield reader.value(named, value if isinstance(value, str) else "")


def _broken(found: _Object, reader: Reader, cut: bool) -> list[Value]:
    """Return what an object says that is no valid JSON; only its first level is clear enough."""
    pairs = list(_pairs(found))
    form: Form = "json" if found.quote == '"' else "stated"
    values = []
    for k, (key, said, complete) in enumerate(pairs):
        role = reader.role(key)
        value = reader.value(role == "score", said, form)
        if cut and (value.named or value.number is not None):
            # Behind a number under another key the score may have been still to come, unless its reason has begun.
            reason_begun = k == 0 and len(pairs) == 2 and not pairs[1][2] and not found.strings[-1]["close"]
            value = replace(value, cut=not (complete and (value.named or reason_begun)))
        values += [value] if role != "beside" else []
    if all(v.number is None for v in values):
        return [*values, Value(False, None, cut=True)] if cut else values
    # The score's key elsewhere: a stray quote may have hidden the true one, so these must not contradict.
    named = any(v.named for v in values)
    keyed = reader.keyed.finditer(found.text, found.start, found.end)
    return [*values, *(Value(named, as_float(m["n"]), form) for m in keyed)]


def _pairs(found: _Object) -> Iterator[tuple[str, str, bool]]:
    """Yield key, value and whether the value is complete; containers are left out."""
    text, past = found.text, 0
    for k, string in enumerate(found.strings):
        colon = _COLON.match(text, string.end())
        if string.start() < past or colon is None or not _follows_a_field(text, string.start()):
            continue
        past = colon.end()
        if text.startswith(found.quote, past):
            value = found.strings[k + 1]
            past = value.end()
            yield string["inside"], value["inside"], bool(value["close"])
        elif not text.startswith(("{", "["), past) and (bare := _UNQUOTED.match(text, past)):
            yield string["inside"], bare[0].rstrip(" \t\r,"), bare.end() < len(text)


def _follows_a_field(text: str, at: int) -> bool:
    """Whether a key may stand here: behind a brace, a comma or on a line of its own, unlike a word quoted in a text."""
    while text[at - 1].isspace():
        at -= 1
        if text[at] == "\n":
            return True
    return text[at - 1] in "{,"
