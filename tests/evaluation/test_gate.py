"""The gate: every condition by itself keeps a judge from passing, and says so."""

from __future__ import annotations

import math

import pytest

from calibrator.evaluation.gate import FEWEST_GROUPS, MIN_RHO, gate
from calibrator.stats.resampling import Interval

NAN = math.nan
GAIN, RHO = Interval(0.1, 0.02, 0.2), Interval(0.6, 0.5, 0.7)


def test_a_judge_that_meets_every_condition_passes_without_a_word() -> None:
    found = gate(GAIN, RHO, 20, "zero-shot")
    assert (found.passed, found.reasons) == (True, ())


@pytest.mark.parametrize(
    "gain, rho, groups, fell_back, reason",
    [
        (GAIN, RHO, 20, True, "the rubric did not beat 'zero-shot' on dev and was not handed over"),
        (GAIN, RHO, 4, False, "4 groups on the test side are too few for an interval"),
        (
            Interval(0.1, 0.0, 0.2), RHO, 20, False,
            "the gain over 'zero-shot' is 0.100 [0.000, 0.200], its lower end not above 0",
        ),
        (
            Interval(0.1, NAN, NAN), RHO, 20, False,
            "the gain over 'zero-shot' is 0.100 [–, –], its lower end not above 0",
        ),
        (
            Interval(NAN, NAN, NAN), RHO, 20, False,
            "the gain over 'zero-shot' is not defined, its lower end not above 0",
        ),
        (
            GAIN, Interval(0.399, 0.3, 0.5), 20, False,
            "the correlation with the humans is 0.399 [0.300, 0.500], below 0.4",
        ),
        (GAIN, Interval(NAN, NAN, NAN), 20, False, "the correlation with the humans is not defined, below 0.4"),
    ],
)  # fmt: skip
def test_each_condition_alone_is_told(gain: Interval, rho: Interval, groups: int, fell_back: bool, reason: str) -> None:
    found = gate(gain, rho, groups, "zero-shot", fell_back)
    assert (found.passed, found.reasons) == (False, (reason,))


def test_a_grave_fault_of_the_data_never_passes() -> None:
    found = gate(GAIN, RHO, 20, "zero-shot", faults=["the ratings are a judge's"])
    assert found.reasons == ("a grave fault of the data: the ratings are a judge's",)


def test_it_is_said_on_what_the_correlation_was_measured() -> None:
    found = gate(GAIN, Interval(0.3, 0.2, 0.4), 20, "zero-shot", where=" on new systems")
    assert found.reasons == ("the correlation with the humans on new systems is 0.300 [0.200, 0.400], below 0.4",)


def test_all_that_is_missed_is_told() -> None:
    nothing = Interval(NAN, NAN, NAN)
    assert len(gate(nothing, nothing, 0, "zero-shot", True).reasons) == 4


def test_the_limits_themselves() -> None:
    assert gate(Interval(0.1, 1e-9, 0.2), Interval(MIN_RHO, 0.1, 0.9), FEWEST_GROUPS, "x").passed
    assert not gate(Interval(0.1, -1e-9, 0.2), RHO, 20, "x").passed


def test_the_limits_may_be_set() -> None:
    assert not gate(GAIN, RHO, 20, "x", min_gain=0.05).passed
    assert not gate(GAIN, RHO, 20, "x", min_rho=0.7).passed
    assert gate(Interval(-0.1, -0.2, 0.1), Interval(0.1, 0.0, 0.2), 20, "x", min_gain=-0.3, min_rho=0.1).passed
