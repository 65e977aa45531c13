"""What a written rubric may not decide: the scale belongs to the aspect, the form of the answer to the judge's prompt.

A step that plainly asks for others is refused. It is known by a few English phrases; what they miss does little harm,
as the judge's prompt states scale and form itself, and a score off the scale is a failure. So they err on the side of
letting a step pass: parts of the scale, points to take off, numbers of things in the text are ordinary.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from calibrator.aspects import Scale

_DIGITS = {w: str(n) for n, w in enumerate("zero one two three four five six seven eight nine ten".split())}
_IN_WORDS = re.compile(rf"\b(?:{'|'.join(_DIGITS)})\b")
_SPOKEN = re.compile(r"[\"“‘«](?:[^\s\"”’»]+\s+){3,}[^\"”’»]*[\"”’»]")  # what others say, from four words on
_NOT = re.compile(r"\b(?:not|never|don['’]t|avoid|instead of|rather than)(?: [\w'-]+){0,2} ?$")

_N = r"(-?(?<![\d.])\d{1,4}(?:\.\d+)?)(?![\d%]*\.?\d)"
_RANGE = rf"{_N} ?%?(?: \([^()]{{0,40}}\))? ?(?:-|to|and|through) ?{_N}"
_RATE = r"\b(?:rat(?:e|ing)|scores?|grade|give|assign|choose|use|return)\b"
_NEAR = r"(?:(?!\b(?:if|when|where|who|with|by|close|points?|texts)\b)[^.;?\d]){0,50}?"
_END = r"(?= ?%?(?:$|[.,;:!?)(]| (?:stars?|where|when|if|for|on|based|depending|means)\b))"
_SPANS = tuple(
    map(re.compile, (rf"{_RATE}{_NEAR}[ (]{_RANGE}{_END}", rf"(?<![\w-])scale\b{_NEAR}{_RANGE}", rf"{_RANGE} scale"))
)
_WHOLE, _CONDITION = re.compile(r"from|between|scale"), re.compile(r"\b(?:if|when|where|for|end|half|part)\b|\?")
_POINTS = re.compile(rf"{_RATE}(?: (?:it|them|an?|of|the text)){{0,3}} {_N}{_END}")
_TOPS = tuple(
    map(
        re.compile,
        (
            rf"{_RATE}(?:(?!\b(?:if|when|where)\b)[^.;?]){{0,50}}?(?:\bout of |/ ?){_N}{_END}",
            rf"{_N}[ -](?:point|star) (?:scale|rating)",
            rf"\bscale of {_N}(?! ?(?:-|to|and)\b| ?-)",
        ),
    )
)
_PERCENT = re.compile(
    rf"(?:{_RATE}|\b(?:express|convert)\b)(?: [a-z]+){{0,4}} (?:percentage|percent|(?:as|to|in) a percentage)\b(?! of)"
)
_SAY = r"(?:^|[.;:!?,(] ?|\b(?:and|then|finally|please|just|only) )(?:reply|respond|answer|output|return|print|write)\b"
_FORMS = tuple(
    map(
        re.compile,
        (
            rf"{_SAY}(?: only| with|:)*[ :,]+[\"'“]?(?:yes|true)[\"'”]? ?(?:or|/) ?[\"'“]?(?:no|false)\b(?! question)",
            rf"(?:{_SAY}|\b(?:provide|format|your (?:final )?answer)\b)[^.;]{{0,30}}\b(?:json|xml|yaml|csv)\b",
            rf"{_SAY}(?: with)? (?:only|just|nothing but|a single|1)\b(?! of)",
            rf"{_SAY}[^.;]{{0,30}}\b(?:nothing else|format)\b",
            r"[{\"“'] ?(?:score|rating)[\"”']? ?:",
        ),
    )
)


def out_of_bounds(steps: Iterable[str], scale: Scale) -> str | None:
    """Return why steps would change what the judge has to answer on an aspect with this scale, None if they do not."""
    for step in map(_normal, steps):
        if _other_scale(step, scale):
            return f"a step asks for another scale than {scale}"
        if any(_asked(form, step) for form in _FORMS):
            return "a step says how the answer is to be written"
    return None


def _normal(step: str) -> str:
    """Return a step in small letters with its numbers in digits, and without what it puts into others' mouths."""
    text = " ".join(_SPOKEN.sub("…", step.casefold()).split())
    return _IN_WORDS.sub(lambda m: _DIGITS[m[0]], re.sub("[‐‑‒–—−]", "-", text))


def _asked(pattern: re.Pattern[str], step: str) -> list[re.Match[str]]:
    """Return the places where a step asks for something, without those where it asks not to do it."""
    return [m for m in pattern.finditer(step) if not _NOT.search(step[: m.start()])]


def _other_scale(step: str, scale: Scale) -> bool:
    """Whether a step asks for numbers off the scale, all ratings within a part of it, another top, or a percentage."""
    ends = (scale.low, scale.high)
    tops = (scale.high, scale.high - scale.low + 1, (scale.high - scale.low) / scale.step + 1)
    ranges = [m for pattern in _SPANS for m in _asked(pattern, step)]
    asked = [float(n) for m in (*ranges, *_asked(_POINTS, step)) for n in m.groups()]
    given = [float(m[1]) for pattern in _TOPS for m in _asked(pattern, step)]
    for_all = [m for m in ranges if _WHOLE.search(m[0]) and not _CONDITION.search(step)]
    return (
        any(not scale.low <= n <= scale.high for n in asked)
        or any(n not in tops for n in given)
        or any(tuple(sorted(map(float, m.groups()))) != ends for m in for_all)
        or (ends != (0, 100) and bool(_asked(_PERCENT, step)))
    )
