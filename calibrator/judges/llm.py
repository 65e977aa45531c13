"""The LLM judge: a rubric and an item become a prompt, and the reply a score or a failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from calibrator.aspects import Aspect, Scale
from calibrator.judges.parsing import NoScore, read_score
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.prompts import Prompt, item_texts
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.texts import unusable

METHOD, MODE = "llm", "text"
MAX_TOKENS = 256  # a short answer is asked for; the rest is for models that explain themselves first
SAMPLING = Sampling(temperature=0.0, max_tokens=MAX_TOKENS)


def score_schema(scale: Scale) -> str:
    """Return the JSON schema of a reply: the score alone, a whole number where the points of the scale are."""
    whole = all(float(v).is_integer() for v in (scale.low, scale.high, scale.step))
    low, high = (int(scale.low), int(scale.high)) if whole else (scale.low, scale.high)
    score = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
    return json.dumps(
        {"type": "object", "properties": {"score": score}, "required": ["score"], "additionalProperties": False}
    )


class LLMJudge:
    """Asks a model with one prompt for all items; the score is what the text of the reply states (mode "text").

    `told` hears of each verdict as it comes.
    """

    mode = MODE

    def __init__(
        self,
        client: Client,
        prompt: Prompt,
        aspect: Aspect,
        sampling: Sampling = SAMPLING,
        told: Callable[[Verdict], None] | None = None,
    ) -> None:
        self.id = f"{METHOD}@{client.id}"
        self.model, self.prompt, self.sampling = client.id, prompt, sampling
        self._client, self._aspect, self._told = client, aspect, told
        self._schema = score_schema(aspect.scale)

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item; raises what the model raises, but for no text.

        An empty text, a request the server would not put to the model and a reply without a score are failures.
        """
        verdicts: list[Verdict | None] = [None] * len(items)

        def keep(place: int, verdict: Verdict) -> None:
            verdicts[place] = verdict
            if self._told is not None:
                self._told(verdict)

        asked = []
        for place, item in enumerate(items):
            if reason := unusable(item.output):
                keep(place, Failure(item.id, reason))
            else:
                asked.append(place)
        requests = [self._request(items[place]) for place in asked]
        self._client.ask(requests, lambda k, reply: keep(asked[k], self._verdict(items[asked[k]], reply)))
        return tuple(v for v in verdicts if v is not None)

    def _request(self, item: Item) -> ChatRequest:
        texts = item_texts(item)
        roles = (p.slot for p in self.prompt.parts if p.slot)
        messages = self.prompt.messages({role: texts.get(role, "") for role in roles})
        return ChatRequest(messages, self.sampling, schema=self._schema)

    def _verdict(self, item: Item, reply: ChatReply) -> Verdict:
        if reply.finish == "refused":
            return Failure(item.id, reply.detail)
        names = (self._aspect.name, self._aspect.label)
        found = read_score(reply.text, self._aspect.scale, cut_off=reply.finish == "length", names=names)
        return Failure(item.id, found.reason) if isinstance(found, NoScore) else Judgment(item.id, found.score, MODE)
