"""Two judges are the same one only if all that their verdicts follow from is the same."""

from __future__ import annotations

from dataclasses import replace

from calibrator.aspects import Scale
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.identity import identity
from calibrator.judges.mapped import MappedJudge
from calibrator.judges.panel import Member, PanelJudge
from calibrator.judges.recorded import RecordedJudge
from calibrator.records import Measure, Rubric, Step
from calibrator.stats.mapping import LinearMap

SCALE = Scale(1, 5)


def criteria(weight: float, scale: Scale = SCALE) -> CriteriaJudge:
    return CriteriaJudge(Rubric("a/b", (Step("x", (Measure("length", weight, 2.0, 1.0),)),), 3.0), scale)


def panel(weight: float, name: str = "P") -> PanelJudge:
    return PanelJudge("panel:P", [(Member(name, weight), RecordedJudge(name, SCALE))], SCALE, 3.0)


def test_the_same_judge_has_the_same_identity() -> None:
    assert identity(criteria(1.0)) == identity(criteria(1.0))
    assert identity(panel(1.0)) == identity(panel(1.0))


def test_whatever_changes_a_verdict_changes_it() -> None:
    judges = [
        criteria(1.0),
        criteria(1.1),
        criteria(1.0, Scale(1, 10)),
        RecordedJudge("P", SCALE),
        RecordedJudge("P", None),
        RecordedJudge("Q", SCALE),
        panel(1.0),
        panel(1.1),
        panel(1.0, "Q"),
    ]
    line = LinearMap(1.0, 0.5, 1.0, 5.0)
    judges += [
        MappedJudge(judges[0], line),
        MappedJudge(judges[0], replace(line, base=1.2)),
        MappedJudge(judges[3], line),
    ]
    assert len({identity(judge) for judge in judges}) == len(judges)
