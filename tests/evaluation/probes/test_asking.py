"""Probes that ask a model anew: repeats, temperatures, order of the texts, the rubric in other words."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from calibrator.evaluation.probes.order import Order, orders, permuted, slots_of
from calibrator.evaluation.probes.paraphrase import Paraphrase, reworded
from calibrator.evaluation.probes.repeatability import Repeatability
from calibrator.evaluation.probes.run import with_draws
from calibrator.evaluation.probes.temperatures import Temperatures
from calibrator.judges.mapped import MappedJudge
from calibrator.models.base import ChatReply, ChatRequest, request_key
from calibrator.prompts import Part, Prompt, score_prompt
from calibrator.records import Item
from calibrator.stats.mapping import map_from_numbers
from tests.conftest import make_items
from tests.evaluation.probes.making import RELEVANCE, STEPS, asking, by_human, by_length, probing


def keys(asked: list[ChatRequest]) -> set[str]:
    return {request_key("model", r) for r in asked}


def test_repeats_are_asked_anew_and_never_the_first_again() -> None:
    with asking(by_length) as (subject, model):
        assert subject.asked is not None
        first = [r for i in subject.items for r in subject.asked.requests(i)]
        probe = Repeatability(3)
        line = probe.find(subject).lines[0]
        assert len(model.asked) == probe.calls(subject) == 24
        assert len(keys(model.asked)) == 24 and not keys(model.asked) & keys(first)
        assert {r.sampling.seed for r in model.asked} == {1, 2}
    figures = {k: v.value for k, v in line.figures.items()}
    assert (figures["spread"], figures["alike"], figures["unsteady"]) == (0.0, 1.0, 0.0)
    assert figures["rho"] == pytest.approx(1.0)


def test_the_draws_of_a_sampled_score_are_all_different_ones() -> None:
    with asking(by_length, mode="sample:3", count=4) as (subject, model):
        probe = Repeatability(2)
        probe.find(subject)
        assert len(model.asked) == probe.calls(subject) == 12
        assert sorted({r.sample for r in model.asked}) == [3, 4, 5]
        assert all(r.sampling.seed == r.sample for r in model.asked)


def test_the_spread_of_repeats_by_hand() -> None:
    """Items get 2, 2 + sample, …: each scores (2, 3, 4), of standard deviation 1; one in three times fails."""

    def drift(request: ChatRequest) -> str:
        return f'{{"score": {2 + request.sample}}}'

    with asking(drift, count=6) as (subject, _):
        line = Repeatability(3).find(subject).lines[0]
        assert line.figures["spread"].value == pytest.approx(1.0)
        assert line.figures["alike"].value == 0.0
        assert math.isnan(line.figures["rho"].value), "all items alike: there is no order"

    lost = make_items(6, 6)[0].output

    def silent(request: ChatRequest) -> str:
        return "no" if request.sample == 1 and lost in request.messages[0].content else by_length(request)

    with asking(silent, items=make_items(6, 6)) as (subject, _):
        line = Repeatability(2).find(subject).lines[0]
        assert line.figures["unsteady"].value == pytest.approx(1 / 6)
        assert line.items == 5 and line.failures == {"the reply states no score clearly": 1}


def test_a_judge_that_asks_nobody_is_measured_twice() -> None:
    seen: list[str] = []

    def rule(item: Item) -> float:
        seen.append(item.key)
        return by_human(item)

    items = make_items(8, 4)
    subject = probing(rule, items)
    line = Repeatability(5).find(subject).lines[0]
    assert len(seen) == 16 and len(set(seen)) == 16, "the second time with keys that nobody knows"
    assert line.case == "2 times" and line.figures["alike"].value == 1.0


def test_one_that_answers_by_what_it_saw_before_is_found_out() -> None:
    count = 0

    def rule(item: Item) -> float:
        nonlocal count
        count += 1
        return 1.0 + count % 5

    line = Repeatability().find(probing(rule, make_items(9, 4))).lines[0]
    assert line.figures["alike"].value < 1 and line.figures["spread"].value > 0


def test_temperatures_reuse_the_judges_own_and_ask_at_the_others() -> None:
    def warmer(request: ChatRequest) -> str:
        return "well" if request.sampling.temperature == 1.0 else by_length(request)

    with asking(warmer) as (subject, model):
        probe = Temperatures((0.0, 0.5, 1.0))
        finding = probe.find(subject)
        assert len(model.asked) == probe.calls(subject) == 24
        assert {(r.sampling.temperature, r.sampling.seed) for r in model.asked} == {(0.5, 0), (1.0, 0)}
    lines = {line.case: line for line in finding.lines}
    assert [lines[f"at {t}"].figures["failed"].value for t in ("0", "0.5", "1")] == [0.0, 0.0, 1.0]
    assert lines["at 1"].failures == {"the reply states no score clearly": 12}
    assert lines["0 to 0.5"].figures["rho"].value == pytest.approx(1.0)
    assert lines["0 to 0.5"].figures["change"].value == 0.0
    assert lines["0 to 1"].items == 0 and math.isnan(lines["0 to 1"].figures["rho"].value)


def test_the_texts_change_places_with_their_headings_and_nothing_else_moves() -> None:
    prompt = score_prompt(RELEVANCE, STEPS, ("source", "title", "output"))
    texts = {"source": "the source", "title": "the title", "output": "the output"}
    usual = prompt.messages(texts)[0].content
    turned = permuted(prompt, ("output", "title", "source")).messages(texts)[0].content
    assert sorted(usual.splitlines()) == sorted(turned.splitlines())
    places = [turned.index(f"> the {t}") for t in ("output", "title", "source")]
    assert places == sorted(places)
    headed = {
        line: turned.splitlines()[k - 1] for k, line in enumerate(turned.splitlines()) if line.startswith("> the")
    }
    again = {line: usual.splitlines()[k - 1] for k, line in enumerate(usual.splitlines()) if line.startswith("> the")}
    assert headed == again
    assert usual.split("> the")[0].splitlines()[:-1] == turned.split("> the")[0].splitlines()[:-1]
    assert permuted(prompt, slots_of(prompt)).messages(texts)[0].content == usual


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("output",), ()),
        (("source", "output"), (("output", "source"),)),
        (("a", "b", "output"), (("output", "a", "b"), ("b", "a", "output"), ("output", "b", "a"))),
        (("output", "source"), (("source", "output"),)),
        (("source", "source", "output"), ()),
    ],
)
def test_orders(roles: tuple[str, ...], expected: tuple[tuple[str, ...], ...]) -> None:
    assert orders(roles) == expected


def test_a_heading_on_the_same_line_goes_along_and_a_bare_text_has_none() -> None:
    prompt = Prompt((Part("Rate.\nSource: "), Part(slot="source"), Part(slot="output"), Part("\nScore?")))
    turned = permuted(prompt, ("output", "source"))
    assert [p.slot or p.text for p in turned.parts] == ["Rate.\n", "output", "Source: ", "source", "\nScore?"]


def test_a_judge_that_reads_the_last_text_only_is_moved_by_the_order() -> None:
    with asking(by_length) as (subject, model):
        probe = Order()
        line = probe.find(subject).lines[0]
        assert len(model.asked) == probe.calls(subject) == 12
        assert line.case == "output, source"
        assert not line.figures["rho"].value > 0.9
        assert line.figures["change"].value > 0


def test_order_does_not_apply_to_one_text_or_to_a_judge_without_a_prompt() -> None:
    with asking(by_length, roles=("output",)) as (subject, _):
        assert Order().absent(subject) and Order().calls(subject) == 0
    assert "no prompt" in Order().absent(probing(by_human, make_items(6, 3)))


def rewriting(steps: object) -> object:
    def script(request: ChatRequest) -> str | ChatReply:
        if '"steps"' in request.messages[0].content:
            return ChatReply(json.dumps({"steps": steps}))
        return by_length(request)

    return script


def test_the_rubric_is_reworded_in_its_place_and_judged_with() -> None:
    wording = ["Read what the text says.", "Hold the text against its source."]
    with asking(rewriting(wording)) as (subject, model):  # type: ignore[arg-type]
        probe = Paraphrase(2)
        finding = probe.find(subject)
        assert len(model.asked) == probe.calls(subject) == 2 * (1 + 12)
        judged = [r.messages[0].content for r in model.asked[2:]]
    assert all(w in content for w in wording for content in judged)
    assert not any(s in content for s in STEPS for content in judged)
    assert [line.case for line in finding.lines] == ["wording 1", "wording 2"]
    assert finding.lines[0].figures["rho"].value == pytest.approx(1.0)
    assert "the 2 steps reworded by scripted/double" in finding.basis


def test_a_judge_without_steps_has_its_definition_reworded() -> None:
    with asking(rewriting(["Whether the answer keeps to what was asked."]), steps=()) as (subject, model):  # type: ignore[arg-type]
        finding = Paraphrase(1).find(subject)
        assert finding.lines and "definition" in finding.basis
        assert all(RELEVANCE.definition not in r.messages[0].content for r in model.asked[1:])


@pytest.mark.parametrize(
    ("steps", "why"),
    [
        (["One line only for both of them."], "1 lines for 2"),
        (list(STEPS), "came back as they were"),
        (["Rate the text from 1 to 10.", "Compare the text with the source."], "another scale"),
        ([], "no steps"),
    ],
)
def test_what_is_no_paraphrase_is_said_and_not_judged_with(steps: list[str], why: str) -> None:
    with asking(rewriting(steps)) as (subject, model):  # type: ignore[arg-type]
        finding = Paraphrase(2).find(subject)
        assert len(model.asked) == 2
    assert not finding.lines and why in finding.undone


def test_a_step_that_stands_in_another_is_found_in_its_own_place() -> None:
    prompt = Prompt((Part("1. Look at the words, all of them.\n2. Look at the words\n"), Part(slot="output")))
    lines = ("Look at the words, all of them.", "Look at the words")
    changed = reworded(prompt, lines, ("First.", "Second."))
    assert changed is not None and changed.parts[0].text == "1. First.\n2. Second.\n"
    assert reworded(prompt, ("Look at something else.",), ("x",)) is None
    with asking(by_length) as (subject, _):
        assert Paraphrase().absent(replace(subject, steps=("A step that its prompt lacks.",)))
    assert Paraphrase().absent(probing(by_human, make_items(6, 3)))


def test_a_judge_under_a_score_map_is_asked_as_any_and_its_repeats_are_mapped() -> None:
    with asking(by_length) as (bare, model):
        score_map = map_from_numbers({"kind": "linear", "base": 1.0, "slope": 0.5, "low": 1.0, "high": 5.0})
        judge = MappedJudge(bare.judge, score_map)
        subject = replace(bare, judge=judge, base=judge.judge(bare.items))
        model.asked.clear()
        assert with_draws(subject).draws == 1
        for probe in (Repeatability(2), Temperatures((0.0, 0.5))):
            finding = probe.find(subject)
            assert finding.lines[0].items == 12
        assert len(model.asked) == 24
        line = Order().find(subject).lines[0]
        plain = Order().find(bare).lines[0]
        assert line.figures["change"].value == pytest.approx(plain.figures["change"].value / 2)


def test_a_panel_of_models_is_not_asked_the_same_again() -> None:
    subject = replace(probing(by_human, make_items(6, 3)), draws=2)
    assert "members" in Repeatability().absent(subject)
    assert not Repeatability().absent(replace(subject, draws=0))
