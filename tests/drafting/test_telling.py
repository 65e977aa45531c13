"""The sentences of a criteria rubric."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrator.aspects import find_aspect
from calibrator.criteria import BY_NAME, CRITERIA
from calibrator.drafting.telling import TOLD_AT_MOST, sentence, told
from calibrator.records import Factor, Measure

ASPECT = replace(find_aspect("neutral/relevance")[0], fields={"source": "question", "output": "reply"})
NAMES = [c.name for c in CRITERIA]


def one(name: str, weight: float, times: str | None = None) -> Measure:
    return Measure(name, weight, 0.0, 1.0, Factor(times, 0.0, 1.0) if times else None)


@pytest.mark.parametrize(
    "measures, said",
    [
        ([one("length", 0.5)], "Look at how long the reply is: the longer, the higher the score."),
        ([one("length", -0.5)], "Look at how long the reply is: the longer, the lower the score."),
        (
            [one("coverage", 0.5), one("on-topic", 0.2)],
            "Look at how many topic words of the question the reply takes up; and how much of it is in topic words of"
            " the question: the more of this, the higher the score.",
        ),
        (
            [one("exclamations", -0.5), one("shouting", -0.2), one("insults", -0.1)],
            "Look at exclamation marks in the reply; how much of it is written all in capitals; and insults and words"
            " of contempt in it: the more of this, the lower the score.",
        ),
        (
            [one("length", 0.5, "evidence")],
            "Look at how long the reply is together with words of evidence in it: studies, facts, figures, reports:"
            " where both are above average or both below it, the score is higher; where only one is, lower.",
        ),
        (
            [one("length", -0.5, "question")],
            "Look at how long the reply is together with whether it asks a question: where both are above average or"
            " both below it, the score is lower; where only one is, higher.",
        ),
    ],
)
def test_a_step_says_what_to_look_at_and_which_way_it_counts(measures: list[Measure], said: str) -> None:
    assert sentence(measures, ASPECT) == said
    (step,) = told(measures, ASPECT)
    assert step.text == said
    assert step.measures == tuple(measures)


def test_kindred_criteria_that_count_the_same_way_share_a_step_the_weightiest_first() -> None:
    measures = [one("on-topic", 0.1), one("coverage", 0.3), one("wording", -0.2), one("length", 0.35)]
    assert [[m.criterion for m in s.measures] for s in told(measures, ASPECT)] == [
        ["coverage", "on-topic"],  # 0.4 together
        ["length"],
        ["wording"],
    ]


def test_a_step_tells_three_criteria_at_most() -> None:
    topic = [c.name for c in CRITERIA if c.theme == CRITERIA[0].theme]
    steps = told([one(name, 1 - k / 10) for k, name in enumerate(topic)], ASPECT)
    assert TOLD_AT_MOST == 3
    assert [m.criterion for s in steps for m in s.measures] == topic
    assert [len(s.measures) for s in steps] == [3] * (len(topic) // 3) + [len(topic) % 3] * bool(len(topic) % 3)


def test_a_product_is_a_step_of_its_own_whatever_its_kin() -> None:
    measures = [one("on-topic", 0.3, "coverage"), one("on-topic", 0.4), one("coverage", 0.2, "wording")]
    measures.append(one("coverage", 0.1))
    assert [[(m.criterion, m.times is not None) for m in s.measures] for s in told(measures, ASPECT)] == [
        [("on-topic", False), ("coverage", False)],
        [("on-topic", True)],
        [("coverage", True)],
    ]


def test_nothing_is_told_of_nothing() -> None:
    assert told([], ASPECT) == ()


WEIGHTS = st.floats(-2, 2, allow_nan=False)
SINGLE = st.builds(one, st.sampled_from(NAMES), WEIGHTS)
DOUBLE = st.builds(one, st.sampled_from(NAMES), WEIGHTS, st.sampled_from(NAMES))


@given(st.lists(SINGLE | DOUBLE, max_size=24, unique_by=lambda m: (m.criterion, m.times)))
def test_every_measure_is_told_once_in_a_step_of_one_theme_and_one_direction(measures: list[Measure]) -> None:
    steps = told(measures, ASPECT)
    assert sorted(map(repr, (m for s in steps for m in s.measures))) == sorted(map(repr, measures))
    worths = [sum(abs(m.weight) for m in s.measures) for s in steps]
    assert worths == sorted(worths, reverse=True)
    for step in steps:
        assert step.text == sentence(step.measures, ASPECT)
        assert len(step.measures) <= TOLD_AT_MOST
        assert len({BY_NAME[m.criterion].theme for m in step.measures}) == 1
        assert len({m.weight >= 0 for m in step.measures}) == 1
        assert len(step.measures) == 1 or all(m.times is None for m in step.measures)


def test_every_criterion_and_every_product_reads_as_one_sentence() -> None:
    bundles = [[one(a, 1.0)] for a in NAMES] + [[one(a, 1.0, b)] for a, b in combinations(NAMES, 2)]
    for bundle in bundles:
        said = sentence(bundle, ASPECT)
        assert said.startswith("Look at ") and said.endswith(".")
        assert "{" not in said and "  " not in said
        assert said.count("the reply") == 1  # named once, and "it" from then on
