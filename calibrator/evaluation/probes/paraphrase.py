"""The rubric in other words: do the scores hang on its wording?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from calibrator.aspects import Aspect
from calibrator.drafting.bounds import out_of_bounds
from calibrator.drafting.steps import steps_of
from calibrator.evaluation.probes.base import Finding, Line, Subject, beside
from calibrator.evaluation.probes.variant import Variant
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.prompts import Part, Prompt, defused, template
from calibrator.records import Message, NoRubric
from calibrator.texts import normalise, visible

TEMPERATURE, MAX_TOKENS = 0.7, 1024  # so that two paraphrases differ


@dataclass(frozen=True, slots=True)
class Paraphrase:
    """Has a model reword the steps of the rubric `times` times, and judges every item with each wording.

    A judge without steps has its aspect's definition reworded. `writer` rewords, the judge's own model if None.
    """

    times: int = 2
    writer: Client | None = None
    name: ClassVar[str] = "paraphrase"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        if subject.asked is None:
            return "it reads no words of a rubric"
        found = reworded(subject.asked.prompt, lines_of(subject), lines_of(subject))
        return "" if found is not None else "its prompt does not hold its steps word for word"

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        return self.times * (1 + len(subject.items) * subject.draws)

    def find(self, subject: Subject) -> Finding:
        """Return, for each wording, the correlation with the scores as they were, and the shift."""
        assert subject.asked is not None
        lines, client = lines_of(subject), self.writer or subject.asked.client
        asked = [_request(subject, lines, subject.seed + k, k) for k in range(self.times)]
        found: list[Line] = []
        notes: list[str] = []
        for k, reply in enumerate(client.ask(asked), 1):
            wording = wording_of(reply, lines, subject)
            if isinstance(wording, NoRubric):
                notes.append(f"wording {k} is none: {wording.reason}")
                continue
            prompt = reworded(subject.asked.prompt, lines, wording)
            verdicts = subject.judged_by(Variant(subject.asked, prompt=prompt))
            found.append(beside(subject, f"wording {k}", subject.scores, verdicts))
        what = f"the {len(lines)} steps" if subject.steps else "the aspect's definition, as there are no steps,"
        basis = f"{what} reworded by {client.id}; beside the scores with the wording there is"
        undone = "" if found else f"{client.id} wrote no paraphrase: {'; '.join(notes)}"
        return Finding(self.name, basis, tuple(found), tuple(notes) if found else (), undone=undone)


def lines_of(subject: Subject) -> tuple[str, ...]:
    """Return what is reworded, as it stands in the prompt."""
    steps = tuple(defused(visible(" ".join(step.split()))) for step in subject.steps)
    return steps or (subject.aspect.definition,)


def _request(subject: Subject, lines: Sequence[str], seed: int, sample: int) -> ChatRequest:
    array = {"type": "array", "items": {"type": "string", "maxLength": 800}}
    bounds = {"minItems": len(lines), "maxItems": len(lines)}
    schema = {
        "type": "object",
        "properties": {"steps": {**array, **bounds}},
        "required": ["steps"],
        "additionalProperties": False,
    }
    return ChatRequest(
        (_message(subject.aspect, lines),), Sampling(TEMPERATURE, MAX_TOKENS, seed), sample, json.dumps(schema)
    )


def wording_of(reply: ChatReply, lines: Sequence[str], subject: Subject) -> tuple[str, ...] | NoRubric:
    """Return the lines in other words, one for each, or why the reply is no paraphrase."""
    if reply.finish == "refused":
        return NoRubric(reply.detail)
    steps = steps_of(reply.text, reply.finish == "length")
    if isinstance(steps, NoRubric):
        return steps
    if len(steps) != len(lines):
        return NoRubric(f"{len(steps)} lines for {len(lines)}")
    if all(normalise(a) == normalise(b) for a, b in zip(steps, lines, strict=True)):
        return NoRubric("the lines came back as they were")
    if reason := out_of_bounds(steps, subject.aspect.scale):
        return NoRubric(reason)
    return tuple(defused(step) for step in steps)


def reworded(prompt: Prompt, lines: Sequence[str], wording: Sequence[str]) -> Prompt | None:
    """Return the prompt with `wording` in place of `lines`, which stand in it in this order; None if they do not."""
    parts: list[Part] = []
    waiting = list(zip(lines, wording, strict=True))
    for part in prompt.parts:
        done, rest = "", part.text
        while waiting and waiting[0][0] in rest:
            line, new = waiting.pop(0)
            before, _, rest = rest.partition(line)
            done += before + new
        parts.append(Part(done + rest, part.slot))
    return None if waiting else Prompt(tuple(parts), prompt.role)


def _message(aspect: Aspect, lines: Sequence[str]) -> Message:
    """Return the message that asks for other words, `prompts/paraphrase.j2`."""
    return Message("user", template("paraphrase").render(aspect=aspect, lines=list(lines)))
