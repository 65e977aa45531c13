"""The LLM judge: a rubric and an item become a prompt, and the reply a score or a failure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from calibrator.aspects import Aspect, Scale
from calibrator.judges.modes import ScoreMode, TextMode
from calibrator.judges.parsing import NoScore
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.prompts import Prompt, item_texts
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.texts import unusable

METHOD = "llm"
TEXT = TextMode()
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
    """Asks a model with one prompt for all items; `score_mode` says how a score is got from what it replies.

    `told` hears of each verdict as it comes.
    """

    def __init__(
        self,
        client: Client,
        prompt: Prompt,
        aspect: Aspect,
        sampling: Sampling = SAMPLING,
        told: Callable[[Verdict], None] | None = None,
        score_mode: ScoreMode = TEXT,
    ) -> None:
        self.id, self.mode = f"{METHOD}@{client.id}", score_mode.name
        self.client, self.model, self.prompt, self.sampling = client, client.id, prompt, sampling
        self.scale, self.names = aspect.scale, (aspect.name, aspect.label)
        self._told, self._mode = told, score_mode
        self._schema = score_schema(aspect.scale)
        self._roles = tuple(p.slot for p in prompt.parts if p.slot)

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item; raises what the model raises, but for no text.

        An empty text, a request the server would not put to the model and a reply without a score are failures.
        """
        return judge_with_models([(self, items)])[0]

    def requests(self, item: Item) -> tuple[ChatRequest, ...]:
        """Return what is asked for an item: one request for each draw of the mode."""
        texts = item_texts(item)
        messages = self.prompt.messages({role: texts.get(role, "") for role in self._roles})
        if self._mode.draws == 1:
            return (ChatRequest(messages, self.sampling, schema=self._schema, logprobs=self._mode.logprobs),)
        draws = range(self._mode.draws)
        return tuple(ChatRequest(messages, replace(self.sampling, seed=k), k, self._schema) for k in draws)

    def verdict(self, item: Item, replies: Sequence[ChatReply]) -> Verdict:
        """Return what the replies to `requests` say of an item, and tell of it."""
        found = self._mode.read(replies, self.scale, self.names)
        if isinstance(found, NoScore):
            return self.tell(Failure(item.id, found.reason))
        return self.tell(Judgment(item.id, found.score, self.mode))

    def tell(self, verdict: Verdict) -> Verdict:
        """Return a verdict, having told of it."""
        if self._told is not None:
            self._told(verdict)
        return verdict

    def prepare(self) -> None:
        """See that the model gives what the mode needs. Raises ModelError if it does not."""
        if self._mode.logprobs:
            self.client.require_logprobs(self._mode.logprobs)


def judge_with_models(work: Sequence[tuple[LLMJudge, Sequence[Item]]]) -> list[tuple[Verdict, ...]]:
    """Return the verdicts of several judges, each on its items.

    What is asked of one model goes out as one stream, judge after judge, so that the server is kept busy to the end and
    sees the prompts that begin alike together. Raises what the models raise.
    """
    given: list[list[Verdict | None]] = [[None] * len(items) for _, items in work]
    clients = {id(judge.client): judge.client for judge, _ in work}
    for judge, _ in work:
        judge.prepare()
    for client in clients.values():
        mine = [k for k, (judge, _) in enumerate(work) if judge.client is client]
        _ask(client, [(*work[k], given[k]) for k in mine])
    return [tuple(v for v in verdicts if v is not None) for verdicts in given]


def _ask(client: Client, work: Sequence[tuple[LLMJudge, Sequence[Item], list[Verdict | None]]]) -> None:
    """Enter the verdicts of judges that ask the same model in the lists beside their items."""
    open_: dict[int, _Asked] = {}

    def requests() -> Iterator[ChatRequest]:
        number = 0
        for judge, items, verdicts in work:
            for place, item in enumerate(items):
                if reason := unusable(item.output):
                    verdicts[place] = judge.tell(Failure(item.id, reason))
                    continue
                wanted = judge.requests(item)
                asked = _Asked(judge, item, verdicts, place, number, [None] * len(wanted))
                for request in wanted:
                    open_[number] = asked
                    number += 1
                    yield request

    def take(number: int, reply: ChatReply) -> None:
        asked = open_.pop(number)
        asked.replies[number - asked.first] = reply
        if None not in asked.replies:
            replies = [r for r in asked.replies if r is not None]
            asked.verdicts[asked.place] = asked.judge.verdict(asked.item, replies)

    client.each(requests(), take)


@dataclass(slots=True)
class _Asked:
    """An item that a model was asked about: whose verdicts get it and where, its first request, the replies so far."""

    judge: LLMJudge
    item: Item
    verdicts: list[Verdict | None]
    place: int
    first: int
    replies: list[ChatReply | None]
