"""Reads the score out of what a model replied.

A wrong score does more harm than none: a reply that does not say clearly which number it means is a failure, and
failures are counted by their reason. JSON is what models are asked for; a few other plain statements are read too.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from calibrator.aspects import Scale

Form = Literal["json", "stated"]


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

_ABOUT_A_SCORE = frozenset("score rating final overall".split())
# What stands under such keys counts, limits or explains: it is no score even where it is the only number.
_BESIDE_A_SCORE = frozenset(
    "step steps reason reasons reasoning explanation justification analysis thought thoughts thinking rationale "
    "comment comments description feedback evidence note notes summary confidence certainty max maximum min minimum "
    "scale range low high id index count weight version example examples".split()
)
_LEADS = frozenset("the my a this final overall so thus hence therefore".split())  # may stand before "score: 4"
_LONGEST = 60  # of a text value with a score in it; longer ones argue, and speak of numbers that they do not give

# Every repetition below that meets another one is possessive (`*+`): no reply may take quadratic time.
_NUMBER = r"(?P<n>[-+\u2212]?[0-9]++(?:\.[0-9]++)?)"
_MARKS = r"[*_`\"']*+"  # what markdown and quoting put around a word or a number
_THOUGHT = re.compile(r"<(/?)(?:think|thinking|thought)>", re.I)  # between such tags models think aloud
_OBJECT = re.compile(r"\{\s*+([\"'])")  # begins with a key, which braces in prose do not; some quote it singly
_TOKENS = {  # strings are passed whole, so that nothing in them counts; one that is not closed runs to the end
    q: re.compile(rf"{q}(?P<inside>(?:[^{q}\\]|\\.)*+)(?P<close>{q}?)|[{{}}\[\]]", re.S) for q in "\"'"
}
_COLON = re.compile(r"\s*+:\s*+")  # makes the string before it a key
_UNQUOTED = re.compile(r"[^\"'{}\[\]\n]*")  # a broken object's bare value, up to whatever ends it
_LEADING = re.compile(rf"\s*+{_NUMBER}")  # "4", "4 (Mostly Consistent)", "4. Mostly Relevant"
_GOES_ON = re.compile(  # the number is part of something else: 4th, 4%, 3+, 3 or more, 3 to four, 3-four
    r"[^\W\d_]|\s*+(?:[%+/±]|(?:percent|per cent|to|or|and|out|of|through)\b|[-–—~]\s*(?:two|three|four|five|six)\b)",
    re.I,
)
_LABELLED = re.compile(  # an anchor's label before its number: "Low Aggressiveness (1)", "Consistent (Score 3)"
    rf"(?!.*\b(?:or|between|than|step)\b)[^\d()]+\(\s*(?:score:?\s*)?{_NUMBER}\s*\)\W*", re.I | re.S
)
_LISTED = re.compile(r"\W*+(?:step\b|(?:\d++|[ivx]++|[a-z])\s*+[.)])", re.I)  # a list's line: its number counts steps
_HEDGED = re.compile(  # the sentence speaks of scores that are not given, or not given to the whole text
    r"n['’]t\b|(?<!\bi )\bwould\b|\b(?:not|never|no|nor|if|unless|when|should|could|might|may|can|cannot|than|between|"
    r"or|either|least|most|up to|maximum|minimum|highest|lowest|range|scale|step|criterion|example|requires?|instead|"
    r"previous|initial|to (?:get|earn|reach|receive|deserve|achieve|merit))\b",
    re.I,
)
_SENTENCES_BEFORE = re.compile(r".*[.!?;]\s", re.S)  # a hedge in one of them is none of the last one's
_REASON = r"(?:because|since|due to)\b"
_ENDS = re.compile(  # the number is all that is said: line or sentence end here, or its reason or its label follows
    rf"\s*+$|[.!;](?:\s|$)|,?\s++{_REASON}|(?P<label>\s*+\([^()\d]{{0,80}}\)\W*+$)", re.I
)
_NOTHING_MORE = re.compile(r"[\s.,/]*+\Z")  # behind a number: in a reply that was cut off it could have gone on
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
    said = _outside_thought(text)
    if said is None:
        return _CUT_OFF
    reader = _reader(scale, tuple(sorted({_normal(n) for n in names} - {""})))
    objects, rest = _split(said)
    values = [v for o in objects for v in _values(o, reader, cut_off)]
    if any(v.cut for v in values):
        return _CUT_OFF
    if any(v.named for v in values):
        values = [v for v in values if v.named]
    values += [_Value(True, n, "stated") for n in reader.statements(rest, cut_off)]
    if not objects and not cut_off and (whole := reader.whole.fullmatch(rest)):
        values.append(_Value(True, _float(whole["n"]), "stated"))
    numbers = {v.number for v in values if v.number is not None}
    if len(numbers) > 1:
        return NoScore("contradiction", "the reply gives several different scores")
    for score in numbers:
        if not scale.holds(score):
            return NoScore("off scale", f"the score {score:g} is not on the scale {scale}")
        return Found(score, "json" if any(v.form == "json" for v in values if v.number is not None) else "stated")
    return _failure(said, cut_off)


def _failure(said: str, cut_off: bool) -> NoScore:
    if cut_off:
        return _CUT_OFF
    if not said.strip():
        return NoScore("empty", "the reply is empty")
    if _REFUSAL.match(said):
        return NoScore("refusal", "the model refused to answer")
    return NoScore("no score", "the reply states no score clearly")


def _outside_thought(text: str) -> str | None:
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


def _normal(name: str) -> str:
    """Return a key or name as they are compared: case, accents and punctuation do not count."""
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    return " ".join("".join(c if c.isalnum() else "" if unicodedata.combining(c) else " " for c in decomposed).split())


def _float(number: str) -> float:
    return float(number.replace("\u2212", "-")) + 0.0  # -0.0 becomes 0.0


@dataclass(frozen=True, slots=True)
class _Object:
    """A JSON object, or what was meant as one: where it stands and its strings on the first level."""

    text: str
    start: int
    end: int
    closed: bool
    quote: str
    strings: list[re.Match[str]]


@dataclass(frozen=True, slots=True)
class _Value:
    """What stands under a key; `named`: the key says that it is the score; `cut`: it could have gone on."""

    named: bool
    number: float | None
    form: Form = "json"
    cut: bool = False


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


def _values(found: _Object, reader: _Reader, cut_off: bool) -> list[_Value]:
    if not found.closed:
        return _broken(found, reader, cut_off)
    try:
        # int() refuses very long numbers, so all become floats; pairs are kept, as a key may stand there twice.
        options: dict[str, Any] = {"parse_int": float, "parse_constant": str, "object_pairs_hook": tuple}
        return list(_valid(json.loads(found.text[found.start : found.end], strict=False, **options), reader))
    except (ValueError, RecursionError):
        return _broken(found, reader, cut=False)


def _valid(pairs: Any, reader: _Reader) -> Iterator[_Value]:
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
                yield _Value(named, value + 0.0)
            else:
                yield reader.value(named, value if isinstance(value, str) else "")


def _broken(found: _Object, reader: _Reader, cut: bool) -> list[_Value]:
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
        return [*values, _Value(False, None, cut=True)] if cut else values
    # The score's key elsewhere: a stray quote may have hidden the true one, so these must not contradict.
    named = any(v.named for v in values)
    keyed = reader.keyed.finditer(found.text, found.start, found.end)
    return [*values, *(_Value(named, _float(m["n"]), form) for m in keyed)]


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


class _Reader:
    """Knows what the score is called and which scale it is on, and finds it in plain text."""

    def __init__(self, scale: Scale, names: tuple[str, ...]) -> None:
        self.names = frozenset(names)
        low, high = (re.escape(f"{n:g}").replace(r"\-", "[-\u2212]") for n in (scale.low, scale.high))
        called = "|".join(r"[\s_-]+".join(map(re.escape, n.split())) for n in sorted(names, key=len, reverse=True))
        key = rf"(?:(?:(?:{called})[\s_-]+)?(?:score|rating)|{called})" if called else "(?:score|rating)"
        top = rf"\s*+(?:/|out of\b)\s*+{high}(?:\.0+)?(?![.,]?\d)"
        blank = r"[*_`\"'\s]*+"
        # "1-5", "1 to 5": the scale as such, never a score.
        self.range = re.compile(
            rf"(?<![\w.,]){low}(?:\.0+)?\s*+(?:[-–—]|\.\.+|to|through|and)\s*+{high}(?:\.0+)?(?!\d|[.,]\d)", re.I
        )
        # "/5" behind a number, but no "4 out of 5 steps"
        self.of_top = re.compile(rf"{top}(?=\s*+(?:[^\w\s]|$|{_REASON}))", re.I)
        # The score's key with a number, wherever it stands
        self.keyed = re.compile(rf"[\"']{key}[\"']\s*+:\s*+[\"']?{_NUMBER}", re.I)
        # "Score: 4", "**Score (…):** 4", "Final score = 4", "score of 4"
        self.stated = re.compile(
            rf"(?<!\w){key}\b{_MARKS}[ \t]*+(?:\(…\){_MARKS}[ \t]*+)?"
            rf"(?:[:=]|\bis\b|\bof\b){_MARKS}[ \t]*+:?[ \t]*+{_MARKS}{_NUMBER}",
            re.I,
        )
        # "(Score 3)"
        self.bracketed = re.compile(rf"\({key}:?[ \t]*+{_NUMBER}(?:{top})?\)", re.I)
        # A reply that is nothing but "4", "**4/5**", "Score 4 out of 5"
        self.whole = re.compile(
            rf"{blank}(?:(?:the|my|final|overall)\s++)*+(?:{key}{blank}(?:[:=]|\bis\b|\bof\b)?{blank})?"
            rf"{_NUMBER}(?:{top})?[*_`\"'\s.!]*+",
            re.I,
        )

    def role(self, key: str) -> Literal["score", "beside", "unknown"]:
        """Return what stands under a key: the score, something beside it, or nobody knows (models misspell)."""
        name = _normal(key)
        words = [w for w in name.split() if w not in _ABOUT_A_SCORE]
        if name in self.names or (name and (not words or " ".join(words) in self.names)):
            return "score"
        return "unknown" if _BESIDE_A_SCORE.isdisjoint(words) else "beside"

    def value(self, named: bool, said: str, form: Form = "json") -> _Value:
        """Return what a text value says: its leading number, a label's number, or a score that it states."""
        if len(said) > _LONGEST:
            return _Value(named, None)
        plain = self.range.sub("…", said)
        if leading := _LEADING.match(plain):
            return _Value(named, _float(leading["n"]) if self._stops(plain, leading.end()) else None, form)
        if labelled := _LABELLED.fullmatch(plain):
            return _Value(named, _float(labelled["n"]), "stated")
        stated = set(self.statements(said, cut_off=False))
        return _Value(named, stated.pop() if len(stated) == 1 else None, "stated")

    def _stops(self, text: str, end: int) -> bool:
        """Whether nothing after a leading number makes it part of something else."""
        if of_top := self.of_top.match(text, end):
            end = of_top.end()
        return not _GOES_ON.match(text, end) and all(unicodedata.category(c)[0] != "N" for c in text[end:])

    def statements(self, text: str, cut_off: bool) -> Iterator[float]:
        """Yield the numbers that prose states as its score, line by line; lists and conditions are no statements.

        Of a reply that was cut off only the first line counts: what comes later may have been one part of several.
        """
        text = self.range.sub("…", text).lstrip()
        for line in text.split("\n")[: 1 if cut_off else None]:
            matches = () if _LISTED.match(line) else (*self.stated.finditer(line), *self.bracketed.finditer(line))
            for match in matches:
                bracketed = match.re is self.bracketed
                of_top = None if bracketed else self.of_top.match(line, match.end())
                end = (of_top or match).end()
                ends = _ENDS.match(line, end)
                if ends is None or not _meant(line[max(0, match.start() - 200) : match.start()], bracketed):
                    continue
                # Labels with numbers may be a guide that is repeated and was cut off behind its first line.
                if not cut_off or not (bracketed or ends["label"] or _NOTHING_MORE.match(text, end)):
                    yield _float(match["n"])


_reader = lru_cache(maxsize=64)(_Reader)  # a run reads thousands of replies on one scale


def _meant(before: str, bracketed: bool) -> bool:
    """Whether what stands before a score in its line leaves it the score of the text as a whole."""
    sentence = _SENTENCES_BEFORE.sub("", before)
    lead = sentence.rstrip(" \t*_`\"'#>-(")
    words = re.findall(r"\w+", lead.casefold())
    begins = not lead or lead[-1] in ".!?;," or (words[-1:] and words[-1] in _LEADS)
    return bool(bracketed or begins) and not _HEDGED.search(sentence)
