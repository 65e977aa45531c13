"""Near copies: the fast search against the slow one, and what counts as near."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.audit.near import near_pairs


def slow(texts: list[str], alike: float) -> list[tuple[int, int]]:
    bags = [Counter(t.split()) for t in texts]
    found = []
    for (i, a), (j, b) in combinations(enumerate(bags), 2):
        shared, all_words = (a & b).total(), (a | b).total()
        if all_words and a and b and shared >= alike * all_words - 1e-9:
            found.append((i, j))
    return found


texts = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12).map(" ".join), max_size=14)


@settings(deadline=None, max_examples=200)
@given(texts, st.sampled_from([0.5, 0.8, 0.9, 1.0]))
def test_the_search_finds_what_comparing_all_finds(found: list[str], alike: float) -> None:
    assert near_pairs(found, alike) == slow(found, alike)


def test_one_word_of_ten_may_differ() -> None:
    text = "the river runs past the old mill and the garden"
    changed = "the river runs past the old mill and the orchard"
    other = "a letter came in winter from the doctor of the street"
    assert near_pairs([text, other, changed]) == [(0, 2)]
    assert near_pairs(["", "", "one word"]) == []


def test_no_more_than_asked_for() -> None:
    assert len(near_pairs(["the same words"] * 50, most=100)) == 100
