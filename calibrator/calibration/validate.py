"""Validation: the one look at the sealed test side, and all that is measured in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from calibrator import __version__
from calibrator.calibration.ceilings import ceiling_part
from calibrator.calibration.mapping import JudgeMap, measured
from calibrator.calibration.purpose import Purpose
from calibrator.calibration.result import CALIBRATED, CurvePoint, Side, Validation, figure, rounded, side
from calibrator.calibration.transfer import Without, systems_part
from calibrator.codec import rubric_to_json
from calibrator.evaluation.agreement import Comparison, compare
from calibrator.judges.base import Judge
from calibrator.records import Item, Rubric
from calibrator.split import Split
from calibrator.stats.resampling import Interval
from calibrator.texts import digest


@dataclass(frozen=True, slots=True)
class Looks:
    """What is to be measured in the look at the test side.

    `judges` to compare, the calibrated one first; `signed` says whose figures they are. `winner` is the judge by the
    rubric that was chosen on dev, before any refit. `without` gives judges made
    without one system (None: that can't be done). `by_labels` holds judges by the number of labels they were fitted to.
    `map` is the score map of the judge that is handed over, if one was wanted; in `judges` this one has it already.
    """

    judges: Mapping[str, Judge]
    winner: Judge
    signed: str
    purpose: Purpose
    without: Without | None
    by_labels: Mapping[int, Judge]
    objective: str
    resamples: int
    map: JudgeMap | None = None


def best_baseline(dev: Side, objective: str) -> str:
    """Return the name of the baseline with the best objective on dev: chosen without the test side."""
    better = -1 if objective == "mae" else 1

    def merit(name: str) -> float:
        value = dev.of(name, objective).value
        return -math.inf if value is None else better * value

    return max((j.name for j in dev.judges if j.name != CALIBRATED), key=merit)


def beats(dev: Side, other: str, objective: str) -> bool:
    """Whether the calibrated judge has the better objective on dev; one without a figure beats nobody."""
    better = -1 if objective == "mae" else 1
    mine, others = (dev.of(name, objective).value for name in (CALIBRATED, other))
    return mine is not None and (others is None or better * (mine - others) > 0)


def compared(judges: Mapping[str, Judge], items: Sequence[Item], split: Split, resamples: int, signed: str) -> Side:
    """Return the comparison of judges on the side on which the first was chosen; `signed` says whose figures it is."""
    comparison = compare(judges, items, split.seed, resamples)
    return side(comparison, f"{signature(comparison, split)}|{signed}|calibrator:{__version__}")


def validate(looks: Looks, split: Split, enter_look: Callable[[], int]) -> Validation:
    """Unseal the test side and measure on it.

    `enter_look` enters the look in the ledger and returns its number; it is called before the items are seen.
    """
    items = split.test.unseal(enter_look())
    comparison = compare(looks.judges, items, split.seed, looks.resamples, looks.objective)
    judge = looks.judges[CALIBRATED]
    verdicts = judge.judge(items)
    winner = comparison.agreements[0].figures[looks.objective]
    if looks.winner is not judge:
        winner = _figure(looks.winner, looks.objective, items, split.seed, 1)
    return Validation(
        side=side(comparison, f"{signature(comparison, split)}|{looks.signed}|calibrator:{__version__}"),
        winner=rounded(winner.value),
        systems=systems_part(
            looks.purpose, verdicts, looks.without, items, looks.objective, split.seed, looks.resamples
        ),
        ceiling=ceiling_part(verdicts, items, split.seed, looks.resamples),
        curve=tuple(
            CurvePoint(labels=n, figure=figure(_figure(fitted, "spearman", items, split.seed, looks.resamples)))
            for n, fitted in looks.by_labels.items()
        ),
        map=measured(looks.map, items, split.seed, looks.resamples) if looks.map else None,
    )


def _figure(judge: Judge, measure: str, items: Sequence[Item], seed: int, resamples: int) -> Interval:
    return compare({CALIBRATED: judge}, items, seed, resamples).agreements[0].figures[measure]


def signature(comparison: Comparison, split: Split) -> str:
    """Return on what items and resamples the figures stand."""
    return (
        f"n:{comparison.items}|groups:{comparison.groups}|split:{split.digest[:12]}|seed:{comparison.seed}"
        f"|resamples:{comparison.resamples}"
    )


def signed(side_name: str, judge: Judge, rubric: Rubric) -> str:
    """Return whose figures they are: the side, the judge, the score mode and the digest of the rubric."""
    return f"side:{side_name}|judge:{judge.id}|mode:{judge.mode}|rubric:{digest(rubric_to_json(rubric))[:12]}"
