"""Races: what every rule must keep to, what the estimates say, and what it costs and saves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from calibrator.calibration.races.base import Course, Decision, Draws, Rule, Standing, make_course
from calibrator.calibration.races.driver import Race, Wanted, race
from calibrator.calibration.races.estimates import chances, estimates, failing
from calibrator.calibration.races.halving import Halving
from calibrator.evaluation.aim import Aim
from calibrator.stats.correlation import MEASURES, objective

Array = NDArray[np.float64]
RULES: list[Rule] = [Halving(), Halving(keep=0.3, hopeless=0.5, name="greedy")]
every_rule = pytest.mark.parametrize("rule", RULES, ids=lambda r: r.name)


def field(seed: int, candidates: int = 12, items: int = 120, failures: float = 0.0) -> tuple[Array, Array, list[str]]:
    """Scores (c, n), human (n,) and groups of three; a candidate is the better the later its name."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, items) + rng.random(items)
    shared = rng.standard_normal(items)
    quality = np.linspace(0.2, 1.2, candidates)[:, None]
    scores = quality * human + 1.5 * shared + rng.standard_normal((candidates, items))
    scores[rng.random(scores.shape) < failures] = np.nan
    return scores, human, [f"g{k // 3}" for k in range(items)]


def blocks_of(items: int, ends: Sequence[int] = (20, 40, 80)) -> list[tuple[int, ...]]:
    cuts = [0, *(e for e in ends if e < items), items]
    return [tuple(range(a, b)) for a, b in pairwise(cuts)]


def draws_of(measure: str, human: Array) -> Draws:
    return Aim(measure).over(human, [""] * len(human))


def course_of(
    human: Array, groups: Sequence[str], k: int = 3, draws: Draws | None = None, blocks: Sequence[tuple[int, ...]] = ()
) -> Course:
    rng = np.random.default_rng(99)
    return make_course(
        human, groups, blocks or blocks_of(len(human)), k, draws or draws_of("spearman", human), rng, 100
    )


def name_of(candidate: int) -> str:
    return f"c{candidate:02d}"


class Scorer:
    """Gives the scores and writes down what was asked."""

    def __init__(self, scores: Array, course: Course) -> None:
        self.scores, self.course = scores, course
        self.asked: list[Wanted] = []

    def __call__(self, wanted: Sequence[Wanted]) -> list[Array]:
        self.asked += wanted
        return [self.scores[int(n[1:]), list(self.course.blocks[b])] for n, b in wanted]


def run(scores: Array, course: Course, rule: Rule, names: Sequence[str] | None = None) -> tuple[Race, Scorer]:
    scorer = Scorer(scores, course)
    return race(names or [name_of(c) for c in range(len(scores))], scorer, course, rule), scorer


def through(done: Race, course: Course) -> list[str]:
    return [s.name for s in done.standings if s.judged == len(course.blocks)]


@every_rule
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 999),
    candidates=st.integers(1, 9),
    items=st.sampled_from([3, 8, 30, 90]),
    k=st.integers(1, 5),
    failures=st.sampled_from([0.0, 0.01]),
)
def test_what_every_race_keeps_to(rule: Rule, seed: int, candidates: int, items: int, k: int, failures: float) -> None:
    scores, human, groups = field(seed, candidates, items, failures)
    course = course_of(human, groups, k)
    done, scorer = run(scores, course, rule)
    assert len(set(scorer.asked)) == len(scorer.asked), "a block was paid for twice"
    for name in {n for n, _ in scorer.asked}:
        judged = [b for n, b in scorer.asked if n == name]
        assert judged == list(range(len(judged)))
    assert done.judgments == sum(len(course.blocks[b]) for _, b in scorer.asked)
    stopped = {s.name for s in done.stops}
    assert len(stopped) == len(done.stops)
    if not failures:
        assert len(through(done, course)) >= min(k, candidates)
        assert stopped.isdisjoint(through(done, course))
    assert stopped | set(through(done, course)) == {s.name for s in done.standings}
    for s in done.standings:
        prefix = course.prefixes[s.judged]
        np.testing.assert_array_equal(s.scores[prefix], scores[int(s.name[1:]), prefix])
        assert np.isnan(np.delete(s.scores, prefix)).all()
    for stop in done.stops:
        assert 0 <= stop.chance <= 1
        assert stop.after == len(course.prefixes[{s.name: s.judged for s in done.standings}[stop.name]])


@every_rule
def test_neither_the_order_of_the_names_nor_another_run_changes_a_race(rule: Rule) -> None:
    scores, human, groups = field(1)
    course = course_of(human, groups)
    names = [name_of(c) for c in range(12)]
    one, scorer = run(scores, course, rule, names)
    for order in (names, names[::-1], list(np.random.default_rng(0).permutation(names))):
        other, again = run(scores, course_of(human, groups), rule, order)
        assert again.asked == scorer.asked
        assert other.stops == one.stops
        assert other.standings == one.standings


@every_rule
def test_the_best_are_found_for_less_than_all_judgments(rule: Rule) -> None:
    found, used = [], []
    for seed in range(12):
        scores, human, groups = field(seed, candidates=16, items=160)
        course = course_of(human, groups)
        done, _ = run(scores, course, rule)
        values = [objective("spearman", row, human) for row in scores]
        found.append(name_of(int(np.argmax(values))) in through(done, course))
        used.append(done.judgments / scores.size)
    assert np.mean(found) >= 0.75
    assert np.mean(used) < 0.6


@every_rule
def test_one_block_is_the_full_search(rule: Rule) -> None:
    scores, human, groups = field(2, 6, 8)
    course = course_of(human, groups, blocks=[tuple(range(8))])
    done, _ = run(scores, course, rule)
    assert len(through(done, course)) == 6
    assert not done.stops
    assert (done.rounds, done.judgments) == (1, 48)


@every_rule
def test_a_constant_candidate_and_one_that_fails_always_are_stopped_first(rule: Rule) -> None:
    scores, human, groups = field(3)
    scores[11], scores[10] = np.nan, 3.0
    course = course_of(human, groups)
    done, _ = run(scores, course, rule)
    stops = {s.name: s for s in done.stops}
    assert (stops["c11"].after, stops["c11"].chance) == (20, 0)
    assert math.isnan(stops["c11"].value)
    assert stops["c10"].after == 20
    assert len(through(done, course)) >= 3


@every_rule
def test_a_race_in_which_all_fail_ends(rule: Rule) -> None:
    _, human, groups = field(4)
    done, _ = run(np.full((5, 120), np.nan), course_of(human, groups), rule)
    assert len(done.stops) == 5
    assert done.judgments == 100


@every_rule
def test_a_race_without_candidates_is_over(rule: Rule) -> None:
    _, human, groups = field(4)
    done, _ = run(np.empty((0, 120)), course_of(human, groups), rule)
    assert (done.standings, done.stops, done.rounds, done.judgments) == ((), (), 0, 0)


@every_rule
def test_known_candidates_set_the_bar_and_cost_nothing(rule: Rule) -> None:
    scores, human, groups = field(5)
    course = course_of(human, groups)
    known = [Standing(name_of(c), scores[c], len(course.blocks), known=True) for c in (9, 10, 11)]
    scorer = Scorer(scores, course)
    done = race([name_of(c) for c in range(4)], scorer, course, rule, known)
    assert {n for n, _ in scorer.asked} == {"c00", "c01", "c02", "c03"}
    assert done.judgments == 80, "the newcomers are far below the bar after one block"
    assert {s.name for s in done.stops} == {"c00", "c01", "c02", "c03"}
    better = race(
        ["c11"], Scorer(scores, course), course, rule, [known[0], *(_renamed(scores, c, course) for c in (1, 2))]
    )
    assert "c11" in through(better, course)


def _renamed(scores: Array, candidate: int, course: Course) -> Standing:
    return Standing(name_of(candidate), scores[candidate], len(course.blocks), known=True)


@pytest.mark.parametrize("measure", MEASURES)
@every_rule
def test_any_objective_may_be_raced_for(rule: Rule, measure: str) -> None:
    scores, human, groups = field(6, 8, 100)
    course = course_of(human, groups, 2, draws_of(measure, human))
    done, _ = run(scores, course, rule)
    values = {name_of(c): objective(measure, row, human) for c, row in enumerate(scores)}
    best = sorted(values, key=lambda n: -values[n])[:4]
    assert set(through(done, course)) & set(best)


@every_rule
def test_a_callers_own_objective_may_be_raced_for(rule: Rule) -> None:
    def closeness(scores: Array, places: NDArray[np.int64], weights: Array) -> Array:
        error: Array = -((scores - human[places]) ** 2) @ weights.T / weights.sum(axis=1)
        return error

    _, human, groups = field(7)
    scores = human + np.arange(12)[:, None]
    done, _ = run(scores, course_of(human, groups, 2, closeness), rule)
    assert {s.name for s in done.standings if s.name not in {p.name for p in done.stops}} >= {"c00", "c01"}


def test_estimates_of_equals_are_the_objective_on_what_all_scored() -> None:
    scores, human, groups = field(8, 4)
    scores[0, 3] = scores[1, 7] = np.nan
    course = course_of(human, groups)
    seen = np.full_like(scores, np.nan)
    seen[:, :40] = scores[:, :40]
    found = estimates([Standing(name_of(c), seen[c], 2) for c in (2, 0, 3, 1)], course)
    common = [i for i in range(40) if i not in (3, 7)]
    assert [s.name for s in found.standings] == ["c00", "c01", "c02", "c03"]
    assert found.values == pytest.approx([objective("spearman", row[common], human[common]) for row in scores])
    assert found.draws.mean(axis=1) == pytest.approx(found.values, abs=0.05)


def test_what_is_judged_to_the_end_is_in_no_doubt() -> None:
    scores, human, groups = field(9, 5)
    course = course_of(human, groups)
    found = estimates([Standing(name_of(c), scores[c], 4) for c in range(5)], course)
    assert found.draws == pytest.approx(np.repeat(found.values[:, None], 100, axis=1))
    assert sorted(found.chances) == [0, 0, 1, 1, 1]


def test_the_luck_of_the_first_items_is_taken_off_those_behind() -> None:
    scores, human, groups = field(10, 4)
    human = human.copy()
    human[:20] = human[:20][::-1]  # nobody does well on the first block
    course = course_of(human, groups)
    full = [Standing(name_of(c), scores[c], 4) for c in (0, 1, 2)]
    behind = Standing("c03", np.where(np.arange(120) < 20, scores[3], np.nan), 1)
    found = estimates([*full, behind], course)
    first = [objective("spearman", row[:20], human[:20]) for row in scores]
    now = np.mean([objective("spearman", row, human) for row in scores[:3]])
    assert now > np.mean(first[:3]) + 0.05
    assert found.values[3] == pytest.approx(first[3] - np.mean(first[:3]) + now)
    assert found.values[:3] == pytest.approx([objective("spearman", row, human) for row in scores[:3]])
    assert found.draws[3].std() > 0


def test_chances_by_hand() -> None:
    draws = np.array([[3.0, 1, 2, 2], [2, 2, 1, 2], [1, 3, 3, 1]])
    assert chances(draws, 1).tolist() == [0.5, 0.25, 0.5]
    assert chances(draws, 2).tolist() == [0.75, 0.75, 0.5]
    assert chances(draws, 3).tolist() == [1, 1, 1]
    assert chances(draws, 9).tolist() == [1, 1, 1]


@pytest.mark.parametrize(("failed", "stopped"), [(0, False), (1, False), (4, False), (5, True), (20, True)])
def test_who_fails_too_often_to_be_an_accident_stops(failed: int, stopped: bool) -> None:
    scores, human, groups = field(11, 1, 400)
    course = course_of(human, groups, blocks=blocks_of(400, (20, 100)))
    scores[0, :failed] = np.nan
    scores[0, 20:] = np.nan
    assert bool(failing([Standing("c", scores[0], 1)], course)) is stopped
    assert not failing([Standing("c", scores[0], 3, known=True)], course)


def test_halving_keeps_its_share_and_never_fewer_than_k() -> None:
    scores, human, groups = field(12, 16)
    for keep, most in ((0.5, [16, 8, 4, 3]), (0.1, [16, 3, 3, 3])):
        course = course_of(human, groups)
        _, scorer = run(scores, course, Halving(keep, hopeless=0.0))
        assert [sum(b == block for _, b in scorer.asked) for block in range(4)] == most


def test_halving_stops_the_hopeless_beyond_its_share() -> None:
    scores, human, groups = field(13, 16)
    course = course_of(human, groups)
    counts = []
    for hopeless in (0.0, 0.01, 0.5):
        done, _ = run(scores, course, Halving(1.0, hopeless))
        counts.append(done.judgments)
        assert all(s.chance < hopeless for s in done.stops)
    assert counts[0] == scores.size
    assert counts[0] > counts[1] > counts[2]


def test_few_groups_are_resampled_item_by_item() -> None:
    _, human, _ = field(15, 1, 40)
    for groups, by_item in ((["one"] * 40, True), ([f"g{k // 4}" for k in range(40)], False)):
        weights = course_of(human, groups).weights
        assert (weights[:, :4] != weights[:, :1]).any() == by_item


@pytest.mark.parametrize(
    ("human", "blocks", "k"),
    [
        ([], [], 1),
        ([1.0, 2], [(0,)], 1),
        ([1.0, 2], [(0, 1), (1,)], 1),
        ([1.0, 2], [(0, 1), ()], 1),
        ([1.0], [(0,)], 0),
    ],
)
def test_a_course_that_cannot_be_is_refused(human: list[float], blocks: list[tuple[int, ...]], k: int) -> None:
    with pytest.raises(ValueError, match=r"blocks must|at least"):
        draws = draws_of("mae", np.array(human))
        make_course(np.array(human), ["g"] * len(human), blocks, k, draws, np.random.default_rng(0))


def test_the_driver_refuses_what_makes_no_race() -> None:
    scores, human, groups = field(16, 2)
    course = course_of(human, groups)
    scorer = Scorer(scores, course)
    with pytest.raises(ValueError, match="one name"):
        race(["c00", "c00"], scorer, course, Halving())
    with pytest.raises(ValueError, match="all of dev"):
        race(["c00"], scorer, course, Halving(), [Standing("c01", scores[1], 1, known=True)])

    class Greedy:
        name = "greedy"

        def decide(self, standings: Sequence[Standing], course: Course) -> Decision:
            return Decision(("c00",))

    with pytest.raises(ValueError, match="judged all"):
        race(["c00"], scorer, course, Greedy())
