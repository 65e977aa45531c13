"""The alternative annotator test and the human-likeness z: by hand, against other programs, and what always holds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats.replacement import (
    EPSILONS,
    AltTest,
    alternative_annotator_test,
    benjamini_yekutieli,
    clustered_t,
    human_likeness,
    on_points,
    signed_rank,
)

Array = NDArray[np.float64]
many = settings(deadline=None, max_examples=60)


def pairs_of(count: int) -> list[str]:
    """Names of groups, two items in each."""
    return [f"g{k // 2:03d}" for k in range(count)]


def by_hand() -> tuple[Array, Array]:
    """36 items: 24 rated 3, 3, 5 with a judge who says 3, then 12 rated 1, 2, 3 with a judge who says 3."""
    return np.full(36, 3.0), np.array([[3, 3, 5]] * 24 + [[1, 2, 3]] * 12, dtype=float)


def test_a_case_worked_out_by_hand() -> None:
    # Mean squared differences to the two others, annotator : judge.
    # 3, 3, 5 / judge 3:  annotator 0 (others 3, 5) 2 : 2 tie     1 (3, 5) 2 : 2 tie    2 (3, 3) 4 : 0 judge
    # 1, 2, 3 / judge 3:  annotator 0 (others 2, 3) 2.5 : 0.5 judge  1 (1, 3) 1 : 2 annotator  2 (1, 2) 2.5 : 2.5 tie
    # So d = W_human - W_judge is 0 24 times, then -1 / +1 / 0; for annotator 2 -1 24 times, then 0.
    judge, ratings = by_hand()
    found = alternative_annotator_test(judge, ratings, pairs_of(36), 0.2)
    assert [line.rho for line in found.lines] == pytest.approx([1, 24 / 36, 1])
    assert [line.rho_human for line in found.lines] == pytest.approx([24 / 36, 1, 12 / 36])
    assert [line.ties for line in found.lines] == pytest.approx([24 / 36, 24 / 36, 12 / 36])
    assert {(line.test, line.items, line.groups) for line in found.lines} == {("t", 36, 18)}
    # Mean d = -1/3, 1/3, -2/3; variance 36 · (1/3) · (2/3) / 35 = 8/35 each, error sqrt(8/35 / 36) = 0.079682;
    # t = (-1/3 - 0.2) / 0.079682 = -6.6933, (1/3 - 0.2) / 0.079682 = 1.6733, (-2/3 - 0.2) / 0.079682 = -10.8766.
    assert [line.p for line in found.lines] == pytest.approx(stats.t.cdf([-6.69328, 1.67332, -10.87658], 35), rel=1e-4)
    # Benjamini-Yekutieli, three tests: bars i/3 · 0.05 / (1 + 1/2 + 1/3) = 0.0091, 0.0182, 0.0273; 0.95 is above.
    assert [line.rejected for line in found.lines] == [True, False, True]
    assert (found.omega, found.passed) == (pytest.approx(2 / 3), True)
    assert found.rho == pytest.approx((1 + 2 / 3 + 1) / 3)
    # Items of a group are alike: the sum of the squared group sums is 18 · 4 · 2/9 = 16, so the error is
    # sqrt(18/17 · 16) / 36 = 0.114332 with 17 degrees of freedom, t = -0.53333 / 0.114332 = -4.66477 and so on.
    grouped = [line.p_grouped for line in found.lines]
    assert grouped == pytest.approx(stats.t.cdf([-4.66477, 1.16619, -7.58024], 17), rel=1e-4)
    assert (found.omega_grouped, found.passed_grouped) == (pytest.approx(2 / 3), True)


def test_labels_agree_or_not() -> None:
    # Labels 1, 1, 2 / judge 1: annotator 0 (others 1, 2) half : half tie, 1 the same, 2 (1, 1) none : all judge.
    found = alternative_annotator_test(
        np.ones(40), np.array([[1, 1, 2]] * 40, dtype=float), ["g"] * 40, 0.1, "accuracy"
    )
    assert [line.rho for line in found.lines] == [1, 1, 1]
    assert [line.rho_human for line in found.lines] == [1, 1, 0]
    # d never varies: 0, 0, -1, all below 0.1. One group alone gives no error: not defined, and not rejected.
    assert [line.p for line in found.lines] == [0, 0, 0]
    assert all(math.isnan(line.p_grouped) for line in found.lines)
    assert (found.omega, found.omega_grouped) == (1, 0)
    # A distance of 1 and one of 4 are the same where labels only agree or not.
    far = alternative_annotator_test(np.ones(40), np.array([[1, 1, 5]] * 40, dtype=float), ["g"] * 40, 0.1, "accuracy")
    assert far.lines[2].rho == found.lines[2].rho


def test_signed_rank_by_hand() -> None:
    # d = -1, -1, 0, 1 less 0.2: -1.2, -1.2, -0.2, 0.8 with ranks 3.5, 3.5, 1, 2; the positive ones have 2. Of the 16
    # choices of signs three give 2 or less: none positive, only rank 1, only rank 2.
    assert signed_rank(np.array([-1, -1, 0, 1]) - 0.2) == pytest.approx(3 / 16)
    assert signed_rank(np.zeros(5)) == 1.0
    assert signed_rank(np.array([0.0, -1.0, -1.0])) == pytest.approx(1 / 4)  # the zero is left out


@pytest.mark.parametrize("seed", range(4))
def test_signed_rank_is_that_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-1, 2, size=11) - rng.choice([0.1, 0.15, 0.2])
    every = stats.PermutationMethod(n_resamples=2**12)
    theirs = stats.wilcoxon(values, alternative="less", method=every)
    assert signed_rank(values) == pytest.approx(theirs.pvalue)
    smooth = rng.normal(size=20)
    assert signed_rank(smooth) == pytest.approx(stats.wilcoxon(smooth, alternative="less", method="exact").pvalue)


def test_the_signed_rank_test_is_none_of_the_mean() -> None:
    """What its docstring warns of: d is 0 or 1, one in five, so its mean is epsilon and the null hypothesis is true."""
    rejected = sum(
        stats.binom.pmf(won, 20, 0.2)
        for won in range(21)
        if signed_rank(np.repeat([0.0, 1.0], [20 - won, won]) - 0.2) <= 0.05
    )
    assert rejected == pytest.approx(0.41, abs=0.005)


def with_gaps(seed: int, n: int = 50, k: int = 4, missing: float = 0.3) -> tuple[Array, Array, list[str]]:
    rng = np.random.default_rng(seed)
    truth = rng.normal(3, 1, size=n)
    ratings = np.clip(np.rint(truth[:, None] + rng.normal(size=(n, k))), 1, 5)
    ratings[rng.random((n, k)) < missing] = np.nan
    return np.clip(truth + rng.normal(scale=0.7, size=n), 1, 5), ratings, [f"g{v}" for v in rng.integers(12, size=n)]


def slowly(judge: Array, ratings: Array, own: int) -> list[float]:
    """d of one annotator, an item at a time, with the roots the definition has."""
    found = []
    for score, row in zip(judge, ratings, strict=True):
        others = [v for k, v in enumerate(row) if k != own and not math.isnan(v)]
        if math.isnan(row[own]) or not others:
            continue
        human, machine = (-math.sqrt(sum((x - v) ** 2 for v in others) / len(others)) for x in (row[own], score))
        tie = math.isclose(human, machine, abs_tol=1e-12)
        found.append(float(tie or human > machine) - float(tie or machine > human))
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("epsilon", [0.0, 0.15])
def test_ratings_with_gaps_against_scipy_and_statsmodels(seed: int, epsilon: float) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    judge, ratings, groups = with_gaps(seed)
    found = alternative_annotator_test(judge, ratings, groups, epsilon)
    p = []
    for line in found.lines:
        d = slowly(judge, ratings, line.annotator)
        assert line.items == len(d)
        every = stats.PermutationMethod(n_resamples=5000)
        if line.items >= 30:
            assert line.p == pytest.approx(stats.ttest_1samp(d, epsilon, alternative="less").pvalue)
        else:
            theirs = stats.wilcoxon(np.array(d) - epsilon, alternative="less", method=every, axis=0)
            assert line.p == pytest.approx(theirs.pvalue, abs=0.03)  # theirs draws signs by lot
        p.append(line.p)
    theirs = multitest.multipletests(p, alpha=0.05, method="fdr_by")[0]
    assert [line.rejected for line in found.lines] == list(theirs)
    assert found.omega == pytest.approx(np.mean(theirs))


@many
@given(p=st.lists(st.floats(0, 0.2), min_size=1, max_size=12))
def test_false_discoveries_as_statsmodels_has_them(p: list[float]) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    assert benjamini_yekutieli(p) == list(multitest.multipletests(p, alpha=0.05, method="fdr_by")[0])


def test_a_test_that_is_not_defined_is_not_rejected_and_counts() -> None:
    # Alone 0.04 is below its bar of 0.05; beside one that is not defined the bars are 1/2 · 0.05 / 1.5 and 0.05 / 1.5.
    assert benjamini_yekutieli([0.04]) == [True]
    assert benjamini_yekutieli([0.04, math.nan]) == [False, False]
    assert benjamini_yekutieli([]) == []


@pytest.mark.parametrize("seed", range(3))
def test_the_group_aware_error_is_the_cluster_robust_one_of_statsmodels(seed: int) -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(seed)
    d, groups = rng.integers(-1, 2, size=60).astype(float), rng.integers(9, size=60)
    fit = api.OLS(d - 0.1, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": groups, "df_correction": True})
    t = float(fit.params[0] / fit.bse[0])
    assert clustered_t(d, groups, 0.1) == pytest.approx(stats.t.cdf(t, len(np.unique(groups)) - 1))


def test_with_one_item_a_group_the_group_aware_test_is_the_plain_one() -> None:
    judge, ratings, _ = with_gaps(1, missing=0.0)
    found = alternative_annotator_test(judge, ratings, [f"{k}" for k in range(len(judge))], 0.2)
    assert [line.p_grouped for line in found.lines] == pytest.approx([line.p for line in found.lines])
    doubled = alternative_annotator_test(
        np.tile(judge, 2), np.tile(ratings, (2, 1)), [f"{k}" for k in range(50)] * 2, 0.2
    )
    # Every item twice is no more evidence: only the group-aware test knows.
    assert [x.p_grouped for x in doubled.lines] == pytest.approx([x.p for x in found.lines])
    assert all(x.p < y.p for x, y in zip(doubled.lines, found.lines, strict=True) if 0 < y.p < 0.5)


@st.composite
def rated(draw: st.DrawFn, least: int = 30) -> tuple[Array, Array, list[str]]:
    n, k = draw(st.integers(least, 45)), draw(st.integers(3, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    ratings = rng.integers(1, 6, size=(n, k)).astype(float)
    share = draw(st.sampled_from([0.0, 0.2]))
    ratings[rng.random((n, k)) < share] = np.nan
    judge = np.where(rng.random(n) < draw(st.floats(0, 1)), rng.integers(1, 6, size=n), rng.uniform(1, 5, size=n))
    return judge.astype(float), ratings, [f"g{v}" for v in rng.integers(8, size=n)]


def figures(found: AltTest) -> list[float]:
    return [found.omega, found.rho, found.omega_grouped]


@many
@given(given_=rated(least=8), seed=st.integers(0, 1000))
def test_the_order_of_items_and_annotators_does_not_matter(given_: tuple[Array, Array, list[str]], seed: int) -> None:
    judge, ratings, groups = given_
    found = alternative_annotator_test(judge, ratings, groups, 0.2)
    assert all(0 <= v <= 1 for v in figures(found))
    rng = np.random.default_rng(seed)
    items, people = rng.permutation(len(judge)), rng.permutation(ratings.shape[1])
    again = alternative_annotator_test(judge[items], ratings[items][:, people], [groups[k] for k in items], 0.2)
    assert figures(again) == pytest.approx(figures(found))
    assert [people[line.annotator] for line in again.lines] == list(people)


@many
@given(given_=rated(least=8), low=st.floats(0.01, 0.99), more=st.floats(0, 1))
def test_a_larger_epsilon_never_lowers_omega(given_: tuple[Array, Array, list[str]], low: float, more: float) -> None:
    lower, higher = (alternative_annotator_test(*given_, e) for e in (low, low + more * (1 - low)))
    assert higher.omega >= lower.omega
    assert higher.omega_grouped >= lower.omega_grouped
    assert higher.rho == lower.rho


@many
@given(given_=rated())
def test_the_mean_of_all_annotators_is_the_best_judge(given_: tuple[Array, Array, list[str]]) -> None:
    """Theorem 1 of the paper: nobody comes nearer to the others than the mean of all."""
    _, ratings, groups = given_
    ratings[(~np.isnan(ratings)).sum(axis=1) == 0, 0] = 3.0  # somebody rated every item
    found = alternative_annotator_test(np.nanmean(ratings, axis=1), ratings, groups, 0.2)
    assert found.rho == 1
    assert all(line.rho_human == line.ties for line in found.lines)


def test_a_judge_that_is_one_of_the_annotators_ties_with_that_one() -> None:
    _, ratings, groups = with_gaps(3, missing=0.0)
    found = alternative_annotator_test(ratings[:, 1], ratings, groups, 0.1)
    assert (found.lines[1].ties, found.lines[1].rho, found.lines[1].p) == (1, 1, 0)
    # Without a margin a tie is no win.
    assert alternative_annotator_test(ratings[:, 1], ratings, groups, 0.0).lines[1].p == 1


def test_what_cannot_be_tested_is_refused() -> None:
    judge, ratings = by_hand()
    groups = pairs_of(36)
    with pytest.raises(ValueError, match="3 annotators or more, not 2"):
        alternative_annotator_test(judge, ratings[:, :2], groups, 0.2)
    alone = ratings.copy()
    alone[:, 2] = np.nan
    with pytest.raises(ValueError, match="not 2"):
        alternative_annotator_test(judge, alone, groups, 0.2)
    with pytest.raises(ValueError, match="shapes do not fit"):
        alternative_annotator_test(judge[:-1], ratings, groups, 0.2)
    with pytest.raises(ValueError, match="must be finite"):
        alternative_annotator_test(np.full(36, np.nan), ratings, groups, 0.2)
    with pytest.raises(ValueError, match=r"from 0 to 1, not 1\.5"):
        alternative_annotator_test(judge, ratings, groups, 1.5)


def test_the_margins_of_the_paper() -> None:
    assert EPSILONS == {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}


LABELS = np.array([1.0, 1, 2, 2])
PEOPLE = np.array([[1, 1, 1], [1, 1, 2], [2, 2, 2], [2, 1, 2]], dtype=float)


def test_human_likeness_by_hand() -> None:
    # Annotators 1122, 1121, 1222. Kappas: (3/4 - 1/2) / (1/2) = 0.5 twice; the second and third agree on half of the
    # items where chance gives 3/4 · 1/4 · 2 = 0.375: (0.5 - 0.375) / 0.625 = 0.2. Mean 0.4, deviations 0.1, 0.1, -0.2,
    # spread sqrt(0.06 / 2) = 0.17321. The judge is the first annotator: kappas 1, 0.5, 0.5, mean 2/3,
    # z = 0.26667 / 0.17321 = 1.5396.
    found = human_likeness(LABELS, PEOPLE, 0.89)
    assert (found.kappa, found.humans, found.spread) == pytest.approx((2 / 3, 0.4, math.sqrt(0.03)))
    assert found.z == pytest.approx(1.5396, abs=1e-4)
    assert (found.pairs, found.verdict) == (3, "super-consistent")


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_human_likeness_is_that_of_sklearns_kappas(weights: str | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(7)
    truth = rng.integers(1, 6, size=80)
    people = np.clip(truth[:, None] + rng.integers(-1, 2, size=(80, 4)), 1, 5)
    labels = np.clip(truth + rng.integers(-1, 2, size=80), 1, 5)

    def kappa(a: Array, b: Array) -> float:
        return float(metrics.cohen_kappa_score(a, b, weights=weights, labels=[1, 2, 3, 4, 5]))

    among = [kappa(people[:, i], people[:, j]) for i, j in itertools.combinations(range(4), 2)]
    own = np.mean([kappa(labels, people[:, j]) for j in range(4)])
    found = human_likeness(labels.astype(float), people.astype(float), 0.9, weights)  # type: ignore[arg-type]
    assert found.z == pytest.approx((own - np.mean(among)) / np.std(among, ddof=1))
    assert found.pairs == 6


def test_the_verdicts_of_human_likeness() -> None:
    assert human_likeness(LABELS, PEOPLE, 0.79).verdict == "low correlation"
    assert human_likeness(LABELS, PEOPLE, math.nan).verdict == "undefined"
    assert human_likeness(np.array([1.0, 2, 1, 2]), PEOPLE, 0.9).verdict == "less than human"
    # The second annotator: kappas 0.5, 1, 0.2, mean 0.56667, z = 0.16667 / 0.17321 = 0.96.
    middle = human_likeness(PEOPLE[:, 1], PEOPLE, 0.9)
    assert (middle.verdict, middle.z) == ("human-like", pytest.approx(0.9623, abs=1e-4))
    # Two annotators are one pair, which has no spread; annotators who all agree alike have none either.
    assert human_likeness(LABELS, PEOPLE[:, :2], 0.9).verdict == "undefined"
    assert math.isnan(human_likeness(LABELS, PEOPLE[:, [0, 0, 0]], 0.9).z)
    # An annotator who says the same of every item agrees by chance with the others, kappa 0, which counts.
    flat = human_likeness(LABELS, np.column_stack([PEOPLE, np.ones(4)]), 0.9)
    assert (flat.pairs, flat.humans) == (6, pytest.approx(0.2))


def test_scores_go_to_the_nearest_point() -> None:
    given_ = np.array([0.2, 1.49, 1.5, 2.5, 4.999, 7.0, np.nan])
    assert on_points(given_, 1, 5, 1).tolist()[:-1] == [1, 1, 2, 3, 5, 5]
    assert math.isnan(on_points(given_, 1, 5, 1)[-1])
    assert on_points(np.array([0.24, 0.25, 0.9]), 0, 1, 0.5).tolist() == [0, 0.5, 1]
    assert on_points(np.array([2.0, 2.4]), 0, 2.4, 1).tolist() == [2, 2]  # a scale whose end is no point of it
    assert on_points(np.array([0.1 + 0.2]), 0, 1, 0.2).tolist() == pytest.approx([0.4])  # a half, but for rounding
