"""Probes of the scores as they are: length, use of the scale, the judge's own outputs; checked from outside."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from calibrator.aspects import Scale
from calibrator.evaluation.probes.base import over_groups
from calibrator.evaluation.probes.preference import SelfPreference, permutation_p, preference
from calibrator.evaluation.probes.scale_use import ScaleUse, deviation, entropy, points
from calibrator.evaluation.probes.verbosity import Verbosity, partial_rho
from calibrator.records import Item
from tests.conftest import make_items
from tests.evaluation.probes.making import LOWER, by_human, probing


def rows(n: int = 80, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    z = draw.integers(1, 6, n).astype(float)
    return z + draw.normal(size=n), 0.5 * z + draw.normal(size=n), z


def value(figure: object, n: int) -> float:
    return float(figure(np.ones((1, n)))[0])  # type: ignore[operator]


def test_the_partial_correlation_is_that_of_the_residuals_of_ranks() -> None:
    x, y, z = rows()
    rx, ry, rz = (stats.rankdata(v) for v in (x, y, z))
    left = [r - np.polyval(np.polyfit(rz, r, 1), rz) for r in (rx, ry)]
    assert value(partial_rho(x, y, z), 80) == pytest.approx(stats.pearsonr(*left).statistic)


def test_the_partial_correlation_in_a_resample_is_that_of_the_written_out_items() -> None:
    x, y, z = rows(30)
    weights = np.random.default_rng(0).integers(0, 4, (5, 30)).astype(float)
    found = partial_rho(x, y, z)(weights)
    for row, figure in zip(weights.astype(int), found, strict=True):
        out = [np.repeat(v, row) for v in (x, y, z)]
        assert figure == pytest.approx(value(partial_rho(*out), len(out[0])))


def test_a_judge_of_length_alone_is_seen_beside_humans_who_are_not() -> None:
    items = [replace(i, output="word " * (k + 1), human=float(1 + k % 5)) for k, i in enumerate(make_items(40, 10))]
    line = Verbosity().find(probing(lambda i: min(5.0, 1 + len(i.output.split()) / 10), items)).lines[0]
    assert line.figures["judge"].value == pytest.approx(1.0)
    assert line.figures["humans"].value < 0.2
    assert line.figures["over humans"].value > 0.8
    assert line.figures["partial"].value > 0.95
    turned = Verbosity().find(probing(lambda i: min(5.0, 1 + len(i.output.split()) / 10), items, LOWER)).lines[0]
    assert turned.figures["judge"].value == pytest.approx(-1.0), "where less is better, longer is judged worse"


def test_a_constant_judge_has_no_correlation_with_length() -> None:
    line = Verbosity().find(probing(lambda i: 3.0, make_items(20, 5))).lines[0]
    assert math.isnan(line.figures["judge"].value) and math.isnan(line.figures["partial"].value)
    assert line.figures["humans"].value > 0


@given(st.lists(st.integers(0, 20), min_size=1, max_size=8).filter(any))
def test_entropy_is_that_of_scipy(counts: list[int]) -> None:
    shares = np.array([counts], dtype=float) / sum(counts)
    assert entropy(shares)[0] == pytest.approx(stats.entropy(counts, base=2))


def test_scores_go_to_their_nearest_point() -> None:
    assert points(np.array([1.0, 1.49, 1.5, 4.99, 5.0]), Scale(1, 5)).tolist() == [0, 0, 1, 4, 4]
    assert points(np.array([0.0, 0.26, 1.0]), Scale(0, 1, 0.5)).tolist() == [0, 1, 2]


def test_deviation_in_a_resample_is_numpys_on_the_written_out_items() -> None:
    x = np.array([1.0, 2.0, 4.0])
    assert deviation(x)(np.array([[1.0, 1, 1], [0, 3, 1]])) == pytest.approx([x.std(), np.std([2, 2, 2, 4])])


@pytest.mark.parametrize(("aspect", "lenience"), [(None, 1.0), (LOWER, -1.0)])
def test_lenience_and_the_use_of_the_scale_by_hand(aspect: object, lenience: float) -> None:
    items = [replace(i, human=float(1 + k % 4)) for k, i in enumerate(make_items(20, 10))]

    def milder(item: Item) -> float:
        return by_human(item) + 1

    subject = probing(milder, items, LOWER) if aspect else probing(milder, items)
    lines = {line.case: line.figures for line in ScaleUse().find(subject).lines}
    judge, humans, both = lines["judge"], lines["humans"], lines["judge against humans"]
    assert (judge["mean"].value, humans["mean"].value) == (3.5, 2.5)
    assert judge["used"].value == humans["used"].value == 0.75
    assert judge["entropy"].value == pytest.approx(2.0)
    assert judge["commonest"].value == 0.25
    assert both["lenience"].value == pytest.approx(lenience)
    assert both["spread ratio"].value == pytest.approx(1.0)
    assert both["crowding"].value == pytest.approx(0.0)


def test_a_judge_that_always_says_the_same_crowds_one_point() -> None:
    items = [replace(i, human=float(1 + k % 5)) for k, i in enumerate(make_items(20, 10))]
    lines = {line.case: line.figures for line in ScaleUse().find(probing(lambda i: 3.0, items)).lines}
    assert lines["judge"]["entropy"].value == 0.0 and lines["judge"]["used"].value == 0.0
    assert lines["judge against humans"]["crowding"].value == pytest.approx(0.8)
    assert lines["judge against humans"]["spread ratio"].value == 0.0


def test_without_a_score_there_are_no_figures() -> None:
    subject = probing(lambda i: None, make_items(12, 4))
    for probe in (Verbosity(), ScaleUse()):
        lines = probe.find(subject).lines
        assert lines and all(line.items == 0 for line in lines)
        assert all(math.isnan(f.value) for line in lines for f in line.figures.values())


def systems(n: int, favour: float, seed: int = 0, per_group: int = 2) -> list[Item]:
    """Items by two systems; `key` carries the judge's score, `favour` points more for "ours"."""
    draw = np.random.default_rng(seed)
    items = []
    for k, item in enumerate(make_items(n, n)):
        own = k % 2 == 0
        human = float(draw.integers(1, 6)) * (0.8 if own else 1.0)
        score = 1 + 0.5 * human + favour * own + 0.3 * draw.normal()
        name = "ours" if own else "theirs"
        items.append(replace(item, human=human, system=name, group=f"g{k // per_group}", key=str(score)))
    return items


def test_the_preference_is_the_coefficient_of_least_squares() -> None:
    smf = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")
    items = systems(60, 0.7)
    frame = pd.DataFrame({"x": [float(i.key) for i in items], "human": [i.human for i in items]})
    frame["own"] = [float(i.system == "ours") for i in items]
    fitted = smf.ols("x ~ human + own", frame).fit()
    columns = [frame[c].to_numpy() for c in ("x", "human", "own")]
    found = preference(*columns)
    assert value(found, 60) == pytest.approx(fitted.params["own"])
    weights = np.random.default_rng(1).integers(0, 3, (3, 60)).astype(float)
    for row, figure in zip(weights, found(weights), strict=True):
        assert figure == pytest.approx(smf.wls("x ~ human + own", frame, weights=row).fit().params["own"])


@pytest.mark.parametrize(("favour", "low", "high"), [(0.7, 0.0, 0.02), (0.0, 0.05, 1.0)])
def test_a_judge_that_favours_its_own_is_told_from_one_that_does_not(favour: float, low: float, high: float) -> None:
    subject = probing(lambda i: float(i.key), systems(80, favour))
    finding = SelfPreference(("ours",)).find(subject)
    line = finding.lines[-1]
    assert line.figures["difference"].value == pytest.approx(favour, abs=0.15)
    assert low <= line.figures["p"].value <= high
    assert "within groups" in finding.basis
    assert [one.items for one in finding.lines] == [40, 40, 80]


def test_the_p_value_is_uniform_where_there_is_nothing() -> None:
    p = []
    for seed in range(60):
        draw = np.random.default_rng(seed)
        human, own = draw.integers(1, 6, 30).astype(float), np.tile([1.0, 0.0], 15)
        groups = [str(k // 2) for k in range(30)]
        p.append(permutation_p(human + draw.normal(size=30), human, own, groups, 99, draw)[0])
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_groups_of_one_kind_are_permuted_over_all_items() -> None:
    subject = probing(lambda i: float(i.key), systems(40, 0.5, per_group=1))
    assert "over all items" in SelfPreference(("ours",)).find(subject).basis


def test_when_self_preference_does_not_apply() -> None:
    nameless, named = probing(by_human, make_items(12, 4)), probing(lambda i: 3.0, systems(12, 0.0))
    assert "no two systems" in SelfPreference(("ours",)).absent(nameless)
    assert "nobody said" in SelfPreference().absent(named)
    assert not SelfPreference(("ours",)).absent(named)
    assert SelfPreference(("ours", "theirs")).find(named).undone


def test_intervals_are_over_groups() -> None:
    x, y, z = rows(40)
    found = over_groups(partial_rho(x, y, z), [str(k % 8) for k in range(40)], 0, 500)
    assert found.low < found.value < found.high
