"""Selection: which candidates are scored on how much of dev, and the one rule that says which of them go on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from calibrator.calibration.races.base import Course, Rule, Standing, make_course
from calibrator.calibration.races.blocks import block_order
from calibrator.calibration.races.driver import Race, Wanted, race
from calibrator.calibration.races.halving import Halving
from calibrator.errors import CalibrationError
from calibrator.evaluation.agreement import failures_of, scores_of, systems_of
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Item, Judgment, Verdict


def course_over(items: Sequence[Item], aim: Aim, k: int, seed: int, *, whole: bool, most_failures: float) -> Course:
    """Return the course of a race for the top k over `items`; `whole` makes all of them one block, so that none stops.

    The blocks and the resamples follow from the items and the seed.
    """
    human = np.array([i.human for i in items], dtype=float)
    draws = aim.over(human, systems_of(items))
    blocks = (tuple(range(len(items))),) if whole else block_order(items, seed)
    groups = [i.group for i in items]
    return make_course(human, groups, blocks, k, draws, np.random.default_rng(seed), most_failures=most_failures)


def raced(
    names: Iterable[str],
    known: Iterable[Candidate],
    course: Course,
    score: Callable[[Sequence[Wanted]], Sequence[Sequence[Verdict]]],
    rule: Rule | None = None,
) -> Race:
    """Race new candidates against each other and against those that are `known`, scored on all of dev already.

    `score` gives the verdicts of each (name, block of the course). By default the rule is successive halving.
    """
    whole = len(course.blocks)
    standing = [Standing(c.name, scores_of(c.verdicts), whole, known=True) for c in known if c.value is not None]
    return race(names, lambda wanted: [scores_of(v) for v in score(wanted)], course, rule or Halving(), standing)


def top_k(candidates: Sequence[Candidate], items: Sequence[Item], aim: Aim, k: int) -> tuple[Candidate, ...]:
    """Return the k best candidates, best first, by the aim on the items that all eligible ones scored.

    Equals are put in order by fewer steps, then by name, so that the result never depends on the order they came in.
    Raises CalibrationError if none is eligible.
    """
    eligible = [c for c in candidates if c.value is not None]
    if not eligible:
        reasons = failures_of(candidates[0].verdicts) if candidates else {}
        told = ", ".join(f"{count} × {reason}" for reason, count in reasons.items()) or "no candidate at all"
        more = "; --max-tokens gives replies more room" if "cut off" in told else ""
        raise CalibrationError(f"no rubric is eligible: more than 5 % of its judgments failed ({told}){more}")
    common = [k for k in range(len(items)) if all(isinstance(c.verdicts[k], Judgment) for c in eligible)]
    if len(common) < len(items):
        shared = [items[k] for k in common]
        values = [aim.of([c.verdicts[k] for k in common], shared) for c in eligible]
        eligible = [replace(c, value=v) for c, v in zip(eligible, values, strict=True)]
    ranked = sorted(eligible, key=lambda c: (-(c.value or 0.0), len(c.rubric.steps), c.name))
    return tuple(ranked[:k])
