"""The LLM drafter: what it asks for, and when what it gets is no rubric."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from calibrator.aspects import Scale, find_aspect
from calibrator.drafting.base import DraftRequest, RefineRequest
from calibrator.drafting.llm import MAX_TOKENS, STEPS, LLMDrafter
from calibrator.errors import ModelError
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.prompts import draft_prompt, quoted, refine_prompt
from calibrator.records import Disagreement, Measure, NoRubric, Rubric, Step, Written
from tests.conftest import make_items

ASPECT = find_aspect("neutral/relevance")[0]
ROLES = ("source", "output")
ITEMS = tuple(make_items(4))
WORDS = ("Look at the words.", "Weigh the tone.", "Ask who could act on it.")
GUIDE = json.dumps({"steps": WORDS})
RUBRIC = Rubric(ASPECT.ref, tuple(map(Step, WORDS)))
LONG = "Nurses and bakers who work at night are just tired in the morning, as anyone would be."


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


def drafting(portal: Portal, script: Script, width: int = 4) -> tuple[LLMDrafter, ScriptedModel]:
    model = ScriptedModel(script)
    return LLMDrafter(Client(model, portal, width), ROLES), model


def asked_to_draft(seed: int = 1, temperature: float = 0.3) -> DraftRequest:
    return DraftRequest(ASPECT, ITEMS[:3], temperature, seed)


def asked_to_refine(move: str = "modify", rubric: Rubric = RUBRIC) -> RefineRequest:
    worst = (Disagreement(ITEMS[3], 5.0, 1.0, 4.0),)
    return RefineRequest(ASPECT, rubric, move, worst, ITEMS[:3], 0.4, 7)


Write = Callable[[LLMDrafter], Written]
WAYS: dict[str, Write] = {
    "draft": lambda drafter: next(iter(drafter.draft([asked_to_draft()]))),
    "refine": lambda drafter: next(iter(drafter.refine([asked_to_refine()]))),
}


@pytest.fixture(params=list(WAYS))
def write(request: pytest.FixtureRequest) -> Write:
    return WAYS[request.param]


def test_it_says_who_it_is_and_has_the_four_moves(portal: Portal) -> None:
    drafter, _ = drafting(portal, lambda r: GUIDE)
    assert drafter.id == "llm@scripted/double"
    assert drafter.moves == ("modify", "paraphrase", "add", "calibrate")


def test_a_draft_is_asked_for_with_its_exemplars_temperature_and_seed(portal: Portal) -> None:
    drafter, model = drafting(portal, lambda r: GUIDE, width=1)
    assert list(drafter.draft([asked_to_draft(), asked_to_draft(2**62, 0.0)])) == [RUBRIC, RUBRIC]
    assert [r.messages for r in model.asked] == [draft_prompt(ASPECT, ROLES, ITEMS[:3])] * 2
    assert [r.sampling for r in model.asked] == [Sampling(0.3, MAX_TOKENS, 1), Sampling(0.0, MAX_TOKENS, 2**62)]
    assert {r.schema for r in model.asked} == {STEPS}
    assert json.loads(STEPS)["properties"]["steps"]["items"]["type"] == "string"


def test_a_refinement_is_asked_for_with_guide_move_and_disagreements(portal: Portal) -> None:
    drafter, model = drafting(portal, lambda r: GUIDE, width=1)
    measured = Rubric(ASPECT.ref, (Step("Look at the length.", (Measure("length", 0.5, 0, 1),)), Step("Weigh it.")))
    requests = [asked_to_refine(move, measured) for move in drafter.moves]
    assert list(drafter.refine(requests)) == [RUBRIC] * 4
    assert [r.messages for r in model.asked] == [
        refine_prompt(ASPECT, ROLES, ("Look at the length. (Decisive.)", "Weigh it."), move, requests[0].disagreements)
        for move in drafter.moves
    ]
    assert len({r.messages for r in model.asked}) == 4
    assert {r.sampling for r in model.asked} == {Sampling(0.4, MAX_TOKENS, 7)}
    content = model.asked[0].messages[0].content
    assert quoted(ITEMS[3].output) in content
    assert not any(quoted(i.output) in content for i in ITEMS[:3])


def test_a_written_rubric_measures_nothing(portal: Portal, write: Write) -> None:
    rubric = write(drafting(portal, lambda r: "1. Look at it.\n2. Weigh it.")[0])
    assert rubric == Rubric(ASPECT.ref, (Step("Look at it."), Step("Weigh it.")), 0.0)


@pytest.mark.parametrize(
    "reply, reason",
    [
        (ChatReply(""), "no steps"),
        (ChatReply("I'm sorry, I cannot help with hateful texts."), "no steps"),
        (ChatReply('{"steps": []}'), "no steps"),
        (ChatReply('{"score": 4}'), "no steps"),
        (ChatReply(GUIDE, "length"), "cut off"),
        (ChatReply(GUIDE[:-20], "length"), "cut off"),
        (ChatReply("", "refused", "the prompt is too long for the model's context"), "too long for"),
        (ChatReply(GUIDE, "refused", "held back"), "held back"),
        (ChatReply(json.dumps({"steps": ["Look."] * 21})), "more than 20 steps"),
        (ChatReply(json.dumps({"steps": ["x" * 801]})), "more than 800 letters"),
        (ChatReply(json.dumps({"steps": [*WORDS, "Rate it from 1 to 10."]})), "another scale than 1-5"),
        (ChatReply(json.dumps({"steps": [*WORDS, "Answer yes or no."]})), "how the answer is to be written"),
    ],
)  # fmt: skip
def test_what_is_no_guide_is_no_rubric_with_the_reason(
    portal: Portal, write: Write, reply: ChatReply, reason: str
) -> None:
    written = write(drafting(portal, lambda r: reply)[0])
    assert isinstance(written, NoRubric)
    assert reason in written.reason


@pytest.mark.parametrize("role", ["source", "output", "note"])
def test_a_step_that_quotes_an_example_is_refused(portal: Portal, role: str) -> None:
    item = replace(ITEMS[0], **({"inputs": {"note": LONG}} if role == "note" else {role: LONG}))
    said = "Such as NURSES and bakers, who work at night are just"
    for step, refused in ((f"{said} tired.", True), ("Nurses and bakers who work at all are just tired.", False)):
        drafter, _ = drafting(portal, lambda r, step=step: json.dumps({"steps": ["Look.", step]}))  # type: ignore[misc]
        draft = DraftRequest(ASPECT, (ITEMS[1], item), 0.0, 1)
        refinement = replace(asked_to_refine(), disagreements=(Disagreement(item, 1.0, 5.0, -4.0),))
        for written in (*drafter.draft([draft]), *drafter.refine([refinement])):
            assert isinstance(written, NoRubric) is refused
            assert not refused or written == NoRubric("a step quotes an example")


def test_every_disagreement_is_looked_through_for_quotations_and_exemplars_that_were_not_shown_are_not(
    portal: Portal,
) -> None:
    step = "Nurses and bakers who work at night are just tired."
    drafter, _ = drafting(portal, lambda r: json.dumps({"steps": ["Look.", step]}))
    long = replace(ITEMS[0], output=LONG)
    shown = tuple(Disagreement(i, 5.0, 1.0, 4.0) for i in (*ITEMS[1:], long))
    refinement = replace(asked_to_refine(), disagreements=shown)
    assert list(drafter.refine([refinement])) == [NoRubric("a step quotes an example")]
    unseen = replace(asked_to_refine(), exemplars=(long,))
    (written,) = drafter.refine([unseen])
    assert isinstance(written, Rubric)


def test_the_scale_that_steps_may_name_is_that_of_the_aspect(portal: Portal) -> None:
    ten = replace(ASPECT, scale=Scale(1, 10))
    drafter, _ = drafting(portal, lambda r: json.dumps({"steps": ["Rate it from 1 to 10."]}))
    on_five, on_ten = drafter.draft([asked_to_draft(), replace(asked_to_draft(), aspect=ten)])
    assert on_five == NoRubric("a step asks for another scale than 1-5")
    assert on_ten == Rubric(ten.ref, (Step("Rate it from 1 to 10."),))


def test_a_guide_may_keep_the_words_of_the_guide_before(portal: Portal) -> None:
    rubric = Rubric(ASPECT.ref, (Step("Look whether the text says anything about who could do what about it."),))
    drafter, _ = drafting(portal, lambda r: json.dumps({"steps": [rubric.steps[0].text]}))
    assert list(drafter.refine([asked_to_refine(rubric=rubric)])) == [rubric]


def test_each_request_has_its_own_answer_and_one_that_fails_harms_no_other(portal: Portal) -> None:
    def script(request: ChatRequest) -> str | ChatReply:
        seed = request.sampling.seed or 0
        return ChatReply(GUIDE, "length") if seed % 3 == 0 else json.dumps({"steps": [f"Look at number {seed}."]})

    drafter, model = drafting(portal, script, width=5)
    written = list(drafter.draft([asked_to_draft(seed) for seed in range(1, 13)]))
    assert len(model.asked) == 12
    for seed, one in enumerate(written, 1):
        assert one == (
            NoRubric("the reply was cut off before its end")
            if seed % 3 == 0
            else Rubric(ASPECT.ref, (Step(f"Look at number {seed}."),))
        )


def test_nothing_is_asked_for_nothing(portal: Portal) -> None:
    drafter, model = drafting(portal, lambda r: GUIDE)
    assert not list(drafter.draft([])) and not list(drafter.refine([]))
    assert not model.asked


def test_what_the_model_raises_is_raised(portal: Portal, write: Write) -> None:
    with pytest.raises(ModelError, match="HTTP 401"):
        write(drafting(portal, lambda r: ModelError("HTTP 401"))[0])


def test_the_length_of_a_reply_can_be_set(portal: Portal) -> None:
    model = ScriptedModel(lambda r: GUIDE)
    list(LLMDrafter(Client(model, portal, 1), ROLES, max_tokens=9).draft([asked_to_draft()]))
    assert model.asked[0].sampling.max_tokens == 9
