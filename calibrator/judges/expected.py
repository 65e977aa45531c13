"""The score that a model expects: the mean over the numbers it might have written, weighted by their probabilities.

As in G-Eval (Liu et al. 2023, "G-Eval: NLG Evaluation using GPT-4 with Better Human Alignment", section 3), where the
score is the sum of p(s)·s over the points s of the scale; here the probabilities are those of the alternatives that a
server lists for the tokens of the score, normalised over what lies on the scale.

What the numbers that were not written would have been is only partly known:

- A number that is written out counts as itself wherever it lies on the scale, a point of it (low, low + step, …) or
  not. The beginning of a number counts as the point that it can become; of several, as the middle between the lowest
  and the highest, as long as all such guesses together can shift the score by no more than half a step. Otherwise there
  is no score. A tokeniser that is seen to have longer numbers as single tokens would have used them: with it "1" is
  never the beginning of "10".
- Probabilities of later tokens are conditional on those before, and are known for the number that was written alone:
  P(10) = P("1")·P("0" | "1") and P(1) = P("1")·P(no further digit | "1"). What is not listed there ends the number.
- What leaves the scale ("7" on 1-5, or a "0" behind a "1") is left out at each token by itself, which is what a grammar
  does. So the number that was written loses nothing to continuations which for others cannot be seen, and on a scale
  of single digits the result is G-Eval's.
- On a scale with more than 1001 points its range divided by 1000 is taken for the step.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

from calibrator.aspects import Scale
from calibrator.errors import ModelUnfit
from calibrator.judges.parsing import Found, NoScore, outside_thought, read_score
from calibrator.judges.statements import as_float, normal
from calibrator.models.base import NEED_LOGPROBS, ChatReply, Token

ALTERNATIVES = 20  # of each token: the most that OpenAI gives, and vLLM unless it was started otherwise
MISSING = f"the server gave no log-probabilities; {NEED_LOGPROBS}"
UNJOINED = NoScore("no score", "the log-probabilities could not be joined to the score")
UNLISTED = NoScore("no score", "the log-probabilities list no alternatives to the score")
UNCLEAR = NoScore("no score", "the log-probabilities do not tell which numbers the alternatives would have become")

_POINTS = 1001  # at most
_SURE = 0.99  # probability from which on a token needs no alternatives
_CANDIDATES = 50  # numbers of a reply that are tried; each takes as long as reading the reply
_MARKS = " \t\r\n\"'`*_"  # what a tokeniser may put into one token with the number behind it
_SPACES = str.maketrans("Ġ▁Ċ", "  \n")  # how tokenisers write them, where a server gives tokens in their spelling
_UNREADABLE = re.compile(  # ids, bytes and control tokens: their digits say nothing
    r"token(?:_id)?:[0-9]+|bytes:.*|(?:\\x[0-9a-f]{2})+|<0x[0-9a-f]{2}>|<\|.*\|>", re.I | re.S
)
_NUMBER = re.compile(r"(?<![0-9.])[-+\u2212]?[0-9]+(?:\.[0-9]+)?")
_BEGUN = re.compile(r"[-+\u2212]?(?:[0-9]+(?:\.[0-9]*)?)?")
_LONG = re.compile(r"[0-9]{2,}")
_FOLLOWS = r"[\s\"'*_`:=]*(?:(?:is|of)[\s\"'*_`]*)?$"

_Begun = tuple[str, bool]  # the number as far as it is written, and whether something behind it ends it


@dataclass(frozen=True, slots=True)
class ExpectedMode:
    """The expected score of one reply, from log-probabilities: a number between the ends of the scale."""

    name: ClassVar[str] = "expected"
    draws: ClassVar[int] = 1
    logprobs: ClassVar[int] = ALTERNATIVES

    def read(self, replies: Sequence[ChatReply], scale: Scale, names: Collection[str]) -> Found | NoScore:
        """Return the expected score of the reply; a reply that states no score has none.

        Raises ModelUnfit if the reply states a score but came without log-probabilities: it must not pass for one.
        """
        reply = replies[0]
        found = read_reply(reply, scale, names)
        if isinstance(found, NoScore):
            return found
        if not reply.tokens:
            raise ModelUnfit(MISSING)
        place = _place(reply, found.score, scale, names)
        if place is None:
            return UNJOINED
        masses = _masses(reply.tokens, *place, scale)
        if masses is None:
            return UNLISTED
        if masses[-1].low != found.score:  # tokens that join to the number, but do not write it one after the other
            return UNJOINED
        if math.fsum(m.weight * (m.high - m.low) / 2 for m in masses) > _step(scale) / 2 + 1e-9:
            return UNCLEAR
        mean = math.fsum(m.weight * (m.low + m.high) / 2 for m in masses) / math.fsum(m.weight for m in masses)
        weighty = [m for m in masses if m.weight]
        # Rounding must not carry it beyond the numbers themselves.
        return Found(min(max(mean, min(m.low for m in weighty)), max(m.high for m in weighty)) + 0.0, found.form)


def read_reply(reply: ChatReply, scale: Scale, names: Collection[str]) -> Found | NoScore:
    """Return the score that a reply states; why a refused one has none is what the server said."""
    if reply.finish == "refused":
        return NoScore("refusal", reply.detail)
    return read_score(reply.text, scale, cut_off=reply.finish == "length", names=names)


def _readable(text: str, blank: str = " ") -> str:
    """Return a token's text, character by character, with plain spaces and with `blank` for what is no text."""
    return blank * len(text) if _UNREADABLE.fullmatch(text) else text.translate(_SPACES)


def _place(reply: ChatReply, score: float, scale: Scale, names: Collection[str]) -> tuple[int, str] | None:
    """Return the token in which the score's number begins, and what stands before it there; None if it is not found.

    Tokens do not always join to the text: a fence that a grammar let pass, thought and control tokens may stand around
    it, spaces and letters of several bytes may be lost.
    """
    texts = [_readable(t.text) for t in reply.tokens]
    joined, text = "".join(texts), reply.text.translate(_SPACES)
    cut_off = reply.finish == "length"
    if text in joined:
        at = _told(text, score, scale, names, cut_off)
        start = None if at is None else joined.rindex(text) + at
    else:
        read = read_score(joined, scale, cut_off=cut_off, names=names)
        same = isinstance(read, Found) and read.score == score
        start = _told(joined, score, scale, names, cut_off) if same else None
    if start is None:
        start = _behind_key(joined, score, names)
    for k, token in enumerate(texts):
        if start is not None and start < len(token):
            return k, token[:start]
        start = None if start is None else start - len(token)
    return None


def _numbers(text: str, score: float) -> list[re.Match[str]]:
    return [m for m in _NUMBER.finditer(text) if as_float(m[0]) == score][-_CANDIDATES:]


def _told(text: str, score: float, scale: Scale, names: Collection[str], cut_off: bool) -> int | None:
    """Return where the number stands that the text is read by: another in its place would be another score.

    The last of several statements of the score; where they stand each alone, another number there contradicts.
    """
    other = _written(scale.low if score != scale.low else scale.high)
    alone, among = None, None
    for number in _numbers(text, score):
        changed = f"{text[: number.start()]}{other}{text[number.end() :]}"
        read = read_score(changed, scale, cut_off=cut_off, names=names)
        if isinstance(read, Found) and read.score != score:
            alone = number.start()
        elif isinstance(read, NoScore) and read.kind == "contradiction":
            among = number.start()
    return among if alone is None else alone


def _behind_key(text: str, score: float, names: Collection[str]) -> int | None:
    """Return where the last number stands that is called the score, or the only one that equals it; not in thought."""
    called = [r"[\W_]*".join(map(re.escape, normal(n).split())) for n in names if normal(n)]
    key = re.compile(f"(?:{'|'.join(['score', 'rating', *called])}){_FOLLOWS}", re.I)
    outside = [
        m.start()
        for m in _numbers(text, score)
        if "\0" in (outside_thought(f"{text[: m.start()].replace(chr(0), ' ')}\0{text[m.end() :]}") or "")
    ]
    keyed = [at for at in outside if key.search(text[max(0, at - 100) : at])]
    return keyed[-1] if keyed else outside[0] if len(outside) == 1 else None


@dataclass(frozen=True, slots=True)
class _Mass:
    """The share of a number that lies between `low` and `high`, which are the same where it is known."""

    weight: float
    low: float
    high: float


def _masses(tokens: Sequence[Token], at: int, lead: str, scale: Scale) -> list[_Mass] | None:
    """Return the shares of all numbers, which sum to 1; last the one that was written.

    None if no alternatives are listed for its beginning, although there must be some.
    `at`: the token in which the number that was written begins. `lead`: what stands before it there.
    """
    first = _alternatives(tokens[at])
    if len(first) == 1 and math.exp(tokens[at].logprob) < _SURE:
        return None
    every = (text for t in tokens for text in (t.text, *(a for a, _ in t.top)))
    long = any(_LONG.fullmatch(_readable(text).strip(_MARKS)) for text in every)
    weight, masses = _signs(tokens[at - 1], scale, long) if at and scale.low < 0 else (1.0, [])
    prefix = ""
    for token in tokens[at:]:
        own, options = _options(token, prefix, lead)
        rest = [(p, _reach(*k, scale, long)) for k, p in options.items() if k != own]
        known = [(p, ends) for p, ends in rest if ends is not None]
        weight, shares = _shared(weight, options.get(own, 0.0), known)
        masses += shares
        prefix = own[0]
        if own[1]:
            break
    return [*masses, _Mass(weight, as_float(prefix), as_float(prefix))]


def _shared(
    weight: float, own: float, others: Sequence[tuple[float, tuple[float, float]]]
) -> tuple[float, list[_Mass]]:
    """Divide a weight by probabilities: what is left for the number that was written, and the shares of others."""
    total = math.fsum([own, *(p for p, _ in others)])
    if total <= 0:  # a grammar forced the number on a model that gave it no chance
        return weight, []
    return weight * own / total, [_Mass(weight * p / total, *ends) for p, ends in others]


def _alternatives(token: Token) -> dict[str, float]:
    """Return the probabilities of what might stand in a token's place, itself among them; no text counts twice."""
    listed: dict[str, float] = {}
    for said, logprob in token.top:
        text = _readable(said, "\0")
        listed[text] = max(listed.get(text, 0.0), math.exp(logprob))
    own, chance = _readable(token.text, "\0"), math.exp(token.logprob)
    # Some servers strip the spaces of the one that was drawn, but not of those listed.
    same = (t for t, p in listed.items() if t.strip() == own.strip() and math.isclose(p, chance, rel_tol=1e-5))
    if own not in listed and next(same, None) is None:
        listed[own] = chance
    return listed


def _begun(text: str, prefix: str, lead: str) -> _Begun:
    """Return how far a number is written with `text` behind its beginning `prefix`; "" if none begins."""
    whole = prefix + text if prefix else text.removeprefix(lead).lstrip(_MARKS)
    begun = _BEGUN.match(whole)
    number = begun[0] if begun else ""
    return number, number == prefix or len(number) < len(whole)


def _options(token: Token, prefix: str, lead: str) -> tuple[_Begun, dict[_Begun, float]]:
    """Return how the number goes on in a token, and the probabilities of all ways in which it might."""
    own = _begun(_readable(token.text), prefix, lead)
    parts: dict[_Begun, list[float]] = {}
    for text, chance in _alternatives(token).items():
        begun = _begun(text, prefix, lead)
        if not prefix and own[0][0] in "-\u2212" and text.isspace():
            begun = "+", False  # where " -" might have stood, a space leads to a number without a sign
        if begun[0]:
            parts.setdefault(begun, []).append(chance)
    options = {begun: math.fsum(chances) for begun, chances in parts.items()}
    if prefix:
        end = prefix, True
        going = math.fsum(p for begun, p in options.items() if begun != end)
        options[end] = max(options.get(end, 0.0), 1 - going)
    return own, options


def _signs(before: Token, scale: Scale, long: bool) -> tuple[float, list[_Mass]]:
    """Return what is left of the weight where a space was written and " -" might have been, and what that one gets."""
    text = _readable(before.text)
    if not text or text.strip(_MARKS):
        return 1.0, []
    options = _alternatives(before)
    begun = [(p, _begun(t, "", "")) for t, p in options.items()]
    known = ((p, _reach(*b, scale, long)) for p, b in begun if b[0][:1] in ("-", "\u2212"))
    return _shared(1.0, options.get(text, math.exp(before.logprob)), [(p, e) for p, e in known if e is not None])


@lru_cache(maxsize=4096)
def _reach(number: str, ended: bool, scale: Scale, long: bool) -> tuple[float, float] | None:
    """Return the lowest and the highest number on the scale that a number, as far as it is written, may become.

    `long`: the tokeniser has numbers of several digits as single tokens, so that further digits are not to come.
    """
    number = number.replace("\u2212", "-")
    value = as_float(number) if any(c.isdigit() for c in number) else math.nan
    itself = (value, value) if scale.holds(value) else None
    if ended or (number == "+" and scale.low >= 0):  # such a sign tells nothing
        return itself
    digits = number.removeprefix("+")
    start = f"{digits}." if long and digits[-1:].isdigit() and "." not in digits else digits
    fits = [
        point
        for written, point in _points(scale)
        if f"{written}{'0' * len(start)}".startswith(start) and not (number[0] == "+" and point < 0)
    ]
    return (fits[0], fits[-1]) if fits else itself


def _step(scale: Scale) -> float:
    return max(scale.step, (scale.high - scale.low) / (_POINTS - 1))


@lru_cache(maxsize=64)
def _points(scale: Scale) -> tuple[tuple[str, float], ...]:
    """Return the points of a scale in order, as they are written ("4.", "3.5") and as numbers."""
    step = _step(scale)
    count = math.floor((scale.high - scale.low) / step + 1e-9) + 1
    points = (min(scale.high, round(scale.low + k * step, 10) + 0.0) for k in range(count))
    return tuple((f"{_written(p)}." if "." not in _written(p) else _written(p), p) for p in points)


def _written(number: float) -> str:
    return f"{number:.10f}".rstrip("0").rstrip(".")
