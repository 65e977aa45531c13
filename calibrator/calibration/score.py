"""Scoring: a rubric's verdicts on the development set become a candidate."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.evaluation.agreement import failures_of, objective_on
from calibrator.records import Candidate, Item, Rubric, Verdict

MOST_FAILURES = 0.05


def make_candidate(
    name: str,
    rubric: Rubric,
    verdicts: tuple[Verdict, ...],
    items: Sequence[Item],
    objective: str,
    origin: str = "draft",
    parent: str | None = None,
) -> Candidate:
    """Return the candidate with its objective on the items it scored.

    More than 5 % failures make it ineligible: its value is None.
    """
    failed = sum(failures_of(verdicts).values())
    value = None if failed > MOST_FAILURES * len(items) else objective_on(objective, verdicts, items)
    return Candidate(name, rubric, verdicts, value, origin, parent)
