"""Fits of columns and their products: against scikit-learn's kernel ridge, and the choice by cross-validation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.kernel_ridge import KernelRidge

from calibrator.stats import smoothing
from calibrator.stats.grouped import centred
from calibrator.stats.linear import PENALTIES, penalty_by_cv, ridge
from calibrator.stats.smoothing import CHOICES, PRODUCTS, Smoothing, centred_columns, smoothed, smoothing_by_cv

Array = NDArray[np.float64]


def drawn(seed: int, rows: int = 30, columns: int = 4) -> tuple[Array, Array, Array]:
    """Return columns, ratings and other rows."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, columns)), 3 + rng.standard_normal(rows), rng.standard_normal((7, columns))


def by_scikit_learn(z: Array, y: Array, choice: Smoothing, weight: Array | None, at: Array) -> Array:
    """Kernel ridge with the kernel written out, ratings from their mean: scikit-learn's has no base."""

    def kernel(a: Array, b: Array) -> Array:
        return np.array([[u @ v + choice.products * (u @ v) ** 2 for v in b] for u in a])

    mean = np.average(y, weights=weight)
    model = KernelRidge(alpha=choice.penalty, kernel="precomputed")
    fitted: Array = model.fit(kernel(z, z), y - mean, sample_weight=weight).predict(kernel(at, z)) + mean
    return fitted


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 30), st.integers(1, 6), st.sampled_from([1.0, 30.0, 300.0]))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("products", [0.02, 0.5])
def test_with_products_it_is_the_kernel_ridge_of_scikit_learn(
    products: float, weighted: bool, seed: int, rows: int, columns: int, penalty: float
) -> None:
    z, y, other = drawn(seed, rows, columns)
    weight = np.random.default_rng(seed).uniform(0.1, 3, rows) if weighted else None
    choice = Smoothing(penalty, products)
    for at in (z, other):
        assert smoothed(z, y, choice, weight, at) == pytest.approx(by_scikit_learn(z, y, choice, weight, at), abs=1e-8)


def test_scikit_learns_own_polynomial_kernel_gives_the_same_but_for_what_is_constant() -> None:
    # p (a·b + 1 / 2p)² = a·b + p (a·b)² + 1 / 4p: the constant is a base with a penalty, a small one where p is small.
    z, y, other = drawn(3)
    y, p = y - y.mean(), 0.02
    own = KernelRidge(alpha=30.0, kernel="polynomial", degree=2, gamma=p**0.5, coef0=0.5 / p**0.5).fit(z, y)
    constant = KernelRidge(alpha=30.0, kernel="precomputed")
    inner = z @ z.T
    constant.fit(inner + p * inner**2 + 0.25 / p, y)
    assert own.predict(z) == pytest.approx(constant.predict(inner + p * inner**2 + 0.25 / p))
    mine = smoothed(z, y, Smoothing(30.0, p), at=other)
    assert np.corrcoef(mine, own.predict(other))[0, 1] > 0.99


@pytest.mark.parametrize("products", [0.0, 0.02, 0.5])
def test_importance_counts_as_so_many_copies(products: float) -> None:
    z, y, other = drawn(1, 12)
    copies = np.random.default_rng(1).integers(1, 4, 12)
    choice = Smoothing(5.0, products)
    written_out = smoothed(np.repeat(z, copies, axis=0), np.repeat(y, copies), choice, at=other)
    assert smoothed(z, y, choice, copies.astype(float), other) == pytest.approx(written_out)
    assert smoothed(z, y, choice, at=other) != pytest.approx(written_out)


def test_without_products_it_is_a_plain_ridge() -> None:
    z, y, other = drawn(2)
    weight = np.linspace(0.5, 2, len(y))
    for importance in (None, weight):
        weights, base = ridge(z, y, 30.0, importance)
        assert smoothed(z, y, Smoothing(30.0), importance, other) == pytest.approx(other @ weights + base)
    assert smoothed(z, y, Smoothing(30.0)) == pytest.approx(smoothed(z, y, Smoothing(30.0), at=z))


def test_products_that_count_for_next_to_nothing_are_next_to_a_plain_ridge() -> None:
    z, y, other = drawn(4)
    z = z - z.mean(axis=0)
    almost = smoothed(z, y, Smoothing(30.0, 1e-9), at=other)
    assert almost == pytest.approx(smoothed(z, y, Smoothing(30.0), at=other), abs=1e-5)


def test_by_hand() -> None:
    # Two items at 1 and -1, rated 4 and 2, mean 3. Kernel 1 + p and -1 + p; the dual is ±1 / (2 + penalty).
    z, y = np.array([[1.0], [-1.0]]), np.array([4.0, 2.0])
    fitted = smoothed(z, y, Smoothing(2.0, 0.5), at=np.array([[1.0], [0.0], [3.0]]))
    assert fitted == pytest.approx([3 + 2 / 4, 3.0, 3 + 6 / 4])


def only_products(seed: int = 5, rows: int = 240) -> tuple[Array, Array, list[str]]:
    """Ratings in which two columns count only where they meet."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((rows, 6))
    return z, z[:, 0] * z[:, 1] + 0.3 * rng.standard_normal(rows), [f"g{k // 2}" for k in range(rows)]


@pytest.mark.parametrize("seed", range(5))
def test_products_are_chosen_where_only_they_matter_and_left_where_they_do_not(seed: int) -> None:
    z, y, groups = only_products(seed)
    rng = np.random.default_rng
    assert smoothing_by_cv(z, y, groups, rng(0)).products == PRODUCTS
    line = z @ np.arange(6.0) + 2 * rng(seed).standard_normal(len(z))
    assert smoothing_by_cv(z[:60], line[:60], groups[:60], rng(0)).products == 0


def test_among_plain_choices_the_penalty_is_that_of_the_linear_fit() -> None:
    for seed in range(5):
        z, y, _ = drawn(seed, 60)
        y = y + z[:, 0]
        groups = [f"g{k // 2}" for k in range(60)]
        plain = [Smoothing(p) for p in PENALTIES]
        chosen = smoothing_by_cv(z, y, groups, np.random.default_rng(seed), plain)
        assert chosen == Smoothing(penalty_by_cv(z, y, groups, np.random.default_rng(seed)))


def test_whole_groups_are_left_out_and_predicted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    member = np.repeat(np.arange(10.0), 4)
    z = np.column_stack([member, np.random.default_rng(0).standard_normal(40)])
    seen: list[tuple[Counter[float], Counter[float]]] = []

    def spy(
        z: Array, y: Array, smoothing: Smoothing, importance: Array | None = None, at: Array | None = None
    ) -> Array:
        assert at is not None
        seen.append((Counter(z[:, 0].tolist()), Counter(at[:, 0].tolist())))
        return smoothed(z, y, smoothing, importance, at)

    monkeypatch.setattr(smoothing, "smoothed", spy)
    smoothing_by_cv(z, z[:, 1], [f"g{m}" for m in member], np.random.default_rng(1))
    assert len(seen) == 5 * len(CHOICES)
    assert all(set(fitted.values()) == {4} and len(fitted) == 8 for fitted, _ in seen)
    assert all(not set(fitted) & set(left) for fitted, left in seen)
    assert sum((left for _, left in seen[:5]), Counter()) == Counter(member.tolist())


def test_where_nothing_can_be_told_the_penalty_is_the_largest() -> None:
    z, y, groups = only_products()
    rng = np.random.default_rng
    assert smoothing_by_cv(z, y, ["one"] * len(y), rng(0)).penalty == max(c.penalty for c in CHOICES)
    assert smoothing_by_cv(z, np.full(len(y), 3.0), groups, rng(0)).penalty == max(c.penalty for c in CHOICES)
    assert smoothing_by_cv(z, y, ["one"] * len(y), rng(0)).products == 0


def test_columns_are_centred_one_by_one() -> None:
    z, groups = drawn(6)[0], ["a"] * 10 + ["b"] * 20
    together = centred_columns(z, groups, 0.5)
    for column, expected in zip(together.T, z.T, strict=True):
        assert column == pytest.approx(centred(expected, groups, 0.5))
    assert centred_columns(z[:, :0], groups, 0.5).shape == (30, 0)
