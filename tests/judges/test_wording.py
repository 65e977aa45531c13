"""Rubrics in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.judges.wording import WEIGHT_WORDS, in_words, weight_in_words, worth
from calibrator.records import Factor, Measure, Rubric, Step

WORDS = [word for _, word in WEIGHT_WORDS]


def measured(*weights: float) -> Step:
    return Step("Look at it.", tuple(Measure(f"c{k}", w, 0.0, 1.0) for k, w in enumerate(weights)))


def test_a_written_step_stands_as_it_is() -> None:
    assert in_words(Rubric("a", (Step("Look."), Step("Weigh **it**.")))) == ("Look.", "Weigh **it**.")


def test_a_rubric_without_steps_has_no_words() -> None:
    assert in_words(Rubric("a", (), 3.0)) == ()


@pytest.mark.parametrize(
    "weight, word",
    [
        (1.0, "decisive"), (0.75, "decisive"), (0.74, "strong"), (0.4, "strong"), (0.39, "moderate"),
        (0.15, "moderate"), (0.14, "slight"), (0.0, "slight"), (-1.0, "decisive"), (-0.5, "strong"),
    ],
)  # fmt: skip
def test_behind_a_measured_step_stands_how_much_it_counts(weight: float, word: str) -> None:
    rubric = Rubric("a", (measured(1.0), measured(weight)))
    assert in_words(rubric) == ("Look at it. (Decisive.)", f"Look at it. ({word.capitalize()}.)")


def test_the_measures_of_a_step_count_together() -> None:
    assert worth(measured(0.5, 0.25)) == 0.75
    assert worth(Step("Look.")) == 0.0
    assert in_words(Rubric("a", (measured(0.5, 0.5), measured(0.3, -0.2)))) == (
        "Look at it. (Decisive.)",
        "Look at it. (Slight.)",
    )


def test_a_product_is_worth_its_weight_like_any_measure() -> None:
    product = Step("Look at both.", (Measure("c", -0.5, 3.0, 2.0, Factor("d", 7.0, 5.0)),))
    assert worth(product) == -0.5
    assert in_words(Rubric("a", (measured(1.0), product, measured(0.2)))) == (
        "Look at it. (Decisive.)",
        "Look at both. (Strong.)",
        "Look at it. (Moderate.)",
    )
    assert in_words(Rubric("a", (product, measured(0.05)))) == ("Look at both. (Decisive.)", "Look at it. (Slight.)")


def test_measured_and_written_steps_stand_side_by_side() -> None:
    assert in_words(Rubric("a", (Step("Look."), measured(0.2)))) == ("Look.", "Look at it. (Decisive.)")


def test_steps_that_are_worth_nothing_are_slight() -> None:
    assert in_words(Rubric("a", (measured(0.0), measured(1.0, -1.0)))) == ("Look at it. (Slight.)",) * 2


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=6))
def test_a_weightier_step_has_no_weaker_word_and_the_unit_does_not_matter(weights: list[float]) -> None:
    steps = [measured(w) for w in weights]
    rank = {step: WORDS.index(weight_in_words(step, steps)) for step in steps}
    by_weight = sorted(steps, key=lambda s: -abs(worth(s)))
    assert [rank[s] for s in by_weight] == sorted(rank[s] for s in steps)
    doubled = [measured(2 * w) for w in weights]
    assert [weight_in_words(s, doubled) for s in doubled] == [weight_in_words(s, steps) for s in steps]
