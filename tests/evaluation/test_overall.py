"""The mean of aspects against one overall score: direction and scale from the aspects, gain and p as everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrator.aspects import Aspect, Scale, find_aspect
from calibrator.evaluation.agreement import Comparison
from calibrator.evaluation.overall import MEAN, SINGLE, mean_against_overall
from calibrator.evaluation.unified import on_scale
from calibrator.stats.correlation import MEASURES, spearman
from calibrator.stats.permutation import paired_permutation

Array = NDArray[np.float64]
N = 120
GROUPS = [f"g{k // 3}" for k in range(N)]
OVERALL = Aspect("x", "overall", "Overall", "…", Scale(1, 5))
ASPECTS = {
    "clear": Aspect("x", "clear", "Clear", "…", Scale(1, 3)),
    "hostile": Aspect("x", "hostile", "Hostile", "…", Scale(1, 5), "lower"),
}


def figures(comparison: Comparison, judge: str) -> dict[str, float]:
    (agreement,) = [a for a in comparison.agreements if a.judge == judge]
    return {m: i.value for m, i in agreement.figures.items()}


def test_by_hand() -> None:
    # Clear 1, 2, 3, 3 is 1, 3, 5, 5 of 5; hostile 5, 3, 3, 1 is 1, 3, 3, 5: the means are 1, 3, 4, 5.
    scores = {"clear": np.array([1.0, 2, 3, 3]), "hostile": np.array([5.0, 3, 3, 1])}
    human, single = np.array([1.0, 2, 4, 5]), np.array([4.0, 5, 1, 2])
    found = mean_against_overall(ASPECTS, scores, OVERALL, single, human, list("abcd"), 0, 50)
    # The mean has the humans' order and is off by 0, 1, 0, 0. The single score is off by 3, 3, 3, 3; the ranks of both
    # differ by -2, -2, 2, 2, so that rho = 1 - 6 · 16 / (4 · 15) = -0.6.
    assert figures(found, MEAN)["spearman"] == pytest.approx(1)
    assert figures(found, MEAN)["mae"] == 0.25
    assert figures(found, SINGLE)["spearman"] == pytest.approx(-0.6)
    assert figures(found, SINGLE)["mae"] == 3
    assert found.gains[SINGLE]["spearman"].value == pytest.approx(1.6)
    assert found.gains[SINGLE]["mae"].value == pytest.approx(2.75)  # less error is a gain


def drawn(seed: int = 0) -> tuple[dict[str, Array], Array, Array]:
    rng = np.random.default_rng(seed)
    merit = rng.uniform(0, 1, N)
    noisy = [np.clip(merit + 0.15 * rng.standard_normal(N), 0, 1) for _ in range(3)]
    return {"clear": 1 + 2 * noisy[0], "hostile": 5 - 4 * noisy[1]}, 1 + 4 * noisy[2], 1 + 4 * merit


def test_two_noisy_aspects_are_better_than_one_noisy_score_and_the_test_says_so() -> None:
    scores, single, human = drawn()
    found = mean_against_overall(ASPECTS, scores, OVERALL, single, human, GROUPS, 0, 400)
    mean = ((2 * scores["clear"] - 1) + (6 - scores["hostile"])) / 2
    assert figures(found, MEAN) == pytest.approx({m: float(f(mean, human)) for m, f in MEASURES.items()})
    assert figures(found, SINGLE) == pytest.approx({m: float(f(single, human)) for m, f in MEASURES.items()})
    assert found.gains[SINGLE]["spearman"].low > 0
    p = paired_permutation(spearman, np.round(mean, 9), single, human, GROUPS, 400, np.random.default_rng(0))
    assert found.p[SINGLE] == pytest.approx(p) and p < 0.01
    assert (found.items, found.groups) == (N, 40)


def test_where_less_is_better_all_three_are_turned_round() -> None:
    scores, single, human = drawn()
    harm = Aspect("x", "harm", "Harm", "…", Scale(1, 5), "lower")
    plain = mean_against_overall(ASPECTS, scores, OVERALL, single, human, GROUPS, 0, 50)
    turned = mean_against_overall(ASPECTS, scores, harm, 6 - single, 6 - human, GROUPS, 0, 50)
    for judge in (MEAN, SINGLE):
        assert figures(turned, judge) == pytest.approx(figures(plain, judge))


def test_gaps_are_failures_and_items_without_a_rating_are_none() -> None:
    scores, single, human = drawn()
    scores["clear"][5], single[6], human[7] = np.nan, -1, np.nan
    found = mean_against_overall(ASPECTS, scores, OVERALL, single, human, GROUPS, 0, 50, tested=None)
    assert found.items == N - 3
    assert {a.judge: dict(a.failures) for a in found.agreements} == {MEAN: {"no score": 1}, SINGLE: {"no score": 1}}
    assert found.p == {}


def test_lengths_that_differ_are_refused() -> None:
    scores, single, human = drawn()
    with pytest.raises(ValueError, match="120 means, 119 overall scores"):
        mean_against_overall(ASPECTS, scores, OVERALL, single[1:], human, GROUPS, 0)


def read(real_data: Path) -> list[dict[str, Any]]:
    lines = (real_data / "other" / "topical_chat.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_one_models_two_ways_on_topical_chat(real_data: Path) -> None:
    rows, overall = read(real_data), find_aspect("topical-chat/overall")[0]
    aspects = {n: Aspect("x", n, n, "…", Scale(1, 5)) for n in ("naturalness", "coherence", "engagingness")}
    dimensions = [r["recorded"].get("gpt-4o-mini/keyroog-4dims", {}) for r in rows]
    scores = {a: np.array([d.get(a, np.nan) for d in dimensions]) for a in aspects}
    given = [r["recorded"].get("gpt-4o-mini/keyroog-overall1-3", {}).get("overall", np.nan) for r in rows]
    single = on_scale(np.array(given), Aspect("x", "o", "o", "…", Scale(1, 3)), overall.scale)
    human = np.array([r["human"]["overall"] for r in rows])
    found = mean_against_overall(aspects, scores, overall, single, human, [r["group"] for r in rows], 0, 200)
    assert (found.items, found.groups) == (357, 60)
    assert found.gains[SINGLE]["spearman"].low > 0  # the mean of three aspects is the better predictor
    assert found.p[SINGLE] < 0.05


def test_an_annotators_five_aspects_foretell_the_others_overall_rating_as_well_as_the_own_one(real_data: Path) -> None:
    rows, overall = read(real_data), find_aspect("topical-chat/overall")[0]
    names = ("understandability", "naturalness", "coherence", "engagingness", "groundedness")
    aspects = {n: find_aspect(f"topical-chat/{n}")[0] for n in names}
    for one in range(3):
        scores = {n: np.array([r["annotators"][n][one] for r in rows]) for n in names}
        single = np.array([r["annotators"]["overall"][one] for r in rows])
        rest = np.array([np.mean([v for k, v in enumerate(r["annotators"]["overall"]) if k != one]) for r in rows])
        found = mean_against_overall(aspects, scores, overall, single, rest, [r["group"] for r in rows], 0, 200)
        gain = found.gains[SINGLE]["spearman"]
        assert found.items == 360
        assert figures(found, MEAN)["spearman"] > 0.7
        assert gain.low < 0 < gain.high
        assert found.p[SINGLE] > 0.2
