"""How far annotators agree: against what is known of simulated ones, and against the published data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.calibration.config import make_config
from calibrator.calibration.prepare import prepare
from calibrator.evaluation.ceiling import ceiling, share
from calibrator.records import Item
from calibrator.stats.agreement import spearman_brown
from calibrator.stats.correlation import spearman
from calibrator.stats.resampling import Interval
from tests.conftest import make_items

Array = NDArray[np.float64]
QUICK = 200


def rated(values: Array) -> list[Item]:
    """Items with these ratings (n, k), two in each group."""
    base = make_items(len(values), groups=max(1, len(values) // 2))
    return [
        replace(i, ratings=tuple(map(float, row)), human=float(np.mean(row)))
        for i, row in zip(base, values, strict=True)
    ]


def simulated(n: int, annotators: int, reliability: float, seed: int = 0) -> tuple[Array, Array]:
    """The true quality (n,) and ratings (n, k) of annotators who correlate with each other as `reliability`."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    noise = rng.normal(size=(n, annotators)) * np.sqrt(1 / reliability - 1)
    return truth, truth[:, None] + noise


def encloses(interval: Interval) -> bool:
    return interval.low <= interval.value <= interval.high


def test_figures_are_the_means_of_the_correlations() -> None:
    _, values = simulated(80, 3, 0.6)
    found = ceiling(rated(values), 0, QUICK)
    assert found is not None
    pairs = {(i, j): float(spearman(values[:, i], values[:, j])) for i, j in ((0, 1), (0, 2), (1, 2))}
    rest = [float(spearman(values[:, j], np.delete(values, j, 1).mean(axis=1))) for j in range(3)]
    assert found.pairs == pytest.approx(pairs)
    assert found.pairwise.value == pytest.approx(np.mean(list(pairs.values())))
    assert found.against_rest.value == pytest.approx(np.mean(rest))
    assert found.reachable.value == pytest.approx(np.sqrt(spearman_brown(found.pairwise.value, 3)))
    assert (found.items, found.groups, found.annotators, found.copies, found.left_out) == (80, 40, 3, (), 0)
    assert all(encloses(i) for i in (found.pairwise, found.against_rest, found.reachable))


@pytest.mark.parametrize(("annotators", "reliability"), [(2, 0.4), (3, 0.7), (6, 0.5)])
def test_who_knows_the_true_quality_reaches_the_ceiling(annotators: int, reliability: float) -> None:
    truth, values = simulated(4000, annotators, reliability)
    found = ceiling(rated(values), 0, QUICK)
    assert found is not None
    assert found.reachable.value == pytest.approx(float(spearman(truth, values.mean(axis=1))), abs=0.02)
    assert found.pairwise.value < found.against_rest.value + 1e-12
    assert found.against_rest.value < found.reachable.value


def test_fewer_than_two_annotators_have_no_ceiling() -> None:
    assert ceiling(make_items(30), 0, QUICK) is None
    assert ceiling([], 0, QUICK) is None
    _, values = simulated(30, 1, 0.5)
    assert ceiling(rated(np.hstack([values, values])), 0, QUICK) is None  # one annotator, written down twice


def test_the_set_of_annotators_with_the_most_items_counts() -> None:
    _, values = simulated(90, 3, 0.6)
    full = rated(values)
    pairs = ((0, 1), (0, 2), (1, 2))
    # 30 items by each pair, and 8 of those by (0, 2) twice: all have two ratings, of three pairs of people.
    items = [
        replace(i, ratings=tuple(i.ratings[r] for r in pairs[k % 3]), raters=pairs[k % 3]) for k, i in enumerate(full)
    ]
    more = [replace(i, id=f"{i.id}+") for i in items[1:24:3]]
    found, own = ceiling([*items, *more], 0, QUICK), [*items[1::3], *more]
    assert found is not None
    first, second = (np.array([i.ratings[k] for i in own]) for k in (0, 1))
    assert found.pairs == pytest.approx({(0, 2): float(spearman(first, second))})
    assert (found.items, found.left_out, found.annotators) == (38, 60, 2)
    judge = share([*items, *more], np.arange(98.0), 0, QUICK)
    assert judge is not None and judge.items == 38


def test_of_sets_with_as_many_items_the_larger_counts_and_the_order_never_matters() -> None:
    _, values = simulated(60, 4, 0.6)
    sets = ((0, 1), (0, 2, 3), (1, 2, 3))
    items = [
        replace(i, ratings=tuple(i.ratings[r] for r in sets[k % 3]), raters=sets[k % 3])
        for k, i in enumerate(rated(values))
    ]
    found, turned = ceiling(items, 0, QUICK), ceiling(items[::-1], 0, QUICK)
    assert found is not None and turned is not None
    assert set(found.pairs) == set(turned.pairs) == {(0, 2), (0, 3), (2, 3)}
    assert (found.items, found.left_out) == (20, 40)


def test_a_judge_is_compared_with_the_annotators_of_the_ceiling_whatever_failed() -> None:
    _, values = simulated(60, 3, 0.6)
    sets = [(0, 1)] * 32 + [(1, 2)] * 28
    items = [
        replace(i, ratings=tuple(i.ratings[r] for r in s), raters=s) for i, s in zip(rated(values), sets, strict=True)
    ]
    scores = values.mean(axis=1)
    scores[:10] = np.nan  # fewer of the first pair are left than of the second
    judge = share(items, scores, 0, QUICK)
    assert judge == share(items[10:32], scores[10:32], 0, QUICK)


def test_items_with_another_number_of_ratings_are_left_out() -> None:
    _, values = simulated(60, 3, 0.6)
    items = rated(values)
    mixed = [replace(i, ratings=i.ratings[: 2 if k < 10 else 1]) if k < 15 else i for k, i in enumerate(items)]
    found, alone = ceiling(mixed, 0, QUICK), ceiling(items[15:], 0, QUICK)
    assert found is not None and alone is not None
    assert (found.items, found.left_out) == (45, 10)  # a single rating is none of several
    assert found.pairwise == alone.pairwise


def test_a_column_that_copies_another_is_no_annotator() -> None:
    truth, values = simulated(4000, 2, 0.5)
    copied = np.hstack([values, values[:, 1:]])
    found, own = ceiling(rated(copied), 0, QUICK), ceiling(rated(values), 0, QUICK)
    assert found is not None and own is not None
    assert (found.annotators, found.copies) == (2, ((1, 2),))
    assert found.pairwise == own.pairwise
    assert found.against_rest == own.against_rest
    # The mean counts the copied one twice, which is worth less than two that count the same.
    assert found.reachable.value == pytest.approx(float(spearman(truth, copied.mean(axis=1))), abs=0.02)
    assert found.reachable.value < own.reachable.value


def test_ratings_sorted_within_items_do_not_agree_for_being_sorted() -> None:
    _, values = simulated(400, 3, 0.3)
    as_they_are, in_order = ceiling(rated(values), 0, QUICK), ceiling(rated(np.sort(values, axis=1)), 0, QUICK)
    assert as_they_are is not None and in_order is not None
    assert in_order.shuffled and not as_they_are.shuffled
    assert in_order.pairwise.value == pytest.approx(as_they_are.pairwise.value, abs=0.06)


def test_what_is_not_defined_is_nan() -> None:
    _, values = simulated(40, 3, 0.6)
    values[:, 0] = 3.0
    found = ceiling(rated(values), 0, QUICK)
    assert found is not None
    assert np.isnan([found.pairwise.value, found.against_rest.value, found.reachable.value]).all()
    assert np.isfinite(found.pairs[1, 2])


def test_annotators_who_contradict_each_other_leave_nothing_to_reach() -> None:
    values = np.array([[k, -k] for k in range(20)], dtype=float)
    found, judge = ceiling(rated(values), 0, QUICK), share(rated(values), np.arange(20.0), 0, QUICK)
    assert found is not None and judge is not None
    assert (found.pairwise.value, found.reachable.value) == (-1.0, 0.0)
    assert np.isnan([judge.one_share.value, judge.rest_share.value, judge.mean_share.value]).all()


def test_one_group_has_figures_but_no_interval() -> None:
    _, values = simulated(30, 3, 0.6)
    found = ceiling([replace(i, group="g") for i in rated(values)], 0, QUICK)
    assert found is not None
    assert np.isfinite(found.pairwise.value)
    assert np.isnan([found.pairwise.low, found.reachable.high]).all()


def test_one_seed_gives_one_ceiling() -> None:
    items = rated(simulated(60, 3, 0.6)[1])
    assert ceiling(items, 1, QUICK) == ceiling(items, 1, QUICK)
    assert ceiling(items, 1, QUICK) != ceiling(items, 2, QUICK)


def test_a_judge_as_good_as_an_annotator_has_a_share_of_one() -> None:
    _, values = simulated(6000, 4, 0.6)
    judge = share(rated(values[:, :3]), values[:, 3], 0, QUICK)
    assert judge is not None
    assert judge.one_share.value == pytest.approx(1.0, abs=0.03)
    assert judge.rest_share.value == pytest.approx(1.0, abs=0.03)
    assert judge.mean_share.value == pytest.approx(np.sqrt(0.6), abs=0.03)  # its correlation with the truth
    # The ratio that is not offered would call it better than a human.
    assert judge.mean.value / (judge.one.value / judge.one_share.value) > 1.1


def test_a_judge_that_knows_the_truth_has_the_whole_of_what_is_reachable() -> None:
    truth, values = simulated(6000, 3, 0.5)
    judge = share(rated(values), truth, 0, QUICK)
    assert judge is not None
    assert judge.mean_share.value == pytest.approx(1.0, abs=0.03)
    assert judge.one_share.value == pytest.approx(1 / np.sqrt(0.5), abs=0.05)
    for name in ("one", "one_share", "rest", "rest_share", "mean", "mean_share"):
        assert encloses(getattr(judge, name)), name


def test_there_is_no_share_of_what_may_be_nothing() -> None:
    truth, values = simulated(40, 3, 0.02)
    found, judge = ceiling(rated(values), 0, QUICK), share(rated(values), truth, 0, QUICK)
    assert found is not None and judge is not None
    assert found.pairwise.low < 0 < found.pairwise.high
    for name in ("one_share", "rest_share", "mean_share"):
        interval = getattr(judge, name)
        assert np.isnan([interval.value, interval.low, interval.high]).all(), name
    assert np.isfinite([judge.one.value, judge.rest.value, judge.mean.value]).all()


def test_a_share_is_on_the_items_the_judge_scored() -> None:
    truth, values = simulated(60, 3, 0.6)
    items, failed = rated(values), truth.copy()
    failed[:5] = np.nan
    judge = share(items, failed, 0, QUICK)
    assert judge == share(items[5:], truth[5:], 0, QUICK)
    assert judge is not None and judge.items == 55
    assert share(items, np.full(60, np.nan), 0, QUICK) is None
    with pytest.raises(ValueError, match="59 scores for 60 items"):
        share(items, truth[1:], 0, QUICK)


@pytest.mark.parametrize(
    ("data", "aspect", "pairwise", "copies"),
    [
        ("cseval", "relevance", 0.70, ()),
        ("cseval", "coherence", 0.69, ()),
        ("cseval", "aggressiveness", 0.53, ()),
        ("cseval", "suitableness", 0.63, ()),
        ("topical-chat", "overall", 0.72, ()),
        ("dialsummeval", "relevance", 0.48, ()),
        ("dialsummeval", "coherence", 0.39, ((1, 2),)),  # two of its three columns are the same
    ],
)
def test_the_humans_of_real_data(
    real_data: Path, data: str, aspect: str, pairwise: float, copies: tuple[tuple[int, int], ...]
) -> None:
    items = prepare(make_config(aspect=aspect, data=data, data_dir=real_data)).dataset.items
    found = ceiling(items, 0, QUICK)
    assert found is not None
    assert found.pairwise.value == pytest.approx(pairwise, abs=0.005)
    assert found.copies == copies
    assert (found.items, found.left_out, found.shuffled) == (len(items), 0, False)
