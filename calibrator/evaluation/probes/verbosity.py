"""Does a judge reward length as such?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from calibrator.evaluation.probes.base import Array, Figure, Finding, Subject, rho_of
from calibrator.stats.correlation import spearman


@dataclass(frozen=True, slots=True)
class Verbosity:
    """Sets the scores beside the number of words of the rated texts, the humans' ratings beside them too."""

    name: ClassVar[str] = "verbosity"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        return ""

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        return 0

    def find(self, subject: Subject) -> Finding:
        """Return Spearman's rho with length, that of the humans, the difference, and the partial one.

        "partial" is what is left of the judge's correlation with length at the same human rating.
        """
        scores, human = subject.scores, subject.human
        kept = np.flatnonzero(np.isfinite(scores))
        x, y = scores[kept], human[kept]
        length = np.array([float(len(subject.items[k].output.split())) for k in kept])
        figures = {
            "judge": rho_of(x, length),
            "humans": rho_of(y, length),
            "over humans": lambda w: spearman(x, length, w) - spearman(y, length, w),
            "partial": partial_rho(x, length, y),
        }
        basis = "Spearman with the number of words; above 0: longer is judged better"
        return Finding(self.name, basis, (subject.line("length", kept.tolist(), figures),))


def partial_rho(x: Array, y: Array, given: Array) -> Figure:
    """Return the partial rank correlation of `x` and `y` given a third series, all (n,), as a figure.

    (r_xy - r_xz r_yz) / sqrt((1 - r_xz²)(1 - r_yz²)) with Spearman's rho for r: Pearson's correlation of what is left
    of the ranks of `x` and of `y` after a straight line on the ranks of `given`. nan where one of the three is not
    defined, or `given` orders the items as `x` or `y` does.
    """

    def figure(weights: Array) -> Array:
        xy, xz, yz = (spearman(a, b, weights) for a, b in ((x, y), (x, given), (y, given)))
        left = (1 - xz**2) * (1 - yz**2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(left > 1e-12, np.clip((xy - xz * yz) / np.sqrt(left), -1, 1), np.nan)

    return figure
