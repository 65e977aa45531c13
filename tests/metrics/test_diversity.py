"""Distinct n-grams and their entropy: hand-worked cases, an outside program, and what must hold for any texts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy

from calibrator.metrics import diversity as d
from calibrator.metrics.base import Settings, Unscored, Value
from calibrator.records import Item

SETS = st.lists(st.lists(st.sampled_from("a b c d e".split()), max_size=12), max_size=8)


def _scores(*texts: str) -> dict[str, Value]:
    told: list[int] = []
    found = d.make(Settings())([Item(id=str(k), output=t) for k, t in enumerate(texts)], told.append)
    assert sum(told) == len(texts)
    return dict(found)


def test_tokens_are_words_in_lower_case_and_single_marks() -> None:
    assert d.tokens("Don't stop, it's well-known!!") == ["don't", "stop", ",", "it's", "well", "-", "known", "!", "!"]


def test_distinct_divides_by_the_tokens_of_all_texts() -> None:
    # Tokens: the river runs / the river bends = 6. Different words: 4; pairs: the-river, river-runs, river-bends.
    found = _scores("The river runs", "the river bends")
    assert found["distinct-1"] == pytest.approx(4 / 6)
    assert found["distinct-2"] == pytest.approx(3 / 6)
    assert found["distinct-3"] == pytest.approx(2 / 6)


def test_entropy_by_hand() -> None:
    # Words: the 2, river 2, runs 1, bends 1 of 6. Pairs: the-river 2, river-runs 1, river-bends 1 of 4.
    found = _scores("The river runs", "the river bends")
    assert found["entropy-2"] == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(4))
    assert found["entropy-2-bits"] == pytest.approx(1.5)
    assert found["entropy-1-bits"] == pytest.approx(2 / 3 * math.log2(3) + 1 / 3 * math.log2(6))


def test_no_pair_goes_from_one_text_into_the_next() -> None:
    assert d.ngram_counts([["a", "b"], ["c"]], 2) == {("a", "b"): 1}


def test_by_characters_each_text_counts_by_itself_and_as_it_is_written() -> None:
    # "aaaa": 1 of 4 characters, 1 pair by 4; "abAb": 3 of 4, pairs ab, bA, Ab: 3 by 4.
    found = _scores("aaaa", "abAb")
    assert found["distinct-1-chars"] == pytest.approx((1 / 4 + 3 / 4) / 2)
    assert found["distinct-2-chars"] == pytest.approx((1 / 4 + 3 / 4) / 2)


def test_what_is_not_defined_is_no_number() -> None:
    found = _scores("river")
    assert isinstance(found["entropy-2"], Unscored)
    assert found["distinct-2"] == 0  # a token, and no pair


@given(SETS)
def test_distinct_is_a_share_and_does_not_depend_on_the_order(texts: list[list[str]]) -> None:
    for n in (1, 2, 3):
        value = d.distinct(texts, n)
        if any(texts):
            assert 0 <= value <= 1
            assert value == d.distinct(texts[::-1], n)
        else:
            assert math.isnan(value)


@given(SETS, st.integers(1, 3))
def test_entropy_is_that_of_scipy_and_bounded_by_the_number_of_ngrams(texts: list[list[str]], n: int) -> None:
    counts = d.ngram_counts(texts, n)
    value = d.entropy(texts, n)
    if not counts:
        assert math.isnan(value)
        return
    assert value == pytest.approx(scipy_entropy(list(counts.values())), abs=1e-12)
    assert 0 <= value <= math.log(sum(counts.values())) + 1e-12
    assert value <= math.log(len(counts)) + 1e-12


@given(SETS)
def test_saying_all_again_halves_distinct_and_leaves_entropy(texts: list[list[str]]) -> None:
    if any(texts):
        assert d.distinct([*texts, *texts], 1) == pytest.approx(d.distinct(texts, 1) / 2)
        assert d.entropy([*texts, *texts], 1) == pytest.approx(d.entropy(texts, 1))


def test_what_each_metric_is_computed_with_is_what_it_is_called() -> None:
    assert set(_scores("the river runs to the sea")) == {m.name for m in d.METRICS}
    assert all(m.of == "set" and m.make is d.make for m in d.METRICS)
