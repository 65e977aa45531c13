"""With how many human labels for each system does a judge's ranking hold? (Zheng et al., appendix C)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.stats.orders import significant_tau, tau_draws
from calibrator.stats.systems import complete, sample_weights
from calibrator.studies.ranking.agree import LEVEL
from calibrator.studies.ranking.field import Array, Field, Places, only

PUBLISHED = (10, 25, 50, 75, 90, 100)
REPEATS = 1000
LARGEST = 100
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class SizeLine:
    """Kendall's tau with `size` human labels of each system.

    `subsets` are quantiles (`QUANTILES`) over random subsets of the labels there are, the judge's scores on all items,
    as published: it narrows to a point as the subsets come to be all there are. `anew` are the lower end, the median
    and the upper end of the 90 % interval where the items are drawn with replacement, for judge and humans alike: what
    other labels of that number might give; `significant` is the share of these draws whose tau is large enough for
    p < 0.05 (that of rankings without ties). nan where tau is not defined.
    """

    size: int
    subsets: tuple[float, ...]
    anew: tuple[float, float, float]
    significant: float


def sizes_there(field: Field, rows: Places, wanted: Sequence[int] = PUBLISHED) -> tuple[int, ...]:
    """Return the sizes that the data has for every rated system; all there are stand last where they are few."""
    whole = complete(field.member[rows], field.sources_of(rows))
    counts = np.bincount(field.member[rows[whole] if len(whole) else rows], minlength=len(field.systems))
    most = int(counts[counts > 0].min()) if counts.any() else 0
    there = [size for size in wanted if size <= most]
    last = [most] if 1 < most < LARGEST and tuple(wanted) == PUBLISHED else []
    return tuple(sorted({*there, *last}))


def size_lines(field: Field, judge: str, sizes: Sequence[int], repeats: int, seed: int) -> tuple[SizeLine, ...]:
    """Return tau by the number of human labels of each system."""
    values = field.judges[judge]
    rows = field.rows_of(values)
    member, sources = field.member[rows], field.sources_of(rows)
    judged = field.plain_scores(values)  # all that the judge scored, rated or not
    rated = np.unique(member)
    lines = []
    for size in sizes:
        weights = np.zeros((repeats, len(values)))
        rng = np.random.default_rng([seed, size])
        weights[:, rows] = sample_weights(member, sources, size, repeats, rng, replace=False)
        human = field.scores(only(field.human, rows), weights)
        taus = tau_draws(judged[None, rated], human[:, rated])
        anew = _anew(field, values, rows, size, repeats, rng)
        ends = _quantiles(anew, ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
        share = float((anew >= significant_tau(len(rated)) - 1e-9).mean())
        lines.append(SizeLine(size, _quantiles(taus, QUANTILES), (ends[0], ends[1], ends[2]), share))
    return tuple(lines)


def _anew(field: Field, values: Array, rows: Places, size: int, repeats: int, rng: np.random.Generator) -> Array:
    """Return tau where so many items of each system are drawn anew, shape (repeats,)."""
    member, sources = field.member[rows], field.sources_of(rows)
    weights = np.zeros((repeats, len(values)))
    weights[:, rows] = sample_weights(member, sources, size, repeats, rng, replace=True)
    rated = np.unique(member)
    judged, human = (field.scores(only(v, rows), weights)[:, rated] for v in (values, field.human))
    return tau_draws(judged, human)


def _quantiles(draws: Array, at: Sequence[float]) -> tuple[float, ...]:
    defined = draws[np.isfinite(draws)]
    if len(defined) * 2 < len(draws) or not len(defined):
        return tuple(float("nan") for _ in at)
    return tuple(float(v) for v in np.quantile(defined, at))


def needed(lines: Sequence[SizeLine], threshold: float) -> int | None:
    """Return the fewest labels with which the interval of new items stays above the threshold, None if none does.

    It must hold for all larger sizes too.
    """
    fewest = None
    for line in reversed(lines):
        if not line.anew[0] > threshold:
            break
        fewest = line.size
    return fewest
