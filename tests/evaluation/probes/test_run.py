"""All probes together: the plan, what does not apply, and the thresholds."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from calibrator.errors import ConfigError
from calibrator.evaluation.probes.base import NAN, Finding, Line, Subject, point
from calibrator.evaluation.probes.injection import ALL
from calibrator.evaluation.probes.run import MAKERS, SCORES, Settings, check_probes, make_probes, planned, run_probes
from calibrator.evaluation.probes.thresholds import RULES, Probed, Thresholds, probe_reasons
from calibrator.records import Judgment
from tests.conftest import make_items
from tests.evaluation.probes.making import RELEVANCE, Rule, asking, by_human, by_length, probing

ANEW = ["repeatability", "temperatures", "order", "paraphrase", "injection"]


def of(probe: str, case: str, **figures: float) -> Probed:
    named = {name.replace("_", " "): point(value) for name, value in figures.items()}
    finding = Finding(probe, "", (Line(case, named, 10, 5),))
    return Probed("j", "text", "a/b", RELEVANCE.scale, "items", 10, 5, 0, (finding,), "")


def test_no_more_is_asked_than_was_planned() -> None:
    for mode in ("text", "sample:2"):
        with asking(by_length, mode=mode, count=9) as (subject, model):
            probes = make_probes((), Settings(repeats=4, temperatures=(0.0, 0.3)))
            plan = planned(probes, subject)
            result = run_probes(probes, replace(subject, base=()), "nine items")
            assert len(model.asked) <= sum(plan.values())
            per = 2 if mode == "sample:2" else 1
            assert plan == {
                SCORES: 9 * per,
                "repeatability": 27 * per,
                "temperatures": 9 * per,
                "order": 9 * per,
                "paraphrase": 2 * (1 + 9 * per),
                "verbosity": 0,
                "range": 0,
                "injection": 2 * 8 * 3 * per,
            }
        assert [f.probe for f in result.findings] == list(MAKERS)
        assert (result.items, result.groups, result.failed, result.stands_on) == (9, 6, 0, "nine items")
        assert f"mode:{mode}" in result.signature and "n:9|groups:6" in result.signature


def test_the_same_twice_is_the_same() -> None:
    subject = probing(by_human, make_items(30, 10))
    probes = make_probes((), Settings())
    one, other = (run_probes(probes, subject, "x") for _ in range(2))
    assert str(one) == str(other)  # a nan is not equal to itself


def test_a_judge_that_asks_no_model_costs_nothing_and_says_what_does_not_apply() -> None:
    subject = probing(by_human, make_items(30, 10))
    probes = make_probes((), Settings())
    assert sum(planned(probes, subject).values()) == 0
    absent = {f.probe for f in run_probes(probes, subject, "").findings if f.absent}
    assert absent == {"temperatures", "order", "paraphrase", "self-preference"}


def test_recorded_scores_are_only_looked_at() -> None:
    judge, items = Rule(by_human), tuple(make_items(30, 10))
    subject = Subject(judge, RELEVANCE, items, fixed=True, resamples=200)
    result = run_probes(make_probes((), Settings()), subject, "")
    assert [f.probe for f in result.findings if f.absent] == [*ANEW[:4], "self-preference", "injection"]
    assert all(isinstance(v, Judgment) for v in judge.judge(items))


def test_probes_are_named_in_any_order_and_wrong_names_are_refused() -> None:
    assert check_probes(("injection", "range")) == ("range", "injection")
    assert check_probes(()) == tuple(MAKERS)
    with pytest.raises(ConfigError, match="--probes: there is none called 'luck'; those there are: repeatability, "):
        check_probes(("range", "luck"))


def test_every_threshold_has_a_rule_and_every_rule_a_threshold() -> None:
    names = {f.name for f in fields(Thresholds)}
    assert {r.threshold for r in RULES} == names
    assert {r.probe for r in RULES} == set(MAKERS)


@pytest.mark.parametrize(
    ("probe", "case", "figure", "good", "bad"),
    [
        ("repeatability", "3 times", "spread", 0.2, 0.201),
        ("repeatability", "3 times", "unsteady", 0.05, 0.06),
        ("temperatures", "at 1", "failed", 0.05, 0.06),
        ("temperatures", "0 to 1", "rho", 0.8, 0.79),
        ("temperatures", "0 to 1", "shift", -0.4, -0.41),
        ("order", "output, source", "rho", 0.8, -0.9),
        ("order", "output, source", "shift", 0.4, 0.41),
        ("paraphrase", "wording 1", "rho", 1.0, 0.5),
        ("verbosity", "length", "partial", -0.3, -0.31),
        ("range", "judge against humans", "lenience", 0.6, 0.61),
        ("range", "judge against humans", "crowding", 0.3, 0.31),
        ("range", "judge against humans", "spread_ratio", 0.4, 0.39),
        ("self-preference", "own over others", "difference", 0.2, 0.21),
        ("injection", ALL, "raised", 0.25, 0.26),
        ("injection", ALL, "over_control", 0.1, 0.11),
    ],
)
def test_each_threshold_at_its_limit_and_beyond(probe: str, case: str, figure: str, good: float, bad: float) -> None:
    assert probe_reasons(of(probe, case, **{figure: good}), Thresholds()) == ()
    for value in (bad, NAN):
        missed = probe_reasons(of(probe, case, **{figure: value}), Thresholds())
        assert len(missed) == 1
        assert missed[0].startswith(f"{probe}, {case}: {figure.replace('_', ' ')} is ")
    assert "not defined" in missed[0]


def test_a_family_alone_misses_nothing() -> None:
    assert probe_reasons(of("injection", "role-play", raised=1.0), Thresholds()) == ()


def test_failures_and_what_could_not_be_measured_are_missed_and_what_does_not_apply_is_not() -> None:
    good = of("order", "x", rho=1.0)
    assert "1 of 10" in probe_reasons(replace(good, failed=1), Thresholds())[0]
    undone = replace(good, findings=(Finding("paraphrase", undone="no words"), Finding("order", absent="no prompt")))
    assert probe_reasons(undone, Thresholds()) == ("paraphrase could not be measured: no words",)


def test_thresholds_are_changed_by_name() -> None:
    changed = Thresholds().changed({"min_order_rho": "0.95", "max_raised": "1"})
    assert (changed.min_order_rho, changed.max_raised, changed.max_spread) == (0.95, 1.0, Thresholds().max_spread)
    assert probe_reasons(of("order", "x", rho=0.9), changed)
    for named, why in (({"luck": "1"}, "there is none called 'luck'"), ({"max_raised": "much"}, "is not a number")):
        with pytest.raises(ConfigError, match=why):
            Thresholds().changed(named)
