"""What counts as an answer of a model, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.studies.types import reading as r
from calibrator.studies.types.reading import read_labels
from calibrator.studies.types.scheme import Label, Scheme

SCHEME = Scheme((Label("asking", aliases=("question",)), Label("calm-tone"), Label("sharp")))
FREE = SCHEME.allowing_none()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"types": ["asking", "sharp"]}', {"asking", "sharp"}),
        ('["asking"]', {"asking"}),
        ('["Asking", "Calm Tone"]', {"asking", "calm-tone"}),
        ('["asking", "question"]', {"asking"}),
        ('Sure, here it is:\n```json\n{"types": ["sharp"]}\n```', {"sharp"}),
        ('<think>perhaps ["asking"]</think>["sharp"]', {"sharp"}),
        ('["sharp"] and once more ["sharp"]', {"sharp"}),
        ('{"reasons": ["it says why"], "types": ["asking"]}', {"asking"}),
        ("asking, sharp", {"asking", "sharp"}),
        ("Types: asking; calm tone.", {"asking", "calm-tone"}),
        ("- asking\n- **sharp**", {"asking", "sharp"}),
        ("1. asking\n2. calm tone", {"asking", "calm-tone"}),
        ("[asking, sharp]", {"asking", "sharp"}),
        ("['asking', 'sharp']", {"asking", "sharp"}),
    ],
)
def test_a_list_of_labels_is_read(text: str, wanted: set[str]) -> None:
    assert read_labels(text, SCHEME) == wanted


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", r.EMPTY),
        ("  \n ", r.EMPTY),
        ("This text is not asking anything.", r.NO_LIST),
        ("The speaker is sharp, though calm at times, and wants an answer to the matter.", r.NO_LIST),
        ("I'm sorry, but I can't help with that.", r.NO_LIST),
        ('["asking", "irony"]', r.OFF_LIST),
        ('["irony", "wit"]', r.OFF_LIST),
        ('["asking", 3]', r.OFF_LIST),
        ("asking, irony", r.OFF_LIST),
        ("[]", r.NONE_GIVEN),
        ('{"types": []}', r.NONE_GIVEN),
        ("none", r.NONE_GIVEN),
        ('["asking"] or rather ["sharp"]', r.SEVERAL),
        ('{"first": ["asking"], "second": ["sharp"]}', r.SEVERAL),
        ('["asking", "none"]', r.BOTH),
        ("<think>is it asking?", r.CUT_OFF),
    ],
)
def test_anything_else_is_a_failure_with_its_reason(text: str, reason: str) -> None:
    assert read_labels(text, SCHEME) == reason


def test_a_reply_that_was_cut_off_counts_for_nothing() -> None:
    assert read_labels('["asking"]', SCHEME, cut_off=True) == r.CUT_OFF


@pytest.mark.parametrize("text", ["[]", '{"types": []}', "none", '["none"]', "None of the above."])
def test_none_is_an_answer_where_the_scheme_allows_it(text: str) -> None:
    assert read_labels(text, FREE) == frozenset()
    assert read_labels(text, SCHEME) == r.NONE_GIVEN


@pytest.mark.parametrize("text", ["", "I cannot say.", '["irony"]', "{", '{"types": "irony"}'])
def test_what_cannot_be_read_is_never_none(text: str) -> None:
    assert isinstance(read_labels(text, FREE), str)


@given(
    st.text(max_size=80)
    | st.lists(st.sampled_from(["asking", "calm tone", "x", "none", "[", "]", ",", '"'])).map("".join)
)
def test_no_reply_raises_or_is_an_empty_set_by_accident(text: str) -> None:
    found = read_labels(text, SCHEME)
    assert isinstance(found, str) or (found and found <= set(SCHEME.names))
