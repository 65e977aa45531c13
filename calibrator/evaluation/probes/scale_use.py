"""Is a judge lenient, and does it use its scale?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrator.aspects import Scale
from calibrator.evaluation.probes.base import NAN, Array, Figure, Finding, Line, Subject, mean_of, point


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """Sets where on the scale the scores lie beside where the humans' ratings of the same items lie."""

    name: ClassVar[str] = "range"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        return ""

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        return 0

    def find(self, subject: Subject) -> Finding:
        """Return a line each for judge and humans, and one for the judge against them.

        "lenience" is the mean score less the mean rating in points towards the better end, "spread ratio" the judge's
        standard deviation over the humans', "crowding" the judge's share at its commonest point less the humans' at
        theirs.
        """
        scores, human, scale = subject.scores, subject.human, subject.aspect.scale
        kept = np.flatnonzero(np.isfinite(scores))
        x, y = scores[kept], human[kept]
        places = kept.tolist()
        shares, theirs = (shares_of(subject.sign * s, scale) for s in (x, y))
        between: dict[str, Figure] = {
            "lenience": mean_of(x - y),
            "spread ratio": lambda w: deviation(x)(w) / deviation(y)(w),
            "crowding": lambda w: shares(w).max(axis=1) - theirs(w).max(axis=1),
        }
        lines = (
            _line(subject, "judge", places, subject.sign * x, scale),
            _line(subject, "humans", places, subject.sign * y, scale),
            subject.line("judge against humans", places, between),
        )
        basis = "entropy (bits) and commonest count scores at the nearest point of the scale; lenience: towards better"
        return Finding(self.name, basis, lines)


def _line(subject: Subject, case: str, places: list[int], x: Array, scale: Scale) -> Line:
    """Return how scores `x` as they stand on the scale are spread over it.

    "used" is the share of the scale between the lowest and the highest, "entropy" Shannon's over the points of the
    scale, "commonest" the share of the items at the commonest point, "deviation" the standard deviation in points.
    """
    if not places:
        return subject.line(case, places, {name: mean_of(x) for name in ("mean", "used", "entropy", "commonest")})
    shares = shares_of(x, scale)
    figures: dict[str, Figure] = {
        "mean": mean_of(x),
        "deviation": deviation(x),
        "entropy": lambda w: entropy(shares(w)),
        "commonest": lambda w: shares(w).max(axis=1),
    }
    used = point(float(np.ptp(x)) / (scale.high - scale.low) if len(x) else NAN)
    return subject.line(case, places, figures, used=used)


def shares_of(x: Array, scale: Scale) -> Figure:
    """Return the shares of scores (n,) at each point of the scale that any of them is nearest to, (b, k), a figure."""
    at = points(x, scale)
    one_hot = (at[:, None] == np.unique(at)).astype(float)
    return lambda weights: np.asarray((weights @ one_hot) / weights.sum(axis=1, keepdims=True))


def points(x: Array, scale: Scale) -> Array:
    """Return the number, from 0 up, of the point of the scale nearest to each score; halves go up, shape (n,)."""
    return np.asarray(np.floor((x - scale.low) / scale.step + 0.5 + 1e-9))


def entropy(shares: Array) -> Array:
    """Return Shannon's entropy in bits of rows of shares (b, k): 0 where all is in one place, log2 k where even."""
    logs = np.log2(np.where(shares > 0, shares, 1.0))
    return np.asarray(-(shares * logs).sum(axis=1) + 0.0)


def deviation(x: Array) -> Figure:
    """Return the standard deviation of `x` (n,), over n, as a figure."""

    def figure(weights: Array) -> Array:
        total = weights.sum(axis=1)
        mean = (weights @ x) / total
        return np.asarray(np.sqrt((weights * (x - mean[:, None]) ** 2).sum(axis=1) / total))

    return figure
