"""Prediction-powered inference: against ppi-python, statsmodels and hand-worked cases, and its coverage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import statsmodels.api as sm  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import t
from statsmodels.stats.weightstats import DescrStatsW  # type: ignore[import-untyped]

from calibrator.stats.prediction_powered import FEWEST, Powered, powered_difference, powered_mean
from calibrator.stats.prediction_powered_bootstrap import powered_statistic

Array = NDArray[np.float64]
HUMAN = np.array([3, 4, 2, 5, 3, 1, 4, 4, 2, 5.0])
JUDGED = np.array([3, 5, 2, 4, 4, 2, 4, 5, 1, 4.0])
OTHERS = np.array([2, 3, 5, 4, 4, 1, 3, 2, 5, 4, 3, 3, 2, 4, 5, 1, 3, 4, 4, 2.0])
NAMES = [f"a{k}" for k in range(10)], [f"b{k:02}" for k in range(20)]


def drawn(size: int, correlation: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Ratings from 1 to 5 and a judge's scores, one point too low."""
    latent, noise = rng.normal(size=(2, size))
    cuts = [-1.5, -0.5, 0.5, 1.5]
    seen = correlation * latent + np.sqrt(1 - correlation**2) * noise
    return np.digitize(latent, cuts) + 1.0, np.digitize(seen, cuts) + 0.0


def ends(p: Powered) -> tuple[float, float, float]:
    return p.value, p.low, p.high


@pytest.mark.parametrize(
    ("weight", "level", "theirs"),
    [  # ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3
        (None, 0.95, (3.19209302, 2.59802904, 3.78615701)),
        (None, 0.90, (3.19209302, 2.69353881, 3.69064723)),
        (1.0, 0.95, (3.1, 2.36142898, 3.83857102)),
        (1.0, 0.90, (3.1, 2.48017166, 3.71982834)),
    ],
)
def test_the_published_estimate_is_that_of_ppi_python(
    weight: float | None, level: float, theirs: tuple[float, float, float]
) -> None:
    found = powered_mean(HUMAN, JUDGED, OTHERS, level=level, weight=weight, method="published")
    assert ends(found) == pytest.approx(theirs, abs=1e-8)


def test_the_classical_interval_is_students() -> None:
    low, high = DescrStatsW(HUMAN).tconfint_mean(0.1)
    found = powered_mean(HUMAN, JUDGED, OTHERS, level=0.9, weight=0.0)
    assert ends(found) == pytest.approx((HUMAN.mean(), low, high))
    assert (found.classical_value, found.classical_low, found.classical_high) == pytest.approx(ends(found))
    assert found.effective == pytest.approx(10)


def test_weight_one_by_hand() -> None:
    # The humans' ratings less the judge's scores are 0, -1, 0, 1: their variance is 2 / 3, that of the others'
    # scores 2, 4 is 2. So the variance of the mean is 2 / 3 / 4 + 2 / 2 = 7 / 6, with three degrees of freedom.
    found = powered_mean(np.array([1, 2, 3, 5.0]), np.array([1, 3, 3, 4.0]), np.array([2, 4.0]), weight=1.0)
    assert found.value == pytest.approx(2.75 + 3 - 2.75)
    assert found.high - found.value == pytest.approx(3.182446 * np.sqrt(7 / 6), rel=1e-6)
    # The humans' ratings have a variance of 35 / 12, their mean one of 35 / 48: the judge makes things worse.
    assert found.effective == pytest.approx(4 * (35 / 48) / (7 / 6))
    assert found.effective == pytest.approx(2.5)


def test_with_all_scores_known_it_is_the_regression_line_at_their_mean() -> None:
    rng = np.random.default_rng(0)
    human, judged = drawn(12, 0.6, rng)
    others = np.resize(drawn(1000, 0.6, rng)[1], 3_000_000)
    line = sm.OLS(human, sm.add_constant(judged)).fit()
    low, high = line.get_prediction(np.array([[1.0, others.mean()]])).conf_int(alpha=0.05)[0]
    found = powered_mean(human, judged, others)
    assert found.weight == pytest.approx(line.params[1], rel=1e-4)
    assert ends(found) == pytest.approx((line.predict([[1.0, others.mean()]])[0], low, high), rel=1e-4)


@given(st.integers(5, 30), st.integers(2, 60), st.floats(-9, 9), st.integers(0, 10_000))
def test_a_constant_bias_of_the_judge_changes_nothing(size: int, more: int, bias: float, seed: int) -> None:
    human, judged = drawn(size + more, 0.7, np.random.default_rng(seed))
    parts = human[:size], judged[:size], judged[size:]
    plain, moved = powered_mean(*parts), powered_mean(parts[0], parts[1] + bias, parts[2] + bias)
    assert ends(moved) == pytest.approx(ends(plain), nan_ok=True, abs=1e-9)
    assert 0 <= plain.weight <= 1
    assert moved.effective == pytest.approx(plain.effective)


def test_a_judge_that_knows_nothing_leaves_the_classical_estimate() -> None:
    for judged in (6 - HUMAN, np.full(10, 3.0)):  # runs the other way; says the same of all
        found = powered_mean(HUMAN, judged, OTHERS)
        assert found.weight == 0
        assert ends(found) == (found.classical_value, found.classical_low, found.classical_high)


@given(st.integers(5, 30), st.integers(2, 60), st.integers(0, 10_000))
def test_labels_are_worth_more_than_they_are_where_the_interval_is_narrower(size: int, more: int, seed: int) -> None:
    human, judged = drawn(size + more, 0.5, np.random.default_rng(seed))
    found = powered_mean(human[:size], judged[:size], judged[size:])
    both, alone = found.high - found.low, found.classical_high - found.classical_low
    if not found.weight:
        assert found.effective == pytest.approx(size)
    elif np.isfinite(both) and both > 0:
        free = size - 1 - np.array([1, 0])
        half = t.ppf(0.975, free) / np.array([both, alone])
        assert found.effective == pytest.approx(size * (half[0] / half[1]) ** 2), "the ratio of the variances"


def test_a_judge_that_costs_more_than_it_gives_is_worth_fewer_labels() -> None:
    rng = np.random.default_rng(15)
    found = [powered_mean(h[:25], j[:25], j[25:]) for h, j in (drawn(60, 0.1, rng) for _ in range(60))]
    wider = [f for f in found if f.high - f.low > 1.02 * (f.classical_high - f.classical_low)]
    assert wider
    assert all(f.effective < 25 for f in wider)
    human, judged = drawn(60, 0.1, np.random.default_rng(16))
    figures = [
        powered_statistic(mean, human[k : k + 9], judged[k : k + 9], judged[30:], rng, resamples=200)
        for k in range(0, 27, 3)
    ]
    assert any(f.effective < 9 for f in figures), "so has the bootstrap"


def test_a_judge_that_is_right_is_worth_many_labels() -> None:
    human, _ = drawn(320, 0.0, np.random.default_rng(1))
    found = powered_mean(human[:20], human[:20], human[20:])
    assert found.weight > 0.85
    assert 150 < found.effective < 400  # 320 if the labelled items' spread were that of all
    assert found.value == pytest.approx(human.mean(), abs=0.05)


def test_groups_of_one_are_items_and_copies_are_no_more_labels() -> None:
    plain = powered_mean(HUMAN, JUDGED, OTHERS)
    alone = powered_mean(HUMAN, JUDGED, OTHERS, groups=NAMES[0], unlabelled_groups=NAMES[1])
    assert ends(alone) == pytest.approx(ends(plain))
    twice = np.repeat(HUMAN, 2), np.repeat(JUDGED, 2), np.repeat(OTHERS, 2)
    names = [list(np.repeat(n, 2)) for n in NAMES]
    grouped = powered_mean(*twice, groups=names[0], unlabelled_groups=names[1])
    assert ends(grouped) == pytest.approx(ends(plain))
    assert grouped.effective == pytest.approx(plain.effective)
    assert powered_mean(*twice).high < grouped.high


def test_groups_with_both_kinds_of_items_hold_the_truth_as_often_as_they_say() -> None:
    rng = np.random.default_rng(2)
    held = {"grouped": 0, "plain": 0}
    for _ in range(400):
        source = np.repeat(rng.normal(size=40), 4)  # 40 sources of four items each, two of them labelled in 20 sources
        human = source + 0.5 * rng.normal(size=160)
        judged = human + 0.7 * rng.normal(size=160)
        names = np.repeat([f"s{k:02}" for k in range(40)], 4)
        known = np.tile([True, True, False, False], 40) & (np.arange(160) < 80)
        parts = human[known], judged[known], judged[~known]
        grouped = powered_mean(*parts, groups=list(names[known]), unlabelled_groups=list(names[~known]))
        held["grouped"] += grouped.low <= 0 <= grouped.high
        plain = powered_mean(*parts)
        held["plain"] += plain.low <= 0 <= plain.high
    assert held["grouped"] / 400 > 0.93
    assert held["plain"] / 400 < 0.9


def test_what_is_not_known_is_nan() -> None:
    alike = powered_mean(np.full(10, 4.0), JUDGED, OTHERS)
    assert alike.value == pytest.approx(4)
    assert np.isnan([alike.low, alike.high, alike.classical_low, alike.classical_high]).all()
    one = powered_mean(HUMAN[:1], JUDGED[:1], OTHERS)
    assert (one.value, one.weight) == (3, 0)
    assert np.isnan([one.low, one.high]).all()
    none = powered_mean(HUMAN[:0], JUDGED[:0], OTHERS)
    assert np.isnan([none.value, none.low, none.classical_value]).all()
    assert powered_mean(HUMAN, JUDGED, OTHERS[:0]).weight == 0
    assert powered_mean(HUMAN[: FEWEST - 1], JUDGED[: FEWEST - 1], OTHERS).weight == 0
    assert powered_mean(HUMAN[:FEWEST], JUDGED[:FEWEST], OTHERS).weight > 0


def test_a_difference_is_the_mean_of_paired_differences() -> None:
    rng = np.random.default_rng(3)
    a, b = drawn(30, 0.6, rng), drawn(30, 0.6, rng)
    found = powered_difference(a[0][:10], a[1][:10], a[1][10:], b[0][:10], b[1][:10], b[1][10:])
    human, judged = a[0] - b[0], a[1] - b[1]
    assert found == powered_mean(human[:10], judged[:10], judged[10:])
    other = powered_difference(b[0][:10], b[1][:10], b[1][10:], a[0][:10], a[1][:10], a[1][10:])
    assert (other.value, other.low, other.high) == pytest.approx((-found.value, -found.high, -found.low))
    with pytest.raises(ValueError, match="same sources"):
        powered_difference(a[0][:10], a[1][:10], a[1][10:], b[0][:9], b[1][:9], b[1][10:])


def test_ten_labels_cover_where_the_published_interval_does_not() -> None:
    rng = np.random.default_rng(4)
    truth = 3.0  # by the symmetry of the scale
    held = {"small": 0, "published": 0, "classical": 0}
    width = {"small": 0.0, "classical": 0.0}
    for _ in range(1000):
        human, judged = drawn(210, 0.6, rng)
        parts = human[:10], judged[:10], judged[10:]
        small, published = powered_mean(*parts), powered_mean(*parts, method="published")
        held["small"] += small.low <= truth <= small.high
        held["classical"] += small.classical_low <= truth <= small.classical_high
        held["published"] += published.low <= truth <= published.high
        width["small"] += small.high - small.low
        width["classical"] += small.classical_high - small.classical_low
    assert held["small"] > 935
    assert held["classical"] > 935
    assert held["published"] < 900
    assert width["small"] < 0.95 * width["classical"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"judged": JUDGED[:9]}, "one dimension"),
        ({"human": HUMAN.reshape(2, 5)}, "one dimension"),
        ({"unlabelled": np.array([1.0, np.nan])}, "finite"),
        ({"level": 1.0}, "level"),
        ({"weight": 1.5}, "weight"),
        ({"method": "best"}, "no method"),
        ({"groups": NAMES[0]}, "for neither"),
        ({"groups": NAMES[0][:9], "unlabelled_groups": NAMES[1]}, "every item"),
        ({"groups": NAMES[0], "unlabelled_groups": NAMES[1], "method": "published"}, "no groups"),
    ],
)
def test_what_cannot_be_estimated_says_why(change: dict[str, object], says: str) -> None:
    arguments = {"human": HUMAN, "judged": JUDGED, "unlabelled": OTHERS} | change
    call: Callable[..., Powered] = powered_mean
    with pytest.raises(ValueError, match=says):
        call(**arguments)


def mean(labels: Array, *_: Array) -> float:
    return float(labels.mean())


def share(labels: Array, answers: Array) -> float:
    return float((labels == answers).mean())


def test_the_bootstrap_of_a_mean_is_nearly_the_mean() -> None:
    human, judged = drawn(350, 0.8, np.random.default_rng(5))
    parts = human[:50], judged[:50], judged[50:]
    exact = powered_mean(*parts)
    found = powered_statistic(mean, *parts, np.random.default_rng(6), resamples=4000)
    assert found.weight == pytest.approx(exact.weight, abs=0.03)
    assert ends(found) == pytest.approx(ends(exact), abs=0.04)
    assert found.classical_high - found.classical_low == pytest.approx(
        exact.classical_high - exact.classical_low, rel=0.05
    )
    assert found.effective == pytest.approx(exact.effective, rel=0.15)


def test_a_figure_of_labels_and_answers() -> None:
    rng = np.random.default_rng(7)
    true = rng.integers(3, size=400).astype(float)
    judged, answers = (np.where(rng.random(400) < p, true, rng.integers(3, size=400)) for p in (0.9, 0.6))
    found = powered_statistic(
        share, true[:40], judged[:40], judged[40:], rng, along=[answers[:40]], unlabelled_along=[answers[40:]]
    )
    whole = share(true, answers)
    assert found.low < whole < found.high
    assert found.high - found.low < 0.8 * (found.classical_high - found.classical_low)
    assert found.classical_value == share(true[:40], answers[:40])


def test_groups_are_drawn_whole() -> None:
    def figures(repeat: int, groups: bool) -> Powered:
        human, judged, others = (np.repeat(x, repeat) for x in (HUMAN, JUDGED, OTHERS))
        names = [list(np.repeat(n, repeat)) for n in NAMES] if groups else (None, None)
        return powered_statistic(
            mean,
            human,
            judged,
            others,
            np.random.default_rng(8),
            resamples=300,
            smoothing=0.0,
            groups=names[0],
            unlabelled_groups=names[1],
        )

    assert figures(1, groups=False) == figures(1, groups=True)
    assert ends(figures(3, groups=True)) == pytest.approx(ends(figures(1, groups=True)))
    assert figures(3, groups=False).high < figures(3, groups=True).high


def test_groups_with_both_kinds_are_drawn_once_for_both() -> None:
    seen = []

    def figure(labels: Array, group: Array) -> float:
        seen.append(set(group))
        return float(labels.mean())

    numbers = np.arange(10.0)
    names = [f"g{k}" for k in range(10)]
    powered_statistic(
        figure, HUMAN, JUDGED, JUDGED, np.random.default_rng(9), along=[numbers], unlabelled_along=[numbers],
        resamples=20, groups=names, unlabelled_groups=names,
    )  # fmt: skip
    draws = [seen[k : k + 3] for k in range(3, len(seen), 3)]
    assert len(draws) == 20
    assert all(human == judged == others for human, judged, others in draws)
    assert any(len(human) < 10 for human, _, _ in draws)


def test_a_figure_that_is_not_defined_has_no_interval() -> None:
    def fussy(labels: Array) -> float:
        return float(labels.mean()) if 1.0 in labels and 5.0 in labels and len(np.unique(labels)) > 4 else float("nan")

    rng = np.random.default_rng(10)
    found = powered_statistic(fussy, HUMAN, JUDGED, OTHERS, rng, resamples=100)
    assert found.value == pytest.approx(3.3)
    assert np.isnan([found.low, found.high]).all()
    assert found.weight == 0
    never = powered_statistic(lambda _: float("nan"), HUMAN, JUDGED, OTHERS, rng, resamples=20)
    assert np.isnan([never.value, never.low, never.classical_high]).all()
    assert powered_statistic(mean, HUMAN, JUDGED, OTHERS[:0], rng, resamples=50).weight == 0


def test_what_stands_along_must_be_there_for_all() -> None:
    rng = np.random.default_rng(11)
    with pytest.raises(ValueError, match="along"):
        powered_statistic(share, HUMAN, JUDGED, OTHERS, rng, along=[HUMAN])
    with pytest.raises(ValueError, match="along"):
        powered_statistic(share, HUMAN, JUDGED, OTHERS, rng, along=[HUMAN], unlabelled_along=[HUMAN])
    with pytest.raises(ValueError, match="for neither"):
        powered_statistic(mean, HUMAN, JUDGED, OTHERS, rng, groups=NAMES[0])


def test_a_smoothing_must_be_a_number_of_units() -> None:
    for smoothing in (-1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="smoothing"):
            powered_statistic(mean, HUMAN, JUDGED, OTHERS, np.random.default_rng(0), smoothing=smoothing)


def test_the_smoothing_damps_the_weight_of_a_judge_and_leaves_the_labels_variance() -> None:
    """Labels by lot share nothing with the scores: of a mean's covariance a share of n / (n + smoothing) is left."""
    human, judged = drawn(320, 0.9, np.random.default_rng(12))
    parts = human[:20], judged[:20], judged[20:]
    plain, smooth = (
        powered_statistic(mean, *parts, np.random.default_rng(13), resamples=8000, smoothing=s) for s in (0.0, 5.0)
    )
    assert smooth.weight == pytest.approx(plain.weight * 20 / 25, abs=0.03)
    widths = [f.classical_high - f.classical_low for f in (plain, smooth)]
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


def agreeing(rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """Return 325 labels of humans, of a judge and what was intended; three classes, each step slips in 1 of 15."""

    def slipped(labels: Array) -> Array:
        return np.where(rng.random(325) < 0.1, rng.integers(3, size=325), labels)

    meant = rng.integers(3, size=325).astype(float)
    human = slipped(meant)
    return human, slipped(human), meant


def macro_f1(labels: Array, meant: Array) -> float:
    table = np.bincount((3 * labels + meant).astype(int), minlength=9).reshape(3, 3)
    every = table.sum(axis=0) + table.sum(axis=1)
    return float((2 * np.diag(table)[every > 0] / every[every > 0]).mean())


def test_twenty_five_labels_with_a_judge_that_rarely_errs_cover_as_they_say() -> None:
    """Labelled samples without a slip of the judge are common, and say little of how often it slips."""
    rng = np.random.default_rng(14)
    truth = 0.9 + 0.1 / 3  # precision and recall of each class, by symmetry
    held = {0.0: 0, 1.0: 0}
    for _ in range(200):
        human, judged, meant = agreeing(rng)
        for smoothing in held:
            found = powered_statistic(
                macro_f1, human[:25], judged[:25], judged[25:], rng, along=[meant[:25]], unlabelled_along=[meant[25:]],
                resamples=60, smoothing=smoothing,
            )  # fmt: skip
            held[smoothing] += bool(found.low <= truth <= found.high)
    assert held[0.0] < 170
    assert held[1.0] >= 184
