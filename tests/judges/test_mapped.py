"""A judge with a score map: the contract of every judge, the mapped scores, failures that stay failures."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from calibrator.aspects import find_aspect
from calibrator.criteria import Measured
from calibrator.drafting.baselines import length_only
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.mapped import MapFile, MappedJudge
from calibrator.records import Failure, Judgment
from calibrator.stats.mapping import IdentityMap, IsotonicMap, LinearMap, OrdinalMap, ScoreMap
from tests.conftest import make_items
from tests.judges.contract import JudgeContract, with_texts

ASPECT = find_aspect("neutral/relevance")[0]
LINE = LinearMap(0.4, 0.8, 1.0, 5.0)
KNOTS = IsotonicMap((1.0, 2.5, 4.0), (1.2, 3.1, 4.9))
ODDS = OrdinalMap(1.3, (1.1, 2.2, 3.7), (1.0, 2.0, 3.0, 5.0))


def inner() -> Judge:
    return CriteriaJudge(length_only(ASPECT, make_items(50), Measured()), ASPECT.scale)


class TestLinear(JudgeContract):
    made: ScoreMap = LINE

    def judge(self) -> Judge:
        return MappedJudge(inner(), self.made)


class TestIsotonic(TestLinear):
    made = KNOTS


class TestOrdinal(TestLinear):
    made = ODDS


def test_scores_are_the_mapped_ones_and_say_so() -> None:
    items = make_items(20)
    judge = MappedJudge(inner(), LINE)
    assert (judge.id, judge.mode) == (f"{inner().id}+linear", f"{inner().mode}+linear")
    for before, after in zip(inner().judge(items), judge.judge(items), strict=True):
        assert isinstance(before, Judgment) and isinstance(after, Judgment)
        assert after.item == before.item and after.mode == judge.mode
        assert after.score == pytest.approx(np.clip(0.4 + 0.8 * before.score, 1, 5))


def test_a_failure_stays_the_failure_it_was() -> None:
    empty = with_texts(output="")
    before, after = inner().judge([empty])[0], MappedJudge(inner(), KNOTS).judge([empty])[0]
    assert isinstance(after, Failure) and after == before


@pytest.mark.parametrize("made", [IdentityMap(), LINE, KNOTS, ODDS])
def test_a_file_gives_the_very_same_map(made: ScoreMap) -> None:
    file = MapFile.of(made)
    assert MapFile.model_validate_json(file.model_dump_json()).map() == made
    assert set(file.model_dump()) == set(made.numbers())


@pytest.mark.parametrize(
    "numbers",
    [
        {"kind": "linear", "base": 5, "slope": -1, "low": 1, "high": 5},
        {"kind": "linear", "base": 5},
        {"kind": "isotonic", "scores": [1, 2], "values": [2, 1]},
        {"kind": "identity", "slope": 1},
        {"kind": "cubic"},
        {"kind": "linear", "base": 1, "slope": float("inf"), "low": 1, "high": 5},
    ],
)
def test_a_file_that_holds_no_map_is_refused(numbers: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        MapFile.model_validate(numbers)
