"""What a number in a reply is called, and the few plain forms besides JSON in which a score is stated."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from calibrator.aspects import Scale

Form = Literal["json", "stated"]

_ABOUT_A_SCORE = frozenset("score rating final overall".split())
# What stands under such keys counts, limits or explains: it is no score even where it is the only number.
_BESIDE_A_SCORE = frozenset(
    "step steps reason reasons reasoning explanation justification analysis thought thoughts thinking rationale "
    "comment comments description feedback evidence note notes summary confidence certainty max maximum min minimum "
    "scale range low high id index count weight version example examples".split()
)
_LEADS = frozenset("the my a this final overall so thus hence therefore".split())  # may stand before "score: 4"
_LATER = 2000  # letters behind a number in which a list would go on
_LONGEST = 60  # of a text value with a score in it; longer ones argue, and speak of numbers that they do not give


# Every repetition below that meets another one is possessive (`*+`): no reply may take quadratic time.
_NUMBER = r"(?P<n>[-+\u2212]?[0-9]++(?:\.[0-9]++)?)"
_MARKS = r"[*_`\"']*+"  # what markdown and quoting put around a word or a number
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


@dataclass(frozen=True, slots=True)
class Value:
    """What stands under a key; `named`: the key says that it is the score; `cut`: it could have gone on."""

    named: bool
    number: float | None
    form: Form = "json"
    cut: bool = False


def normal(name: str) -> str:
    """Return a key or name as they are compared: case, accents and punctuation do not count."""
    decomposed = unicodedata.normalize("NFKD", name).casefold()
    return " ".join("".join(c if c.isalnum() else "" if unicodedata.combining(c) else " " for c in decomposed).split())


def as_float(number: str) -> float:
    """Return the number that stands there, with whatever minus sign."""
    return float(number.replace("\u2212", "-")) + 0.0  # -0.0 becomes 0.0


class Reader:
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
        name = normal(key)
        words = [w for w in name.split() if w not in _ABOUT_A_SCORE]
        if name in self.names or (name and (not words or " ".join(words) in self.names)):
            return "score"
        return "unknown" if _BESIDE_A_SCORE.isdisjoint(words) else "beside"

    def value(self, named: bool, said: str, form: Form = "json") -> Value:
        """Return what a text value says: its leading number, a label's number, or a score that it states."""
        if len(said) > _LONGEST:
            return Value(named, None)
        plain = self.range.sub("…", said)
        if leading := _LEADING.match(plain):
            return Value(named, as_float(leading["n"]) if self._stops(plain, leading.end()) else None, form)
        if labelled := _LABELLED.fullmatch(plain):
            return Value(named, as_float(labelled["n"]), "stated")
        stated = set(self.statements(said, cut_off=False))
        return Value(named, stated.pop() if len(stated) == 1 else None, "stated")

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
        begins = 0
        for line in text.split("\n")[: 1 if cut_off else None]:
            start, begins = begins, begins + len(line) + 1
            matches = () if _LISTED.match(line) else (*self.stated.finditer(line), *self.bracketed.finditer(line))
            for match in matches:
                bracketed = match.re is self.bracketed
                of_top = None if bracketed else self.of_top.match(line, match.end())
                end = (of_top or match).end()
                ends = _ENDS.match(line, end)
                if _begins_a_list(match["n"], text[start + end : start + end + _LATER], cut_off):
                    continue
                if ends is None or not _meant(line[max(0, match.start() - 200) : match.start()], bracketed):
                    continue
                # Labels with numbers may be a guide that is repeated and was cut off behind its first line.
                if not cut_off or not (bracketed or ends["label"] or _NOTHING_MORE.match(text, end)):
                    yield as_float(match["n"])


def _begins_a_list(number: str, later: str, cut_off: bool) -> bool:
    """Whether a number that is followed by a stop and more words counts steps: the next number follows, or may have."""
    if not re.match(r"\.\s+\S", later):
        return False
    following = f"{as_float(number) + 1:g}"
    return cut_off or re.search(rf"(?:^|\s){re.escape(following)}\s*[.):]\s", later) is not None


reader_for = lru_cache(maxsize=64)(Reader)  # a run reads thousands of replies on one scale


def _meant(before: str, bracketed: bool) -> bool:
    """Whether what stands before a score in its line leaves it the score of the text as a whole."""
    sentence = _SENTENCES_BEFORE.sub("", before)
    lead = sentence.rstrip(" \t*_`\"'#>-(")
    words = re.findall(r"\w+", lead.casefold())
    begins = not lead or lead[-1] in ".!?;," or (words[-1:] and words[-1] in _LEADS)
    return bool(bracketed or begins) and not _HEDGED.search(sentence)
