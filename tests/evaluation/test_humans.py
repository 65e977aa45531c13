"""The humans as rows: beside scipy on simulated annotators, and beside the ceiling to the last digit."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.evaluation.agreement import compare
from calibrator.evaluation.ceiling import ceiling, share
from calibrator.evaluation.humans import ANOTHER, REST, against_one, human_rows
from calibrator.records import Item, Judgment
from calibrator.stats.correlation import MEASURES
from tests.conftest import make_items
from tests.evaluation.test_ceiling import QUICK, Array, rated, simulated

SCIPY = {
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "mae": lambda x, y: np.abs(x - y).mean(),
}


def points(n: int = 60, annotators: int = 3, seed: int = 0) -> Array:
    """Ratings of 1 to 5, with ties, (n, annotators)."""
    return np.clip(np.round(simulated(n, annotators, 0.6, seed)[1] + 3), 1, 5)


def shared_by(raters: list[tuple[int, ...]], values: Array) -> list[Item]:
    return [
        replace(i, ratings=tuple(i.ratings[r] for r in s), raters=s) for i, s in zip(rated(values), raters, strict=True)
    ]


@pytest.mark.parametrize("measure", MEASURES)
def test_rows_are_the_means_that_scipy_gives(measure: str) -> None:
    values = points()
    another, rest = human_rows(rated(values), 0, QUICK)
    pairs = [SCIPY[measure](values[:, i], values[:, j]) for i, j in combinations(range(3), 2)]
    others = [SCIPY[measure](values[:, j], np.delete(values, j, 1).mean(axis=1)) for j in range(3)]
    assert (another.name, rest.name) == (ANOTHER, REST)
    assert another.figures[measure].value == pytest.approx(np.mean(pairs))
    assert rest.figures[measure].value == pytest.approx(np.mean(others))
    assert (another.items, another.groups, another.annotators) == (60, 30, 3)
    for row in (another, rest):
        found = row.figures[measure]
        assert found.low < found.value < found.high


@pytest.mark.parametrize(
    "items",
    [
        rated(points()),
        rated(points(50, 2)),
        rated(np.sort(points(), axis=1)),  # no annotators of their own
        rated(np.hstack([points(), points()[:, :1]])),  # a column written down twice
        shared_by([(0, 1)] * 35 + [(1, 2)] * 25, points()),
    ],
    ids=["plain", "two", "sorted", "copied", "few"],
)
def test_spearman_is_that_of_the_ceiling_to_the_last_digit(items: list[Item]) -> None:
    known = ceiling(items, 3, QUICK)
    another, rest = human_rows(items, 3, QUICK)
    assert known is not None
    assert another.figures["spearman"] == known.pairwise
    assert rest.figures["spearman"] == known.against_rest
    assert (another.items, another.groups, another.annotators) == (known.items, known.groups, known.annotators)
    scores = np.arange(float(len(items)))
    scores[::7] = np.nan
    beside = share(items, scores, 3, QUICK)
    assert beside is not None
    assert against_one(scores, items, 3, QUICK) == beside.one


def test_two_annotators_are_each_other_s_rest() -> None:
    another, rest = human_rows(rated(points(50, 2)), 0, QUICK)
    assert another.figures == pytest.approx(rest.figures)


def test_humans_and_judges_are_drawn_in_the_same_resamples() -> None:
    values = points()
    items = rated(values)

    class First:
        id, mode = "first", "as given"

        def judge(self, items: list[Item]) -> tuple[Judgment, ...]:
            return tuple(Judgment(i.id, i.ratings[0], self.mode) for i in items)

    # As the one judge of items whose human figure is the second annotator's, the first is a human against another.
    pair = [replace(i, ratings=i.ratings[:2], human=i.ratings[1]) for i in items]
    judged = compare({"first": First()}, pair, 5, QUICK).agreements[0].figures
    another = human_rows(pair, 5, QUICK)[0].figures
    for measure in MEASURES:
        assert (judged[measure].low, judged[measure].high) == (another[measure].low, another[measure].high)


def test_a_judge_against_one_annotator_in_any_measure() -> None:
    values = points()
    scores = values.mean(axis=1)
    for measure, scipy in SCIPY.items():
        found = against_one(scores, rated(values), 0, QUICK, measure)
        assert found is not None
        assert found.value == pytest.approx(np.mean([scipy(scores, values[:, j]) for j in range(3)]))
        assert found.low < found.value < found.high


def test_a_true_judge_gains_by_the_mean_of_many() -> None:
    truth, values = simulated(3000, 5, 0.5)
    items = rated(values)
    one = against_one(truth, items, 0, 2)
    assert one is not None
    mean = float(MEASURES["spearman"](truth, values.mean(axis=1)))
    another = human_rows(items, 0, 2, {"spearman": MEASURES["spearman"]})[0].figures["spearman"].value
    assert another < one.value < mean  # √.5 against one, √(5·.5/3) against the mean: not the same mark


def test_nobody_beside_whom_to_stand() -> None:
    assert human_rows([], 0, QUICK) == ()
    assert human_rows(make_items(30), 0, QUICK) == ()
    assert against_one(np.ones(30), make_items(30), 0, QUICK) is None
    assert against_one(np.full(60, np.nan), rated(points()), 0, QUICK) is None
    with pytest.raises(ValueError, match="3 scores for 2 items"):
        against_one(np.ones(3), make_items(2), 0, QUICK)


def test_what_is_not_defined_is_nan() -> None:
    values = points()
    values[:, 1] = 3.0  # one who gives all the same rating
    another, rest = human_rows(rated(values), 0, QUICK)
    for row in (another, rest):
        assert np.isnan(row.figures["spearman"].value)
        assert row.figures["mae"].value > 0
    alone = [replace(i, group="g") for i in rated(points())]
    for figure in human_rows(alone, 0, QUICK)[0].figures.values():
        assert np.isfinite(figure.value)
        assert np.isnan(figure.low)
    constant = against_one(np.ones(60), rated(points()), 0, QUICK)
    assert constant is not None and np.isnan(constant.value)


def test_the_humans_of_real_data(real_data: Path) -> None:
    items = prepare(make_config(aspect="cseval/relevance", data="cseval", data_dir=real_data)).dataset.items
    known = ceiling(items, 0, 20)
    another, rest = human_rows(items, 0, 20)
    assert known is not None
    assert (another.figures["spearman"], rest.figures["spearman"]) == (known.pairwise, known.against_rest)
    assert another.figures["kendall"].value < another.figures["spearman"].value
