"""Texts that are nearly the same: found as if every text were compared with every other."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.audit.near import near_pairs
from calibrator.generators.alike import Alike

texts = st.lists(st.lists(st.sampled_from("abcdef"), max_size=8).map(" ".join), max_size=12)


@given(
    known=texts, text=st.lists(st.sampled_from("abcdef"), max_size=8).map(" ".join), alike=st.sampled_from([0.5, 0.8])
)
def test_against_all_comparisons(known: list[str], text: str, alike: float) -> None:
    def likeness(one: str, other: str) -> float:
        a, b = Counter(one.split()), Counter(other.split())
        return (a & b).total() / (a | b).total() if a | b else 0.0

    assert Alike(known, alike).to(text) == {k for k in known if k == text or likeness(k, text) >= alike - 1e-9}


@given(texts)
def test_it_is_the_likeness_of_the_audit(known: list[str]) -> None:
    pairs = {frozenset((known[i], known[j])) for i, j in near_pairs(known)}
    found = {frozenset((text, other)) for text in known for other in Alike(known).to(text) if other != text}
    assert found == {pair for pair in pairs if len(pair) == 2}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the bus is late again today my friend", True),  # 8 words of 9
        ("friend the bus late is again my dear today", True),  # order does not count
        ("the bus is late again today my", False),  # 7 of 9
        ("the bus is late again today my dear dear friend", True),  # 9 of 10
        ("昨日はバスが遅れました", True),  # a text is like itself, whatever a word is
        ("昨日はバスが遅れた", False),
    ],
)
def test_by_hand(text: str, found: bool) -> None:
    known = ["the bus is late again today my dear friend", "昨日はバスが遅れました"]
    assert bool(Alike(known).to(text)) == found
