"""How much of the groups to take out of a fit: simulated systems whose level misleads, and such whose level tells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from calibrator.stats import transfer
from calibrator.stats.correlation import spearman
from calibrator.stats.linear import PENALTIES, ridge
from calibrator.stats.smoothing import centred_columns
from calibrator.stats.transfer import share_by_leaving_out

Array = NDArray[np.float64]
Population = tuple[Array, Array, list[str]]


def population(
    seed: int, slope: float, level: float, inner: float = 1.0, systems: int = 6, each: int = 40
) -> Population:
    """Return one column, ratings and systems.

    Within a system the ratings rise with the column by `inner`; between systems, whose means on the column lie far
    apart, by `slope`. `level` is the spread of the systems' levels that the column knows nothing of.
    """
    rng = np.random.default_rng(seed)
    member = np.repeat(np.arange(systems), each)
    mean = np.linspace(-2, 2, systems)[rng.permutation(systems)][member]
    inside, noise = rng.standard_normal(len(member)), rng.standard_normal(len(member))
    levels = level * rng.standard_normal(systems)[member]
    z = np.column_stack([mean + inside, rng.standard_normal((len(member), 3))])
    return z, slope * mean + inner * inside + levels + 0.5 * noise, [f"s{k}" for k in member]


@pytest.mark.parametrize("seed", range(10))
def test_where_the_systems_means_mislead_they_are_taken_out(seed: int) -> None:
    assert share_by_leaving_out(*population(seed, slope=-1.0, level=0.0), shares=(0.0, 1.0)) == 1.0


@pytest.mark.parametrize("seed", range(10))
def test_where_only_the_systems_means_tell_anything_the_fit_is_plain(seed: int) -> None:
    assert share_by_leaving_out(*population(seed, slope=1.0, level=0.0, inner=0.0)) == 0.0


def test_what_is_true_inside_the_systems_counts_as_much_as_the_levels() -> None:
    # Between the systems the column is right, inside them it is wrong, a little or as much.
    assert share_by_leaving_out(*population(1, slope=1.0, level=0.0, inner=-0.1)) == 0.0
    assert share_by_leaving_out(*population(1, slope=1.0, level=0.0, inner=-1.0)) == 1.0


def test_what_is_chosen_predicts_a_new_system_better_than_what_is_not() -> None:
    z, y, systems = population(3, slope=-1.0, level=0.0)
    seen = np.array(systems) != "s5"
    share = share_by_leaving_out(z[seen], y[seen], [s for s in systems if s != "s5"])
    assert share > 0
    values = []
    for each in (0.0, share):
        x = centred_columns(np.column_stack([z, y])[seen], [s for s in systems if s != "s5"], each)
        values.append(float(spearman(z[~seen] @ ridge(x[:, :-1], x[:, -1], 30.0)[0], y[~seen])))
    assert values[1] > values[0]


def test_with_fewer_than_three_groups_nothing_is_taken_out() -> None:
    z, y, systems = population(1, slope=-1.0, level=0.0)
    assert share_by_leaving_out(z, y, ["a"] * len(y)) == 0.0
    two = np.isin(systems, ["s0", "s1"])
    assert share_by_leaving_out(z[two], y[two], [s for s in systems if s in ("s0", "s1")]) == 0.0


def test_ratings_that_are_all_alike_take_nothing_out() -> None:
    z, y, systems = population(1, slope=-1.0, level=0.0)
    assert share_by_leaving_out(z, np.full(len(y), 3.0), systems) == 0.0


def test_the_order_of_the_items_and_the_names_of_the_groups_do_not_matter() -> None:
    for seed in range(5):
        z, y, systems = population(seed, slope=-0.3, level=0.5)
        order = np.random.default_rng(seed).permutation(len(y))
        found = share_by_leaving_out(z, y, systems)
        assert share_by_leaving_out(z[order], y[order], [systems[k] for k in order]) == found
        assert share_by_leaving_out(z, y, [f"other-{s}" for s in systems]) == found


def test_no_group_is_in_the_fit_that_predicts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    z, y, systems = population(2, slope=0.5, level=0.0, systems=4, each=10)
    z = np.column_stack([z, np.repeat(np.arange(4.0), 10)])  # the last column names the system
    fitted: list[set[float]] = []

    def spy(z: Array, y: Array, penalty: float) -> tuple[Array, float]:
        fitted.append({float(v) for v in np.round(z[:, -1], 6)})
        return ridge(z, y, penalty)

    monkeypatch.setattr(transfer, "ridge", spy)
    share_by_leaving_out(z, y, systems, shares=(0.0,))
    assert len(fitted) == 4 * len(PENALTIES)
    assert {frozenset(f) for f in fitted} == {frozenset({0.0, 1.0, 2.0, 3.0} - {k}) for k in range(4)}


def test_a_left_out_groups_predictions_do_not_depend_on_its_ratings() -> None:
    z, y, systems = population(4, slope=0.5, level=0.0)
    names = np.asarray(systems)
    out = names == "s2"
    changed = np.where(out, 100 - y, y)
    for share in transfer.SHARES:
        before, after = (transfer._left_out(z, v, names, share, PENALTIES) for v in (y, changed))
        for one, other in zip(before, after, strict=True):
            assert one[out] == pytest.approx(other[out])
            assert one[~out] != pytest.approx(other[~out])


@pytest.mark.parametrize("share", transfer.SHARES)
def test_a_left_out_group_is_predicted_by_scikit_learns_ridge_from_the_mean_of_the_others(share: float) -> None:
    z, y, systems = population(5, slope=0.5, level=0.3, each=12)
    names = np.asarray(systems)
    found = transfer._left_out(z, y, names, share, PENALTIES)
    for k, penalty in enumerate(PENALTIES):
        for name in set(systems):
            out = names == name
            rest = names[~out].tolist()
            columns, ratings = (centred_columns(v[~out].reshape(-1, w), rest, share) for v, w in ((z, 4), (y, 1)))
            fit = Ridge(alpha=penalty).fit(columns, ratings[:, 0])
            assert found[k][out] == pytest.approx(
                fit.predict(z[out]) - fit.intercept_ - z[~out].mean(axis=0) @ fit.coef_
            )
