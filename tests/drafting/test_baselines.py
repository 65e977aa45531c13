"""The rubrics that a calibrated one must beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from calibrator.aspects import Aspect, find_aspect
from calibrator.criteria import CRITERIA, Measured
from calibrator.drafting.baselines import constant, length_only, uncalibrated
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Item, Judgment, Rubric
from tests.conftest import make_items

ASPECT = find_aspect("neutral/relevance")[0]


def words(item: Item) -> int:
    return len(item.output.rstrip(".?!").split())


ITEMS = [i for i in make_items(80) if words(i) > 2]  # none so short that its length would be limited


def scores(rubric: Rubric, items: Sequence[Item], aspect: Aspect = ASPECT) -> list[float]:
    verdicts = CriteriaJudge(rubric, aspect.scale).judge(items)
    return [v.score for v in verdicts if isinstance(v, Judgment)]


def rated(by: float) -> list[Item]:
    """Return items whose rating rises (or falls) by so much with the logarithm of their words."""
    return [replace(i, human=3 + by * (np.log1p(words(i)) - 2.5)) for i in ITEMS]


@pytest.mark.parametrize("by", [0.5, -0.5])
def test_length_gives_back_ratings_that_follow_the_length(by: float) -> None:
    items = rated(by)
    rubric = length_only(ASPECT, items, Measured())
    (step,) = rubric.steps
    assert [m.criterion for m in step.measures] == ["length"]
    assert np.sign(step.measures[0].weight) == np.sign(by)
    assert scores(rubric, items) == pytest.approx([i.human for i in items], abs=1e-4)


def test_length_is_the_least_squares_line_on_what_it_was_fitted_to() -> None:
    x = np.log1p([words(i) for i in ITEMS])
    slope, level = np.polyfit(x, np.array([i.human for i in ITEMS], dtype=float), 1)
    assert scores(length_only(ASPECT, ITEMS, Measured()), ITEMS) == pytest.approx(slope * x + level, abs=1e-3)


def test_texts_of_one_length_have_their_mean_rating() -> None:
    items = [replace(i, output="four words are here", key=f"k{k}") for k, i in enumerate(ITEMS)]
    mean = float(np.mean([i.human or 0 for i in items]))
    assert scores(length_only(ASPECT, items, Measured()), items) == pytest.approx([mean] * len(items), abs=1e-4)


def test_the_constant_has_no_steps_and_the_least_error_of_all_constants() -> None:
    items = [replace(i, human=h) for i, h in zip(ITEMS, [1.0, 2.0, 5.0, 5.0, 5.0], strict=False)]
    rubric = constant(ASPECT, items)
    assert (rubric.steps, rubric.base, rubric.aspect) == ((), 5.0, ASPECT.ref)
    assert scores(rubric, ITEMS) == [5.0] * len(ITEMS)


def test_the_uncalibrated_rubric_has_seen_no_rating() -> None:
    blind = [replace(i, human=None, ratings=()) for i in ITEMS]
    assert uncalibrated(ASPECT, ITEMS, Measured()) == uncalibrated(ASPECT, blind, Measured())


def test_the_uncalibrated_rubric_weighs_what_most_readers_would_count_alike_on_the_middle_of_the_scale() -> None:
    rubric = uncalibrated(ASPECT, ITEMS, Measured())
    measures = {m.criterion: m.weight for s in rubric.steps for m in s.measures}
    assert set(measures) == {c.name for c in CRITERIA if c.prior}
    unit = 4 / 6 / np.sqrt(len(measures))
    assert measures == pytest.approx({c.name: c.prior * unit for c in CRITERIA if c.prior}, rel=1e-4)
    assert rubric.base == 3.0


def test_where_lower_is_better_the_uncalibrated_weights_turn_round() -> None:
    lower = replace(ASPECT, better="lower")
    plain, turned = (uncalibrated(a, ITEMS, Measured()) for a in (ASPECT, lower))
    weights = [{m.criterion: m.weight for s in r.steps for m in s.measures} for r in (plain, turned)]
    assert weights[1] == {name: -weight for name, weight in weights[0].items()}


def test_the_scale_of_the_aspect_is_kept() -> None:
    wide = replace(ASPECT, scale=replace(ASPECT.scale, low=0.0, high=100.0))
    assert all(0 <= s <= 100 for s in scores(uncalibrated(wide, ITEMS, Measured()), ITEMS, wide))
    assert uncalibrated(wide, ITEMS, Measured()).base == 50.0
