"""Agreement of raters on published worked examples, by hand, and against other programs where they are installed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrator.stats.agreement import (
    LEVELS,
    Level,
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    mean_difference,
    quadratic_weighted_kappa,
    spearman_brown,
)

Array = NDArray[np.float64]
nan = math.nan
many = settings(deadline=None, max_examples=100)

# Krippendorff 2011, section C: four observers, twelve units, five values, gaps.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, nan, nan, nan],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, nan, 3],
        [nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, nan],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, nan],
    ]
)
# Fleiss 1971, table 1: thirty patients, six psychiatrists, five diagnoses.
DIAGNOSES = """
00060 03003 01401 00006 03030 20400 00402 20310 20040 00006 10050 11040 03300 10050 02031
00501 30012 51000 02040 10203 00006 01050 02013 20040 10041 05010 40002 02040 10500 00006
"""


def table(digits: str) -> Array:
    return np.array([[float(d) for d in row] for row in digits.split()])


@pytest.mark.parametrize(
    ("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_krippendorffs_example(level: Level, published: float) -> None:
    assert krippendorff_alpha(OBSERVERS, level) == pytest.approx(published, abs=5e-4)


def test_alpha_of_two_observers_and_two_values() -> None:
    # Krippendorff 2011, section A: ten articles, alpha = 0.095.
    ratings = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], dtype=float)
    assert krippendorff_alpha(ratings, "nominal") == pytest.approx(0.095, abs=5e-4)


def plain_alpha(ratings: Array) -> float:
    """Interval alpha as its definition reads: all pairs within items against all pairs of pairable ratings."""
    columns = [c[~np.isnan(c)] for c in ratings.T]
    columns = [c for c in columns if len(c) > 1]
    every = np.concatenate(columns) if columns else np.array([])
    if len(np.unique(every)) < 2:
        return nan
    n = len(every)
    observed = sum(float((np.subtract.outer(c, c) ** 2).sum()) / (len(c) - 1) for c in columns) / n
    expected = float((np.subtract.outer(every, every) ** 2).sum()) / (n * (n - 1))
    return 1 - observed / expected


@st.composite
def gapped_ratings(draw: st.DrawFn) -> Array:
    raters, items = draw(st.integers(1, 5)), draw(st.integers(0, 12))
    cell = st.one_of(st.integers(1, 5).map(float), st.just(nan))
    flat = draw(st.lists(cell, min_size=raters * items, max_size=raters * items))
    return np.array(flat, dtype=float).reshape(raters, items)


@many
@given(gapped_ratings())
def test_alpha_is_what_its_definition_says(ratings: Array) -> None:
    assert krippendorff_alpha(ratings, "interval") == pytest.approx(plain_alpha(ratings), nan_ok=True)


@many
@given(gapped_ratings())
def test_alpha_does_not_depend_on_the_order_of_raters_and_items(ratings: Array) -> None:
    turned = ratings[::-1, ::-1]
    for level in LEVELS:
        value = krippendorff_alpha(ratings, level)
        assert krippendorff_alpha(turned, level) == pytest.approx(value, nan_ok=True)
        assert math.isnan(value) or value <= 1 + 1e-12


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_undefined_without_pairs_or_differences(level: Level) -> None:
    assert math.isnan(krippendorff_alpha(np.full((3, 8), 2.0), level))
    assert math.isnan(krippendorff_alpha(np.array([[1.0, nan, 3.0], [nan, 2.0, nan]]), level))
    assert math.isnan(krippendorff_alpha(np.empty((0, 0)), level))
    assert math.isnan(krippendorff_alpha(np.empty((2, 0)), level))


@pytest.mark.parametrize("level", LEVELS)
def test_perfect_agreement_is_one(level: Level) -> None:
    ratings = np.tile(np.array([1.0, 2, 3, 5, 2]), (3, 1))
    assert krippendorff_alpha(ratings, level) == pytest.approx(1)


def test_alpha_refuses_what_it_cannot_take() -> None:
    with pytest.raises(ValueError, match="shape"):
        krippendorff_alpha(np.arange(4.0), "nominal")
    with pytest.raises(ValueError, match="no level"):
        krippendorff_alpha(OBSERVERS, "cardinal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="negative"):
        krippendorff_alpha(-OBSERVERS, "ratio")


def test_kappa_of_fleiss_example() -> None:
    counts = table(DIAGNOSES)
    assert counts.sum(axis=0).tolist() == [26, 26, 30, 55, 43]  # the totals of the published table
    assert fleiss_kappa(counts) == pytest.approx(0.430, abs=5e-4)


def test_fleiss_by_hand() -> None:
    # Two items, two raters: agreement 1/2; shares 3/4 and 1/4, by chance 10/16: kappa = (1/2 - 10/16) / (6/16).
    assert fleiss_kappa(np.array([[2.0, 0], [1, 1]])) == pytest.approx(-1 / 3)


def test_fleiss_is_undefined_or_refused() -> None:
    assert math.isnan(fleiss_kappa(np.array([[3.0, 0], [3, 0]])))
    assert math.isnan(fleiss_kappa(np.array([[1.0, 0], [0, 1]])))
    assert math.isnan(fleiss_kappa(np.empty((0, 3))))
    with pytest.raises(ValueError, match="equally many"):
        fleiss_kappa(np.array([[3.0, 0], [1, 1]]))
    with pytest.raises(ValueError, match="negative"):
        fleiss_kappa(np.array([[3.0, -1]]))


def test_cohen_by_hand() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, by chance 0.5 · 0.6 + 0.5 · 0.4 = 0.5.
    a = np.repeat([1.0, 1, 0, 0], [20, 5, 10, 15])
    b = np.repeat([1.0, 0, 1, 0], [20, 5, 10, 15])
    assert cohen_kappa(a, b) == pytest.approx(0.4)


def test_weights_of_a_disagreement_are_the_distance_of_the_ratings() -> None:
    a, b = np.array([1.0, 1, 5, 5]), np.array([1.0, 5, 5, 5])
    # Two values only, so all weights say the same; a value between them changes nothing about 1 and 5.
    assert (
        cohen_kappa(a, b) == pytest.approx(cohen_kappa(a, b, "linear")) == pytest.approx(quadratic_weighted_kappa(a, b))
    )
    # Squared differences 1, 0, 1 (mean 2/3); by chance all nine pairs: (0+1+4 + 1+0+1 + 1+0+1) / 9 = 1.
    assert quadratic_weighted_kappa(np.array([1.0, 2, 3]), np.array([2.0, 2, 2])) == pytest.approx(0)
    assert quadratic_weighted_kappa(np.array([1.0, 2, 3]), np.array([3.0, 2, 1])) == pytest.approx(-1)


@st.composite
def two_raters(draw: st.DrawFn) -> tuple[Array, Array]:
    size = draw(st.integers(0, 30))
    rating = st.integers(1, 5).map(float)
    a, b = (draw(st.lists(rating, min_size=size, max_size=size)) for _ in range(2))
    return np.array(a, dtype=float), np.array(b, dtype=float)


@many
@given(two_raters())
def test_quadratic_kappa_is_lins_concordance(pair: tuple[Array, Array]) -> None:
    a, b = pair
    if len(np.unique([*a, *b])) < 2:
        assert math.isnan(quadratic_weighted_kappa(a, b))
        return
    covariance = float(((a - a.mean()) * (b - b.mean())).mean())
    concordance = 2 * covariance / (a.var() + b.var() + (a.mean() - b.mean()) ** 2)
    assert quadratic_weighted_kappa(a, b) == pytest.approx(concordance, abs=1e-9)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@many
@given(pair=two_raters())
def test_cohen_as_scikit_learn_has_it(weights: str | None, pair: tuple[Array, Array]) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    a, b = pair
    own = cohen_kappa(a, b, weights)  # type: ignore[arg-type]
    assert math.isnan(own) or -1 - 1e-12 <= own <= 1 + 1e-12
    if not math.isnan(own):
        other = metrics.cohen_kappa_score(a.astype(int), b.astype(int), labels=[1, 2, 3, 4, 5], weights=weights)
        assert own == pytest.approx(other, abs=1e-9)


@many
@given(st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=12))
def test_fleiss_as_statsmodels_has_it(ratings: list[list[int]]) -> None:
    rater = pytest.importorskip("statsmodels.stats.inter_rater", reason="statsmodels is not installed")
    counts = np.array([np.bincount(row, minlength=4) for row in ratings], dtype=float)
    own = fleiss_kappa(counts)
    if not math.isnan(own):
        assert own == pytest.approx(rater.fleiss_kappa(counts), abs=1e-9)


def test_items_that_one_did_not_rate_do_not_count() -> None:
    a, b = np.array([1.0, 2, nan, 4, 5]), np.array([1.0, 2, 3, nan, 4])
    assert cohen_kappa(a, b) == pytest.approx(cohen_kappa(a[[0, 1, 4]], b[[0, 1, 4]]))
    assert math.isnan(cohen_kappa(np.array([nan]), np.array([1.0])))


def test_kappa_is_undefined_or_refused() -> None:
    assert math.isnan(cohen_kappa(np.full(9, 3.0), np.full(9, 3.0)))
    assert math.isnan(quadratic_weighted_kappa(np.array([]), np.array([])))
    with pytest.raises(ValueError, match="same items"):
        cohen_kappa(np.arange(3.0), np.arange(4.0))
    with pytest.raises(ValueError, match="no weights"):
        cohen_kappa(np.arange(3.0), np.arange(3.0), "cubic")  # type: ignore[arg-type]


def test_spearman_brown() -> None:
    assert spearman_brown(0.5, 2) == pytest.approx(2 / 3)
    assert spearman_brown(0.6, 1) == pytest.approx(0.6)
    assert spearman_brown(spearman_brown(0.4, 3), 1 / 3) == pytest.approx(0.4)
    assert math.isnan(spearman_brown(nan, 3))
    assert math.isnan(spearman_brown(0.5, 0))
    assert math.isnan(spearman_brown(-0.6, 3))


@given(st.lists(st.integers(-20, 20).map(float), max_size=15))
def test_mean_difference_is_that_of_all_pairs(x: list[float]) -> None:
    pairs = [abs(a - b) for k, a in enumerate(x) for b in x[k + 1 :]]
    assert mean_difference(np.array(x)) == pytest.approx(float(np.mean(pairs)) if pairs else nan, nan_ok=True)


def test_mean_difference_with_a_gap_is_undefined() -> None:
    assert math.isnan(mean_difference(np.array([1.0, nan, 2.0])))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_infinite_ratings_have_no_agreement(infinite: float) -> None:
    a, b = np.array([1.0, 2, infinite, 4, nan]), np.array([1.0, 3, infinite, 4, infinite])
    for level in LEVELS:
        if level != "ratio" or infinite > 0:
            assert math.isnan(krippendorff_alpha(np.array([a, b]), level))
    for weights in (None, "linear", "quadratic"):
        assert math.isnan(cohen_kappa(a, b, weights))
    assert math.isnan(quadratic_weighted_kappa(b, a))
    assert math.isnan(fleiss_kappa(np.array([[math.inf, 1.0], [1.0, 2.0]])))
    assert cohen_kappa(a[[0, 1, 3, 4]], b[[0, 1, 3, 4]]) == cohen_kappa(a[[0, 1, 3]], b[[0, 1, 3]])
