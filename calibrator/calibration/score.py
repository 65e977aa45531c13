"""Scoring: a rubric's verdicts on the development set become a candidate."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.evaluation.agreement import MOST_FAILURES, failures_of
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Item, Rubric, Stopped, Verdict


def make_candidate(
    name: str,
    rubric: Rubric,
    verdicts: tuple[Verdict | None, ...],
    items: Sequence[Item],
    aim: Aim,
    origin: str = "draft",
    parent: str | None = None,
    stopped: Stopped | None = None,
) -> Candidate:
    """Return the candidate with its objective on the items it scored.

    More than 5 % failures make it ineligible: its value is None, as is that of one that was `stopped`.
    """
    failed = sum(failures_of(verdicts).values())
    eligible = stopped is None and failed <= MOST_FAILURES * len(items)
    return Candidate(name, rubric, verdicts, aim.of(verdicts, items) if eligible else None, origin, parent, stopped)
