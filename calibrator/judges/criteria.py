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
    """Scores by a criteria rubric: base + Σ weight · standardised criterion, or product of two, on the scale."""

    id = ID
    mode = MODE

    def __init__(self, rubric: Rubric, scale: Scale, measured: Measure = measure) -> None:
        """`measured` may be a `Measured` that remembers. Raises RubricError if a step has no known criterion."""
        self._measures = [m for s in rubric.steps for m in s.measures]
        missing = [s.text[:40] for s in rubric.steps if not s.measures]
        factors = [(m.criterion, m.center, m.spread) for m in self._measures]
        self._pairs = [k for k, m in enumerate(self._measures) if m.times is not None]
        factors += [(t.criterion, t.center, t.spread) for m in self._measures if (t := m.times) is not None]
        missing += [name for name, _, _ in factors if name not in BY_NAME]
        if missing:
            problem = f"the embedded judge knows no criterion for {', '.join(map(repr, missing))}"
            raise RubricError(f"{problem}; a rubric in free text needs an LLM judge")
        self.rubric, self.scale, self._measured = rubric, scale, measured
        self._criteria = [BY_NAME[name] for name, _, _ in factors]
        self._center, self._spread = (np.array([f[k] for f in factors], dtype=float) for k in (1, 2))

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
        z = standardise(self._measured(items, self._criteria), self._center, self._spread)
        z[:, self._pairs] *= z[:, len(self._measures) :]
        # Summed one by one: a matrix product may round differently for another number of items.
        scores = np.full(len(items), self.rubric.base)
        for j, weighed in enumerate(self._measures):
            scores = scores + weighed.weight * z[:, j]
        clipped: list[float] = np.clip(scores, self.scale.low, self.scale.high).tolist()
        return clipped
