"""Scoring: a rubric's verdicts on the development set become a candidate."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator.evaluation.agreement import failures_of, scores_of
from calibrator.records import Candidate, Item, Rubric, Verdict
from calibrator.stats.correlation import objective as objective_of

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
    value = None if failed > MOST_FAILURES * len(items) else value_on(verdicts, items, range(len(items)), objective)
    return Candidate(name, rubric, verdicts, value, origin, parent)


def value_on(verdicts: Sequence[Verdict], items: Sequence[Item], where: Sequence[int], objective: str) -> float:
    """Return the objective on the items at the places in `where` that have a score."""
    scores = scores_of([verdicts[k] for k in where])
    human = np.array([items[k].human for k in where], dtype=float)
    scored = np.isfinite(scores)
    return objective_of(objective, scores[scored], human[scored])
