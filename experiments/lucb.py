"""LUCB (Kalyanakrishnan, Tewari, Auer and Stone 2012): score those on whom the border of the top k depends.

In each round the k that look best are set against the others: whichever of the k may be worst (the lowest lower bound)
and whichever of the others may be best (the highest upper bound) are scored on a further block each. The race is over
when no other's upper bound reaches a lower bound of the k by more than `tolerance`, and the k are scored on all of dev.

Their bounds are for independent arms; ours are quantiles of the paired resamples, of what a candidate is better than
the average of all, so that what is common to all of them widens no bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.calibration.races.base import Course, Decision, Standing
from calibrator.calibration.races.estimates import Estimates, estimates, failing
from calibrator.calibration.races.halving import stop_of

DOUBT = 0.3
TOLERANCE = 0.0
AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Lucb:
    """`doubt`: the probability left outside of each bound, 0 to 0.5. `tolerance`: what is not worth telling apart.

    `at_once`: how many of each side are scored in a round; the paper's is 1, more take fewer rounds.
    """

    doubt: float = DOUBT
    tolerance: float = TOLERANCE
    at_once: int = AT_ONCE
    name: str = "lucb"

    def decide(self, standings: Sequence[Standing], course: Course) -> Decision:
        """Return who is scored further. Who is not may be later, so all stops but for failures come at the end."""
        racing = [s for s in standings if not s.known]
        if any(s.judged == 0 for s in racing):
            return Decision(tuple(sorted(s.name for s in racing if s.judged == 0)))
        stops = failing(standings, course)
        out = {s.name for s in stops}
        found = estimates([s for s in standings if s.name not in out], course)
        score = self._disputed(found, course)
        if score:
            return Decision(tuple(sorted(found.standings[i].name for i in score)), stops)
        short = [i for i, s in enumerate(found.standings) if s.judged < len(course.blocks)]
        return Decision((), (*stops, *(stop_of(found, i, course) for i in short)))

    def _disputed(self, found: Estimates, course: Course) -> list[int]:
        if not found.standings:
            return []
        relative = found.draws - found.draws.mean(axis=0)
        lower, upper = np.quantile(relative, [self.doubt, 1 - self.doubt], axis=1)
        ranked = found.ranked()
        best, others = ranked[: course.k], ranked[course.k :]
        short = [s.judged < len(course.blocks) for s in found.standings]
        bar = lower[best].min() + self.tolerance
        challengers = sorted((i for i in others if short[i] and upper[i] > bar), key=lambda i: (-upper[i], i))
        weakest = sorted((i for i in best if short[i]), key=lambda i: (lower[i], i))
        if not challengers:
            return weakest
        return [*weakest[: self.at_once], *challengers[: self.at_once]]
