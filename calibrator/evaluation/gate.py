"""The gate: may a judge be trusted in the place of humans, by figures it was not chosen on?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calibrator.stats.resampling import Interval

MIN_GAIN, MIN_RHO = 0.0, 0.4
LEAST_COVERAGE = 0.95  # of the test side: what is left may be the easy part
FEWEST_GROUPS = 5  # on the test side; with fewer an interval over groups says nothing


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a judge passed, and if it did not, why: a sentence for each condition that it missed."""

    passed: bool
    reasons: tuple[str, ...]


def gate(
    gain: Interval,
    rho: Interval,
    groups: int,
    over: str,
    fell_back: bool = False,
    min_gain: float = MIN_GAIN,
    min_rho: float = MIN_RHO,
    faults: Sequence[str] = (),
    where: str = "",
    coverage: float = 1.0,
) -> Verdict:
    """Return the verdict on a calibrated judge by its figures on the test side.

    It passes if its rubric was handed over, the lower end of the 95 % interval of its `gain` over the best baseline
    (chosen on dev, named `over`) is above `min_gain`, its Spearman correlation with the humans (`where`: on new
    systems, say) is at least `min_rho`, and the data had no grave `faults`. What is not defined does not pass.
    """
    missed: Sequence[tuple[bool, str]] = (
        *((True, f"a grave fault of the data: {fault}") for fault in faults),
        (fell_back, f"the rubric did not beat '{over}' on dev and was not handed over"),
        (coverage < LEAST_COVERAGE, f"it scored {100 * coverage:.1f} % of the test side only"),
        (groups < FEWEST_GROUPS, f"{groups} groups on the test side are too few for an interval"),
        (not gain.low > min_gain, f"the gain over '{over}' is {_told(gain)}, its lower end not above {min_gain:g}"),
        (not rho.value >= min_rho, f"the correlation with the humans{where} is {_told(rho)}, below {min_rho:g}"),
    )
    reasons = tuple(reason for failed, reason in missed if failed)
    return Verdict(not reasons, reasons)


def _told(figure: Interval) -> str:
    if not math.isfinite(figure.value):
        return "not defined"
    low, high = (f"{v:.3f}" if math.isfinite(v) else "–" for v in (figure.low, figure.high))
    return f"{figure.value:.3f} [{low}, {high}]"
