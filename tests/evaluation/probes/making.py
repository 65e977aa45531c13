"""Judges that the tests of probes know all about, and an LLM judge whose model answers as a function says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from calibrator.aspects import Aspect, find_aspect
from calibrator.evaluation.probes.base import Subject
from calibrator.evaluation.probes.run import with_draws
from calibrator.judges.llm import SAMPLING, LLMJudge
from calibrator.judges.modes import parse_mode
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import ScriptedModel
from calibrator.prompts import score_prompt
from calibrator.records import Failure, Item, Judgment, Verdict
from tests.conftest import make_items

RELEVANCE = find_aspect("neutral/relevance")[0]
LOWER = replace(RELEVANCE, better="lower", anchors={})
ROLES = ("source", "output")
STEPS = ("Look at the words of the text.", "Compare the text with the source.")


class Rule:
    """A judge that scores by a function of the item; None is a failure."""

    id, mode = "rule", "rule"

    def __init__(self, rule: Callable[[Item], float | None]) -> None:
        self._rule = rule

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        return tuple(self._verdict(i) for i in items)

    def _verdict(self, item: Item) -> Verdict:
        score = self._rule(item)
        return Failure(item.id, "no idea") if score is None else Judgment(item.id, score, self.mode)


def probing(rule: Callable[[Item], float | None], items: Sequence[Item], aspect: Aspect = RELEVANCE) -> Subject:
    """Return a judge by a rule as a subject that has judged its items."""
    judge = Rule(rule)
    return Subject(judge, aspect, tuple(items), resamples=200, base=judge.judge(items))


def by_human(item: Item) -> float:
    """Score as the humans did."""
    return item.human or 0.0


@contextmanager
def asking(
    script: Callable[[ChatRequest], str | ChatReply],
    *,
    count: int = 12,
    steps: tuple[str, ...] = STEPS,
    mode: str = "text",
    temperature: float = 0.0,
    roles: tuple[str, ...] = ROLES,
    items: Sequence[Item] | None = None,
) -> Iterator[tuple[Subject, ScriptedModel]]:
    """Yield an LLM judge as a subject that has judged its items, and its model; `asked` holds what is asked after."""
    portal, model = Portal(), ScriptedModel(script)
    try:
        sampling = replace(SAMPLING, temperature=temperature)
        prompt = score_prompt(RELEVANCE, steps, roles)
        judge = LLMJudge(Client(model, portal, 4), prompt, RELEVANCE, sampling, None, parse_mode(mode))
        texts = tuple(items if items is not None else make_items(count, 6))
        subject = with_draws(Subject(judge, RELEVANCE, texts, steps=steps, resamples=200))
        subject = replace(subject, base=judge.judge(texts))
        model.asked.clear()
        yield subject, model
    finally:
        portal.close()


def words_of(request: ChatRequest) -> int:
    """Return how many words the rated text of a request has: that of the last quotation."""
    quoted = [line[2:] for line in request.messages[-1].content.splitlines() if line.startswith("> ")]
    return len(quoted[-1].split()) if quoted else 0


def by_length(request: ChatRequest) -> str:
    """Answer with a score that rises with the number of words."""
    return f'{{"score": {min(5, 1 + words_of(request) // 5)}}}'
