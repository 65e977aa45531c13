"""Rubrics that a calibrated one must beat: what most readers would count, the length of the text, the same for all."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from calibrator.aspects import Aspect
from calibrator.criteria import BY_NAME, CRITERIA, Measured
from calibrator.drafting.telling import told
from calibrator.records import Item, Measure, Rubric
from calibrator.stats.linear import center_and_spread, ridge


def uncalibrated(aspect: Aspect, items: Sequence[Item], measured: Measured) -> Rubric:
    """Return the rubric before any rating was seen: criteria that most readers would count, with equal weights.

    Only the texts of `items` are used, to know what is much and what is little; the middle of the scale is an average
    text, and a sixth of its length is what one standard deviation of all criteria together is worth.
    """
    criteria = [c for c in CRITERIA if c.prior]
    center, spread = center_and_spread(measured(tuple(items), criteria))
    sign = 1 if aspect.better == "higher" else -1
    worth = (aspect.scale.high - aspect.scale.low) / 6 / np.sqrt(len(criteria))
    measures = [
        Measure(c.name, float(f"{sign * c.prior * worth:.6g}"), float(f"{m:.6g}"), float(f"{s:.6g}"))
        for c, m, s in zip(criteria, center, spread, strict=True)
    ]
    return Rubric(aspect.ref, told(measures, aspect), (aspect.scale.low + aspect.scale.high) / 2)


def length_only(aspect: Aspect, items: Sequence[Item], measured: Measured) -> Rubric:
    """Return the rubric of one step: the length of the text, log(1 + words), on the least-squares line of the ratings.

    The line sets its direction too.
    """
    x = measured(tuple(items), [BY_NAME["length"]])
    center, spread = center_and_spread(x)
    human = np.array([i.human for i in items], dtype=float)
    weights, base = ridge((x - center) / spread, human, 1e-9)
    weight, middle, width = (float(f"{v[0]:.6g}") for v in (weights, center, spread))
    measure = Measure("length", weight, middle, width)
    return Rubric(aspect.ref, told([measure], aspect), float(f"{base:.6g}"))


def constant(aspect: Aspect, items: Sequence[Item]) -> Rubric:
    """Return the rubric without steps that gives every text the median rating.

    Of all constants it has the least mean absolute error; no rank correlation is defined for it.
    """
    return Rubric(aspect.ref, (), float(statistics.median(i.human or 0.0 for i in items)))
