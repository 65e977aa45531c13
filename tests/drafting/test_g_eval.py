"""The steps of G-Eval: written from the definition alone, and asked for again where a reply gives none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrator.aspects import find_aspect
from calibrator.drafting.g_eval import AGAIN, TRIES, g_eval_rubric
from calibrator.drafting.llm import MAX_TOKENS, STEPS
from calibrator.errors import ModelError
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, Sampling
from calibrator.models.build import Access, Connections
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.records import NoRubric, Rubric, Step, Written
from tests.doubles.server import STEPS as SENTENCES
from tests.doubles.server import serving

ASPECT = find_aspect("cseval/relevance")[0]
ROLES = ("source", "output")
WORDS = ("Look at the words.", "Weigh the tone.", "Ask who could act on it.")
GUIDE = json.dumps({"steps": WORDS})
RUBRIC = Rubric(ASPECT.ref, tuple(map(Step, WORDS)))


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


def asking(portal: Portal, script: Script) -> tuple[Written, ScriptedModel]:
    model = ScriptedModel(script)
    return g_eval_rubric(Client(model, portal, 2), ASPECT, ROLES), model


def answering(*replies: str | ChatReply) -> Script:
    """Return a script that gives these replies by the number of the draw."""
    return lambda request: replies[request.sample]


def test_the_steps_are_asked_for_once_at_temperature_0_from_the_definition_alone(portal: Portal) -> None:
    found, model = asking(portal, answering(GUIDE))
    assert found == RUBRIC
    (request,) = model.asked
    assert (request.sampling, request.sample, request.schema) == (Sampling(0.0, MAX_TOKENS, None), 0, STEPS)
    (message,) = request.messages
    assert message.role == "user"
    said = message.content
    assert ASPECT.definition in said and ASPECT.label in said
    assert f"from {ASPECT.scale.low:g} to {ASPECT.scale.high:g}; {ASPECT.better} is better" in said
    assert all(meaning in said for meaning in ASPECT.anchors.values())
    told = [line for line in said.splitlines() if line.startswith("- ")]
    assert told == [f"- the {ASPECT.called('source')}", f"- the {ASPECT.called('output')} (the text to rate)"]
    assert "{{" not in said and "{%" not in said


def test_only_the_texts_that_the_judge_sees_are_named(portal: Portal) -> None:
    model = ScriptedModel(answering(GUIDE))
    g_eval_rubric(Client(model, portal, 1), ASPECT, ("output",), 77)
    said = model.asked[0].messages[0].content
    assert f"- the {ASPECT.called('output')} (the text to rate)" in said
    assert f"- the {ASPECT.called('source')}\n" not in said
    assert model.asked[0].sampling.max_tokens == 77


@pytest.mark.parametrize(
    "bad",
    [
        ChatReply("I would rather not."),
        ChatReply(GUIDE[:-20], "length"),
        ChatReply("", "refused", "the server's content filter held it back"),
        ChatReply(json.dumps({"steps": [*WORDS, "Rate it from 1 to 10."]})),
        ChatReply(json.dumps({"steps": [*WORDS, "Answer yes or no."]})),
    ],
    ids=["prose", "cut off", "refused", "another scale", "another form"],
)
def test_where_a_reply_gives_no_steps_another_is_drawn(portal: Portal, bad: ChatReply) -> None:
    found, model = asking(portal, answering(bad, bad, GUIDE))
    assert found == RUBRIC
    assert [(r.sample, r.sampling) for r in model.asked] == [
        (0, Sampling(0.0, MAX_TOKENS, None)),
        (1, Sampling(AGAIN, MAX_TOKENS, 1)),
        (2, Sampling(AGAIN, MAX_TOKENS, 2)),
    ]
    assert len({r.messages for r in model.asked}) == 1


def test_after_so_many_tries_there_is_no_rubric_but_the_last_reason(portal: Portal) -> None:
    cut_off = ChatReply(GUIDE[:-20], "length")
    found, model = asking(portal, answering("No.", "No.", cut_off))
    assert isinstance(found, NoRubric)
    assert "cut off" in found.reason
    assert len(model.asked) == TRIES


def test_what_the_model_raises_is_raised_and_nothing_more_is_asked(portal: Portal) -> None:
    model = ScriptedModel(lambda r: ModelError("no such model"))
    with pytest.raises(ModelError, match="no such model"):
        g_eval_rubric(Client(model, portal, 1), ASPECT, ROLES)
    assert len(model.asked) == 1


def test_a_server_writes_them_and_its_reply_stands_in_the_journal(tmp_path: Path) -> None:
    found: list[Written] = []
    with serving(tmp_path / "log") as double:
        for _ in range(2):
            with Connections(Access(), Journal(tmp_path / "journal.jsonl")) as connections:
                found.append(g_eval_rubric(connections.client(f"{double.url}#double"), ASPECT, ROLES))
        assert len(double.asked()) == 1
    assert isinstance(found[0], Rubric)
    assert found[0] == found[1]
    assert {s.text for s in found[0].steps} <= set(SENTENCES)
    assert 3 <= len(found[0].steps) <= 6


def test_a_server_that_refuses_at_first_is_asked_again(tmp_path: Path) -> None:
    """Which of the three requests is refused follows from the seed of the double; here at least the first one is."""
    for seed in range(40):
        log = tmp_path / f"log{seed}"
        with (
            serving(log, "--strike", "refusal:0.5", "--seed", str(seed)) as double,
            Connections(Access()) as connections,
        ):
            found = g_eval_rubric(connections.client(f"{double.url}#double"), ASPECT, ROLES)
            asked = len(double.asked())
        if asked > 1 and isinstance(found, Rubric):
            return
    raise AssertionError("no seed refuses the first request and answers a later one")
