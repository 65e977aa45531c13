"""Successive halving (Karnin, Koren and Somekh 2013; Jamieson and Talwalkar 2016) by the chance of the top k.

All that still race are scored on the next block; then at most a share of them goes on, those with the best chance of
belonging to the top k, and of these only such as have a chance worth paying for. The share bounds what a race costs
where many candidates are nearly equal, and then it matters little which one goes; the chance ends it early where they
are not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from calibrator.calibration.races.base import Course, Decision, Standing, Stop
from calibrator.calibration.races.estimates import Estimates, estimates, failing

KEEP = 0.5
HOPELESS = 0.05
LIKELY = 0.5  # no more than 2 k candidates can have a greater chance of the top k, but for ties


@dataclass(frozen=True, slots=True)
class Halving:
    """`keep`: the share that goes on after a block, 0 to 1. `hopeless`: the chance below which a candidate stops."""

    keep: float = KEEP
    hopeless: float = HOPELESS
    name: str = "halving"

    def decide(self, standings: Sequence[Standing], course: Course) -> Decision:
        """Return who goes on. A candidate that is through is not stopped any more."""
        racing = [s for s in standings if not s.known]
        if any(s.judged == 0 for s in racing):
            return Decision(tuple(sorted(s.name for s in racing if s.judged == 0)))
        stops = failing(standings, course)
        out = {s.name for s in stops}
        compared = [s for s in standings if s.name not in out]
        if not any(s.judged < len(course.blocks) for s in compared):
            return Decision((), stops)
        found = estimates(compared, course)
        stays = self._staying(found, course)
        places = range(len(found.standings))
        going = [i for i in places if found.standings[i].judged < len(course.blocks)]
        score = tuple(found.standings[i].name for i in going if i in stays)
        return Decision(score, (*stops, *(stop_of(found, i, course) for i in going if i not in stays)))

    def _staying(self, found: Estimates, course: Course) -> set[int]:
        """Return the places of those that go on; who more likely than not belongs to the top k is one of them."""
        by_chance = sorted(found.ranked(), key=lambda i: -found.chances[i])
        racing = [i for i in by_chance if found.standings[i].judged < len(course.blocks)]
        through = len(by_chance) - len(racing)
        least = max(0, course.k - through)
        most = max(least, -int(-len(racing) * self.keep // 1))
        worth = sum(found.chances[i] >= self.hopeless for i in racing)
        likely = min(2 * course.k, sum(found.chances[i] > LIKELY for i in racing))
        return set(racing[: max(least, min(most, worth), likely)])


def most_judgments(candidates: int, ends: Sequence[int], k: int, keep: float = KEEP) -> int:
    """Return the most judgments that a race of so many candidates takes; `ends` are those of the blocks."""
    total, before, racing = 0, 0, candidates
    for end in ends:
        total += racing * (end - before)
        before, racing = end, min(racing, max(2 * k, -int(-racing * keep // 1)))
    return total


def stop_of(found: Estimates, place: int, course: Course) -> Stop:
    """Return the stop of one of the candidates that were estimated."""
    s = found.standings[place]
    return Stop(s.name, len(course.prefixes[s.judged]), float(found.chances[place]), float(found.values[place]))
