"""The LLM judge: what it asks, and that whatever is not clearly a score is a failure."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import Scale, find_aspect
from calibrator.errors import ModelError, ModelUnavailable
from calibrator.judges.llm import MAX_TOKENS, LLMJudge, score_schema
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.prompts import quoted, score_prompt
from calibrator.records import Failure, Judgment, Verdict
from tests.conftest import make_items

ASPECT = find_aspect("neutral/relevance")[0]
ROLES = ("source", "output")
PROMPT = score_prompt(ASPECT, ("Look at the words.",), ROLES)
GOOD = '{"score": 4}'


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


def asking(portal: Portal, script: Script, width: int = 4) -> tuple[LLMJudge, ScriptedModel]:
    model = ScriptedModel(script)
    return LLMJudge(Client(model, portal, width), PROMPT, ASPECT), model


def test_it_asks_the_same_prompt_for_each_item_and_names_model_and_mode(portal: Portal) -> None:
    judge, model = asking(portal, lambda r: GOOD, width=1)
    items = make_items(3)
    assert judge.judge(items) == tuple(Judgment(i.id, 4.0, "text") for i in items)
    assert (judge.id, judge.mode, judge.model) == ("llm@scripted/double", "text", "scripted/double")
    assert [r.messages for r in model.asked] == [
        PROMPT.messages({"source": i.source, "output": i.output}) for i in items
    ]
    assert {(r.sampling, r.sample, r.schema) for r in model.asked} == {
        (Sampling(0.0, MAX_TOKENS, None), 0, score_schema(ASPECT.scale))
    }


def test_a_text_that_the_prompt_shows_and_the_item_lacks_is_shown_empty(portal: Portal) -> None:
    model = ScriptedModel(lambda r: GOOD)
    prompt = score_prompt(ASPECT, (), ("source", "title", "output"))
    judge = LLMJudge(Client(model, portal, 1), prompt, ASPECT, Sampling(max_tokens=7))
    with_title = replace(make_items(1)[0], inputs={"title": "A title", "more": "unshown words"})
    judge.judge([with_title, *make_items(1)])
    contents = [r.messages[0].content for r in model.asked]
    assert ["TITLE:\n> A title\n" in c for c in contents] == [True, False]
    assert ["TITLE:\n> \n" in c for c in contents] == [False, True]
    assert not any("unshown" in c for c in contents)
    assert {r.sampling.max_tokens for r in model.asked} == {7}


@pytest.mark.parametrize(
    "reply, reason",
    [
        (
            ChatReply("", "refused", "the prompt is too long for the model's context"),
            "too long for the model's context",
        ),
        (ChatReply("", "refused", "the server's content filter held it back"), "content filter"),
        (ChatReply(GOOD, "refused", "held back"), "held back"),
        (ChatReply('{"score": 4', "length"), "cut off"),
        (ChatReply("The reply is relevant since", "length"), "cut off"),
        (ChatReply("<think>A 4, perhaps"), "cut off"),
        (ChatReply(""), "the reply is empty"),
        (ChatReply("The reply is quite relevant."), "states no score"),
        (ChatReply("I'm sorry, but I cannot rate this."), "refused to answer"),
        (ChatReply('{"score": 9}'), "not on the scale 1-5"),
        (ChatReply('{"score": 0}'), "not on the scale 1-5"),
        (ChatReply('{"score": -3}'), "not on the scale 1-5"),
        (ChatReply('{"score": 2}\n{"score": 5}'), "several different scores"),
        (ChatReply('{"score": null}'), "states no score"),
        (ChatReply('{"score": NaN}'), "states no score"),
        (ChatReply('{"steps": ["first"]}'), "states no score"),
    ],
)
def test_what_is_no_score_is_a_failure_with_its_reason(portal: Portal, reply: ChatReply, reason: str) -> None:
    (item,) = make_items(1)
    (verdict,) = asking(portal, lambda r: reply)[0].judge([item])
    assert isinstance(verdict, Failure)
    assert verdict.item == item.id
    assert reason in verdict.reason
    assert not hasattr(verdict, "score")


@pytest.mark.parametrize(
    "text, score",
    [
        (GOOD, 4.0),
        ('```json\n{"score": 3.5}\n```', 3.5),
        ("Relevance: 2", 2.0),
        ("<think>It is a 5.</think>\n1", 1.0),
        ('The tone is calm.\n{"reason": "calm", "score": "5"}', 5.0),
    ],
)
def test_clear_scores_are_read(portal: Portal, text: str, score: float) -> None:
    (verdict,) = asking(portal, lambda r: text)[0].judge(make_items(1))
    assert verdict == Judgment("i0", score, "text")


def test_a_whole_score_in_a_reply_that_was_cut_off_counts(portal: Portal) -> None:
    (verdict,) = asking(portal, lambda r: ChatReply('{"score": 4} This is because', "length"))[0].judge(make_items(1))
    assert verdict == Judgment("i0", 4.0, "text")


@given(st.text(max_size=60), st.sampled_from(["stop", "length", "refused"]))
def test_no_reply_raises_and_every_score_lies_on_the_scale(portal: Portal, text: str, finish: str) -> None:
    reply = ChatReply(text, finish, "why")  # type: ignore[arg-type]
    (verdict,) = asking(portal, lambda r: reply)[0].judge(make_items(1))
    assert isinstance(verdict, Failure) or 1 <= verdict.score <= 5


def test_a_text_that_nobody_can_judge_is_never_sent(portal: Portal) -> None:
    judge, model = asking(portal, lambda r: GOOD)
    items = make_items(5)
    for place, text in ((0, ""), (2, " \n\t"), (4, "?!")):
        items[place] = replace(items[place], output=text)
    verdicts = judge.judge(items)
    assert [isinstance(v, Failure) for v in verdicts] == [True, False, True, False, True]
    assert [v.item for v in verdicts] == [i.id for i in items]
    assert len(model.asked) == 2
    assert judge.judge([items[0]]) == (Failure("i0", "empty text"),)
    assert len(model.asked) == 2


class _Backwards:
    """Answers the last that it is asked first; the score is what it finds behind "number"."""

    id = identity = "test/backwards"

    def __init__(self, wanted: int) -> None:
        self._wanted, self._here, self._all = wanted, 0, asyncio.Event()

    async def complete(self, request: ChatRequest) -> ChatReply:
        self._here += 1
        place = self._here
        if place == self._wanted:
            self._all.set()
        await self._all.wait()
        await asyncio.sleep(0.002 * (self._wanted - place))
        number = int(request.messages[0].content.split("the reply ")[1].split()[0])
        return ChatReply(json.dumps({"score": 1 + number % 5}))

    async def close(self) -> None:
        pass


def test_verdicts_keep_the_order_of_the_items_whatever_comes_first(portal: Portal) -> None:
    items = [replace(i, output=f"the reply {k} .") for k, i in enumerate(make_items(12))]
    heard: list[Verdict] = []
    judge = LLMJudge(Client(_Backwards(12), portal, 12), PROMPT, ASPECT, told=heard.append)
    verdicts = judge.judge(items)
    assert verdicts == tuple(Judgment(i.id, 1.0 + k % 5, "text") for k, i in enumerate(items))
    assert tuple(heard) != verdicts
    assert sorted(heard, key=lambda v: int(v.item[1:])) == list(verdicts)


def test_each_verdict_is_told_once_failures_too(portal: Portal) -> None:
    heard: list[Verdict] = []
    items = make_items(20)
    items[3] = replace(items[3], output="")
    model = ScriptedModel(lambda r: "nothing" if quoted(items[7].output) in r.messages[0].content else GOOD)
    verdicts = LLMJudge(Client(model, portal, 8), PROMPT, ASPECT, told=heard.append).judge(items)
    assert Counter(heard) == Counter(verdicts)
    assert sum(isinstance(v, Failure) for v in heard) == 2


def test_equal_items_are_each_answered(portal: Portal) -> None:
    item = make_items(1)[0]
    assert asking(portal, lambda r: GOOD)[0].judge([item] * 6) == (Judgment(item.id, 4.0, "text"),) * 6


@pytest.mark.parametrize("error", [ModelError("HTTP 401"), ModelUnavailable("HTTP 503"), AssertionError("a bug")])
def test_what_the_model_raises_is_no_verdict(portal: Portal, error: Exception) -> None:
    heard: list[Verdict] = []
    answers: Iterator[str | Exception] = iter([GOOD, GOOD, error])
    model = ScriptedModel(lambda r: next(answers))
    judge = LLMJudge(Client(model, portal, 1), PROMPT, ASPECT, told=heard.append)
    with pytest.raises(type(error), match=str(error)):
        judge.judge(make_items(10))
    assert len(model.asked) == 3  # nothing more is asked
    assert len(heard) == 2


@pytest.mark.parametrize(
    "scale, kind, low, high",
    [
        (Scale(1, 5), "integer", 1, 5),
        (Scale(-2, 2), "integer", -2, 2),
        (Scale(0, 100, 10), "integer", 0, 100),
        (Scale(1, 5, 0.5), "number", 1, 5),
        (Scale(0, 1, 0.1), "number", 0, 1),
        (Scale(0.5, 4.5), "number", 0.5, 4.5),
    ],
)
def test_the_schema_is_the_score_alone_on_its_scale(scale: Scale, kind: str, low: float, high: float) -> None:
    schema = json.loads(score_schema(scale))
    assert schema["properties"] == {"score": {"type": kind, "minimum": low, "maximum": high}}
    assert schema["required"] == ["score"]
    assert schema["additionalProperties"] is False
    assert not (kind == "integer" and ".0" in score_schema(scale))
