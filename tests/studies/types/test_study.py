"""Classifiers beside each other: figures, failures, intervals and paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibrator.errors import ConfigError, DataError
from calibrator.records import Failure
from calibrator.report.types import answers_csv, outcome_lines, sheets, types_markdown
from calibrator.stats.multilabel import MEASURES
from calibrator.stats.resampling import group_weights
from calibrator.studies.types.base import Answer, Assigned, Example, Labels, Tick, ignored, indicators
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.names import parse_classifiers, short_names
from calibrator.studies.types.study import Answered, Candidate, Sides, answer_all, compare
from tests.studies.types.making import SCHEME, make_examples

TRAIN, TEST = tuple(make_examples(40, 20)), tuple(make_examples(60, 20, seed=2))
SIDES = Sides(TRAIN, TEST, SCHEME)


@dataclass(frozen=True)
class Fixed:
    """Says what it was given for each example; None is a failure."""

    id: str
    said: dict[str, Labels | None]

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        given = [self.said[e.id] for e in examples]
        return tuple(
            Failure(e.id, "no list") if g is None else Assigned(e.id, g) for e, g in zip(examples, given, strict=True)
        )


def answered(name: str, said: dict[str, Labels | None]) -> Answered:
    return answer_all(SIDES, [Candidate(name, lambda: Fixed(name, said))])[0]


RIGHT = answered("right", {e.id: e.labels for e in TEST})
CALM = answered("calm", {e.id: frozenset({"calm"}) for e in TEST})
HALF = answered("half", {e.id: e.labels if k % 2 else None for k, e in enumerate(TEST)})


def test_figures_are_those_of_the_formulas_with_intervals_over_groups() -> None:
    result = compare(SIDES, [CALM], "calm", seed=3, resamples=300)
    truth = indicators(true_labels(TEST), SCHEME.names)
    said = indicators([frozenset({"calm"})] * len(TEST), SCHEME.names)
    weights = group_weights([e.group for e in TEST], 300, np.random.default_rng(3))
    for name, measure in MEASURES.items():
        figure = result.rows[0].figures[name]
        low, high = np.nanquantile(measure(truth, said, weights), [0.025, 0.975])
        assert figure.value == pytest.approx(float(measure(truth, said)))
        assert (figure.low, figure.high) == pytest.approx((low, high))
    assert result.rows[0].labels["sharp"].value == 0
    assert (result.test, result.groups, result.train) == (60, 20, 40)


def test_failures_are_counted_and_are_no_empty_sets() -> None:
    row = compare(SIDES, [RIGHT, HALF], "right", resamples=50).rows[1]
    assert (row.items, row.failures, row.common) == (30, {"no list": 30}, 30)
    assert row.figures["accuracy"].value == 1.0
    assert row.gains["accuracy"].value == 0.0


def test_many_failures_are_told() -> None:
    told = compare(SIDES, [RIGHT, HALF], "right", resamples=50).warnings
    assert "half failed on 30 of 60 texts: its figures are on the others" in told


def test_a_difference_is_paired_and_on_what_both_classified() -> None:
    result = compare(SIDES, [RIGHT, CALM, HALF], "right", resamples=200)
    right, calm, half = result.rows
    assert right.gains == {}
    value = calm.figures["accuracy"].value or 0.0
    assert calm.gains["accuracy"].value == pytest.approx(value - 1)
    assert (calm.gains["accuracy"].high or 0) < 0 < (calm.gains["hamming_loss"].low or 0)
    same = compare(SIDES, [CALM, replace(CALM, name="again")], "calm", resamples=200).rows[1].gains
    assert all(g.value == g.low == g.high == 0 for g in same.values() if g.value is not None)
    assert half.common == 30


def test_a_classifier_that_always_fails_has_no_figure_and_not_0() -> None:
    never = answered("never", dict.fromkeys((e.id for e in TEST), None))
    row = compare(SIDES, [RIGHT, never], "right", resamples=20).rows[1]
    assert row.items == 0 and all(f.value is None for f in (*row.figures.values(), *row.gains.values()))
    assert "–" in types_markdown(compare(SIDES, [RIGHT, never], "right", resamples=20))


def test_labels_that_nobody_can_give_count_as_missed_and_are_told() -> None:
    test = (replace(TEST[0], labels=frozenset({"calm", "warm"})),)
    sides = Sides(TRAIN, test, SCHEME)
    calm = Answered("calm", Fixed("calm", {}), (Assigned(test[0].id, frozenset({"calm"})),))
    result = compare(sides, [calm], "calm", resamples=20)
    assert result.labels == (*SCHEME.names, "warm")
    assert result.rows[0].figures["accuracy"].value == 0.5
    assert result.rows[0].figures["hamming_loss"].value == 0.25
    assert any("'warm' is true of 1 test texts and not in the scheme" in w for w in result.warnings)


def test_what_recurs_is_told() -> None:
    sides = Sides(TEST[:10], TEST, SCHEME)
    result = compare(sides, [CALM], "calm", resamples=20)
    assert result.repeated_texts >= 10 and any("stand in train too" in w for w in result.warnings)


def test_nothing_to_report_on_is_said() -> None:
    with pytest.raises(DataError, match="no row of the test side has labels"):
        answer_all(Sides(TRAIN, (), SCHEME), [])


def test_the_report_has_every_classifier_and_label_and_no_text() -> None:
    result = compare(SIDES, [RIGHT, CALM, HALF], "right", resamples=50)
    shown = types_markdown(result)
    for word in ("right", "calm", "half", *SCHEME.names, "Hamming", "30 × no list"):
        assert word in shown
    assert not any(e.text in shown + answers_csv(SIDES, [RIGHT, HALF]) for e in TEST)
    assert [s.title for s in sheets(result)][2] == "Difference to right, on the texts that both classified"
    assert outcome_lines(result)[2].endswith("; 30 failures")


def test_the_answers_stand_by_row() -> None:
    lines = answers_csv(SIDES, [RIGHT, HALF]).splitlines()
    assert lines[0] == "row,labels,right,right_failure,half,half_failure" and len(lines) == 61
    wanted = "|".join(sorted(TEST[0].labels or ()))
    assert lines[1] == f"2,{wanted},{wanted},,,no list"


def test_the_same_seed_gives_the_same_result() -> None:
    one, two = (compare(SIDES, [RIGHT, CALM], "right", seed=5, resamples=50) for _ in range(2))
    assert one == two and one != compare(SIDES, [RIGHT, CALM], "right", seed=6, resamples=50)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tfidf,svm", "'svm' is none; write tfidf, majority"),
        ("majority:label", "'majority:label' is none"),
        ("llm@", "'llm@' is none"),
        ("llm@gpt-4o", "'gpt-4o' is no model"),
        ("recorded:", "'recorded:' is none"),
        ("tfidf,tfidf", "'tfidf' stands twice"),
        (" , ", "name at least one"),
    ],
)
def test_a_name_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_classifiers(text)


def test_names_are_written_as_they_are_parsed_and_short_in_results() -> None:
    text = "tfidf,majority:set,recorded:a/x.csv#types,llm@http://h/v1#m,transformer@org/name"
    names = parse_classifiers(text)
    assert ",".join(map(str, names)) == text
    assert short_names(names)[1:] == (
        "majority:set",
        "recorded:a/x.csv#types",
        "llm@http://h/v1#m",
        "transformer@org/name",
    )


def side(groups: int) -> Sides:
    return Sides(TRAIN, tuple(e for e in TEST if int(e.group.split()[1]) < groups), SCHEME)


def one(sides: Sides, name: str = "calm") -> Answered:
    said: dict[str, Labels | None] = {e.id: frozenset({name}) for e in sides.test}
    return answer_all(sides, [Candidate(name, lambda: Fixed(name, said))])[0]


def test_few_groups_are_told_of_and_one_has_no_interval() -> None:
    for groups, told in ((1, "only 1 source on the test side: there is no interval"),
                         (3, "only 3 sources on the test side: intervals over so few are rough")):  # fmt: skip
        sides = side(groups)
        result = compare(sides, [one(sides), one(sides, "sharp")], "calm", resamples=50)
        assert told in result.warnings
        row = result.rows[1]
        for figure in (row.figures["hamming_loss"], row.gains["hamming_loss"], row.labels["sharp"]):
            assert figure.value is not None
            assert (figure.low is None) == (figure.high is None) == (groups == 1)
    assert not any("only" in w for w in compare(side(20), [CALM], "calm", resamples=20).warnings)


def test_what_was_classified_of_one_group_alone_has_no_interval() -> None:
    first = TEST[0].group
    said: dict[str, Labels | None] = {e.id: frozenset({"calm"}) if e.group == first else None for e in TEST}
    row = compare(SIDES, [RIGHT, answered("part", said)], "right", resamples=50).rows[1]
    assert (row.figures["hamming_loss"].low, row.gains["hamming_loss"].low) == (None, None)


def test_texts_without_sources_are_called_texts() -> None:
    bare = tuple(replace(e, source="", group=e.text) for e in TEST[:4])
    sides = Sides(TRAIN, bare, SCHEME)
    assert (
        "only 4 texts on the test side: intervals over so few are rough"
        in compare(sides, [one(sides)], "calm", resamples=20).warnings
    )


def test_a_test_side_is_known_by_its_texts_and_labels_in_any_order() -> None:
    assert Sides(TRAIN[:3], TEST[::-1], SCHEME).test_digest == SIDES.test_digest
    assert Sides(TRAIN[:3], TEST, SCHEME).digest != SIDES.digest
    for change in (
        replace(TEST[0], text="a walk"), replace(TEST[0], source="s"), replace(TEST[0], labels=frozenset({"x"}))
    ):  # fmt: skip
        assert Sides(TRAIN, (change, *TEST[1:]), SCHEME).test_digest != SIDES.test_digest
