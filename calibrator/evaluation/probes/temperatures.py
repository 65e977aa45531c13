"""The same judge at other temperatures: do its scores and their order hold?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np

from calibrator.evaluation.agreement import failures_of, scores_of
from calibrator.evaluation.probes.base import NAN, Finding, Line, Subject, beside, mean_of, point
from calibrator.evaluation.probes.variant import Variant
from calibrator.records import Verdict

TEMPERATURES = (0.0, 0.5, 1.0)
WHAT = "scores and failures at each temperature; rho, shift and change from the first of two to the second"


@dataclass(frozen=True, slots=True)
class Temperatures:
    """Judges every item at several temperatures; at the judge's own the verdicts that are there stand."""

    temperatures: tuple[float, ...] = TEMPERATURES
    name: ClassVar[str] = "temperatures"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        return "" if subject.asked is not None else "it asks no model itself, so that there is no temperature"

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        own = subject.asked.sampling.temperature if subject.asked else None
        return sum(t != own for t in self.temperatures) * len(subject.items) * subject.draws

    def find(self, subject: Subject) -> Finding:
        """Return the failures at each temperature, and for each two the correlation and the change of the scores."""
        assert subject.asked is not None
        verdicts = {
            t: subject.base if t == subject.asked.sampling.temperature else _at(subject, t) for t in self.temperatures
        }
        return Finding(self.name, WHAT, temperature_lines(subject, verdicts))


def _at(subject: Subject, temperature: float) -> tuple[Verdict, ...]:
    assert subject.asked is not None
    return subject.judged_by(Variant(subject.asked, temperature=temperature, seed=subject.seed))


def temperature_lines(subject: Subject, verdicts: dict[float, tuple[Verdict, ...]], who: str = "") -> tuple[Line, ...]:
    """Return a line for each temperature and for each two of them, from verdicts on the items of `subject`.

    "failed" is the share of the items without a score, "mean" the mean score as it stands on the scale.
    """
    lines = []
    for t, given in verdicts.items():
        scores = scores_of(given)
        kept = np.flatnonzero(np.isfinite(scores)).tolist()
        mean = subject.line("", kept, {"mean": mean_of(scores[kept])}).figures["mean"] if kept else point(NAN)
        failed = {"failed": mean_of(np.isnan(scores).astype(float))}
        line = subject.line(f"{who}at {t:g}", range(len(scores)), failed, mean=mean)
        lines.append(Line(line.case, line.figures, line.items, line.groups, failures_of(given)))
    for one, other in combinations(verdicts, 2):
        line = beside(subject, f"{who}{one:g} to {other:g}", subject.sign * scores_of(verdicts[one]), verdicts[other])
        lines.append(Line(line.case, line.figures, line.items, line.groups))  # the failures were told above
    return tuple(lines)
