"""Prediction-powered inference for a sum of means, such as that of parts of which some have more labels than others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.stats.prediction_powered import Array, Parts, Powered, centred, check, classical, from_parts
from calibrator.stats.resampling import codes


@dataclass(frozen=True, slots=True)
class Term:
    """A mean that counts `times`: `human` and `judged` (n,) of its labelled items, `unlabelled` (m,) of the others.

    `groups` (n names) and `unlabelled_groups` (m names) are the sampling units; they are the same ones in all terms.
    """

    times: float
    human: Array
    judged: Array
    unlabelled: Array
    groups: Sequence[str]
    unlabelled_groups: Sequence[str]


def powered_sum(terms: Sequence[Term], *, level: float = 0.95) -> Powered:
    """Return the sum of the terms' means, each as many times as it counts, on the humans' ratings of all items.

    It is `powered_mean` (method "small") term by term with one weight for all; that terms share groups is in the
    variance. The labelled units are those of the term that has the fewest: `FEWEST`, the degrees of freedom and
    `effective` go by them, so that the interval is rather too wide than too narrow where terms differ. A term without
    unlabelled items stays as the humans have it. nan where a term has no labelled item. Raises ValueError as
    `powered_mean` does, and without a term.
    """
    if not terms:
        raise ValueError("there is nothing to add up")
    for t in terms:
        check(t.human, t.judged, t.unlabelled, level, None)
        if (len(t.groups), len(t.unlabelled_groups)) != (len(t.human), len(t.unlabelled)):
            raise ValueError("there must be a group for every item")
    parts = _added(terms)
    if not all(len(t.human) for t in terms):
        return classical(parts, float("nan"), level)
    mean = float(sum(t.times * t.human.mean() for t in terms))
    moved = [t for t in terms if len(t.unlabelled)]
    if not moved or parts.labelled < 2:
        return classical(parts, mean, level)
    apart = float(sum(t.times * (t.unlabelled.mean() - t.judged.mean()) for t in moved))
    return from_parts(parts, mean, apart, level)


def _added(terms: Sequence[Term]) -> Parts:
    member = codes([name for t in terms for names in (t.groups, t.unlabelled_groups) for name in names])
    units = int(member.max()) + 1 if len(member) else 0
    a, b, c = np.zeros((3, units))
    start = 0
    for t in terms:
        first, second = np.split(member[start : start + len(t.human) + len(t.unlabelled)], [len(t.human)])
        start += len(t.human) + len(t.unlabelled)
        np.add.at(a, first, t.times * centred(t.human) / max(1, len(first)))
        if not len(second):
            continue
        held = len(np.unique(second))
        np.add.at(b, first, t.times * centred(t.judged) / max(1, len(first)))
        scale = np.sqrt(held / (held - 1)) if held > 1 else 1.0
        np.add.at(c, second, t.times * scale * centred(t.unlabelled) / len(second))
    return Parts(a, b, c, min(len(set(t.groups)) for t in terms))
