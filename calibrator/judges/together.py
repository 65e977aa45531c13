"""Several judges at once: those that ask a model share its places, the others take their turns."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.judges.base import Judge
from calibrator.judges.llm import LLMJudge, judge_with_models
from calibrator.records import Item, Verdict


def judge_together(work: Sequence[tuple[Judge, Sequence[Item]]]) -> list[tuple[Verdict, ...]]:
    """Return the verdicts of several judges, each on its items, in the order of `work`."""
    asking = [(judge, items) for judge, items in work if isinstance(judge, LLMJudge)]
    asked = iter(judge_with_models(asking))
    return [next(asked) if isinstance(judge, LLMJudge) else judge.judge(items) for judge, items in work]
