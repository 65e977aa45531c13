"""The normal form of a text and its digest."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.texts import digest, digest_set, normalise

anything = st.text(alphabet=st.characters(), max_size=100)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | anything,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("The  Café, at NOON!", "the cafe at noon"),
        ("don't — “really”", "don t really"),
        ("ﬁne ① x²", "fine 1 x2"),
        ("Straße", "strasse"),
        ("他们，在这里。", "他们 在这里"),
        ("❤️ ... 🙂", ""),
        ("\t\n", ""),
    ],
)
def test_what_does_not_count_is_gone(text: str, form: str) -> None:
    assert normalise(text) == form


@pytest.mark.parametrize(
    ("one", "other"), [("दिन", "दान"), ("ที่", "ท"), ("மணி", "மண"), ("мир", "мор"), ("ドア", "トイ")]
)
def test_words_of_other_scripts_are_told_apart(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)
    assert " " not in normalise(one)


@given(anything)
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert normalise(f"  {text}!\n") == normalise(text)


@given(st.dictionaries(anything, values, max_size=5))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, object]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


def test_a_digest_is_the_sha256_of_the_canonical_json() -> None:
    assert digest({"b": ["ä", 1], "a": None}) == hashlib.sha256('{"a":null,"b":["ä",1]}'.encode()).hexdigest()


def test_different_values_have_different_digests() -> None:
    different = [None, 0, "", "0", [], {}, ["a", "b"], ["ab"], ["b", "a"], [["a"], "b"], {"a": "b"}, "\ud800"]
    assert len({digest(v) for v in different}) == len(different)


def test_what_has_no_json_has_no_digest() -> None:
    with pytest.raises(ValueError, match="JSON"):
        digest(float("nan"))


@given(st.lists(st.text(max_size=3), max_size=6))
def test_the_digest_of_a_collection_does_not_depend_on_its_order(digests: list[str]) -> None:
    assert digest_set(digests) == digest_set(reversed(digests)) == digest_set(iter(sorted(digests)))
    assert digest_set([*digests, "one more"]) != digest_set(digests)
