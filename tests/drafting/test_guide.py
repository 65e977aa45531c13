"""An instruction in free text becomes a rubric whole, or is refused for what a draft is refused for."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import find_aspect
from calibrator.drafting.guide import guide_of, guide_rubric
from calibrator.drafting.steps import LETTERS_AT_MOST
from calibrator.records import NoRubric, Rubric

ASPECT = find_aspect("neutral/relevance")[0]


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("1. Look at the subject.\n2. See what is said of it.", ("Look at the subject.", "See what is said of it.")),
        (
            "You rate letters.\n\n- Look at the subject.\n- Weigh the tone.",
            ("You rate letters.", "Look at the subject.", "Weigh the tone."),
        ),
        ("# Guide\n\nLook at the **subject** of it.\n---\n```", ("Guide", "Look at the subject of it.")),
        ("Step 1: Look at the subject\n   and at its parts.", ("Look at the subject and at its parts.",)),
        ('{"steps": ["Look at the subject."]}', ("Look at the subject.",)),
        ("<think>Hm, what?</think>Look at the subject.", ("Look at the subject.",)),
        (
            "1 is for texts that say nothing.\n5 is for texts that say all.",
            ("1 is for texts that say nothing.", "5 is for texts that say all."),
        ),
    ],
)  # fmt: skip
def test_every_line_is_a_step(text: str, steps: tuple[str, ...]) -> None:
    assert guide_of(text) == steps


def test_a_long_paragraph_is_parted_between_sentences() -> None:
    sentences = [f"Look at the {k}th thing that the text says of its subject, and whether it holds." for k in range(25)]
    steps = guide_of(" ".join(sentences))
    assert isinstance(steps, tuple)
    assert " ".join(steps) == " ".join(sentences)
    assert len(steps) == 3 and all(len(s) <= LETTERS_AT_MOST for s in steps)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the instruction is empty"),
        ("\n---\n```json\n```", "the instruction is empty"),
        ("Rate it", "no step has 3 words"),
        ("\n".join(f"{k}. Look at thing {k}." for k in range(1, 30)), "more than 20 steps"),
        ("word " * 400, f"a step of more than {LETTERS_AT_MOST} letters"),
        ("Rate the text from 0 to 100.", "a step asks for another scale than 1-5"),
        ("Look at the tone.\nReply with JSON only.", "a step says how the answer is to be written"),
        ("Look for a river that runs by the old garden wall in winter.", "a step quotes an example"),
    ],
)
def test_what_is_no_guide_is_refused_with_the_reason(text: str, reason: str) -> None:
    assert guide_rubric(text, ASPECT, ["There is a river that runs by the old garden wall in winter."]) == NoRubric(
        reason
    )


@given(st.lists(st.from_regex(r"[A-Z][a-z]{2,9}( [a-z]{2,9}){2,6}\.", fullmatch=True), min_size=1, max_size=20))
def test_no_word_of_a_guide_is_lost(lines: list[str]) -> None:
    found = guide_rubric("\n".join(f"{k}. {line}" for k, line in enumerate(lines, 1)), ASPECT, ())
    if isinstance(found, Rubric):
        assert [s.text for s in found.steps] == lines
    else:
        assert re.match("a step (asks|says)", found.reason)
