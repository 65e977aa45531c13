"""What the standings say: each candidate's objective on dev, as far as it is known, and its chance of the top k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc

from calibrator.calibration.races.base import Course, Standing, Stop

Array = NDArray[np.float64]
UNDEFINED = -1.0  # what a correlation that is not defined counts as, as in `stats.correlation.objective`
DOUBT = 0.01  # probability below which so many failures are no accident


@dataclass(frozen=True, slots=True)
class Estimates:
    """Figures of m candidates, in the order of `standings`, which is that of their names.

    `values` (m,): the objective. `draws` (m, b): in each resample. `chances` (m,): the share of the resamples in which
    fewer than k others are better.
    """

    standings: tuple[Standing, ...]
    values: Array
    draws: Array
    chances: Array

    def ranked(self) -> list[int]:
        """Return the places of the candidates, best first: by value, then by name."""
        return sorted(range(len(self.standings)), key=lambda i: (-self.values[i], self.standings[i].name))


def estimates(standings: Sequence[Standing], course: Course) -> Estimates:
    """Return what is known of candidates that have judged a block at least.

    Those that have come furthest are compared on the items that all of them scored. One that is behind is compared with
    them where it has judged: its value is theirs on average now, plus what it was better or worse than they on its own
    items (a difference estimator; Cochran 1977, section 7). The items were easy or hard for all, and that drops out.

    What is looked for is the top k on dev, of which the first blocks are a sample, so the spread of the draws shrinks
    by √(1 - judged / n) (finite population correction; Cochran 1977, section 2.6) and is none where all is judged.
    """
    ordered = tuple(sorted(standings, key=lambda s: s.name))
    furthest = max((s.judged for s in ordered), default=0)
    values, draws = np.empty(len(ordered)), np.empty((len(ordered), len(course.weights)))
    lead = [i for i, s in enumerate(ordered) if s.judged == furthest]
    for level in sorted({s.judged for s in ordered}, reverse=True):
        members = [i for i, s in enumerate(ordered) if s.judged == level]
        both = members if level == furthest else [*members, *lead]
        value, drawn = _on_common([ordered[i] for i in both], level, course)
        if level < furthest:
            of_lead = slice(len(members), None)
            here, drawn_here = value[of_lead].mean(), drawn[of_lead].mean(axis=0)
            value = value[: len(members)] - here + values[lead].mean()
            drawn = drawn[: len(members)] - drawn_here + draws[lead].mean(axis=0)
        values[members], draws[members] = value, drawn
    return Estimates(ordered, values, draws, chances(draws, course.k))


def _on_common(standings: Sequence[Standing], level: int, course: Course) -> tuple[Array, Array]:
    """Return values (m,) and draws (m, b) on the items of the first `level` blocks that all of them scored."""
    prefix = course.prefixes[level]
    scores = np.array([s.scores[prefix] for s in standings])
    common = np.isfinite(scores).all(axis=0)
    scores, places, weights = scores[:, common], prefix[common], course.weights[:, prefix][:, common]
    value = _defined(course.draws(scores, places, np.ones((1, len(places)))))
    drawn = _defined(course.draws(scores, places, weights))
    left = np.sqrt(1 - len(prefix) / len(course.human))
    return value[:, 0], value + left * (drawn - value)


def _defined(figures: Array) -> Array:
    return np.where(np.isfinite(figures), figures, UNDEFINED)


def chances(draws: Array, k: int) -> Array:
    """Return the share of resamples (m, b) in which each of m candidates is in the top k; equals are all in it."""
    if len(draws) <= k:
        return np.ones(len(draws))
    bar = np.partition(draws, len(draws) - k, axis=0)[len(draws) - k]
    share: Array = (draws >= bar).mean(axis=1)
    return share


def failing(standings: Sequence[Standing], course: Course) -> tuple[Stop, ...]:
    """Return stops for those that cannot be eligible any more, or hardly: known ones are let be.

    Either they have failed on more of dev than is allowed, or on so much of what they judged that one which fails as
    often as is just allowed would do so once in a hundred times. They are left out of what is compared: it is compared
    on what all scored.
    """
    stops = []
    for s in sorted(standings, key=lambda s: s.name):
        judged = len(course.prefixes[s.judged])
        failed = judged - int(np.isfinite(s.scores[course.prefixes[s.judged]]).sum())
        certain = failed > course.most_failures * len(course.human)
        likely = failed > 0 and float(bdtrc(failed - 1, judged, course.most_failures)) < DOUBT
        if not s.known and (certain or likely):
            stops.append(Stop(s.name, judged, 0.0, float("nan")))
    return tuple(stops)
