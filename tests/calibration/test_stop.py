"""Another round is worth while where the best candidate got better by more than noise."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from calibrator.calibration.score import make_candidate
from calibrator.calibration.stop import gained
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Failure, Item, Judgment
from tests.calibration.making import named
from tests.conftest import make_items

ITEMS = [replace(i, human=float(k % 12)) for k, i in enumerate(make_items(120, 40))]
HUMAN = np.array([i.human for i in ITEMS], dtype=float)
NOISE = np.random.default_rng(5).normal(0, 1, (3, len(ITEMS)))


def candidate(name: str, scores: Iterable[float], items: Sequence[Item] = ITEMS) -> Candidate:
    verdicts = tuple(
        Failure(i.id, "no idea") if np.isnan(s) else Judgment(i.id, float(s), "m")
        for i, s in zip(items, scores, strict=True)
    )
    return make_candidate(name, named(name), verdicts, items, Aim())


POOR, GOOD = candidate("poor", HUMAN + 6 * NOISE[0]), candidate("good", HUMAN + NOISE[1])


def test_the_same_candidate_gained_nothing() -> None:
    assert not gained(GOOD, GOOD, ITEMS, Aim(), 0)


def test_a_clearly_better_candidate_gained_and_a_clearly_worse_one_did_not() -> None:
    assert gained(POOR, GOOD, ITEMS, Aim(), 0)
    assert not gained(GOOD, POOR, ITEMS, Aim(), 0)


def test_of_equally_good_candidates_few_gain() -> None:
    found = []
    for seed in range(60):
        noise = np.random.default_rng(seed).normal(0, 6, (2, len(ITEMS)))
        one, other = (candidate(f"c{k}", HUMAN + row) for k, row in enumerate(noise))
        found.append(gained(one, other, ITEMS, Aim(), seed))
    assert 0 < np.mean(found) <= 0.2  # one in ten is what chance gives


def test_the_same_scores_by_another_rubric_gained_nothing() -> None:
    assert not gained(GOOD, replace(GOOD, name="other"), ITEMS, Aim(), 0)


def test_groups_are_drawn_whole() -> None:
    """Right in four groups and the wrong way round in two: sure over items, and a matter of luck over groups."""
    third = np.arange(len(ITEMS)) % 3 == 2
    before, after = candidate("before", NOISE[0]), candidate("after", np.where(third, 11 - HUMAN, HUMAN))
    alone, together = ([replace(i, group=f"g{k % n}") for k, i in enumerate(ITEMS)] for n in (len(ITEMS), 6))
    assert gained(before, after, alone, Aim(), 0)
    assert not gained(before, after, together, Aim(), 0)


def test_items_that_one_of_them_failed_on_are_left_out() -> None:
    scores = HUMAN + NOISE[1]
    scores[:4] = np.nan
    after = candidate("after", scores)
    assert gained(POOR, after, ITEMS, Aim(), 0)
    assert not gained(POOR, candidate("none", np.full(len(ITEMS), np.nan)), ITEMS, Aim(), 0)


def test_a_candidate_that_only_tells_systems_apart_gains_nothing_for_new_systems() -> None:
    items = [replace(i, system="ab"[k % 2], human=float(k % 2 * 6 + k % 5)) for k, i in enumerate(ITEMS)]
    human = np.array([i.human for i in items], dtype=float)
    before = candidate("before", human % 6 + 3 * NOISE[0], items)
    after = candidate("after", [float(k % 2) for k in range(len(items))], items)
    assert gained(before, after, items, Aim(share=0.0), 0)
    assert not gained(before, after, items, Aim(share=1.0), 0)
