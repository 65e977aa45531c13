"""The humans as rows of a table of judges: one annotator against another, and against the mean of the others.

`evaluation.ceiling` says the same of Spearman's rho, and more; here it is said in every measure that judges are
compared in, on the annotators, the items and the resamples that `ceiling` would use, with the same figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.evaluation.ceiling import RESAMPLES
from calibrator.evaluation.raters import group_draws, mean_of, mean_without, most_items, ratings_by
from calibrator.records import Item
from calibrator.stats.correlation import MEASURES, Measure
from calibrator.stats.resampling import Interval, percentile_interval, resampled

Array = NDArray[np.float64]
Series = Sequence[tuple[Array, Array]]
ANOTHER = "one human against another"
REST = "one human against the rest"


@dataclass(frozen=True, slots=True)
class HumanRow:
    """The annotators in the place of a judge: each measure with its 95 % interval by bootstrap over groups.

    `name` is `ANOTHER`, the mean over all pairs of annotators, or `REST`, that over all annotators, each against the
    mean of the others. Correlations are -1 to 1, mae is in points of the scale; nan where one of those that the mean is
    of is not defined. `items` and `groups` count what was used, `annotators` those that differ.
    """

    name: str
    figures: Mapping[str, Interval]
    items: int
    groups: int
    annotators: int


def human_rows(
    items: Sequence[Item], seed: int, resamples: int = RESAMPLES, measures: Mapping[str, Measure] = MEASURES
) -> tuple[HumanRow, ...]:
    """Return the rows `ANOTHER` and `REST`; none if fewer than two annotators rated the same items.

    Used are the items and annotators of `ceiling`, copied columns counted once and sorted ratings put in an order by
    lot as there, so that the figures in "spearman" are its `pairwise` and `against_rest`. Where all `items` are used,
    the resamples are those that `evaluation.agreement.compare` draws for judges on the same items with the same `seed`.
    With two annotators both rows say the same.
    """
    ratings = ratings_by(items, most_items(items), seed)
    if ratings is None:
        return ()
    groups = [items[k].group for k in ratings.places]
    weights = group_draws(groups, resamples, seed)
    columns = list(ratings.values.T)
    rows: dict[str, Series] = {
        ANOTHER: list(combinations(columns, 2)),
        REST: [(own, mean_without(ratings, j)) for j, own in enumerate(columns)],
    }
    return tuple(
        HumanRow(
            name,
            {m: _mean_figure(measure, series, weights) for m, measure in measures.items()},
            len(groups),
            len(set(groups)),
            len(columns),
        )
        for name, series in rows.items()
    )


def against_one(
    scores: Array, items: Sequence[Item], seed: int, resamples: int = RESAMPLES, measure: str = "spearman"
) -> Interval | None:
    """Return a judge's figure against one annotator, the mean of all, with its 95 % interval.

    This, and not the judge against the mean of all annotators, may be held beside `ANOTHER`: a mean is less noisy than
    one annotator, and so an easier mark. `scores` has shape (len(items),), nan for a failure; the judge is compared on
    those items that `human_rows` would use and it scored. In "spearman" this is `evaluation.ceiling.share(…).one`. None
    if fewer than two annotators rated the same items; nan where it is not defined. Raises ValueError if there are not
    as many scores as items, KeyError for a measure that is not in `stats.correlation.MEASURES`.
    """
    if len(scores) != len(items):
        raise ValueError(f"{len(scores)} scores for {len(items)} items")
    scored = np.flatnonzero(np.isfinite(scores)).tolist()
    kept = [items[k] for k in scored]
    ratings = ratings_by(kept, most_items(items), seed)
    if ratings is None:
        return None
    judged = np.asarray(scores, dtype=float)[scored][ratings.places]
    weights = group_draws([kept[k].group for k in ratings.places], resamples, seed)
    return _mean_figure(MEASURES[measure], [(judged, column) for column in ratings.values.T], weights)


def _mean_figure(measure: Measure, series: Series, weights: Array) -> Interval:
    """Return the mean of a measure over pairs of series; nan where it is not defined for one of them."""
    point = mean_of([measure(x, y) for x, y in series])
    return percentile_interval(float(point), mean_of([resampled(measure, x, y, weights) for x, y in series]))
