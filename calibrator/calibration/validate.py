"""Validation: the one look at the sealed test side, and what the calibrated judge is measured against."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from calibrator import __version__
from calibrator.aspects import Aspect
from calibrator.calibration.result import Side, side
from calibrator.codec import rubric_to_json
from calibrator.evaluation.agreement import Comparison, compare
from calibrator.judges.base import Judge
from calibrator.judges.baselines import ConstantJudge, LengthJudge
from calibrator.records import Item, Rubric
from calibrator.split import Split
from calibrator.texts import digest

CALIBRATED, LENGTH, CONSTANT = "calibrated", "length only", "constant"


def baselines(aspect: Aspect, known: Sequence[Item], start_name: str, start: Judge) -> dict[str, Judge]:
    """Return the judges to beat, `start` first; those with anything to fit are fitted on `known` (train and dev).

    The constant is the median rating, which has the least mean absolute error of all constants.
    """
    return {
        start_name: start,
        LENGTH: LengthJudge.fitted(known, aspect.scale),
        CONSTANT: ConstantJudge(statistics.median(i.human or 0.0 for i in known)),
    }


def best_baseline(others: Mapping[str, Judge], dev: Sequence[Item], objective: str, seed: int) -> str:
    """Return the name of the baseline with the best objective on `dev`: chosen without the test side."""
    agreements = compare(others, dev, seed, resamples=1).agreements
    better = -1 if objective == "mae" else 1

    def merit(name: str) -> float:
        value = next(a.figures[objective].value for a in agreements if a.judge == name)
        return better * value if math.isfinite(value) else -math.inf

    return max(others, key=merit)


def compared(judges: Mapping[str, Judge], items: Sequence[Item], split: Split, resamples: int, signed: str) -> Side:
    """Return the comparison of judges on one side of a split; `signed` says whose figures the first judge's are."""
    comparison = compare(judges, items, split.seed, resamples)
    return side(comparison, f"{signature(comparison, split)}|{signed}|calibrator:{__version__}")


def validate(
    judges: Mapping[str, Judge], split: Split, enter_look: Callable[[], int], resamples: int, signed: str
) -> Side:
    """Unseal the test side and return the comparison of the judges on it.

    `enter_look` enters the look in the ledger and returns its number; it is called before the items are seen.
    """
    items = split.test.unseal(enter_look())
    return compared(judges, items, split, resamples, signed)


def signature(comparison: Comparison, split: Split) -> str:
    """Return on what items and resamples the figures stand."""
    return (
        f"n:{comparison.items}|groups:{comparison.groups}|split:{split.digest[:12]}|seed:{comparison.seed}"
        f"|resamples:{comparison.resamples}"
    )


def signed(side_name: str, judge: Judge, rubric: Rubric) -> str:
    """Return whose figures they are: the side, the judge, the score mode and the digest of the rubric."""
    return f"side:{side_name}|judge:{judge.id}|mode:{judge.mode}|rubric:{digest(rubric_to_json(rubric))[:12]}"
