"""Figures of label sets: hand-worked cases, and scikit-learn's where they coincide."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from calibrator.stats import multilabel as m
from calibrator.stats.multilabel import Array, Measure


def rows(*texts: str) -> Array:
    return np.array([[float(c) for c in text] for text in texts])


# Y = {a, b}, Z = {b, c}; Y = {a}, Z = {a}; Y = {c}, Z = {a, b, c}.
TRUTH = rows("110", "100", "001")
SAID = rows("011", "100", "111")


@pytest.mark.parametrize(
    ("measure", "wanted"),
    [
        (m.accuracy, (1 / 3 + 1 + 1 / 3) / 3),
        (m.precision, (1 / 2 + 1 + 1 / 3) / 3),
        (m.recall, (1 / 2 + 1 + 1) / 3),
        (m.precision_paper, (1 / 2 + 1 + 1) / 3),
        (m.recall_paper, (1 / 2 + 1 + 1 / 3) / 3),
        (m.f1, 2 * (11 / 18) * (15 / 18) / (26 / 18)),
        (m.hamming_loss, (2 / 3 + 0 + 2 / 3) / 3),
        (m.hamming_score, 1 - (2 / 3 + 0 + 2 / 3) / 3),
        (m.exact_match, 1 / 3),
        (m.sample_f1, (1 / 2 + 1 + 1 / 2) / 3),
        (m.macro_f1, (1 / 2 + 2 / 3 + 2 / 3) / 3),  # a: true of 2, said of 2, both of 1; b and c: 1, 2 and 1
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_three_texts_by_hand(measure: Measure, wanted: float) -> None:
    assert float(measure(TRUTH, SAID)) == pytest.approx(wanted)


def test_the_harmonic_mean_is_of_the_means_and_not_the_mean_of_each_texts() -> None:
    assert float(m.f1(TRUTH, SAID)) != pytest.approx(float(m.sample_f1(TRUTH, SAID)))


@pytest.mark.parametrize(
    ("truth", "said", "wanted"),
    [
        ("000", "000", {"accuracy": 1, "precision": 1, "recall": 1, "f1": 1, "hamming_loss": 0, "sample_f1": 1}),
        ("010", "000", {"accuracy": 0, "precision": 0, "recall": 0, "f1": 0, "hamming_loss": 1 / 3, "sample_f1": 0}),
        ("000", "011", {"accuracy": 0, "precision": 0, "recall": 0, "f1": 0, "hamming_loss": 2 / 3, "sample_f1": 0}),
        ("100", "010", {"accuracy": 0, "precision": 0, "recall": 0, "f1": 0, "hamming_loss": 2 / 3, "sample_f1": 0}),
    ],
)
def test_what_is_empty_is_defined(truth: str, said: str, wanted: dict[str, float]) -> None:
    for name, value in wanted.items():
        assert float(m.MEASURES[name](rows(truth), rows(said))) == pytest.approx(value), name


def test_saying_nothing_is_never_better_than_saying_something_right() -> None:
    silent, right = m.precision(TRUTH, np.zeros_like(TRUTH)), m.precision(TRUTH, TRUTH)
    assert float(silent) == 0 and float(right) == 1


def test_a_label_that_nobody_bears_or_says_has_no_f1() -> None:
    truth, said = rows("100", "100"), rows("110", "100")
    each = m.label_f1(truth, said)
    assert each[0] == 1 and each[1] == 0 and math.isnan(each[2])
    assert float(m.macro_f1(truth, said)) == 0.5
    assert math.isnan(float(m.macro_f1(rows("00"), rows("00"))))


def test_without_texts_nothing_is_defined() -> None:
    none = np.zeros((0, 3))
    for name, measure in m.MEASURES.items():
        assert math.isnan(float(measure(none, none))), name


BITS = st.lists(st.integers(0, 1), min_size=3, max_size=3)
PAIRS = st.lists(st.tuples(BITS, BITS), min_size=2, max_size=12)
LIBRARY: dict[str, Callable[..., Any]] = {
    "accuracy": lambda t, s: sk.jaccard_score(t, s, average="samples", zero_division=0),
    "precision": lambda t, s: sk.precision_score(t, s, average="samples", zero_division=0),
    "recall": lambda t, s: sk.recall_score(t, s, average="samples", zero_division=0),
    "sample_f1": lambda t, s: sk.f1_score(t, s, average="samples", zero_division=0),
    "hamming_loss": sk.hamming_loss,
    "exact_match": sk.accuracy_score,
    "macro_f1": lambda t, s: sk.f1_score(t, s, average="macro", zero_division=np.nan),
}


@given(PAIRS)
def test_as_scikit_learn_has_it_where_no_text_is_empty_on_both_sides(pairs: list[tuple[list[int], list[int]]]) -> None:
    pairs = [(t, s) for t, s in pairs if any(t) or any(s)] or [([1, 0, 0], [0, 1, 0])]
    truth, said = (np.array([p[k] for p in pairs]) for k in (0, 1))
    for name, theirs in LIBRARY.items():
        ours = float(m.MEASURES[name](truth.astype(float), said.astype(float)))
        assert ours == pytest.approx(float(theirs(truth, said))), name


@given(PAIRS, st.data())
def test_weights_are_how_often_a_text_counts(pairs: list[tuple[list[int], list[int]]], data: st.DataObject) -> None:
    truth, said = (np.array([p[k] for p in pairs], dtype=float) for k in (0, 1))
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(pairs), max_size=len(pairs)))
    written = np.repeat(np.arange(len(pairs)), times)
    for name, measure in m.MEASURES.items():
        drawn = measure(truth, said, np.array([times, np.ones(len(pairs))], dtype=float))
        assert drawn.shape == (2,)
        assert drawn[0] == pytest.approx(float(measure(truth[written], said[written])), nan_ok=True), name
        assert drawn[1] == pytest.approx(float(measure(truth, said)), nan_ok=True), name


@given(PAIRS)
def test_the_two_namings_are_each_other_and_all_lie_between_0_and_1(pairs: list[tuple[list[int], list[int]]]) -> None:
    truth, said = (np.array([p[k] for p in pairs], dtype=float) for k in (0, 1))
    assert float(m.precision_paper(truth, said)) == float(m.recall(truth, said))
    assert float(m.recall_paper(truth, said)) == float(m.precision(truth, said))
    assert float(m.recall(truth, said)) == pytest.approx(float(m.precision(said, truth)))
    for name, measure in m.MEASURES.items():
        value = float(measure(truth, said))
        assert math.isnan(value) or -1e-12 <= value <= 1 + 1e-12, name
