"""Reads labels out of what a model replied, or another program recorded.

Strict, as a wrong label does more harm than none: a reply counts only if it is a list of labels of the scheme and
nothing else. One that names anything else, even beside labels that there are, is a failure; and so is one that names
nothing, unless the scheme allows a text without a label and the reply says so.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from calibrator.judges.parsing import outside_thought
from calibrator.studies.labels import label_text
from calibrator.studies.types.base import Labels
from calibrator.studies.types.scheme import NONE, Scheme, spelling

CUT_OFF = "the reply was cut off before its list was complete"
EMPTY = "the reply is empty"
NO_LIST = "the reply is no list of labels"
OFF_LIST = "a label that is none of the scheme"
NONE_GIVEN = "no label is named, and every text has one"
BOTH = "the reply says both none and a label"
SEVERAL = "the reply gives several lists that differ"
_NONE = frozenset(map(spelling, NONE))
_KEYS = ("types", "labels", "type", "label")
_FENCE = re.compile(r"^\s*```\w*\s*$", re.MULTILINE)
_HEAD = re.compile(r"^\W*(?:the )?(?:answer|labels?|types?|list|output|result)(?: (?:is|are))?\s*:\s*", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*•–]|\(?\d{1,2}[.)])\s+")
_DECODER = json.JSONDecoder()


def read_labels(text: str, scheme: Scheme, *, cut_off: bool = False) -> Labels | str:
    """Return the labels that a reply gives, or why it gives none.

    Read are: JSON, a list or an object with one list, alone or with words around it; and a plain list, one label a
    line or joined by commas, alone but for a head such as "Types:". Prose is not read: what it names it may deny.
    """
    said = outside_thought(text)
    if said is None or cut_off:
        return CUT_OFF
    said = _FENCE.sub("", said).strip()
    if not said:
        return EMPTY
    lists = list(_json_lists(said))
    if not lists:
        return named(_plain_list(said), scheme) if _is_plain(said, scheme) else NO_LIST
    found = [named(entries, scheme) for entries in lists]
    sets = {f for f in found if isinstance(f, frozenset)}
    failures = [f for f in found if isinstance(f, str)]
    if len(sets) > 1:
        return SEVERAL
    return failures[0] if failures else next(iter(sets))


def named(entries: Sequence[Any], scheme: Scheme) -> Labels | str:
    """Return the labels that these entries name, or why they are none: each must be one of the scheme."""
    labels, none = set(), False
    for given in entries:
        if isinstance(given, bool) or not isinstance(given, str | int | float):
            return OFF_LIST
        entry = label_text(given)
        name = scheme.find(entry)
        if name is not None:
            labels.add(name)
        elif spelling(entry) in _NONE:
            none = True
        elif entry:
            return OFF_LIST
    if labels:
        return BOTH if none else frozenset(labels)
    if not scheme.empty:
        return NONE_GIVEN
    return frozenset()


def _json_lists(text: str) -> Iterator[list[Any]]:
    """Yield the lists in a text: those that stand in it, and of an object the one that is called types or labels."""
    at = 0
    while (opening := re.compile(r"[\[{]").search(text, at)) is not None:
        at = opening.end()
        try:
            value, end = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            under = [v for k, v in value.items() if spelling(k) in _KEYS and isinstance(v, list)]
            inside = under or [v for v in value.values() if isinstance(v, list)]
            value = inside[0] if len(inside) == 1 else None
        if isinstance(value, list):
            yield value
            at = end


def _plain_list(text: str) -> list[str]:
    """Return the entries of a list that is written in plain words."""
    body = _HEAD.sub("", text.strip().strip("[]").strip())
    lines = [_BULLET.sub("", line).strip() for line in body.splitlines() if line.strip()]
    parts = lines if len(lines) > 1 else re.split(r"[,;|]", lines[0] if lines else "")
    return [entry for part in parts if (entry := part.strip().strip("\"'`*.").strip())]


def _is_plain(text: str, scheme: Scheme) -> bool:
    """Whether at least one entry of a text, read as a list, is a label or a word for none, and none is a sentence."""
    entries = _plain_list(text)
    longest = max(len(spelling(e).split()) for e in [*scheme.names, *NONE, *_aliases(scheme)])
    known = [scheme.find(e) is not None or spelling(e) in _NONE for e in entries]
    return any(known) and all(len(spelling(e).split()) <= longest for e in entries)


def _aliases(scheme: Scheme) -> list[str]:
    return [alias for label in scheme.labels for alias in label.aliases]
