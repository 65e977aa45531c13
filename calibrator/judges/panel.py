"""The panel: several judges joined into one score, by a regularised fit or by the mean of their ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.judges.base import Judge
from calibrator.judges.together import judge_together
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.linear import LIMIT

METHOD = "panel"
QUORUM = 0.5  # of the weight of all judges on the panel: with less, the panel has no score either

BOUNDLESS = Scale(-math.inf, math.inf)

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Member:
    """A judge's seat: how its score counts.

    `weight` is in points of the aspect's scale: per standard deviation of its scores where they are standardised as
    (score - center) / spread, limited to -3 … 3, or per whole range of ranks where `knots` are given. These are its
    scores of the items that the panel was fitted on, in order (of many, evenly spaced quantiles): its score then counts
    by its rank among them, from -1/2 to 1/2. A member without a score counts as its average does: 0.
    """

    name: str
    weight: float
    center: float = 0.0
    spread: float = 1.0
    knots: tuple[float, ...] = ()

    def standing(self, scores: Array) -> Array:
        """Return how scores (n,) stand among those it was fitted on, 0 for the average; nan stays nan."""
        if self.knots:
            return rank_among(scores, np.array(self.knots))
        return np.clip((scores - self.center) / self.spread, -LIMIT, LIMIT)


def rank_among(scores: Array, knots: Array) -> Array:
    """Return the share of `knots` (k,), sorted, below each of the scores (n,), ties half, less 1/2; nan stays nan."""
    below, through = (np.searchsorted(knots, scores, side=side) for side in ("left", "right"))
    place: Array = (below + through) / 2 / len(knots) - 0.5
    return np.where(np.isnan(scores), np.nan, place)


class PanelJudge:
    """Scores as base + Σ weight · standing of its members, limited to the scale.

    `measured` is the part of the panel that measures the text itself, or None: a criteria rubric whose base is that of
    the panel, not limited to any scale (`BOUNDLESS`). It has a score for every text with a word. Where members that
    hold more than `QUORUM` of the judges' weight fail, so does the panel, with their commonest reason: what is left
    would be another judge.
    """

    mode = METHOD

    def __init__(
        self,
        name: str,
        seats: Sequence[tuple[Member, Judge]],
        scale: Scale,
        base: float,
        measured: Judge | None = None,
    ) -> None:
        """Raises ValueError for a panel of nobody."""
        if not seats and measured is None:
            raise ValueError("a panel needs a member")
        self.id, self.base = name, base
        self.members = tuple(m for m, _ in seats)
        self.judges, self._scale, self.measured = tuple(j for _, j in seats), scale, measured

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item."""
        judges = [*self.judges, *([self.measured] if self.measured is not None else [])]
        given = judge_together([(judge, items) for judge in judges])
        return self.joined(items, given[: len(self.judges)], given[-1] if self.measured is not None else None)

    def measure(self, items: Sequence[Item]) -> tuple[Verdict, ...] | None:
        """Return what the part that measures the text itself gives; None where there is none."""
        return None if self.measured is None else self.measured.judge(items)

    def joined(
        self, items: Sequence[Item], given: Sequence[Sequence[Verdict]], measured: Sequence[Verdict] | None
    ) -> tuple[Verdict, ...]:
        """Return the verdicts that those of the members, in their order, and of the measured part come to."""
        standings = [m.standing(_scores(v)) for m, v in zip(self.members, given, strict=True)]
        weights = [m.weight for m in self.members]
        texts: Sequence[Verdict | None] = [None] * len(items) if measured is None else measured
        return tuple(
            self._verdict(item, [s[k] for s in standings], weights, [v[k] for v in given], texts[k])
            for k, item in enumerate(items)
        )

    def _verdict(
        self,
        item: Item,
        standings: Sequence[float],
        weights: Sequence[float],
        given: Sequence[Verdict],
        measured: Verdict | None,
    ) -> Verdict:
        if isinstance(measured, Failure):
            return Failure(item.id, measured.reason)
        missing = [w for w, z in zip(weights, standings, strict=True) if math.isnan(z)]
        nobody = measured is None and len(missing) == len(weights)
        if missing and (nobody or math.fsum(map(abs, missing)) > QUORUM * math.fsum(map(abs, weights))):
            return Failure(item.id, _commonest([v.reason for v in given if isinstance(v, Failure)]))
        base = self.base if measured is None else measured.score
        score = base + math.fsum(w * z for w, z in zip(weights, standings, strict=True) if not math.isnan(z))
        return Judgment(item.id, min(max(score, self._scale.low), self._scale.high), self.mode)


def _scores(verdicts: Sequence[Verdict]) -> Array:
    return np.array([v.score if isinstance(v, Judgment) else np.nan for v in verdicts], dtype=float)


def _commonest(reasons: Sequence[str]) -> str:
    counts: Mapping[str, int] = {r: reasons.count(r) for r in reasons}
    return f"members without a score: {max(counts, key=lambda r: counts[r])}"
