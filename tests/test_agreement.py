"""Judges against humans: all on the same items and resamples, failures counted and never scored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from calibrator.aspects import find_aspect
from calibrator.criteria import Measured
from calibrator.drafting.baselines import constant, length_only
from calibrator.evaluation.agreement import Comparison, compare, failures_of, scores_of
from calibrator.evaluation.aim import Aim
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.correlation import MEASURES
from tests.conftest import make_items

ITEMS = make_items(60, groups=20)
HUMAN = {i.id: float(i.human or 0) for i in ITEMS}
ORDER = {i.id: k for k, i in enumerate(ITEMS)}


class Says:
    """Says the score it was given for an item, or fails with the reason."""

    id = "says"

    def __init__(self, answers: Mapping[str, float | str], mode: str = "said") -> None:
        self.answers, self.mode = answers, mode

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        return tuple(self._verdict(i.id) for i in items)

    def _verdict(self, item: str) -> Verdict:
        answer = self.answers[item]
        return Failure(item, answer) if isinstance(answer, str) else Judgment(item, answer, self.mode)


NOISE = np.random.default_rng(0).normal(0, 1, len(ITEMS))
GOOD: dict[str, float | str] = {i: h + 0.3 * NOISE[ORDER[i]] for i, h in HUMAN.items()}
POOR: dict[str, float | str] = {i: h + 2.0 * NOISE[ORDER[i]] for i, h in HUMAN.items()}


def failing(answers: Mapping[str, float | str], reasons: Mapping[int, str]) -> dict[str, float | str]:
    return dict(answers) | {ITEMS[k].id: reason for k, reason in reasons.items()}


def compared(seed: int = 0, **judges: Mapping[str, float | str]) -> Comparison:
    return compare({name: Says(answers, name) for name, answers in judges.items()}, ITEMS, seed, resamples=300)


def figures(comparison: Comparison, judge: str) -> dict[str, float]:
    (agreement,) = [a for a in comparison.agreements if a.judge == judge]
    return {m: i.value for m, i in agreement.figures.items()}


def test_figures_are_the_measures_of_the_scores() -> None:
    found = compared(good=GOOD, poor=POOR)
    human = np.array(list(HUMAN.values()))
    for name, answers in (("good", GOOD), ("poor", POOR)):
        scores = np.array([answers[i] for i in HUMAN], dtype=float)
        assert figures(found, name) == pytest.approx({m: float(f(scores, human)) for m, f in MEASURES.items()})
    assert (found.items, found.groups, found.resamples, found.seed) == (60, 20, 300, 0)
    assert [(a.judge, a.mode, dict(a.failures)) for a in found.agreements] == [
        ("good",) * 2 + ({},),
        ("poor",) * 2 + ({},),
    ]


def test_an_item_that_one_judge_failed_on_counts_for_none() -> None:
    lost = {3: "refused", 17: "empty text", 40: "refused"}
    found = compared(good=GOOD, poor=failing(POOR, lost))
    kept = [i for k, i in enumerate(ITEMS) if k not in lost]
    alone = compare({"good": Says(GOOD)}, kept, 0, resamples=300)
    assert found.items == 57
    assert figures(found, "good") == pytest.approx(figures(alone, "good"))
    assert dict(found.agreements[0].failures) == {}
    assert dict(found.agreements[1].failures) == {"refused": 2, "empty text": 1}


def test_groups_are_counted_where_an_item_is_left() -> None:
    of_first_group = [k for k, i in enumerate(ITEMS) if i.group == ITEMS[0].group]
    assert compared(good=failing(GOOD, dict.fromkeys(of_first_group, "refused"))).groups == 19
    assert compared(good=failing(GOOD, dict.fromkeys(of_first_group[1:], "refused"))).groups == 20


def test_what_a_judge_would_have_said_on_a_failed_item_does_not_matter() -> None:
    wild = failing(GOOD, {5: "refused"})
    other = dict(POOR)
    first = compared(good=wild, poor=other)
    other[ITEMS[5].id] = 1000.0
    assert compared(good=wild, poor=other) == first


def test_the_better_judge_gains_in_every_measure() -> None:
    gains = compared(good=GOOD, poor=POOR).gains
    assert list(gains) == ["poor"]
    for name, gain in gains["poor"].items():
        assert 0 < gain.low <= gain.value <= gain.high, name


def test_the_gain_in_mae_is_how_much_less_the_error_is() -> None:
    found = compared(good=GOOD, poor=POOR)
    good, poor = figures(found, "good"), figures(found, "poor")
    assert found.gains["poor"]["mae"].value == pytest.approx(poor["mae"] - good["mae"])
    assert found.gains["poor"]["spearman"].value == pytest.approx(good["spearman"] - poor["spearman"])
    turned = compared(poor=POOR, good=GOOD).gains["good"]
    assert {m: g.value for m, g in turned.items()} == pytest.approx(
        {m: -g.value for m, g in found.gains["poor"].items()}
    )


def test_the_first_judge_is_compared_with_each_other() -> None:
    found = compared(good=GOOD, poor=POOR, same=GOOD)
    assert list(found.gains) == ["poor", "same"]
    assert {(g.value, g.low, g.high) for g in found.gains["same"].values()} == {(0.0, 0.0, 0.0)}


def test_one_seed_gives_one_comparison() -> None:
    assert compared(seed=4, good=GOOD, poor=POOR) == compared(seed=4, good=GOOD, poor=POOR)
    assert compared(seed=4, good=GOOD, poor=POOR) != compared(seed=5, good=GOOD, poor=POOR)


def test_a_constant_judge_has_an_error_and_no_correlation() -> None:
    found = compared(good=GOOD, constant=dict.fromkeys(HUMAN, 3.0))
    values = figures(found, "constant")
    assert math.isfinite(values.pop("mae"))
    assert all(math.isnan(v) for v in values.values())
    assert math.isnan(found.gains["constant"]["spearman"].value)


def test_judges_that_share_no_item_have_no_figure_and_all_their_failures() -> None:
    found = compared(good=GOOD, silent=dict.fromkeys(HUMAN, "refused"))
    assert (found.items, found.groups) == (0, 0)
    assert all(math.isnan(v) for judge in ("good", "silent") for v in figures(found, judge).values())
    assert dict(found.agreements[1].failures) == {"refused": 60}


def test_scores_and_failures_of_verdicts() -> None:
    verdicts = (Judgment("1", 2.5, "m"), Failure("2", "refused"), Failure("3", "refused"), Failure("4", "cut off"))
    assert scores_of(verdicts).tolist()[0] == 2.5
    assert np.isnan(scores_of(verdicts)[1:]).all()
    assert failures_of(verdicts) == {"refused": 2, "cut off": 1}
    assert scores_of(()).shape == (0,)


def test_the_objective_is_on_the_scored_items_only() -> None:
    verdicts = Says(failing(GOOD, {0: "refused", 9: "refused"})).judge(ITEMS)
    kept = [i for k, i in enumerate(ITEMS) if k not in (0, 9)]
    for name in MEASURES:
        assert Aim(name).of(verdicts, ITEMS) == pytest.approx(Aim(name).of(Says(GOOD).judge(kept), kept))
    moved = [replace(i, human=1.0) if k in (0, 9) else i for k, i in enumerate(ITEMS)]
    assert Aim("mae").of(verdicts, moved) == Aim("mae").of(verdicts, ITEMS)


def test_one_group_has_figures_but_no_interval() -> None:
    items = [replace(i, group="g") for i in make_items(20)]
    aspect = find_aspect("neutral/relevance")[0]
    rubrics = {"length": length_only(aspect, items, Measured()), "constant": constant(aspect, items)}
    found = compare({n: CriteriaJudge(r, aspect.scale) for n, r in rubrics.items()}, items, 0, 50)
    figure = found.agreements[0].figures["spearman"]
    assert math.isfinite(figure.value)
    assert math.isnan(figure.low)
    assert math.isnan(figure.high)
    assert math.isnan(found.gains["constant"]["mae"].low)
