"""Judges that a calibrated one must beat: the same score for all, and the length of the text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from calibrator.aspects import Scale
from calibrator.reading import Text
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.texts import unusable


class ConstantJudge:
    """Gives every text the same score. No rank correlation is defined for it; its error is what guessing costs."""

    id = "constant"
    mode = "constant"

    def __init__(self, score: float) -> None:
        self._score = score

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return the one score for each item; an empty text is a failure."""
        reasons = [unusable(i.output) for i in items]
        return tuple(
            Failure(i.id, reason) if reason else Judgment(i.id, self._score, self.mode)
            for i, reason in zip(items, reasons, strict=True)
        )


class LengthJudge:
    """Scores by log(1 + words) alone, on a line fitted to rated items."""

    id = "length"
    mode = "length"

    def __init__(self, slope: float, base: float, scale: Scale) -> None:
        self._slope, self._base, self._scale = slope, base, scale

    @classmethod
    def fitted(cls, items: Sequence[Item], scale: Scale) -> LengthJudge:
        """Return the judge with the least-squares line of the ratings on log length, which sets its direction too."""
        x = np.array([_log_words(i) for i in items])
        y = np.array([i.human for i in items], dtype=float)
        spread = float(((x - x.mean()) ** 2).sum())
        slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread > 1e-12 else 0.0
        return cls(slope, float(y.mean()) - slope * float(x.mean()), scale)

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return a score for each item; an empty text is a failure."""
        verdicts: list[Verdict] = []
        for item in items:
            reason = unusable(item.output)
            score = self._base + self._slope * _log_words(item)
            clipped = min(max(score, self._scale.low), self._scale.high)
            verdicts.append(Failure(item.id, reason) if reason else Judgment(item.id, clipped, self.mode))
        return tuple(verdicts)


def _log_words(item: Item) -> float:
    return math.log1p(len(Text(item.output).words))
