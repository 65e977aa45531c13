"""The steps one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from calibrator.aspects import find_aspect
from calibrator.calibration.draft import distinct, draft_requests, measured_alike, worded_alike
from calibrator.calibration.score import make_candidate
from calibrator.calibration.seeds import seed_for
from calibrator.calibration.select import top_k
from calibrator.errors import CalibrationError
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Failure, Item, Judgment, Measure, Rubric, Step, Verdict
from tests.conftest import make_items

ASPECT = find_aspect("neutral/relevance")[0]
RUBRIC = Rubric(ASPECT.ref, (Step("Look at it."),))


def _candidate(name: str, scores: list[float | None], items: list[Item], steps: int = 1) -> Candidate:
    verdicts: tuple[Verdict, ...] = tuple(
        Failure(i.id, "no idea") if s is None else Judgment(i.id, s, "m") for i, s in zip(items, scores, strict=True)
    )
    rubric = Rubric(ASPECT.ref, tuple(Step(f"Look at {k}.") for k in range(steps)))
    return make_candidate(name, rubric, verdicts, items, Aim())


def test_each_trial_has_its_own_exemplars_temperature_and_seed() -> None:
    requests = draft_requests(ASPECT, make_items(60), (0.5, 5), 4, (0.1, 0.5), 0)
    assert len(requests) == 8
    assert len({r.seed for r in requests}) == 8
    assert len({r.exemplars for r in requests}) == 8
    assert all(0.1 <= r.temperature <= 0.5 for r in requests)
    assert [len(r.exemplars) for r in requests] == [30] * 4 + [5] * 4


def test_requests_follow_from_the_seed() -> None:
    items = make_items(40)
    assert draft_requests(ASPECT, items, (0.5,), 3, (0, 0.5), 1) == draft_requests(
        ASPECT, items, (0.5,), 3, (0, 0.5), 1
    )
    assert draft_requests(ASPECT, items, (0.5,), 3, (0, 0.5), 1) != draft_requests(
        ASPECT, items, (0.5,), 3, (0, 0.5), 2
    )


def test_seeds_differ_by_purpose_and_are_the_same_on_every_machine() -> None:
    assert seed_for(0, "draft", 0.5, 1) != seed_for(0, "draft", 0.5, 2) != seed_for(1, "draft", 0.5, 2)
    assert seed_for(0, "refit") == 1006078905748085841


def test_near_duplicates_are_dropped() -> None:
    def measured(weight: float) -> Rubric:
        return Rubric("a", (Step("Look.", (Measure("length", weight, 0, 1), Measure("question", 1.0, 0, 1))),))

    pairs = [("c", measured(0.5)), ("d", measured(0.51)), ("e", measured(0.9))]
    assert [name for name, _ in distinct(pairs, measured_alike)] == ["c", "e"]


def test_near_identical_wordings_are_dropped() -> None:
    def worded(*steps: str) -> Rubric:
        return Rubric("a", tuple(Step(s) for s in steps))

    first = worded("Read the question and the answer slowly, twice if need be.", "Check that each claim is answered.")
    touched = worded("Read the question and the answer slowly, twice if need be!", "check that  EACH claim is answered")
    other = worded("Read the question and the answer slowly, twice if need be.", "Look for a polite and plain ending.")
    pairs = [("a", first), ("b", touched), ("c", other), ("d", first)]
    assert [name for name, _ in distinct(pairs, worded_alike)] == ["a", "c"]


def test_rubrics_without_steps_are_alike() -> None:
    assert worded_alike(Rubric("a", ()), Rubric("a", ()))
    assert not worded_alike(Rubric("a", ()), RUBRIC)


def test_more_than_five_per_cent_failures_make_a_candidate_ineligible() -> None:
    items = make_items(40)
    scores: list[float | None] = [float(k % 5 + 1) for k in range(40)]
    two, three = list(scores), list(scores)
    two[:2] = [None] * 2
    three[:3] = [None] * 3
    assert _candidate("two", two, items).value is not None
    assert _candidate("three", three, items).value is None


def test_candidates_are_compared_on_the_items_that_all_scored() -> None:
    items = [replace(i, human=float(k)) for k, i in enumerate(make_items(40))]
    right: list[float | None] = [float(k) for k in range(40)]
    # A is perfect on what it scored; B is perfect but for item 0, which A left out.
    a, b = [None, *right[1:]], [39.0, *right[1:]]
    best = top_k([_candidate("a", a, items, steps=2), _candidate("b", b, items, steps=1)], items, Aim(), 2)
    assert [c.value for c in best] == [1.0, 1.0]
    assert best[0].name == "b"  # equals: the one with fewer steps


def test_the_order_candidates_come_in_does_not_matter() -> None:
    items = make_items(30)
    candidates = [_candidate(f"c{k}", [float((i * k) % 7) for i in range(30)], items) for k in range(1, 6)]
    assert top_k(candidates, items, Aim(), 3) == top_k(candidates[::-1], items, Aim(), 3)


def test_no_eligible_candidate_is_said_with_the_reasons() -> None:
    items = make_items(20)
    with pytest.raises(CalibrationError, match="20 × no idea"):
        top_k([_candidate("a", [None] * 20, items)], items, Aim(), 1)


def test_a_constant_judge_is_never_preferred() -> None:
    items = make_items(30)
    backwards = _candidate("z", [-(i.human or 0) for i in items], items)
    constant = _candidate("a", [3.0] * 30, items)
    assert backwards.value == pytest.approx(-1)
    assert constant.value == -1
