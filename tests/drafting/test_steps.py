"""Reading steps out of what models write."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.drafting.steps import LETTERS_AT_MOST, QUOTED, STEPS_AT_MOST, quotes, steps_of
from calibrator.records import NoRubric

A, B, C = "Look at the words.", "Weigh the tone.", "Ask who could act on it."
ABC = (A, B, C)
MANY = tuple(f"Look at {letter}." for letter in "abcdefghijklmnopqrst")
OBJECTS = json.dumps({"steps": [{"step": 1, "text": A}, {"step": 2, "text": B, "note": C}]})


@pytest.mark.parametrize(
    "text, steps",
    [
        (json.dumps({"steps": ABC}), ABC),
        (json.dumps({"steps": ABC}, indent=2), ABC),
        (json.dumps(ABC), ABC),
        (f"```json\n{json.dumps({'steps': ABC})}\n```", ABC),
        (f"```\n{json.dumps({'steps': ABC})}\n```\nI hope this helps!", ABC),
        (f"Here is the guide [for 1-5]:\n{json.dumps({'steps': ABC})}", ABC),
        (f"{{not json}} and then {json.dumps({'steps': ABC})}", ABC),
        (json.dumps({"evaluation_steps": ABC}), ABC),
        (json.dumps({"quality": "relevance", "steps": ABC}), ABC),
        (json.dumps({"steps": {"1": A, "2": B, "3": C}}), ABC),
        (json.dumps({"guide": {"steps": ABC}}), ABC),
        (OBJECTS, (A, f"{B} {C}")),
        (json.dumps({"steps": [f"1. {A}", f"Step 2: {B}", f"3) {C}"]}), ABC),
        (json.dumps({"steps": [f"**{A}**", f"- {B}", f"  {C}\n"]}), ABC),
        (json.dumps({"steps": [A, "", "  ", "...", B]}), (A, B)),
        (json.dumps({"steps": [A, 3, None, ["x"], B]}), (A, B)),
        (json.dumps({"steps": ["Look at\nthe\r\nwords.", "Weigh\tthe\u2028tone."]}), (A, B)),
        (json.dumps({"steps": []}) + json.dumps({"steps": [A]}), (A,)),
        (f"1. {A}\n2. {B}\n3. {C}", ABC),
        (f"Sure! Here are the steps:\n\n1. {A}\n\n2. {B}\n\n3. {C}\n\nGood luck.", ABC),
        (f"1) {A}\n2) {B}", (A, B)),
        (f"- {A}\n- {B}", (A, B)),
        (f"* {A}\n• {B}", (A, B)),
        (f"Step 1: {A}\nSTEP 2: {B}\nstep 3. {C}", ABC),
        (f"**Step 1:** {A}\n**2.** {B}", (A, B)),
        ("1. **Words**: look at them.\n2. **Tone**: weigh it.", ("Words: look at them.", "Tone: weigh it.")),
        ("1. Look at\n   the words.\n2. Weigh\n\tthe tone.", (A, B)),
        (f"  1. {A}\n  2. {B}", (A, B)),
        (f"10. {A}\n11. {B}", (A, B)),
        ("1. Look at 2. the second thing.", ("Look at 2. the second thing.",)),
        ('{"steps": ["Look at the wo\\ud83d rds."]}', ("Look at the wo? rds.",)),
        ('{"steps": ["Look\\u0000 at \\u202eit."]}', ("Look\\x00 at \\x202eit.",)),
        (json.dumps({"steps": ["Words " * 100]}), (("Words " * 100).strip(),)),
        (json.dumps({"steps": MANY}), MANY),
    ],
)  # fmt: skip
def test_steps_are_read(text: str, steps: tuple[str, ...]) -> None:
    assert steps_of(text, cut_off=False) == steps


@pytest.mark.parametrize(
    "text, reason",
    [
        ("", "no steps"),
        ("   \n", "no steps"),
        ("I cannot help with that.", "no steps"),
        ("Look at the words. Then weigh the tone.", "no steps"),
        ("{}", "no steps"),
        ('{"steps": []}', "no steps"),
        ('{"steps": ["", " ", "…"]}', "no steps"),
        ('{"steps": null}', "no steps"),
        ('{"score": 4}', "no steps"),
        ("[1, 2, 3]", "no steps"),
        ('{"steps": ["Look at', "no steps"),
        ("[" * 3000, "no steps"),
        (json.dumps({"steps": ["Look."] * (STEPS_AT_MOST + 1)}), "more than 20 steps"),
        ("\n".join(f"{k}. {A}" for k in range(1, 30)), "more than 20 steps"),
        (json.dumps({"steps": ["Look.", "x" * (LETTERS_AT_MOST + 1)]}), "more than 800 letters"),
    ],
)
def test_what_holds_no_guide_is_none_with_the_reason(text: str, reason: str) -> None:
    found = steps_of(text, cut_off=False)
    assert isinstance(found, NoRubric)
    assert reason in found.reason


@pytest.mark.parametrize("text", [json.dumps({"steps": ABC}), "", f"1. {A}"])
def test_a_reply_that_was_cut_off_is_none_even_if_it_looks_whole(text: str) -> None:
    found = steps_of(text, cut_off=True)
    assert isinstance(found, NoRubric)
    assert "cut off" in found.reason


def test_what_a_model_thinks_aloud_is_no_guide() -> None:
    aloud = f'<think>\nPerhaps {{"steps": ["Something else."]}}\n1. No.\n</think>\n{json.dumps({"steps": ABC})}'
    assert steps_of(aloud, cut_off=False) == ABC
    assert steps_of("<think>\n1. Look.\n2. Weigh.", cut_off=False) == NoRubric("the reply holds no steps")


JSONS = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=10,
)
LINES = st.lists(
    st.sampled_from(["1. ", "- ", "**", "Step 2: ", *"\n\r\x85\u2028\0{[]}\"", "\\ud800", " x "])
    | st.text(max_size=5),
    max_size=20,
).map("".join)  # fmt: skip


@given(st.text() | LINES | JSONS.map(json.dumps) | JSONS.map(lambda v: json.dumps({"steps": [v]})), st.booleans())
def test_any_reply_gives_whole_lines_or_a_reason(text: str, cut_off: bool) -> None:
    found = steps_of(text, cut_off)
    if isinstance(found, NoRubric):
        assert found.reason
        return
    assert 1 <= len(found) <= STEPS_AT_MOST
    for step in found:
        assert step == step.strip() != ""
        assert len(step.splitlines()) == 1
        assert any(c.isalnum() for c in step)
        assert step.isprintable() or not any(ord(c) < 32 for c in step)
        step.encode()  # can be written to a file


@given(st.lists(st.text(alphabet="abcdefgh ", min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=20))
def test_steps_in_json_come_back_as_they_were_written(steps: list[str]) -> None:
    steps = ["look at this", *steps[:19]]
    assert steps_of(json.dumps({"steps": steps}), cut_off=False) == tuple(" ".join(s.split()) for s in steps)


def test_the_placeholders_of_the_prompt_are_no_steps() -> None:
    copied = steps_of('{"steps": ["first step", "second step", "third step"]}', cut_off=False)
    assert isinstance(copied, NoRubric) and "3 words" in copied.reason


EXAMPLE = "Most people who work at night are as friendly as anyone, nurses and bakers among them."


@pytest.mark.parametrize(
    "step, quoted",
    [
        ("Look whether most people who work at night are as kind.", True),
        ('Texts like "MOST people, who work: at night -- are AS friendly" rate high.', True),
        ("Most people who work at night are as", True),  # eight words
        ("Most people who work at night are", False),  # seven
        ("Most people who mostly work at night are as friendly as.", False),
        ("Friendly as nurses; people who work at night.", False),
        ("", False),
    ],
)
def test_eight_words_in_a_row_are_a_quotation(step: str, quoted: bool) -> None:
    assert QUOTED == 8
    assert quotes([A, step], ["", EXAMPLE, "short"]) is quoted


def test_without_examples_nothing_is_quoted() -> None:
    assert not quotes(ABC, [])
    assert not quotes([], [EXAMPLE])


def test_points_of_the_scale_stay_before_a_step_and_numbers_that_count_go() -> None:
    points = ["1: nothing to do with the matter", "3: half of the matter", "5: all of the matter"]
    assert steps_of(json.dumps({"steps": points}), cut_off=False) == tuple(points)
    counted = [f"{k}. look at part {k}" for k in (1, 2, 3)]
    assert steps_of(json.dumps({"steps": counted}), cut_off=False) == tuple(c[3:] for c in counted)


def test_the_list_called_steps_is_taken_before_others() -> None:
    for reply in (
        {"notes": ["a b c"], "steps": ["read it through"]},
        {"guide": {"for": "x", "steps": ["read it through"]}},
    ):
        assert steps_of(json.dumps(reply), cut_off=False) == ("read it through",)
