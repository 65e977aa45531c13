"""Reading the steps of a rubric out of what a model wrote, and refusing those that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from calibrator.judges.parsing import outside_thought
from calibrator.records import NoRubric
from calibrator.texts import normalise, unusable, visible

STEPS_AT_MOST, LETTERS_AT_MOST = 20, 800  # a guide longer than this is no guide any more
WORDS_AT_LEAST = 3  # "first step", "second step" are the prompt's own placeholders
QUOTED = 8  # as many consecutive words of an example are a quotation
# "1. …", "Step 2: …", "3) …", "### 4. …", "Step 5 - …", "- …", "* …": what stands before a step in prose.
_NUMBER = re.compile(
    r"(?:#{1,6}\s*)?(?:\*\*)?(?:step\s+)?\d{1,2}(?:\s*[.):](?:\*\*)?(?:\s+|(?=[a-z]))|\s+[-–]\s+)|[-*•]\s+",
    re.IGNORECASE,
)
_DOT = re.compile(r"^[-*•]\s+")


def steps_of(text: str, cut_off: bool) -> tuple[str, ...] | NoRubric:
    """Return the steps in a reply, thoughts left out: the strings of its JSON, else the lines of a numbered list."""
    if cut_off:
        return NoRubric("the reply was cut off before its end")
    said = outside_thought(text) or ""
    found = _from_json(said)
    steps = [_tidy(s) for s in (_from_list(said) if found is None else found)]
    steps = [s for s in steps if unusable(s) is None]
    if not steps:
        return NoRubric("the reply holds no steps")
    if len(steps) > STEPS_AT_MOST:
        return NoRubric(f"more than {STEPS_AT_MOST} steps")
    if any(len(s) > LETTERS_AT_MOST for s in steps):
        return NoRubric(f"a step of more than {LETTERS_AT_MOST} letters")
    if all(len(s.split()) < WORDS_AT_LEAST for s in steps):
        return NoRubric(f"no step has {WORDS_AT_LEAST} words")
    return tuple(steps)


def quotes(steps: Iterable[str], texts: Iterable[str]) -> bool:
    """Whether a step holds `QUOTED` consecutive words of one of `texts`: a rubric is general, and carries no item."""
    known = {run for text in texts for run in _runs(text)}
    return any(run in known for step in steps for run in _runs(step))


def _runs(text: str) -> Iterable[tuple[str, ...]]:
    words = normalise(text).split()
    return zip(*(words[k:] for k in range(QUOTED)), strict=False)


def _from_json(text: str) -> list[str] | None:
    """Return the steps in the first JSON that has any; None if there is none."""
    decoder = json.JSONDecoder()
    for match in re.finditer(r"[{\[]", text):
        try:
            value, _ = decoder.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            continue
        listed = value if isinstance(value, list) else _listed(value)
        if listed and (steps := _strings(listed)):
            return _without_numbers(steps)
    return None


def _listed(value: Mapping[str, object]) -> list[object]:
    """Return the list under "steps", at whatever depth, else the first list or the texts of the first object there."""
    inner = [value, *(v for v in value.values() if isinstance(v, dict))]
    for found in (v for each in inner for k, v in each.items() if k.casefold() == "steps"):
        if isinstance(found, list | dict):
            return list(found.values()) if isinstance(found, dict) else found
    first = next((v for v in value.values() if isinstance(v, list | dict)), [])
    return list(first.values()) if isinstance(first, dict) else first


def _without_numbers(steps: list[str]) -> list[str]:
    """Return steps without the numbers before them where these count 1, 2, 3 …; others are points of the scale."""
    numbers = [_NUMBER.match(step.strip()) for step in steps]
    counted = all(n and re.sub(r"\D", "", n[0]) == str(k) for k, n in enumerate(numbers, 1))
    return [step.strip()[n.end() :] for step, n in zip(steps, numbers, strict=True) if n] if counted else steps


def _strings(values: Sequence[object]) -> list[str]:
    """Return the texts in a list; where a step is an object, all its texts are the step."""
    steps = []
    for value in values:
        if isinstance(value, str):
            steps.append(value)
        elif isinstance(value, dict):
            steps.append(" ".join(v for v in value.values() if isinstance(v, str)))
    return steps


def _from_list(text: str) -> list[str]:
    """Return the numbered or dotted lines of prose, each with the lines that go on with it."""
    steps: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if match := _NUMBER.match(stripped):
            steps.append(stripped[match.end() :])
        elif steps and stripped and line[:1].isspace():
            steps[-1] += f" {stripped}"
    return steps


def _tidy(step: str) -> str:
    """Return a step as one line of plain text without a dot before it and without emphasis."""
    whole = step.encode("utf-8", "replace").decode()  # half a surrogate pair cannot be written to any file
    return _DOT.sub("", visible(" ".join(whole.replace("**", "").split())))
