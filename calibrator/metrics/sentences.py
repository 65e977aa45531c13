"""Sentences and words of a text, by rules: for measures that divide by how many there are. Nothing is downloaded."""

from __future__ import annotations

import re

# What ends a sentence: a run of marks with the quotes and brackets that close after it, before white space or the end.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]]*(?=\s|$)|\n+")
_WORD = re.compile(r"[^\W_]+(?:['’.\-][^\W_]+)*")
# A full stop after the first ends no sentence, after the second only before a capital letter.
_TITLES = frozenset("mr mrs ms dr prof rev hon gen col capt lt sgt vs eg e.g ie i.e cf no vol fig".split())
_SHORTENED = frozenset(
    "al approx a.m co corp dept est etc inc jr ltd p.m sr st u.k u.n u.s jan feb mar apr jun jul aug sep sept oct nov "
    "dec".split()
)
_BEFORE_NUMBERS = frozenset({"no", "fig", "vol"})
_LAST_WORD = re.compile(r"[^\W_]+(?:\.[^\W_]+)*$")


def sentences(text: str) -> list[str]:
    """Return the sentences of a text with the marks that end them, without white space around them.

    A line ends its last sentence. A full stop after a title or an initial ends none; after another usual abbreviation,
    and dots that trail off, end one only before what is no small letter. Parts without a letter or digit belong to the
    sentence before.
    """
    found: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match[0].startswith(".") and not _ends(text, match.start(), match.end()):
            continue
        _take(found, text[start : match.end()])
        start = match.end()
    _take(found, text[start:])
    return found


def words(text: str) -> list[str]:
    """Return the words of a text in their order: runs of letters and digits, held together by ' . and - inside."""
    return _WORD.findall(text)


def _ends(text: str, dot: int, after: int) -> bool:
    """Return whether the full stop at `dot` ends a sentence; the next one would begin at or behind `after`."""
    rest = text[after:].lstrip()
    if not rest or text[dot : dot + 2] == "..":
        return not rest[:1].islower()
    last = _LAST_WORD.search(text, max(0, dot - 20), dot)
    word = last[0].casefold() if last else ""
    if word in _BEFORE_NUMBERS:
        return not rest[0].isdigit()
    if len(word) == 1 and last is not None and last[0].isupper() and last[0] != "I":
        return False  # an initial
    return word not in _TITLES and not (word in _SHORTENED and rest[0].islower())


def _take(found: list[str], part: str) -> None:
    part = part.strip()
    if any(c.isalnum() for c in part):
        found.append(part)
    elif part and found:
        found[-1] = f"{found[-1]} {part}"
