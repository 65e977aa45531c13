"""Rankings by NDCG: hand-worked, against scikit-learn, and in the direction that the user says."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import ndcg_score

from calibrator.aspects import find_aspect
from calibrator.audit.subject import numbers_of
from calibrator.evaluation.preference import Preference, by_preference
from calibrator.evaluation.rank_directions import mirrored, rankings_of
from calibrator.evaluation.unified import unified
from calibrator.stats.ranking import ndcg
from calibrator.tables import read_table
from calibrator.texts import normalise

Array = NDArray[np.float64]
ORDER = np.array([1.0, 2, 3, 4, 5])
DISCOUNT = 1 / np.log2(np.arange(2, 7))
QUICK = 200


def found(scores: Mapping[str, Array], rank: Array, size: int = 5, **more: object) -> Preference:
    """What `by_preference` says of rankings of so many items each, every ranking its own group."""
    rankings = [f"r{k // size:02}" for k in range(len(rank))]
    return by_preference(scores, rank, rankings, rankings, 0, resamples=QUICK, **more)  # type: ignore[arg-type]


def test_three_items_by_hand() -> None:
    # Relevance 2, 1, 0; the judge puts the second first: (1 + 2 / log2 3 + 0) / (2 + 1 / log2 3) = 2.26186 / 2.63093.
    figures = found({"judge": np.array([2.0, 3, 1])}, np.array([1.0, 2, 3]), 3).judges["judge"].all
    assert figures.ndcg.value == pytest.approx(0.85972, abs=1e-5)
    # The reversed order: (0 + 1 / log2 3 + 2 / 2) / 2.63093; all six orders in the mean: 3 · 0.710310 / 2.63093.
    assert figures.worst == pytest.approx(1.63093 / 2.63093, abs=1e-5)
    assert figures.random == pytest.approx(2.130930 / 2.630930, abs=1e-5)
    # One of three pairs is turned: tau = 1/3, rho = 1 - 6 · 2 / 24. The best is not first; by chance it is in 1/3.
    assert (figures.kendall.value, figures.spearman.value) == pytest.approx((1 / 3, 0.5))
    assert (figures.top.value, figures.top_by_chance) == pytest.approx((0, 1 / 3))


def test_five_items_have_much_by_chance() -> None:
    judge = found({"right": -ORDER, "wrong": ORDER, "says nothing": np.zeros(5)}, ORDER).judges
    # 10 · mean(discount) / (4 + 3 / log2 3 + 2 / 2 + 1 / log2 5) = 5.89694 / 7.32347, and 15 · … / 10.27192.
    assert judge["right"].all.random == pytest.approx(0.80521, abs=1e-5)
    assert judge["right"].published.random == pytest.approx(0.86113, abs=1e-5)
    assert judge["right"].all.ndcg.value == pytest.approx(1)
    assert judge["wrong"].all.ndcg.value == judge["wrong"].all.worst == pytest.approx(0.61042, abs=1e-5)
    assert judge["says nothing"].all.ndcg.value == judge["says nothing"].all.random
    assert [judge[j].all.top.value for j in judge] == [1, 0, 0.2]


def test_random_is_the_mean_over_all_orders() -> None:
    orders = [np.array(o, dtype=float) for o in itertools.permutations(range(5))]
    mean = np.mean([ndcg(5 - ORDER, o) for o in orders])
    assert found({"judge": ORDER}, ORDER).judges["judge"].all.random == pytest.approx(mean)


def test_the_published_way_rewards_the_worst() -> None:
    right, wrong = (found({"judge": s}, ORDER).judges["judge"] for s in (-ORDER, ORDER))
    assert right.published.ndcg.value < right.published.random < wrong.published.ndcg.value == pytest.approx(1)
    assert right.published.ndcg.value == pytest.approx(ndcg_score([ORDER], [-ORDER]))


def test_the_end_that_is_best_is_what_the_user_says() -> None:
    rank, judge = drawn(12, 0.5)
    lowest, highest = (found({"judge": judge}, rank, best=end).judges["judge"].all for end in ("lowest", "highest"))
    assert highest == found({"judge": judge}, 6 - rank).judges["judge"].all
    assert lowest.ndcg.value > lowest.random > highest.ndcg.value
    assert lowest.kendall.value == pytest.approx(-highest.kendall.value)


def drawn(count: int, noise: float, seed: int = 0, turned: int = 0) -> tuple[Array, Array]:
    """Ranks from 1, the best, in the first `turned` rankings from 1, the worst, and a judge of that much noise."""
    rng = np.random.default_rng(seed)
    merit = rng.normal(size=(count, 5))
    rank = stats.rankdata(-merit, axis=1)
    rank[:turned] = 6 - rank[:turned]
    return rank.ravel(), np.round(merit + noise * rng.normal(size=(count, 5)), 1).ravel()


@pytest.mark.parametrize("noise", [0.0, 0.5, 3.0])
def test_figures_are_those_of_scikit_learn_and_scipy(noise: float) -> None:
    rank, judge = drawn(30, noise)
    figures = found({"judge": judge}, rank).judges["judge"].all
    rows = [slice(k, k + 5) for k in range(0, 150, 5)]
    assert figures.ndcg.value == pytest.approx(np.mean([ndcg_score([5 - rank[r]], [judge[r]]) for r in rows]))
    assert figures.spearman.value == pytest.approx(np.mean([stats.spearmanr(-rank[r], judge[r])[0] for r in rows]))
    assert figures.kendall.value == pytest.approx(np.mean([stats.kendalltau(-rank[r], judge[r])[0] for r in rows]))
    assert figures.ndcg.low <= figures.ndcg.value <= figures.ndcg.high
    assert figures.rankings == 30


@settings(deadline=None, max_examples=50)
@given(st.lists(st.permutations([1.0, 2, 3, 4, 5]), min_size=1, max_size=6), st.data())
def test_it_lies_between_worst_and_1_and_turning_a_judge_round_turns_its_correlations(
    ranks: list[list[float]], data: st.DataObject
) -> None:
    rank = np.array(ranks).ravel()
    judge = np.array(data.draw(st.lists(st.integers(1, 4), min_size=len(rank), max_size=len(rank))), dtype=float)
    one, other = (found({"judge": s}, rank).judges["judge"].all for s in (judge, -judge))
    for figures in (one, other):
        assert figures.worst - 1e-12 <= figures.ndcg.value <= 1 + 1e-12
        assert 0 <= figures.top.value <= 1
    assert one.spearman.value == pytest.approx(-other.spearman.value, nan_ok=True)
    assert one.kendall.value == pytest.approx(-other.kendall.value, nan_ok=True)


def test_rounding_leaves_ties_ties() -> None:
    scores = np.array([0.1 + 0.2, 0.3, 0.0])  # 0.30000000000000004 and 0.3
    figures = found({"judge": scores}, np.array([1.0, 2, 3]), 3).judges["judge"].all
    assert figures.top.value == 0.5


def test_judges_are_compared_on_the_outputs_that_all_of_them_scored() -> None:
    rank, judge = drawn(20, 0.5)
    holed = judge.copy()
    holed[[0, 7]] = math.nan
    holed[10:14] = math.nan  # one output of the third ranking is left, which is none
    both = found({"holed": holed, "judge": judge}, rank)
    kept = np.isfinite(holed)
    kept[14] = False
    rankings = [f"r{k // 5:02}" for k in np.flatnonzero(kept)]
    alone = by_preference({"judge": judge[kept]}, rank[kept], rankings, rankings, 0, resamples=QUICK)
    assert (both.items, both.rankings, both.left_out) == (93, 19, 1)
    assert dict(both.failures) == {"holed": 6, "judge": 0}
    assert both.judges["judge"].all == alone.judges["judge"].all
    assert both.gains["judge"].value == 0


def test_the_gain_is_paired() -> None:
    rank, good = drawn(60, 0.3)
    poor = np.random.default_rng(5).normal(size=len(good))
    result = found({"good": good, "poor": poor}, rank)
    gain = result.gains["poor"]
    values = [result.judges[j].all.ndcg.value for j in ("good", "poor")]
    assert gain.value == pytest.approx(values[0] - values[1])
    assert 0 < gain.low < gain.value < gain.high
    assert set(result.gains) == {"poor"}


def test_rankings_of_one_group_are_drawn_together() -> None:
    rank, judge = drawn(60, 1.0)
    rankings = [f"r{k // 5:02}" for k in range(300)]
    alone = by_preference({"judge": judge}, rank, rankings, rankings, 0, resamples=QUICK).judges["judge"].all
    copied = (
        by_preference(
            {"judge": np.tile(judge, 4)},
            np.tile(rank, 4),
            [f"{r} {k}" for k in range(4) for r in rankings],
            rankings * 4,
            0,
            resamples=QUICK,
        )
        .judges["judge"]
        .all
    )
    # Four copies of each ranking add nothing, as long as they stand in one group.
    assert copied.ndcg.value == pytest.approx(alone.ndcg.value)
    assert (copied.ndcg.low, copied.ndcg.high) == pytest.approx((alone.ndcg.low, alone.ndcg.high))


def test_marked_rankings_are_left_out_or_turned_and_both_favour_the_judges() -> None:
    rank, judge = drawn(60, 0.4, turned=20)
    whole, _ = drawn(60, 0.4)
    other = drawn(60, 0.4)[1] + np.random.default_rng(9).normal(size=300) / 4
    result = found({"judge": judge, "other": other}, rank)
    assert 18 <= len(result.marks.reversed) <= 22
    own = result.judges["judge"]
    true = found({"judge": judge, "other": other}, whole).judges["judge"].all.ndcg.value
    assert own.all.ndcg.value < true - 0.05
    assert own.kept.rankings == 60 - len(result.marks.reversed)
    assert own.turned.rankings == own.all.rankings == 60
    assert own.turned.ndcg.value >= true - 0.005


def test_judges_that_know_nothing_mark_nothing_but_would_gain_by_leaving_out_what_is_against_them() -> None:
    rank, _ = drawn(80, 0.0)
    rng = np.random.default_rng(2)
    noise = rng.normal(size=400)
    own = found({name: noise + rng.normal(size=400) / 9 for name in "ab"}, rank)
    assert 25 < len(own.marks.against) < 55  # of 80, as chance has it
    assert own.marks.reversed == ()
    judge = own.judges["a"]
    assert judge.kept == judge.turned == judge.all
    assert judge.all.ndcg.low < judge.all.random < judge.all.ndcg.high
    for_it = np.array([f"r{k // 5:02}" not in own.marks.against for k in range(400)])
    left = found({"a": noise[for_it]}, rank[for_it]).judges["a"].all
    assert left.ndcg.low > left.random + 0.02


def test_witnesses_may_be_others_than_the_judges() -> None:
    rank, judge = drawn(60, 0.4, turned=20)
    noise = np.random.default_rng(3).normal(size=(300, 2))
    assert found({"judge": judge}, rank, witnesses=noise).marks.reversed == ()
    assert len(found({"judge": judge}, rank, witnesses=np.column_stack([judge, judge])).marks.reversed) > 17


def test_what_cannot_be_ranked_is_nan_or_refused() -> None:
    nothing = found({"judge": np.full(5, math.nan)}, ORDER)
    assert (nothing.rankings, nothing.left_out) == (0, 1)
    assert math.isnan(nothing.judges["judge"].all.ndcg.value)
    tied = found({"judge": ORDER}, np.full(5, 3.0))
    assert tied.left_out == 1
    one = found({"judge": -ORDER}, ORDER).judges["judge"].all
    assert one.ndcg.value == pytest.approx(1) and math.isnan(one.ndcg.low)
    with pytest.raises(ValueError, match="every item needs"):
        found({"judge": ORDER[1:]}, ORDER)
    with pytest.raises(ValueError, match="every item needs"):
        found({}, ORDER)


@pytest.fixture(scope="module")
def real(real_data: Path) -> tuple[dict[str, Array], list[str], list[str]]:
    """The numbers, the groups and the systems of the recorded rankings."""
    table = read_table(real_data / "cseval" / "rankings.csv")
    return (
        numbers_of(table),
        [normalise(str(r["hatespeech"])) for r in table.rows],
        [str(r["source"]) for r in table.rows],
    )


def test_the_recorded_rankings_run_both_ways(real: tuple[dict[str, Array], list[str], list[str]]) -> None:
    numbers, groups, systems = real
    rank = numbers["rank_human_annotation"]
    rankings = rankings_of(rank, groups)
    order = list(dict.fromkeys(rankings))
    assert (len(order), len(set(groups))) == (44, 41)
    assert all(rankings[k : k + 5] == [rankings[k]] * 5 for k in range(0, 220, 5))
    aspects = {a: find_aspect(f"cseval/{a}")[0] for a in ("relevance", "coherence", "suitableness", "aggressiveness")}
    names = ("gpt-4o", "meta-llama-Llama-3-8b-chat-hf", "mistralai-Mistral-7B-Instruct-v0.3")
    scores = {n: unified({a: numbers[f"prediction_{n}_{a}"] for a in aspects}, aspects) for n in names}
    result = by_preference(scores, rank, rankings, groups, 0, resamples=QUICK)
    # If 1 is the best, the first seventeen are right and nearly all of the others are not: two parts, each its own way.
    assert not set(order[:17]) & set(result.marks.reversed)
    assert len(result.marks.reversed) >= 25
    assert mirrored(rank, rankings, systems, result.marks.reversed).spearman == pytest.approx(-1)
    # As they stand the judges are below a random order; the other way round the rest is turned.
    assert all(j.all.ndcg.value < j.all.random for j in result.judges.values())
    other = by_preference(scores, rank, rankings, groups, 0, "highest", resamples=QUICK)
    assert set(other.marks.reversed) == set(order[:17])
    for name in names:
        assert result.judges[name].turned.ndcg.value > result.judges[name].turned.random


def test_the_published_figure_is_the_rank_as_relevance(real: tuple[dict[str, Array], list[str], list[str]]) -> None:
    numbers, groups, _ = real
    rank = numbers["rank_human_annotation"]
    recorded = {"gpt-4o": numbers["prediction_gpt-4o_avg_score"]}
    published = by_preference(recorded, rank, rankings_of(rank, groups), groups, 0, resamples=QUICK).judges["gpt-4o"]
    assert published.published.ndcg.value == pytest.approx(0.898, abs=0.001)  # Hengle et al. 2025, table 2
    assert published.published.random == pytest.approx(0.86113, abs=1e-5)
