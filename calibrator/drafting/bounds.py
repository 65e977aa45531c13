"""What a written rubric may not decide: the scale belongs to the aspect, the form of the answer to the judge's prompt.

A step that asks for others would change what is scored, so it is refused. It is known by its English words: a step in
another language passes, and so does an odd wording. What a rubric may well say passes too: parts of the scale ("give
4-5 if"), points to take off, numbers of things in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from calibrator.aspects import Scale

_DIGITS = {w: str(n) for n, w in enumerate("zero one two three four five six seven eight nine ten".split())}
_DIGITS |= {"hundred": "100", "a hundred": "100", "one hundred": "100"}
_IN_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_DIGITS, key=len, reverse=True))})\b")
_SPOKEN = re.compile(r"[\"“‘«](?:[^\s\"”’»]+\s+){3,}[^\"”’»]*[\"”’»]")  # what others say, from four words on
_NOT = re.compile(r"\b(?:not|never|don['’]t|avoid|instead of|rather than)(?: [\w'-]+){0,2} ?$")

_N = r"(?<![\w.])-?\d{1,4}(?:\.\d+)?(?!\w|[.,]\d)"
_SPAN = rf"(?P<low>{_N}) ?%?(?: ?\([^()]{{0,40}}\))?(?: ?- ?| to | through | ?\.\. ?)(?P<high>{_N}) ?%?"
_FROM = _SPAN.replace("| to |", "| to | and |")
_RATE = (
    r"(?:rat(?:es?|ed|ings?)|scor(?:es?|ed|ing)|grade(?= (?:it|them|the|this|each|from|between|on)\b)"
    r"|(?:give|assign|choose|pick|select|enter|award|use|return)(?: [a-z]+){0,3}"
    r" (?:numbers?|values?|integers?|figure|mark))"
)
_GIVE = rf"(?:{_RATE}|give|assign|award)"
# Words of a condition, or of something in the text that is counted: what follows them is no rating.
_APART = (
    r"(?:if|when|whenever|where|who|whom|which|aged|with|having|contain\w*|by|words?|sentences?|lines?|pages?|years?"
    r"|people|readers|length|long|points?)\b"
)
_GAP = rf"(?:[ ,(:]+(?!{_APART})[a-z'][\w'/-]*){{0,9}}[ ,(:]+"
_ANY_GAP = rf"(?:[ ,(:]+(?!{_APART})[\w.'-]+){{0,9}}[ ,(:]+"
_MANNER = r"(?:[ ,:]+(?!(?:if|when|whenever|where|who|which|texts?)\b)[\w'-]+){0,9}[ ,:]+"
_NEXT = (
    r"(?:[ :(=]+(?:(?:the|this|each|every) [a-z-]+|it|them|texts?|the|an?|of|as|is|be|at|(?:whole )?number|value|score"
    r"|rating|only|just|no more than|at most|at least|up to|(?:maximum|minimum) of)\b){0,6}[ :(=]+"
)
_END = (
    r"(?= ?(?:$|[.,;:!?()]|(?:stars?|if|when|where|for|based|depending|according|accordingly|on|how|inclusive|and|as"
    r"|only|unless|because|so|here|using|overall|means?|is|are|instead)\b))"
)
_END_OF_ONE = r"(?= ?(?:$|[.,;!?)]|(?:if|when|where|for|only|unless|means?|is|because|to (?:texts?|an?|the|any))\b))"

_SCALES = tuple(
    map(
        re.compile,
        (
            r"\bscales?(?: ?[:(] ?| (?:of|from|between|runs?|running|goes|going|is|rang(?:es|ing)|that|which|here)\b)*"
            rf" ?{_FROM}",
            rf"\bscales? (?:where|in which|with) (?P<low>{_N})[^.;\d]{{1,40}}(?P<high>{_N})",
            rf"{_SPAN}[ -]?(?:(?:points?|rating|likert|numeric|numerical|stars?)[ -])*scale\b",
        ),
    )
)
_RATED = tuple(
    map(
        re.compile,
        (
            rf"\b{_RATE}\b(?P<gap>{_GAP})(?:from|between|within|(?:in|within) the range(?: of| from)?) {_FROM}{_END}",
            rf"\b{_GIVE}\b(?P<gap>{_NEXT})(?:from |between )?{_FROM}{_END}",
            rf"\b{_RATE}\b(?P<gap>(?: [a-z]+){{1,4}}) ?\({_SPAN}\)",
            rf"\b{_GIVE}\b(?P<gap>{_NEXT})(?P<low>{_N})(?P<high>){_END_OF_ONE}",
        ),
    )
)
_TOPS = tuple(
    map(
        re.compile,
        (
            rf"\b{_GIVE}\b{_ANY_GAP}out of (?P<top>{_N}){_END}",
            rf"\b{_GIVE}\b{_ANY_GAP}(?:[\w.]{{1,4}} ?)?/ ?(?P<top>{_N}){_END}",
            r"\b(?P<top>\d+)[ -](?:points?|stars?) (?:[a-z]+ )?(?:scale|rating)\b",
            rf"\bscales? (?:out )?of (?P<top>{_N})(?! ?(?:-|\.\.|to\b|and\b))",
        ),
    )
)
_PERCENT = re.compile(
    rf"\b(?:{_GIVE}|express|state|report|convert)\b{_ANY_GAP}(?:as|in|into|to|using) (?:a )?percent(?:ages?)?\b(?! of)"
    r"|\b(?:give|assign|award|provide|output|return|answer|reply|respond|report|enter)(?: it| with| as)* a percentage\b"
    r"(?! of)|\bpercentage (?:scores?|ratings?|scale)\b"
)
_PART = re.compile(r"\b(?:part|end|ends|half|top|bottom|upper|lower|middle|third|if|when|where|for)\b")
_CONDITION = re.compile(r"\b(?:if|when|whenever|where|unless|otherwise|for|texts? (?:that|who|which))\b|\?")
_PLAIN_GAP = re.compile(
    r"[ ,(:]*(?:\b(?:it|them|the|this|each|text|texts|output|overall|quality|whole|of|a)\b[ ,(:]*)*"
)
_BEGINS = re.compile(r"(?:^|[.;!] ?)(?:(?:then|finally|now|next|lastly),? )?$")
_USUAL = frozenset({(0, 1), (1, 3), (1, 4), (0, 5), (1, 5), (1, 7), (0, 10), (1, 10), (0, 100), (1, 100)})

_BEGIN = (
    r"(?:^|[.;:!?,(] ?|\b(?:and|then|finally|please|always|only|just|now|lastly|you (?:must|should|may|can|will)) )"
)
_SAY = r"(?:reply|respond|answer|output|return|print|write|report|format|submit|emit|type|say|generate|produce)"
_THE = r"(?: (?:only|just|out|down|back|with|by|the|an?|your|its|final|overall|resulting|numeric|numerical))*"
_RESULT = r" (?:score|rating|answer|verdict|result|judge?ment|number)"
_MARKUP = r"(?:json|xml|yaml|csv|markdown|html|tables?|dictionary|bullet points?|bulleted list)\b"
_FORM = rf"(?:{_MARKUP}|(?:word|letter|label)\b)"
_SOLE = r"(?:only|just|nothing but|exactly|solely|a single|1)"
_PLAIN = r"(?: (?:with|by|the|an?|your|1|single|whole|final|numeric|numerical|bare|plain|overall))*"
_BIT = r"(?:number|digit|integer|numeral|score|rating|word|letter|label|character|line|sentence|figure|value)\b"
_YES = r"[\"'“‘]?(?:yes|true|pass)[\"'”’]?(?: ?/ ?| or |, )[\"'“‘]?(?:no|false|fail)\b"
_FORMS = tuple(
    map(
        re.compile,
        (
            rf"{_BEGIN}(?:{_SAY}|give|provide|state)(?: (?:it|this|each|simply|only|just|either|with|by|in|as|an?|"
            rf"simple|clear|the question))*[ :,]+{_YES}(?! questions?\b)",
            rf"{_BEGIN}(?:{_SAY}|provide|present|express){_MANNER}(?:(?:valid|strict|plain|proper) )?{_MARKUP}",
            rf"{_BEGIN}(?:give|state){_THE}{_RESULT} (?:in|as|using)(?: an?| valid)* {_FORM}",
            rf"{_BEGIN}{_SAY}(?: (?:with|by|back|using|simply))*(?: {_SOLE})+{_PLAIN} {_BIT}",
            rf"(?:^|[.;:!?,] ?)(?:then )?(?:only|just) {_SAY}{_PLAIN} {_BIT}",
            rf"{_BEGIN}(?:{_SAY}|give|provide|state){_THE}{_RESULT} only\b",
            rf"{_BEGIN}(?:{_SAY}|give|provide|state){_MANNER}(?:in|with) (?:only |just )?(?:a single|1) word\b",
            rf"{_BEGIN}(?:give|provide|state) (?:only|just|nothing but|solely)(?: (?:the|an?|your|1|single|final))*"
            r" (?:number|digit|integer|numeral)\b",
            rf"{_BEGIN}(?:print|write|format|output|return|report|submit|type){_THE}{_RESULT}"
            r" (?:as|in|on|at|inside|between|using|followed|first|last|to)\b"
            r"(?! (?:(?:the|an?) (?:[\w-]+ )?(?:scale|range|basis)|line with|accordance))",
            rf"{_BEGIN}{_SAY}{_MANNER}nothing else\b",
            rf"{_BEGIN}{_SAY}{_MANNER}in (?:the|this) (?:following |exact |given )?(?:format|template)\b",
            r"(?:^|[.;:!?] ?)use (?:the|this) (?:following )?(?:(?:output|answer|reply|response) )?format\b",
            r"\byour (?:final )?(?:answer|reply|response|score|rating) (?:should|must|has to|is to) be"
            rf" (?:only |just |in |as |an? |valid |single |1 |either )*(?:{_FORM}|{_YES})",
            r"\{ ?[\"'“]?(?:score|rating|answer|result|grade|label|verdict)[\"'”]? ?:",
            r"[\"'“‘](?:final )?(?:score|rating) ?:",
            r"\b(?:give|assign|award|use|choose|as|with) (?:it )?(?:a )?letter grades?\b",
            rf"\b{_GIVE}\b(?:[ ,]+[a-z]+){{0,5}}? (?:from )?a\+?(?: to |-)[d-f]\b",
        ),
    )
)


def out_of_bounds(steps: Iterable[str], scale: Scale) -> str | None:
    """Return why steps would change what the judge has to answer on an aspect with this scale, None if they do not."""
    for step in map(_normal, steps):
        if _has_other_scale(step, scale):
            return f"a step asks for another scale than {scale}"
        if any(_asked(form, step) for form in _FORMS):
            return "a step says how the answer is to be written"
    return None


def _normal(step: str) -> str:
    """Return a step in small letters with its numbers in digits, and without what it puts into others' mouths."""
    text = " ".join(_SPOKEN.sub("…", step.casefold()).split())
    text = re.sub("[‐‑‒–—−]", "-", text).replace("per cent", "percent").replace("*", "")
    return _IN_WORDS.sub(lambda m: _DIGITS[m[0]], text)


def _asked(pattern: re.Pattern[str], step: str) -> list[re.Match[str]]:
    """Return the places where a step asks for something, without those where it asks not to do it."""
    return [m for m in pattern.finditer(step) if not _NOT.search(step[: m.start()])]


def _has_other_scale(step: str, scale: Scale) -> bool:
    ends = (scale.low, scale.high)
    if ends != (0, 100) and _asked(_PERCENT, step):
        return True
    tops = {scale.high, (scale.high - scale.low) / scale.step + 1, scale.high - scale.low + 1}
    if any(float(m["top"]) not in tops for pattern in _TOPS for m in _asked(pattern, step)):
        return True
    for match in (m for pattern in _SCALES for m in _asked(pattern, step)):
        span = _ends(match)
        part = _PART.search(step, max(0, match.start() - 40), match.start())
        if span != ends and not (part and _within(span, scale)):
            return True
    return any(_rates_otherwise(m, step, scale) for pattern in _RATED for m in _asked(pattern, step))


def _rates_otherwise(match: re.Match[str], step: str, scale: Scale) -> bool:
    """Whether a rating is asked for in numbers off the scale, or every rating on a usual scale that is part of it."""
    span = _ends(match)
    if not _within(span, scale):
        return True
    begins = _BEGINS.search(step[: match.start()])
    for_all = begins and _PLAIN_GAP.fullmatch(match["gap"]) and not _CONDITION.search(step)
    return bool(for_all and span in _USUAL and span != (scale.low, scale.high))


def _ends(match: re.Match[str]) -> tuple[float, float]:
    low = float(match["low"])
    high = float(match["high"] or low)
    return min(low, high), max(low, high)


def _within(span: tuple[float, float], scale: Scale) -> bool:
    return scale.low <= span[0] and span[1] <= scale.high
