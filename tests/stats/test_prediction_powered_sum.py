"""Sums of means with a judge: against `powered_mean`, by hand, and their coverage where terms differ in labels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.stats.prediction_powered import Powered, powered_difference, powered_mean
from calibrator.stats.prediction_powered_sum import Term, powered_sum

Array = NDArray[np.float64]
HUMAN = np.array([3, 4, 2, 5, 3, 1, 4, 4, 2, 5.0])
JUDGED = np.array([3, 5, 2, 4, 4, 2, 4, 5, 1, 4.0])
OTHERS = np.array([2, 3, 5, 4, 4, 1, 3, 2, 5, 4, 3, 3, 2, 4, 5, 1, 3, 4, 4, 2.0])


def figures(p: Powered) -> tuple[float, ...]:
    return p.value, p.low, p.high, p.classical_value, p.classical_low, p.classical_high, p.weight, p.effective


def term(times: float, human: Array, judged: Array, others: Array, start: str = "s") -> Term:
    """Every item a group of its own; terms of the same `start` share theirs by position."""
    names = [f"{start}{k:03}" for k in range(len(human) + len(others))]
    return Term(times, human, judged, others, names[: len(human)], names[len(human) :])


def test_one_term_is_the_mean() -> None:
    found = powered_sum([term(1.0, HUMAN, JUDGED, OTHERS)], level=0.9)
    assert figures(found) == pytest.approx(figures(powered_mean(HUMAN, JUDGED, OTHERS, level=0.9)))


def test_two_halves_of_the_same_are_the_whole() -> None:
    half = term(0.5, HUMAN, JUDGED, OTHERS)
    assert figures(powered_sum([half, half])) == pytest.approx(figures(powered_mean(HUMAN, JUDGED, OTHERS)))


def test_terms_of_the_same_sources_are_paired() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 2, 40))
    a[1] += a[0]
    b[1] += b[0]
    terms = [term(1.0, a[0, :12], a[1, :12], a[1, 12:]), term(-1.0, b[0, :12], b[1, :12], b[1, 12:])]
    paired = powered_difference(a[0, :12], a[1, :12], a[1, 12:], b[0, :12], b[1, :12], b[1, 12:])
    assert figures(powered_sum(terms)) == pytest.approx(figures(paired))


def test_two_terms_by_hand() -> None:
    # Labels 1, 3 (mean 2) and 2, 4, 6 (mean 4), nothing shared: half of each is 3. The parts' sums of squares are 2 and
    # 8; each item adds (rating - mean) / (2 * items): 2 / 16 + 8 / 36 = 25 / 72. Two labels in the scarcer term: 2 / 1
    # times that, with one degree of freedom (t = 12.7062). Below five labels the judge counts nothing.
    terms = [
        term(0.5, np.array([1, 3.0]), np.array([1, 1.0]), np.array([2.0]), "a"),
        term(0.5, np.array([2, 4, 6.0]), np.array([1, 2, 3.0]), np.array([5.0]), "b"),
    ]
    found = powered_sum(terms)
    assert found.value == pytest.approx(3)
    assert found.high - 3 == pytest.approx(12.7062047 * np.sqrt(25 / 36))
    assert (found.weight, found.effective) == (0, 2)


def test_a_term_that_is_all_labelled_stays_as_the_humans_have_it() -> None:
    known = term(0.5, np.array([1, 2, 1, 2, 1, 2.0]), np.array([9, 1, 9, 1, 9, 1.0]), np.zeros(0), "a")
    moved = term(0.5, HUMAN, JUDGED, OTHERS, "b")
    found, alone = powered_sum([known, moved]), powered_mean(HUMAN, JUDGED, OTHERS)
    assert found.weight == pytest.approx(alone.weight)
    assert found.value == pytest.approx((1.5 + alone.value) / 2)
    whole = powered_sum([known])
    assert (whole.value, whole.weight) == (0.75, 0)
    assert (whole.low, whole.high) == (whole.classical_low, whole.classical_high)


def test_terms_that_differ_in_labels_cover_as_they_say() -> None:
    """Sixteen labels in one term and all in the other, sources shared: the means differ, the truth is their mean."""
    rng = np.random.default_rng(1)
    held, width = np.zeros(2), np.zeros(2)
    names = np.array([f"s{k:03}" for k in range(120)])
    for _ in range(600):
        source = rng.normal(size=120)
        rating = source + 0.5 * rng.normal(size=(2, 120)) + np.array([[0.0], [4.0]])
        judged = rating + 0.4 * rng.normal(size=(2, 120)) + np.array([[1.0], [0.0]])
        terms = []
        for k, count in enumerate((16, 90)):
            order = rng.permutation(120)
            own, rest = order[:count], order[count:]
            terms.append(
                Term(0.5, rating[k, own], judged[k, own], judged[k, rest], list(names[own]), list(names[rest]))
            )
        found = powered_sum(terms)
        held += [found.low <= 2 <= found.high, found.classical_low <= 2 <= found.classical_high]
        width += [found.high - found.low, found.classical_high - found.classical_low]
    assert (held / 600 > 0.93).all()
    assert width[0] < 0.9 * width[1]


def test_what_is_not_known_is_nan() -> None:
    none = powered_sum([term(0.5, HUMAN, JUDGED, OTHERS), term(0.5, HUMAN[:0], JUDGED[:0], OTHERS)])
    assert np.isnan(figures(none)[:6]).all()
    one = powered_sum([term(0.5, HUMAN, JUDGED, OTHERS), term(0.5, HUMAN[:1], JUDGED[:1], OTHERS)])
    assert one.value == pytest.approx((3.3 + 3) / 2)
    assert np.isnan([one.low, one.classical_high]).all()


def test_what_cannot_be_estimated_says_why() -> None:
    with pytest.raises(ValueError, match="nothing to add"):
        powered_sum([])
    with pytest.raises(ValueError, match="every item"):
        powered_sum([Term(1.0, HUMAN, JUDGED, OTHERS, ["a"], ["b"])])
    with pytest.raises(ValueError, match="finite"):
        powered_sum([term(1.0, np.where(HUMAN > 4, np.nan, HUMAN), JUDGED, OTHERS)])
