"""What the embedded drafter knows of rated items, and its full model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm, rankdata
from sklearn.linear_model import Ridge

from calibrator.criteria import CRITERIA, Measured, measure
from calibrator.drafting.fitting import Fit, Known, fit, known_of, share_for_new_systems, smoothing_of
from calibrator.drafting.terms import TERMS, term_values
from calibrator.records import Item
from calibrator.stats.grouped import centred
from calibrator.stats.linear import LIMIT
from calibrator.stats.smoothing import CHOICES, Smoothing, smoothed
from tests.conftest import make_items

ITEMS = tuple(replace(i, system=f"s{k % 4}") for k, i in enumerate(make_items(60)))
HUMAN = np.array([i.human for i in ITEMS], dtype=float)
SYSTEMS = [str(i.system) for i in ITEMS]


def known(by_rank: bool = False, items: tuple[Item, ...] = ITEMS) -> Known:
    return known_of(items, Measured(), by_rank)


def test_items_are_measured_and_standardised() -> None:
    x, found = measure(ITEMS), known()
    assert found.z.shape == x.shape == (60, len(CRITERIA))
    spread = np.where(x.std(axis=0) > 1e-9, x.std(axis=0), 1.0)
    assert found.center == pytest.approx(x.mean(axis=0), rel=1e-5)
    assert found.spread == pytest.approx(spread, rel=1e-5)
    assert found.z == pytest.approx(np.clip((x - found.center) / found.spread, -LIMIT, LIMIT))
    assert found.human.tolist() == HUMAN.tolist()
    assert found.groups == tuple(i.group for i in ITEMS)
    assert found.systems == tuple(SYSTEMS)
    assert known(items=(replace(ITEMS[0], system=None),)).systems == ("",)


def test_center_and_spread_are_numbers_as_a_rubric_writes_them() -> None:
    found = known()
    for value in (*found.center, *found.spread):
        assert float(f"{value:.6g}") == value


def test_where_ratings_count_they_are_what_is_aimed_at() -> None:
    assert known(by_rank=False).target.tolist() == HUMAN.tolist()


def test_where_the_order_counts_half_the_ratings_and_half_their_normal_scores_are() -> None:
    skewed = tuple(replace(i, human=(i.human or 0) ** 3) for i in ITEMS)  # here the two differ
    human = HUMAN**3
    scores = norm.ppf((rankdata(human) - 0.5) / len(human))
    plain, normal = ((v - v.mean()) / v.std() for v in (human, scores))
    assert known(True, skewed).target == pytest.approx((plain + normal) / 2)
    assert plain != pytest.approx(normal, abs=0.2)
    target = known(by_rank=True).target
    assert (np.argsort(target, kind="stable") == np.argsort(HUMAN, kind="stable")).all()
    stretched = tuple(replace(i, human=3 * (i.human or 0) + 7) for i in ITEMS)
    assert known(True, stretched).target == pytest.approx(target)


def test_ratings_all_alike_are_aimed_at_as_they_are() -> None:
    alike = tuple(replace(i, human=4.0) for i in ITEMS[:5])
    assert known(True, alike).target.tolist() == [4.0] * 5


def test_a_full_model_is_the_smoothed_fit_of_the_target() -> None:
    found, weight = known(True), np.linspace(0.5, 3, 60)
    for smoothing in CHOICES:
        made = fit(found, weight, smoothing, 0.0)
        assert made.fitted == pytest.approx(smoothed(found.z, found.target, smoothing, weight))
        assert made.importance is weight
    assert (made.terms == term_values(found.z)).all()
    assert made.terms.shape == (60, len(TERMS))


@pytest.mark.parametrize("share", [0.5, 1.0])
def test_a_share_of_the_systems_is_taken_off_before_the_fit_and_not_off_what_it_is_applied_to(share: float) -> None:
    found, choice, weight = known(True), Smoothing(30.0), np.ones(60)
    z = np.column_stack([centred(c, SYSTEMS, share) for c in found.z.T])
    expected = smoothed(z, centred(found.target, SYSTEMS, share), choice, weight, at=found.z)
    assert fit(found, weight, choice, share).fitted == pytest.approx(expected)
    assert fit(found, weight, choice, 0.0).fitted != pytest.approx(expected)


def test_how_a_fit_is_regularised_depends_on_the_items_only() -> None:
    for by_rank in (False, True):
        for share in (0.0, 1.0):
            choices = {smoothing_of(known(by_rank), share, products=True) for _ in range(3)}
            assert len(choices) == 1
            assert choices <= set(CHOICES)


def test_the_weights_reproduce_the_fitted_values_as_scikit_learn_would() -> None:
    found, weight = known(), np.linspace(0.5, 3, 60)
    made = fit(found, weight, Smoothing(30.0, 0.02), 0.0)
    places = [0, 11, 12, len(CRITERIA) + 40]
    weights, base = made.weights(places)
    reference = Ridge(alpha=1.0).fit(made.terms[:, places], made.fitted, sample_weight=weight)
    assert weights == pytest.approx(reference.coef_)
    assert base == pytest.approx(reference.intercept_)


def test_without_terms_the_base_is_the_weighted_mean() -> None:
    found = known()
    made = Fit(found, HUMAN, np.linspace(0.5, 3, 60))
    weights, base = made.weights([])
    assert len(weights) == 0
    assert base == pytest.approx(np.average(HUMAN, weights=made.importance))


def of_systems(slope: float) -> tuple[Item, ...]:
    """Items of five systems: longer texts rate higher within each, and systems with longer texts by `slope`."""
    rng = np.random.default_rng(3)
    items = []
    for k, item in enumerate(make_items(200, groups=200)):
        system = k % 5
        inside = int(rng.integers(0, 6))
        words = ["river", "garden", "window"] * 40
        output = " ".join(words[: 6 + 6 * system + inside]) + "."
        rating = 3 + slope * (system - 2) + 0.3 * (inside - 2.5) + 0.2 * rng.standard_normal()
        items.append(replace(item, output=output, human=float(rating), system=f"s{system}", key=f"{k}"))
    return tuple(items)


def test_systems_are_taken_out_where_their_means_mislead() -> None:
    assert share_for_new_systems(of_systems(-1.0), Measured(), by_rank=True) > 0
    unnamed = tuple(replace(i, system=None) for i in of_systems(-1.0))
    assert share_for_new_systems(unnamed, Measured(), by_rank=True) == 0.0
