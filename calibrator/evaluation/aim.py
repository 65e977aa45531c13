"""What a search makes as large as possible on the development set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.evaluation.agreement import systems_of
from calibrator.records import Item, Judgment, Verdict
from calibrator.stats.correlation import MEASURES, kendall, objective, pearson, ranks, spearman_draws
from calibrator.stats.grouped import centred
from calibrator.stats.resampling import resampled

Array = NDArray[np.float64]
DECIMALS = 9  # figures that centring leaves equal are equal to these


@dataclass(frozen=True, slots=True)
class Aim:
    """A measure of `stats.correlation.MEASURES`, as a judge is to hold for new sources or for new systems.

    `share`, 0 to 1, of what each system's mean differs from the mean of all is taken off the ranks of scores and of
    ratings (off the figures themselves for pearson; mae is left as it is). With 0 it is the measure over all items;
    with 1 what counts is the order within the systems alone, and a judge gains nothing by telling systems apart.
    """

    measure: str = "spearman"
    share: float = 0.0

    def value(self, scores: Array, human: Array, systems: Sequence[str]) -> float:
        """Return the figure of scores (n,) against ratings (n,), higher is better; -1 for an undefined correlation."""
        if not self.share or self.measure == "mae":
            return objective(self.measure, scores, human)
        value = float(self._figure(scores, human, systems, None))
        return value if np.isfinite(value) else -1.0

    def of(self, verdicts: Sequence[Verdict | None], items: Sequence[Item]) -> float:
        """Return the figure on those of `items` whose verdict is a score."""
        scored = [(v.score, i) for v, i in zip(verdicts, items, strict=True) if isinstance(v, Judgment)]
        human = np.array([i.human for _, i in scored], dtype=float)
        return self.value(np.array([s for s, _ in scored]), human, systems_of([i for _, i in scored]))

    def draws(self, scores: Array, human: Array, systems: Sequence[str], weights: Array) -> Array:
        """Return the figure of scores (c, n) in each row of weights (b, n), shape (c, b), higher is better.

        Where it is not defined it is nan. The shares are taken off once, not anew in each resample.
        """
        if not self.share and self.measure == "spearman":
            return spearman_draws(scores, human, weights)
        sign = -1.0 if self.measure == "mae" else 1.0
        rows = [sign * np.asarray(self._figure(row, human, systems, weights)) for row in scores]
        return np.array(rows).reshape(len(scores), len(weights))

    def over(self, human: Array, systems: Sequence[str]) -> Callable[[Array, NDArray[np.int64], Array], Array]:
        """Return `draws` as a function of scores (c, m), the places (m,) of their items, and weights (b, m)."""
        names = np.array(systems)
        return lambda scores, places, weights: self.draws(scores, human[places], names[places].tolist(), weights)

    def _figure(self, scores: Array, human: Array, systems: Sequence[str], weights: Array | None) -> Array:
        figure = MEASURES[self.measure]
        if self.share and self.measure != "mae":
            by_rank = self.measure != "pearson"
            x, y = (ranks(v) if by_rank else v for v in (scores, human))
            scores, human = (np.round(centred(v, systems, self.share), DECIMALS) for v in (x, y))
            figure = kendall if self.measure == "kendall" else pearson
        return figure(scores, human) if weights is None else resampled(figure, scores, human, weights)
