"""The embedded judge: a weighted sum of measurable criteria. No model, no key, no network."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Scale
from calibrator.criteria import BY_NAME, VERSION, Criterion, measure
from calibrator.errors import RubricError
from calibrator.records import Failure, Item, Judgment, Rubric, Verdict
from calibrator.stats.linear import standardise
from calibrator.texts import unusable

ID = f"criteria/{VERSION}"
MODE = "criteria"

Measure = Callable[[Sequence[Item], Sequence[Criterion]], NDArray[np.float64]]


class CriteriaJudge:
    """Scores by a criteria rubric: base + Σ weight · standardised criterion, clipped to the scale."""

    id = ID
    mode = MODE

    def __init__(self, rubric: Rubric, scale: Scale, measured: Measure = measure) -> None:
        """`measured` may be a `Measured` that remembers. Raises RubricError if a step has no known criterion."""
        self._measures = [m for s in rubric.steps for m in s.measures]
        missing = [s.text[:40] for s in rubric.steps if not s.measures]
        missing += [m.criterion for m in self._measures if m.criterion not in BY_NAME]
        if missing:
            problem = f"the embedded judge knows no criterion for {', '.join(map(repr, missing))}"
            raise RubricError(f"{problem}; a rubric in free text needs an LLM judge")
        self._rubric, self._scale, self._measured = rubric, scale, measured
        self._criteria = [BY_NAME[m.criterion] for m in self._measures]

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item; an empty text is a failure."""
        reasons = [unusable(i.output) for i in items]
        usable = [i for i, reason in zip(items, reasons, strict=True) if reason is None]
        scores = iter(self._scores(usable))
        return tuple(
            Failure(i.id, reason) if reason else Judgment(i.id, next(scores), MODE)
            for i, reason in zip(items, reasons, strict=True)
        )

    def _scores(self, items: Sequence[Item]) -> list[float]:
        values = self._measured(items, self._criteria)
        center, spread, weight = (
            np.array([getattr(m, name) for m in self._measures]) for name in ("center", "spread", "weight")
        )
        # Summed one by one: a matrix product may round differently for another number of items.
        scores = np.full(len(items), self._rubric.base)
        for j, column in enumerate(standardise(values, center, spread).T):
            scores = scores + weight[j] * column
        clipped: list[float] = np.clip(scores, self._scale.low, self._scale.high).tolist()
        return clipped
