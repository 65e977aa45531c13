"""Joining: what a fit and a mean of ranks come to, on cases where it is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.linear_model import Ridge

from calibrator.comparison.joining import KNOTS, Joined, join_by_fit, join_by_ranks
from calibrator.criteria import Measured
from calibrator.drafting.criteria import STEPS_AT_MOST, TERMS_AT_MOST
from calibrator.evaluation.agreement import scores_of
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.frozen import dump, step_files
from calibrator.judges.frozen_parts import JudgeFile, MemberFile, StepFile
from calibrator.judges.panel import BOUNDLESS, Member, PanelJudge
from calibrator.judges.recorded import RecordedJudge
from calibrator.records import Item, Rubric
from calibrator.stats.correlation import spearman
from calibrator.stats.linear import PENALTIES, penalty_by_cv
from tests.comparison.making import ASPECT, SCALE, Array, matrix, noisy, rated, rating
from tests.conftest import make_items


def fitted(items: Sequence[Item], names: str, measured: Measured | None = None, **how: bool) -> Joined:
    return join_by_fit(list(names), matrix(items, *names), items, ASPECT, measured, **how)


def ranked(items: Sequence[Item], names: str) -> Joined:
    return join_by_ranks(list(names), matrix(items, *names), items, ASPECT)


def panel(joined: Joined) -> PanelJudge:
    part = CriteriaJudge(joined.measured, BOUNDLESS) if joined.measured.steps else None
    seats = [(m, RecordedJudge(m.name, None)) for m in joined.members]
    return PanelJudge("panel", seats, SCALE, joined.measured.base, part)


def scores(joined: Joined, items: Sequence[Item]) -> Array:
    return scores_of(panel(joined).judge(items))


def weights(joined: Joined) -> dict[str, float]:
    return {m.name: m.weight for m in joined.members}


def human(items: Sequence[Item]) -> Array:
    return np.array([rating(i) for i in items])


# -- the fit -----------------------------------------------------------------------------------------------------------


def test_of_a_judge_and_noise_the_judge_has_the_weight() -> None:
    items = rated(300, 100, P=0.3, N=1000.0)
    found = fitted(items, "PN")
    assert (found.join, found.measured.steps) == ("fit", ())
    assert found.members[0].name == "P"
    assert found.members[0].weight > 15 * abs(found.members[1].weight)
    assert spearman(scores(found, items), human(items)) > 0.9


def test_a_fit_by_hand() -> None:
    """With one judge the line goes through the means, and the slope onto the scale undoes the penalty.

    The panel of one judge is the least-squares line of the ratings on its scores, within ±3 standard deviations.
    """
    items = rated(200, 50, P=0.8)
    found = fitted(items, "P", by_rank=False)
    line = stats.linregress(matrix(items, "P")[:, 0], human(items))
    (member,) = found.members
    assert member.center == pytest.approx(matrix(items, "P").mean(), rel=1e-5)
    assert member.spread == pytest.approx(matrix(items, "P").std(), rel=1e-5)
    assert member.weight == pytest.approx(line.slope * matrix(items, "P").std(), rel=0.02)
    at_center = line.intercept + line.slope * member.center
    assert found.measured.base == pytest.approx(at_center, abs=0.01)


@pytest.mark.parametrize("by_rank", [True, False])
@pytest.mark.parametrize("penalty", PENALTIES)
def test_two_judges_at_right_angles_by_hand(by_rank: bool, penalty: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratings 3 ± 1 ± 0.5 as two judges say ±1: whatever the penalty, both are shrunk alike and P counts twice Q."""
    monkeypatch.setattr("calibrator.comparison.joining.penalty_by_cv", lambda *a: penalty)
    signs = [(p, q) for p in (-1.0, 1.0) for q in (-1.0, 1.0)] * 10
    items = [
        replace(i, human=3 + p + 0.5 * q, recorded={"P": p, "Q": q})
        for i, (p, q) in zip(make_items(40), signs, strict=True)
    ]
    found = fitted(items, "PQ", by_rank=by_rank)
    assert [m.center for m in found.members] == [0.0, 0.0]
    assert [m.spread for m in found.members] == [1.0, 1.0]
    if not by_rank:  # on the scale of the ratings again, exactly
        assert weights(found) == pytest.approx({"P": 1.0, "Q": 0.5}, rel=1e-5)
        assert scores(found, items) == pytest.approx(human(items), abs=1e-4)
    assert found.measured.base == pytest.approx(3.0, abs=1e-5)
    assert spearman(scores(found, items), human(items)) == pytest.approx(1.0)


@pytest.mark.parametrize("measured", [None, Measured()], ids=["judges", "with criteria"])
def test_a_judge_that_runs_against_the_ratings_counts_nothing(measured: Measured | None) -> None:
    items = [replace(i, recorded={**i.recorded, "A": noisy(i, "A", 0.3, slope=-1.0)}) for i in rated(200, 50, P=0.8)]
    assert spearman(matrix(items, "A")[:, 0], human(items)) < -0.8
    found = weights(fitted(items, "PA", measured))
    assert found["A"] == 0.0
    assert found["P"] > 0.1
    free = weights(fitted(items, "PA", measured, negative=True))
    assert free["A"] < -0.1


def test_alone_against_the_ratings_a_panel_says_the_same_of_all_and_is_never_turned_round() -> None:
    items = [replace(i, recorded={"A": noisy(i, "A", 0.3, slope=-1.0)}) for i in make_items(120, 40)]
    found = fitted(items, "A")
    assert weights(found) == {"A": 0.0}
    assert scores(found, items) == pytest.approx(np.full(120, human(items).mean()), abs=1e-4)
    turned = fitted(items, "A", negative=True)
    assert weights(turned)["A"] < 0
    assert spearman(scores(turned, items), human(items)) > 0.8


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_no_weight_of_a_judge_is_below_0_unless_it_may_be(seed: int, by_rank: bool, negative: bool) -> None:
    slopes = dict(zip("PQRS", np.random.default_rng(seed).normal(0, 1, 4).tolist(), strict=True))
    items = [replace(i, recorded={n: noisy(i, n, 1.0, s) for n, s in slopes.items()}) for i in make_items(60, 20, seed)]
    found = weights(fitted(items, "PQRS", by_rank=by_rank, negative=negative))
    if negative:
        assert all(w * slopes[n] > 0 for n, w in found.items() if abs(slopes[n]) > 1.2)
    else:
        assert min(found.values()) >= 0


def test_missing_scores_count_as_the_mean_of_the_judge() -> None:
    items = rated(150, 50, P=0.5, Q=0.8)
    gappy = [
        replace(i, recorded={**i.recorded, "Q": None if k % 3 == 0 else i.recorded["Q"]}) for k, i in enumerate(items)
    ]
    found = fitted(gappy, "PQ")
    there = matrix(gappy, "Q")[:, 0]
    mean = float(np.nanmean(there))
    assert found.members[1].center == pytest.approx(mean, rel=1e-5)
    assert found.members[1].spread == pytest.approx(np.nanstd(there), rel=1e-5)
    filled = [
        replace(i, recorded={**i.recorded, "Q": mean if i.recorded["Q"] is None else i.recorded["Q"]}) for i in gappy
    ]
    assert scores(found, gappy) == pytest.approx(scores(found, filled), abs=1e-5)
    assert weights(found)["Q"] > 0.05


def test_a_fit_with_gaps_is_that_of_scikit_learn_with_0_in_them() -> None:
    items = [
        replace(i, recorded={**i.recorded, "Q": None if k % 3 == 0 else i.recorded["Q"]})
        for k, i in enumerate(rated(150, 50, P=0.5, Q=0.8))
    ]
    x = matrix(items, *"PQ")
    z = np.nan_to_num(np.clip((x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0), -3, 3))
    penalty = penalty_by_cv(z, human(items), [i.group for i in items], np.random.default_rng(0))
    line = Ridge(alpha=penalty).fit(z, human(items))
    slope, level, *_ = stats.linregress(line.predict(z), human(items))
    found = fitted(items, "PQ", by_rank=False)
    assert list(weights(found).values()) == pytest.approx(line.coef_ * slope, rel=1e-4)
    assert scores(found, items) == pytest.approx(
        np.clip(level + slope * line.predict(z), SCALE.low, SCALE.high), abs=1e-4
    )


@pytest.mark.parametrize("measured", [None, Measured()], ids=["judges", "with criteria"])
@pytest.mark.parametrize("values", [[None] * 60, [3.0] * 60, [1e6] * 60, [None] * 59 + [4.0]])
def test_a_judge_that_tells_nothing_changes_nothing(values: list[float | None], measured: Measured | None) -> None:
    items = rated(60, 20, P=0.5)
    with_it = [replace(i, recorded={**i.recorded, "C": v}) for i, v in zip(items, values, strict=True)]
    found = fitted(with_it, "PC", measured)
    assert all(math.isfinite(n) for m in found.members for n in (m.weight, m.center, m.spread))
    if len(set(values)) == 1:
        assert weights(found)["C"] == pytest.approx(0.0, abs=1e-9)
        assert scores(found, with_it) == pytest.approx(scores(fitted(items, "P", measured), items), abs=1e-3)


def test_scores_of_another_scale_and_level_come_to_the_same_panel() -> None:
    items = rated(90, 30, P=0.5, Q=0.8)
    moved = [replace(i, recorded={**i.recorded, "Q": 40 * (i.recorded["Q"] or 0) - 700}) for i in items]
    assert scores(fitted(moved, "PQ"), moved) == pytest.approx(scores(fitted(items, "PQ"), items), abs=1e-3)


def test_an_aim_at_the_order_is_better_at_the_order_where_ratings_crowd() -> None:
    items = rated(240, 80, P=1.0, Q=1.0)
    crowded = [replace(i, human=1 + (rating(i) - 1) ** 3 / 16) for i in items]
    found = {by_rank: fitted(crowded, "PQ", by_rank=by_rank) for by_rank in (True, False)}
    assert weights(found[True]) != weights(found[False])
    ours = {by_rank: scores(joined, crowded) for by_rank, joined in found.items()}
    assert np.abs(ours[False] - human(crowded)).mean() <= np.abs(ours[True] - human(crowded)).mean() + 1e-3


# -- with criteria -----------------------------------------------------------------------------------------------------


def test_criteria_stand_beside_the_judges_and_better_them() -> None:
    items, unseen = rated(240, 80, P=1.5), rated(240, 80, seed=1, P=1.5)
    found = fitted(items, "P", Measured())
    assert found.measured.steps
    assert len(found.measured.steps) <= STEPS_AT_MOST
    assert sum(len(s.measures) for s in found.measured.steps) <= TERMS_AT_MOST
    assert weights(found)["P"] > 0
    alone = fitted(items, "P")
    assert spearman(scores(found, unseen), human(unseen)) > spearman(scores(alone, unseen), human(unseen)) + 0.1
    only = join_by_fit([], np.zeros((240, 0)), items, ASPECT, Measured())
    assert only.members == ()
    assert only.measured.steps


def test_criteria_may_count_downwards_where_judges_may_not() -> None:
    items = rated(240, 80, P=1.0)
    against = [replace(i, human=6 - rating(i)) for i in items]  # long texts are rated low now, and P is wrong
    found = fitted(against, "P", Measured())
    assert weights(found)["P"] == 0.0
    assert min(m.weight for s in found.measured.steps for m in s.measures) < 0
    assert spearman(scores(found, against), human(against)) > 0.5


def test_however_many_judges_all_of_them_are_on_the_panel_of_at_most_so_many_steps() -> None:
    names = "ABCDEFGHIJ"
    items = rated(90, 30, **dict.fromkeys(names, 0.9))
    found = fitted(items, names, Measured())
    assert [m.name for m in found.members] == list(names)
    assert len(found.measured.steps) <= STEPS_AT_MOST


# -- by ranks ----------------------------------------------------------------------------------------------------------


def test_a_mean_of_ranks_by_hand() -> None:
    """P ranks four items 1 2 3 4, Q 1 3 2 4: the middle ones come out alike, and the slope is that of least squares."""
    items = [
        replace(i, human=h, recorded={"P": p, "Q": q})
        for i, h, p, q in zip(make_items(4), (2, 2, 3, 4), (10, 20, 30, 40), (0.1, 0.3, 0.2, 0.4), strict=True)
    ]
    found = ranked(items, "PQ")
    assert [m.knots for m in found.members] == [(10, 20, 30, 40), (0.1, 0.2, 0.3, 0.4)]
    standing = np.array([-3, 0, 0, 3]) / 8
    line = stats.linregress(standing, [2, 2, 3, 4])
    assert weights(found) == pytest.approx({"P": line.slope / 2, "Q": line.slope / 2}, rel=1e-5)
    assert found.measured == Rubric(ASPECT.ref, (), pytest.approx(line.intercept, rel=1e-5))
    assert scores(found, items) == pytest.approx(line.intercept + line.slope * standing, abs=1e-4)


TRANSFORMS: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "cube": lambda v: v**3,
    "tiny": lambda v: 1e-9 * v,
    "far": lambda v: 1e6 + v,
    "thirds": lambda v: v / 3,
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
@pytest.mark.parametrize("count", [60, 2 * KNOTS + 50])
@pytest.mark.parametrize("digits", [None, 0])  # 0: many ties
def test_a_panel_by_ranks_is_the_same_however_a_member_spreads_its_scores(
    transform: Callable[[float], float], count: int, digits: int | None
) -> None:
    items, unseen = (rated(n, 30, seed, P=0.7, Q=0.5) for n, seed in ((count, 0), (80, 9)))

    def step(value: float | None) -> float:
        return float(round(value or 0.0, digits)) if digits is not None else float(value or 0.0)

    def changed(some: Sequence[Item], by: Callable[[float], float]) -> list[Item]:
        return [replace(i, recorded={"P": by(step(i.recorded["P"])), "Q": i.recorded["Q"]}) for i in some]

    plain, other = changed(items, lambda v: v), changed(items, transform)
    before, after = ranked(plain, "PQ"), ranked(other, "PQ")
    assert weights(after) == weights(before)
    assert scores(after, other) == pytest.approx(scores(before, plain), abs=1e-12)
    assert scores(after, changed(unseen, transform)) == pytest.approx(
        scores(before, changed(unseen, lambda v: v)), abs=1e-12
    )


def test_ties_at_a_third_count_half_as_all_ties_do() -> None:
    """A mean of three draws is 11 / 3: a rounded knot would put all its ties on one side of it."""
    values = [2.0, 11 / 3, 11 / 3, 11 / 3, 5.0] * 12
    items = [replace(i, recorded={"P": v}) for i, v in zip(make_items(60), values, strict=True)]
    (member,) = ranked(items, "P").members
    assert member.standing(np.array([2.0, 11 / 3, 5.0])) == pytest.approx([-0.4, 0.0, 0.4])


def test_by_ranks_all_judges_count_the_same_and_none_is_turned_round() -> None:
    items = [replace(i, recorded={**i.recorded, "A": noisy(i, "A", 0.3, -1.0)}) for i in rated(90, 30, P=2.0)]
    found = weights(ranked(items, "PA"))
    assert found["P"] == found["A"] > 0
    against = ranked(items, "A")
    assert weights(against)["A"] > 0
    assert spearman(scores(against, items), human(items)) < -0.8


def test_by_ranks_a_missing_score_stands_in_the_middle() -> None:
    items = rated(60, 20, P=0.5, Q=0.5)
    gone = [replace(i, recorded={**i.recorded, "Q": None}) for i in items[:20]] + items[20:]
    found = ranked(gone, "PQ")
    assert len(found.members[1].knots) == 40
    middle = [replace(i, recorded={**i.recorded, "Q": float(np.median(found.members[1].knots))}) for i in gone[:20]]
    assert scores(found, gone)[:20] == pytest.approx(scores(found, middle), abs=1e-9)


@pytest.mark.parametrize("count", [1, 30])
def test_by_ranks_a_judge_without_any_score_breaks_nothing(count: int) -> None:
    items = [replace(i, recorded={**i.recorded, "C": None}) for i in rated(count, 20, P=0.5)]
    found = ranked(items, "PC")
    assert all(math.isfinite(w) for w in weights(found).values())
    assert np.isfinite(scores(found, items)).all()


# -- order and files ---------------------------------------------------------------------------------------------------

WAYS: dict[str, Callable[[Sequence[Item], str], Joined]] = {
    "fit": fitted,
    "criteria": lambda items, names: fitted(items, names, Measured()),
    "ranks": ranked,
}


@pytest.mark.parametrize("join", WAYS.values(), ids=WAYS)
def test_the_order_of_items_and_of_members_does_not_matter(join: Callable[[Sequence[Item], str], Joined]) -> None:
    items = rated(150, 50, P=0.5, Q=0.8, R=2.0)
    rng = np.random.default_rng(3)
    shuffled = [items[k] for k in rng.permutation(150)]
    first, other, turned = join(items, "PQR"), join(shuffled, "PQR"), join(items, "RPQ")
    assert weights(other) == pytest.approx(weights(first), rel=1e-4)
    assert weights(turned) == pytest.approx(weights(first), rel=1e-4)
    expected = scores(first, items)
    assert scores(other, items) == pytest.approx(expected, abs=1e-3)
    assert scores(turned, items) == pytest.approx(expected, abs=1e-3)
    assert scores(first, shuffled) == pytest.approx([expected[items.index(i)] for i in shuffled], abs=0)


@pytest.mark.parametrize("join", WAYS.values(), ids=WAYS)
def test_its_numbers_survive_the_file_exactly(join: Callable[[Sequence[Item], str], Joined]) -> None:
    items = rated(260, 60, P=0.5, Q=0.8)
    found = join(items, "PQ")

    def file(member: Member) -> MemberFile:
        judge = JudgeFile(method="recorded", id=f"recorded:{member.name}", score_mode="recorded")
        return MemberFile.model_validate({**asdict(member), "judge": judge})

    written = dump([file(m).model_dump(mode="json") for m in found.members])
    back = [MemberFile.model_validate(m) for m in yaml.safe_load(written)]
    assert [Member(m.name, m.weight, m.center, m.spread, m.knots) for m in back] == list(found.members)
    steps = yaml.safe_load(dump([s.model_dump(mode="json") for s in step_files(found.measured)]))
    assert tuple(StepFile.model_validate(s).step() for s in steps) == found.measured.steps
