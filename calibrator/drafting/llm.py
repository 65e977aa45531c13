"""The drafter of the papers: a model writes the steps from rated exemplars, and betters them by its worst judgments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from calibrator.aspects import Aspect
from calibrator.drafting.base import DraftRequest, RefineRequest
from calibrator.drafting.bounds import out_of_bounds
from calibrator.drafting.steps import quotes, steps_of
from calibrator.judges.wording import in_words
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.prompts import draft_prompt, item_texts, refine_prompt
from calibrator.records import Item, Message, NoRubric, Rubric, Step, Written

MAX_TOKENS = 1024
STEP = {"type": "string", "maxLength": 300}
STEPS = json.dumps(
    {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": STEP, "minItems": 3, "maxItems": 10}},
        "required": ["steps"],
        "additionalProperties": False,
    }
)


class LLMDrafter:
    """Writes rubrics in free text; `roles` are the texts of an item that are shown, the rated one last.

    The moves are those of Auto-CSEval (Hengle et al. 2025, section 4). Steps that quote a text they were written from,
    or that would change the scale or the form of the answer, are refused.
    """

    moves = ("modify", "paraphrase", "add", "calibrate")

    def __init__(self, client: Client, roles: Sequence[str], max_tokens: int = MAX_TOKENS) -> None:
        self.id = f"llm@{client.id}"
        self._client, self._roles, self._max_tokens = client, tuple(roles), max_tokens

    def draft(self, requests: Sequence[DraftRequest]) -> Iterable[Written]:
        """Return a rubric for each request, or why the reply is none."""
        asked = [
            self._request(draft_prompt(r.aspect, self._roles, r.exemplars), r.temperature, r.seed) for r in requests
        ]
        replies = self._client.ask(asked)
        return [read_rubric(r.aspect, reply, r.exemplars) for r, reply in zip(requests, replies, strict=True)]

    def refine(self, requests: Sequence[RefineRequest]) -> Iterable[Written]:
        """Return a better rubric for each request, or why the reply is none."""
        asked = [
            self._request(
                refine_prompt(r.aspect, self._roles, in_words(r.rubric), r.move, r.disagreements), r.temperature, r.seed
            )
            for r in requests
        ]
        replies = self._client.ask(asked)
        return [
            read_rubric(r.aspect, reply, [d.item for d in r.disagreements])
            for r, reply in zip(requests, replies, strict=True)
        ]

    def _request(self, messages: tuple[Message, ...], temperature: float, seed: int) -> ChatRequest:
        return ChatRequest(messages, Sampling(temperature, self._max_tokens, seed), schema=STEPS)


def read_rubric(aspect: Aspect, reply: ChatReply, shown: Sequence[Item]) -> Written:
    """Return the rubric in a reply, or why it is none; `shown` are the items whose texts it may not quote."""
    if reply.finish == "refused":
        return NoRubric(reply.detail)
    steps = steps_of(reply.text, reply.finish == "length")
    if isinstance(steps, NoRubric):
        return steps
    if quotes(steps, (text for item in shown for text in item_texts(item).values())):
        return NoRubric("a step quotes an example")
    if reason := out_of_bounds(steps, aspect.scale):
        return NoRubric(reason)
    return Rubric(aspect.ref, tuple(Step(s) for s in steps))
