"""The driver: rounds of scoring and deciding until the rule has nobody scored any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrator.calibration.races.base import Course, Rule, Standing, Stop

Array = NDArray[np.float64]
Wanted = tuple[str, int]  # the name of a candidate and the number of a block
Score = Callable[[Sequence[Wanted]], Sequence[Sequence[float] | Array]]


@dataclass(frozen=True, slots=True)
class Race:
    """How a race went: all standings in the order of their names, the stops in their order, what was paid."""

    standings: tuple[Standing, ...]
    stops: tuple[Stop, ...]
    rounds: int
    judgments: int


def race(names: Iterable[str], score: Score, course: Course, rule: Rule, known: Sequence[Standing] = ()) -> Race:
    """Race the candidates `names` against each other and against those that are `known`, and return how it went.

    `score` is handed all (name, block) pairs of a round at once and returns, for each in this order, the scores on the
    items of the block, nan for a failure. `known` candidates should be eligible ones: what they failed on is compared
    for nobody. Every pair is asked for once at most, each candidate's blocks in their order.
    The result depends on what `score` returns, the course and the rule, not on the order of the names. Raises
    ValueError for a name that stands twice, for a known one that is not through, and if a rule asks for what cannot be
    scored.
    """
    fresh = [Standing(n, np.full(len(course.human), np.nan)) for n in names]
    standings = {s.name: s for s in (*fresh, *known)}
    if len(standings) < len(fresh) + len(known):
        raise ValueError("two candidates of a race have one name")
    if any(s.judged < len(course.blocks) or not s.known for s in known):
        raise ValueError("a known candidate must have been scored on all of dev")
    stops: dict[str, Stop] = {}
    rounds = judgments = 0
    while True:
        running = [standings[n] for n in sorted(standings) if n not in stops]
        decision = rule.decide(running, course) if running else None
        stops |= {s.name: s for s in decision.stops} if decision else {}
        if decision is None or not decision.score:
            break
        wanted = [(n, _next_block(standings[n], stops, course)) for n in decision.score]
        for (name, block), scored in zip(wanted, score(wanted), strict=True):
            standings[name] = _scored(standings[name], course.blocks[block], scored)
        judgments += sum(len(course.blocks[block]) for _, block in wanted)
        rounds += 1
    return Race(tuple(standings[n] for n in sorted(standings)), tuple(stops.values()), rounds, judgments)


def _next_block(standing: Standing, stops: dict[str, Stop], course: Course) -> int:
    if standing.name in stops or standing.judged >= len(course.blocks):
        raise ValueError(f"the rule asks for {standing.name}, which is stopped or has judged all")
    return standing.judged


def _scored(standing: Standing, block: Sequence[int], scored: Sequence[float] | Array) -> Standing:
    scores = standing.scores.copy()
    scores[list(block)] = np.asarray(scored, dtype=float)
    return replace(standing, scores=scores, judged=standing.judged + 1)
