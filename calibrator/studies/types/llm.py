"""The zero-shot classifier: a model is asked which labels a text bears, with what each means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.records import Failure
from calibrator.studies.types.base import Answer, Assigned, Example, Tick, ignored
from calibrator.studies.types.prompting import ROLE, list_prompt, list_schema
from calibrator.studies.types.reading import read_labels
from calibrator.studies.types.scheme import Scheme
from calibrator.texts import unusable

METHOD = "llm"
SAMPLING = Sampling(temperature=0.0, max_tokens=128)  # the list of all names fits


class LLMClassifier:
    """Asks a model with one prompt for all texts; what a reply must be like is said in `reading`."""

    def __init__(self, client: Client, scheme: Scheme, sampling: Sampling = SAMPLING) -> None:
        self.id = f"{METHOD}@{client.id}"
        self._client, self._scheme, self._sampling = client, scheme, sampling
        self._prompt, self._schema = list_prompt(scheme), list_schema(scheme)

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example; raises what the model raises, but for no text."""
        answers: dict[int, Answer] = {}
        asked: list[int] = []

        def requests() -> Iterator[ChatRequest]:
            for place, example in enumerate(examples):
                if reason := unusable(example.text):
                    answers[place] = Failure(example.id, reason)
                    tick(1)
                    continue
                asked.append(place)
                yield self.request(example)

        def take(number: int, reply: ChatReply) -> None:
            place = asked[number]
            answers[place] = self.answer(examples[place], reply)
            tick(1)

        self._client.each(requests(), take)
        return tuple(answers[place] for place in range(len(examples)))

    def request(self, example: Example) -> ChatRequest:
        """Return what is asked for an example."""
        return ChatRequest(self._prompt.messages({ROLE: example.text}), self._sampling, schema=self._schema)

    def answer(self, example: Example, reply: ChatReply) -> Answer:
        """Return what a reply says of an example."""
        if reply.finish == "refused":
            return Failure(example.id, reply.detail or "the server refused the request")
        found = read_labels(reply.text, self._scheme, cut_off=reply.finish == "length")
        return Failure(example.id, found) if isinstance(found, str) else Assigned(example.id, found)
