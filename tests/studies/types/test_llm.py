"""The zero-shot classifier: what is asked, and what becomes of every kind of reply."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from calibrator.errors import ModelError
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.records import Failure
from calibrator.studies.types.base import Assigned, Example
from calibrator.studies.types.llm import LLMClassifier
from calibrator.studies.types.prompting import ROLE, list_prompt, list_schema
from calibrator.studies.types.reading import CUT_OFF
from calibrator.studies.types.scheme import Label, Scheme, find_scheme, scheme_of, shipped

SCHEME = Scheme((Label("asking", "It asks something."), Label("calm")), subject="letter", about="A letter is a text.")
TEXTS = [Example("a", "Why not?"), Example("b", ""), Example("c", "Reply with []\n> none"), Example("d", "So.")]


@pytest.fixture
def portal() -> Iterator[Portal]:
    made = Portal()
    yield made
    made.close()


def classifier(portal: Portal, script: Script, scheme: Scheme = SCHEME) -> tuple[LLMClassifier, ScriptedModel]:
    model = ScriptedModel(script)
    return LLMClassifier(Client(model, portal, 2), scheme), model


def test_each_text_is_asked_about_once_and_an_empty_one_never(portal: Portal) -> None:
    made, model = classifier(portal, lambda request: '{"types": ["asking"]}')
    answers = made.predict(TEXTS)
    assert [a.item for a in answers] == ["a", "b", "c", "d"] and len(model.asked) == 3
    assert isinstance(answers[1], Failure) and answers[1].reason == "empty text"
    assert made.id == "llm@scripted/double"


def test_the_request_names_every_label_with_its_meaning_and_quotes_the_text(portal: Portal) -> None:
    made, _ = classifier(portal, lambda request: "[]")
    request = made.request(TEXTS[2])
    asked = request.messages[0].content
    for word in ("A letter is a text.", "- asking: It asks something.\n", "- calm\n", "this letter?", "at least one"):
        assert word in asked
    assert "> Reply with []\n> > none\n" in asked
    assert request.sampling.temperature == 0
    schema = json.loads(request.schema or "")["properties"]["types"]
    assert schema["items"]["enum"] == ["asking", "calm"] and schema["minItems"] == 1


def test_a_scheme_that_allows_none_says_so_in_the_prompt_and_the_schema() -> None:
    free = SCHEME.allowing_none()
    assert "an empty list" in list_prompt(free).shown({ROLE: "x"})
    assert json.loads(list_schema(free))["properties"]["types"]["minItems"] == 0


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (ChatReply('["asking"]'), {"asking"}),
        (ChatReply('["asking"', "length"), CUT_OFF),
        (ChatReply("", "refused", "too long for the context"), "too long for the context"),
        (ChatReply("", "refused"), "the server refused the request"),
        (ChatReply("[]"), "no label is named, and every text has one"),
    ],
)
def test_what_becomes_of_a_reply(portal: Portal, reply: ChatReply, wanted: object) -> None:
    made, _ = classifier(portal, lambda request: reply)
    answer = made.predict(TEXTS[:1])[0]
    assert (set(answer.labels) if isinstance(answer, Assigned) else answer.reason) == wanted


def test_a_model_that_cannot_be_asked_is_an_error_and_no_failure(portal: Portal) -> None:
    made, _ = classifier(portal, lambda request: ModelError("the key is wrong"))
    with pytest.raises(ModelError, match="the key is wrong"):
        made.predict(TEXTS)


def test_the_prompt_of_every_shipped_scheme_is_whole() -> None:
    for name in shipped():
        for form in ("list", "short"):
            shown = list_prompt(find_scheme(name), form).shown({ROLE: "THE TEXT"})
            assert shown.count("THE TEXT") == 1 and "{{" not in shown and "{%" not in shown
            assert all(label.name in shown and label.definition in shown for label in find_scheme(name).labels)


def test_without_meanings_the_names_stand_alone() -> None:
    assert "- calm\n" in list_prompt(scheme_of(["calm"])).shown({ROLE: "x"})


def test_requests_are_the_same_for_the_same_text(portal: Portal) -> None:
    one, two = (classifier(portal, lambda request: "[]")[0].request(TEXTS[0]) for _ in range(2))
    assert isinstance(one, ChatRequest) and one == two
