"""Corrected scores that are no means over items, such as macro-F1, by the prediction-powered bootstrap.

Sources are the sampling units: all items of one are drawn together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calibrator.stats.prediction_powered import Powered
from calibrator.stats.prediction_powered_bootstrap import powered_statistic
from calibrator.studies.ranking.field import Array, Field, Places, Sides

MOST_RESAMPLES = 500  # the intervals are Student's t: a standard deviation needs fewer draws than percentiles do
ENOUGH_LABELS = 50  # of a system: with fewer the intervals hold the truth too rarely (experiments/ppi_coverage.py)


@dataclass(frozen=True, slots=True)
class Figures:
    """The scores of a field that are figures of labels, such as macro-F1; `sides` holds the labels themselves.

    The same `seed` gives the same resamples of a system for every judge.
    """

    field: Field
    sides: Sides
    seed: int = 0
    resamples: int = MOST_RESAMPLES

    def plain(self, values: Array, rows: Places) -> float:
        """Return the score of the items `rows` by the labels `values` (n,) of all items."""
        return float(self.field.score.figure(self.field.score.columns(values)[rows].sum(axis=0)))

    def system(self, labelled: Places, others: Places) -> Powered:
        """Return the corrected score of one system's items, those that humans labelled and the others."""
        rows = np.concatenate([labelled, others])
        score = self._scored(rows)
        return self._powered(score, labelled, others, [int(self.field.member[rows[0]])])

    def gap(self, first: Places, second: Places) -> Powered:
        """Return the corrected score of one system less that of another, of items that are paired by position.

        A pair counts as labelled where humans labelled both.
        """
        both = np.isfinite(self.sides.human[first]) & np.isfinite(self.sides.human[second])
        labelled, others = (np.concatenate([first[kept], second[kept]]) for kept in (both, ~both))
        one, other = (int(self.field.member[rows[0]]) for rows in (first, second))
        score = self._scored(np.concatenate([labelled, others]))

        def less(labels: Array, rows: Places) -> float:
            own = self.field.member[rows] == one
            return score(labels[own], rows[own]) - score(labels[~own], rows[~own])

        return self._powered(less, labelled, others, [one, other])

    def _powered(
        self, score: Callable[[Array, Places], float], labelled: Places, others: Places, which: list[int]
    ) -> Powered:
        labelled, others = self._ordered(labelled), self._ordered(others)
        return powered_statistic(
            score,
            self.sides.human[labelled],
            self.sides.judged[labelled],
            self.sides.judged[others],
            np.random.default_rng([self.seed, *which]),
            along=[labelled],
            unlabelled_along=[others],
            resamples=min(self.resamples, MOST_RESAMPLES),
            groups=self.field.sources_of(labelled),
            unlabelled_groups=self.field.sources_of(others),
        )

    def _ordered(self, rows: Places) -> Places:
        """Return items in the order of their sources, systems and labels, whatever row of the table they stand in."""
        keys = [(self.field.sources[k], self.field.member[k], self.sides.human[k], self.sides.judged[k]) for k in rows]
        return rows[sorted(range(len(rows)), key=keys.__getitem__)]

    def _scored(self, rows: Places) -> Callable[[Array, Places], float]:
        """Return what gives the score of items among `rows`, any of them more than once, with labels given to them.

        What an item adds to the score with each label is worked out once; a resample is added up.
        """
        every = np.concatenate([self.sides.human[rows], self.sides.judged[rows]])
        labels = np.unique(every[np.isfinite(every)])
        score = self.field.score
        adds = np.array([score.columns(np.full(len(self.field.member), label))[rows] for label in labels])
        place = np.zeros(len(self.field.member), dtype=np.int64)
        place[rows] = np.arange(len(rows))

        def scored(given: Array, which: Places) -> float:
            return float(score.figure(adds[np.searchsorted(labels, given), place[which]].sum(axis=0)))

        return scored
