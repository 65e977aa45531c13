"""The one regularised fit: against scikit-learn, its penalty, its projection on few columns."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.linear_model import Ridge

from calibrator.stats import linear
from calibrator.stats.linear import (
    bounded_ridge,
    center_and_spread,
    folds_of,
    penalty_by_cv,
    project,
    ridge,
    standardise,
)

Array = NDArray[np.float64]


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 8), st.sampled_from([0.1, 1.0, 30.0, 300.0]))
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_is_that_of_scikit_learn(weighted: bool, seed: int, rows: int, columns: int, penalty: float) -> None:
    rng = np.random.default_rng(seed)
    z, y = rng.standard_normal((rows, columns)), 3 + rng.standard_normal(rows)
    importance = rng.uniform(0.1, 3, rows) if weighted else None
    weights, base = ridge(z, y, penalty, importance)
    reference = Ridge(alpha=penalty).fit(z, y, sample_weight=importance)
    assert weights == pytest.approx(reference.coef_, abs=1e-8)
    assert base == pytest.approx(reference.intercept_, abs=1e-8)


def test_importance_counts_as_so_many_copies() -> None:
    rng = np.random.default_rng(1)
    z, y, copies = rng.standard_normal((12, 3)), rng.standard_normal(12), rng.integers(0, 4, 12)
    weights, base = ridge(z, y, 2.0, copies.astype(float))
    written_out, base_out = ridge(np.repeat(z, copies, axis=0), np.repeat(y, copies), 2.0)
    assert weights == pytest.approx(written_out)
    assert base == pytest.approx(base_out)


def test_the_base_is_not_penalised() -> None:
    z = np.random.default_rng(2).standard_normal((30, 2))
    weights, base = ridge(z, np.full(30, 4.2), 1e6)
    assert weights == pytest.approx(np.zeros(2), abs=1e-12)
    assert base == pytest.approx(4.2)


def correlated(seed: int, rows: int, columns: int) -> tuple[Array, Array]:
    """Return columns that are much alike, as judges are, and ratings, of which some go with them and some against."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((rows, 1))
    z = shared + rng.uniform(0.05, 1) * rng.standard_normal((rows, columns))
    return z, 3 + z @ rng.normal(0, 1, columns) + rng.standard_normal(rows)


def by_nnls(z: Array, y: Array, penalty: float, bounded: NDArray[np.bool_]) -> Array:
    """The same fit as non-negative least squares: a free weight is the difference of two that are not negative."""
    both = np.column_stack([z, -z[:, ~bounded]])
    split = np.column_stack([np.eye(z.shape[1]), -np.eye(z.shape[1])[:, ~bounded]])
    rows = np.vstack([both - both.mean(axis=0), np.sqrt(penalty) * split])
    parts = nnls(rows, np.concatenate([y - y.mean(), np.zeros(z.shape[1])]))[0]
    weights: Array = split @ parts
    return weights


@settings(deadline=None, max_examples=120)
@given(
    st.integers(0, 10**6),
    st.integers(3, 60),
    st.integers(1, 40),
    st.sampled_from([0.1, 1.0, 30.0, 300.0]),
    st.floats(0, 1),
)
def test_bounded_ridge_is_non_negative_least_squares(
    seed: int, rows: int, columns: int, penalty: float, share: float
) -> None:
    z, y = correlated(seed, rows, columns)
    bounded = np.random.default_rng(seed + 1).uniform(size=columns) < share
    weights, base = bounded_ridge(z, y, penalty, np.where(bounded, 0.0, -np.inf))
    assert weights == pytest.approx(by_nnls(z, y, penalty, bounded), abs=1e-6)
    assert (weights[bounded] >= 0).all()
    assert base == pytest.approx(y.mean() - z.mean(axis=0) @ weights)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 60), st.integers(1, 8), st.sampled_from([1.0, 30.0]))
def test_where_no_bound_binds_bounded_ridge_is_ridge(seed: int, rows: int, columns: int, penalty: float) -> None:
    z, y = correlated(seed, rows, columns)
    weights, base = ridge(z, y, penalty)
    free = bounded_ridge(z, y, penalty, np.full(columns, -np.inf))
    below = bounded_ridge(z, y, penalty, weights - 1e-3)
    for found, level in (free, below):
        assert found == pytest.approx(weights, abs=1e-8)
        assert level == pytest.approx(base, abs=1e-8)


def test_bounded_ridge_gives_0_to_what_runs_the_other_way_and_fits_the_rest_as_if_it_were_not_there() -> None:
    rng = np.random.default_rng(0)
    z = rng.standard_normal((80, 3))
    y = 2 + z[:, 0] - z[:, 1] + 0.1 * rng.standard_normal(80)
    weights, base = bounded_ridge(z, y, 1.0, np.array([0.0, 0.0, -np.inf]))
    alone, level = ridge(z[:, [0, 2]], y, 1.0)
    assert weights[1] == 0.0
    assert weights[[0, 2]] == pytest.approx(alone, abs=1e-8)
    assert base == pytest.approx(level, abs=1e-8)


def test_bounded_ridge_without_columns_is_the_mean() -> None:
    weights, base = bounded_ridge(np.zeros((4, 0)), np.array([1.0, 2.0, 3.0, 6.0]), 1.0, np.zeros(0))
    assert weights.shape == (0,)
    assert base == 3.0


@settings(deadline=None)
@given(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=40), st.integers(0, 99))
def test_a_group_stands_in_one_fold_and_folds_are_even(groups: list[str], seed: int) -> None:
    fold = folds_of(groups, 5, np.random.default_rng(seed))
    assert len({(g, f) for g, f in zip(groups, fold.tolist(), strict=True)}) == len(set(groups))
    per_fold = Counter(dict(zip(groups, fold.tolist(), strict=True)).values())
    assert set(per_fold) <= set(range(5))
    assert max(per_fold.values()) - min(per_fold.get(k, 0) for k in range(5)) <= 1


def test_cross_validation_leaves_out_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    member = np.repeat(np.arange(10.0), 4)
    z = np.column_stack([member, np.random.default_rng(0).standard_normal(40)])
    trained: list[Counter[float]] = []

    def spy(z: Array, y: Array, penalty: float, importance: Array | None = None) -> tuple[Array, float]:
        trained.append(Counter(z[:, 0].tolist()))
        return ridge(z, y, penalty, importance)

    monkeypatch.setattr(linear, "ridge", spy)
    penalty_by_cv(z, z[:, 1], [f"g{m}" for m in member], np.random.default_rng(1))
    assert trained
    assert all(set(seen.values()) == {4} and len(seen) == 8 for seen in trained)


def noisy(seed: int = 3) -> tuple[Array, Array, list[str]]:
    """One column that counts among forty that do not, on sixty items."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((60, 40))
    return z, z[:, 0] + rng.standard_normal(60), [f"g{k // 2}" for k in range(60)]


def test_the_penalty_is_large_on_noise_and_small_where_detail_counts() -> None:
    z, y, groups = noisy()
    assert penalty_by_cv(z, y, groups, np.random.default_rng(0), (1e-6, 100.0)) == 100.0
    twin = np.column_stack([z[:, 0], z[:, 0] + 0.05 * z[:, 1]])
    assert penalty_by_cv(twin, twin[:, 0] - twin[:, 1], groups, np.random.default_rng(0), (1e-6, 100.0)) == 1e-6


def test_one_seed_gives_one_penalty_whatever_the_other_draws() -> None:
    z, y, groups = noisy()
    found = {penalty_by_cv(z, y, groups, np.random.default_rng(7)) for _ in range(3)}
    assert len(found) == 1
    assert found <= set(linear.PENALTIES)


def test_one_group_or_one_constant_rating_gets_the_largest_penalty() -> None:
    z, y, groups = noisy()
    assert penalty_by_cv(z, y, ["one"] * 60, np.random.default_rng(0), (1.0, 50.0, 3.0)) == 50.0
    assert penalty_by_cv(z, np.full(60, 2.0), groups, np.random.default_rng(0), (1.0, 50.0, 3.0)) == 50.0


def sparse(seed: int = 4) -> tuple[Array, Array]:
    z = np.random.default_rng(seed).standard_normal((200, 20))
    return z, 2 * z[:, 3] - z[:, 7] + 0.5 * z[:, 11]


@pytest.mark.parametrize("seed", range(5))
def test_projection_finds_the_true_columns_the_weightiest_first(seed: int) -> None:
    z, target = sparse(seed)
    assert project(z, target, 3) == [3, 7, 11]
    assert project(z, -target + 9, 3) == [3, 7, 11]


@pytest.mark.parametrize("size", [0, 1, 2, 5, 20, 99])
def test_projection_respects_the_size_and_takes_no_column_twice(size: int) -> None:
    chosen = project(*sparse(), size)
    assert len(chosen) <= size
    assert len(set(chosen)) == len(chosen)


def test_projection_never_takes_a_constant_column() -> None:
    z, target = sparse()
    z[:, [0, 5, 19]] = 0.0, 1.0, 0.1
    chosen = project(z, target, 20)
    assert set(chosen).isdisjoint({0, 5, 19})
    assert chosen[:3] == [3, 7, 11]
    assert project(np.ones((10, 4)), np.arange(10.0), 4) == []


def test_projection_takes_nothing_that_adds_nothing() -> None:
    signs = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)  # columns at right angles
    assert project(signs, 3 * signs[:, 1], 3) == [1]
    assert project(signs, np.full(4, 2.0), 3) == []


def test_projection_follows_favour_between_like_columns() -> None:
    rng = np.random.default_rng(5)
    z = rng.standard_normal((100, 3))
    z[:, 1] = z[:, 0] + 0.01 * rng.standard_normal(100)
    target = z[:, 0] + z[:, 1]
    assert project(z, target, 1, favour=np.array([1.0, 1.5, 1.0])) == [1]
    assert project(z, target, 1, favour=np.array([1.5, 1.0, 1.0])) == [0]
    assert set(project(z, target, 3, favour=np.array([0.0, 1.0, 1.0]))).isdisjoint({0})


def forward(z: Array, target: Array, size: int, favour: Array, rare: int, most: int, penalty: float) -> list[int]:
    """Forward selection as it reads on paper: try each column, fit all anew, take the one that misses least."""
    dz, dy = z - z.mean(axis=0), target - target.mean()

    def missed(columns: list[int]) -> float:
        x = dz[:, columns]
        weights = np.linalg.solve(x.T @ x + penalty * np.eye(len(columns)), x.T @ dy)
        return float(((dy - x @ weights) ** 2).sum() + penalty * weights @ weights)

    chosen: list[int] = []
    while len(chosen) < size:
        taken = sum(c >= z.shape[1] - rare for c in chosen)
        open_to = [c for c in range(z.shape[1] - rare if taken >= most else z.shape[1]) if c not in chosen]
        gains = {c: (missed(chosen) - missed([*chosen, c])) * favour[c] for c in open_to if np.ptp(z[:, c]) > 1e-4}
        if not gains or max(gains.values()) <= 1e-9:
            break
        chosen.append(max(gains, key=lambda c: gains[c]))
    return chosen


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 10), st.integers(0, 10), st.integers(0, 4))
def test_projection_is_forward_selection(seed: int, rows: int, columns: int, rare: int, most: int) -> None:
    rng = np.random.default_rng(seed)
    z, target, favour = rng.standard_normal((rows, columns)), rng.standard_normal(rows), rng.uniform(0.5, 2, columns)
    z[:, 1:] += 0.7 * z[:, :1]
    rare, size = min(rare, columns), int(rng.integers(0, min(columns, rows - 1) + 1))
    for penalty in (1.0, 30.0):
        expected = forward(z, target, size, favour, rare, most, penalty)
        assert project(z, target, size, favour, rare, most, penalty) == expected


def test_of_the_rare_columns_at_most_so_many_are_taken() -> None:
    z, target = sparse()  # 3, 7 and 11 of 20 columns tell, in this order
    assert project(z, target, 3, rare=17, most=3) == [3, 7, 11]
    assert project(z, target, 2, rare=17, most=1)[0] == 3
    for rare, most in ((17, 2), (13, 1), (9, 0), (20, 2), (20, 0), (5, 1)):
        chosen = project(z, target, 20, rare=rare, most=most)
        assert sum(c >= 20 - rare for c in chosen) == most
        assert set(range(20 - rare)) <= set(chosen) or len(chosen) == 20
    assert project(z, target, 3, rare=13, most=1)[:2] == [3, 7]
    assert 11 not in project(z, target, 20, rare=13, most=1)
    assert project(z, target, 3, rare=0, most=0) == project(z, target, 3) == [3, 7, 11]
    assert project(z, target, 3, rare=20, most=0) == []


def test_projection_leaves_its_arguments_as_they_were() -> None:
    z, target = sparse()
    before = z.copy(), target.copy()
    favour = np.ones(20)
    project(z, target, 5, favour, rare=10, most=1)
    assert (z == before[0]).all() and (target == before[1]).all() and (favour == 1).all()


def test_standardised_columns_have_mean_0_spread_1_and_no_outliers() -> None:
    x = np.random.default_rng(6).normal(7, 3, (500, 2))
    center, spread = center_and_spread(x)
    z = standardise(x, center, spread)
    assert z.mean(axis=0) == pytest.approx(np.zeros(2), abs=0.02)
    assert z.std(axis=0) == pytest.approx(np.ones(2), abs=0.03)
    assert standardise(np.array([[1e9, -1e9]]), center, spread).tolist() == [[3.0, -3.0]]


def test_a_constant_column_is_standardised_to_0() -> None:
    x = np.column_stack([np.full(9, 0.1), np.arange(9)])
    center, spread = center_and_spread(x)
    assert spread[0] == 1.0
    assert standardise(x, center, spread)[:, 0] == pytest.approx(np.zeros(9), abs=1e-12)
