"""The steps in free text: what another optimizer wrote as an instruction, taken whole, as a rubric of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from calibrator.aspects import Aspect
from calibrator.drafting.bounds import out_of_bounds
from calibrator.drafting.steps import LETTERS_AT_MOST, quotes, steps_of
from calibrator.judges.parsing import outside_thought
from calibrator.records import NoRubric, Rubric, Step, Written

_MARK = re.compile(r"(?:#{1,6}\s+|[-*•]\s+|(?:\*\*)?(?:step\s+)?\d{1,2}\s*[.):]\s+)", re.IGNORECASE)
_RULE = re.compile(r"[\s*_=~`#-]*(?:json|text|markdown)?[\s`]*", re.IGNORECASE)  # a line that only lays the text out
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def guide_of(text: str) -> tuple[str, ...] | NoRubric:
    """Return the steps that an instruction makes: a step for each line, or those of its JSON; thoughts are left out.

    Nothing that was written is dropped, as it would be from a reply with a list in it: what was optimised is all of
    it. A line too long for a step is parted between sentences. See `steps.steps_of` for what is no rubric.
    """
    said = (outside_thought(text) or "").strip()
    if said[:1] in ("{", "[") and not isinstance(found := steps_of(said, False), NoRubric):
        return found
    lines = [part for line in _lines(said) for part in _parted(line)]
    return steps_of(json.dumps({"steps": lines}), False) if lines else NoRubric("the instruction is empty")


def guide_rubric(text: str, aspect: Aspect, texts: Iterable[str]) -> Written:
    """Return the rubric that an instruction makes, or why it is none.

    It is refused for what a draft is refused for: it quotes one of `texts`, which it was written from, or would change
    the scale or the form of the answer.
    """
    steps = guide_of(text)
    if isinstance(steps, NoRubric):
        return steps
    if quotes(steps, texts):
        return NoRubric("a step quotes an example")
    if reason := out_of_bounds(steps, aspect.scale):
        return NoRubric(reason)
    return Rubric(aspect.ref, tuple(Step(s) for s in steps))


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a text without the marks and numbers before them; an indented line goes on with the last."""
    held = ""
    for line in text.splitlines():
        said = line.strip()
        if _RULE.fullmatch(said):
            continue
        mark = _MARK.match(said)
        if held and mark is None and line[:1].isspace():
            held += f" {said}"
            continue
        if held:
            yield held
        held = said[mark.end() :] if mark else said
    if held:
        yield held


def _parted(line: str) -> Iterator[str]:
    """Yield a line in parts that are short enough for a step, as few as its sentences allow."""
    held = ""
    for sentence in _SENTENCE.split(line):
        if held and len(held) + 1 + len(sentence) > LETTERS_AT_MOST:
            yield held
            held = sentence
        else:
            held = f"{held} {sentence}".strip()
    if held:
        yield held
