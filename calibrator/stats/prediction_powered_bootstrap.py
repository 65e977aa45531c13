"""Prediction-powered inference for figures that are no means, by the bootstrap (Zrnic 2024, PPBoot)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.prediction_powered import FEWEST, Powered, check, interval
from calibrator.stats.resampling import codes

Array = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Units:
    """Units of one kind: `places` holds the items of one after the other, `sizes` how many each has."""

    places: Places
    sizes: Places

    def drawn(self, rng: np.random.Generator) -> tuple[Places, Places]:
        """Return the items of as many units as there are, drawn with replacement, and which draw each is of."""
        taken = rng.integers(len(self.sizes), size=len(self.sizes))
        starts, sizes = (np.cumsum(self.sizes) - self.sizes)[taken], self.sizes[taken]
        draw = np.repeat(np.arange(len(taken)), sizes)
        within = np.arange(len(draw)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return self.places[np.repeat(starts, sizes) + within], draw


def powered_statistic(
    statistic: Callable[..., float],
    human: Array,
    judged: Array,
    unlabelled: Array,
    rng: np.random.Generator,
    *,
    along: Sequence[NDArray[Any]] = (),
    unlabelled_along: Sequence[NDArray[Any]] = (),
    resamples: int = 1000,
    level: float = 0.95,
    smoothing: float = 1.0,
    groups: Sequence[str] | None = None,
    unlabelled_groups: Sequence[str] | None = None,
) -> Powered:
    """Return a figure that is no mean (a macro-F1, a rank correlation), as it would be on the humans' ratings of all.

    `statistic(labels, *along)` gives the figure of labels or ratings (k,) and of what stands beside them, arrays of
    length k such as the classifier's answers that are examined; nan where it is not defined. `along` are those of the
    labelled items, `unlabelled_along` of the others; the rest is as in `powered_mean`.

    The value is statistic(human) + weight * (statistic(unlabelled) - statistic(judged)), as in Zrnic 2024 ("A Note on
    the Prediction-Powered Bootstrap"), with the weight of the least variance over `resamples` (Zrnic's power tuning),
    clipped to 0..1. Unlike there, the interval is not of percentiles, which covers too rarely with few labels, but
    Student's t with the bootstrap's standard deviation, with the same two corrections as `powered_mean`, and the
    bootstrap is smoothed: each labelled unit that is drawn has with the chance smoothing / (units + smoothing) labels
    drawn by lot from all the human labels, as if there were so many units more of which the judge knew nothing. A few
    labels with which a good judge never disagreed do not prove that it never errs. 0 leaves the bootstrap as it is.

    A figure whose bias changes much with the number of items (a maximum, a number of different values) must not be
    estimated so. Resamples in which it is not defined are left out; where more than half are, the interval is nan.
    Raises ValueError as `powered_mean` does, for a smoothing below 0, and where what stands beside has another length.
    """
    check(human, judged, unlabelled, level, None)
    _check_beside(human, unlabelled, along, unlabelled_along, smoothing)
    strata, units = _strata(len(human), len(unlabelled), groups, unlabelled_groups)
    chance = smoothing / (units + smoothing) if smoothing else 0.0

    def three(first: Places, second: Places, labels: Array) -> tuple[float, float, float]:
        beside, others = [x[first] for x in along], [x[second] for x in unlabelled_along]
        known = statistic(labels, *beside), statistic(judged[first], *beside)
        return *known, statistic(unlabelled[second], *others) if len(second) else float("nan")

    figures = np.array(three(np.arange(len(human)), np.arange(len(unlabelled)), human))
    draws = np.array([three(*_draw(strata, human, chance, rng)) for _ in range(resamples)]).reshape(-1, 3)
    return _from_draws(figures, draws, units, level, bool(len(unlabelled)))


def _check_beside(
    human: Array, unlabelled: Array, along: Sequence[Array], unlabelled_along: Sequence[Array], smoothing: float
) -> None:
    fits = all(len(x) == len(human) for x in along) and all(len(x) == len(unlabelled) for x in unlabelled_along)
    if not fits or len(along) != len(unlabelled_along):
        raise ValueError("what stands along must be there for every labelled and every unlabelled item")
    if not 0 <= smoothing < np.inf:
        raise ValueError(f"smoothing is a number of units, 0 or more, not {smoothing}")


def _strata(
    size: int, more: int, groups: Sequence[str] | None, other_groups: Sequence[str] | None
) -> tuple[list[_Units], int]:
    """Return the units by kind, and how many of them hold labels: labelled ones first, those of both kinds, the others.

    Each resample has as many units of a kind as there are.
    """
    if (groups is None) != (other_groups is None):
        raise ValueError("give groups for the labelled and for the unlabelled items, or for neither")
    if groups is None or other_groups is None:
        single = np.ones(size + more, dtype=np.int64)
        places = np.arange(size + more)
        return [_Units(places[:size], single[:size]), _Units(places[size:], single[size:])], size
    if (len(groups), len(other_groups)) != (size, more):
        raise ValueError("there must be a group for every item")
    member = codes([*groups, *other_groups])
    by_unit = [np.flatnonzero(member == k) for k in range(int(member.max()) + 1 if len(member) else 0)]
    kinds = [
        [p for p in by_unit if p[-1] < size],
        [p for p in by_unit if p[0] < size <= p[-1]],
        [p for p in by_unit if p[0] >= size],
    ]
    strata = [_Units(np.concatenate(p), np.array([len(x) for x in p])) for p in kinds if p]
    return strata, len(kinds[0]) + len(kinds[1])


def _draw(
    strata: Sequence[_Units], human: Array, chance: float, rng: np.random.Generator
) -> tuple[Places, Places, Array]:
    """Return the places of a resample's labelled and unlabelled items, the latter from 0, and the labels of the first.

    With the chance given the labels of a unit are by lot, drawn from all human labels.
    """
    size = len(human)
    first, second, lots = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=bool)]
    for units in strata:
        if not len(units.sizes):
            continue
        places, draw = units.drawn(rng)
        labelled = places < size
        first.append(places[labelled])
        second.append(places[~labelled] - size)
        if labelled.any():
            lots.append((rng.random(len(units.sizes)) < chance)[draw[labelled]])
    taken, by_lot = np.concatenate(first), np.concatenate(lots)
    labels = human[taken]
    if by_lot.any():
        labels[by_lot] = human[rng.integers(size, size=int(by_lot.sum()))]
    return taken, np.concatenate(second), labels


def _from_draws(figures: Array, draws: Array, units: int, level: float, others: bool) -> Powered:
    """Return the estimate from the figures of humans, judge and judge elsewhere (3,) and their resamples (b, 3)."""
    nothing = float("nan")
    human = draws[np.isfinite(draws[:, 0]), 0]
    enough = len(human) * 2 >= len(draws) > 0 and units > 1 and np.isfinite(figures[0])
    spread = float(human.var()) * units / (units - 1) if enough else nothing
    classical = interval(float(figures[0]), spread, level, units - 1)
    defined = draws[np.isfinite(draws).all(axis=1)]
    if not others or units < FEWEST or not np.isfinite(figures).all() or len(defined) * 2 < len(draws) or not enough:
        return Powered(*classical, *classical, 0.0, float(units))
    y, f, u = defined.T
    moves = f - u
    size = float(moves.var())
    weight = min(1.0, max(0.0, float(np.cov(y, moves, bias=True)[0, 1]) / size)) if size > 0 else 0.0
    if weight == 0:
        return Powered(*classical, *classical, 0.0, float(units))
    apart = float(figures[2] - figures[1])
    scale = units / (units - 2)
    own = float((y - weight * f).var() * scale / units / f.var()) if f.var() > 0 else 0.0
    variance = float((y - weight * moves).var()) * scale + own * apart**2
    estimate = interval(float(figures[0]) + weight * apart, variance, level, units - 2)
    return Powered(*estimate, *classical, weight, units * (spread / variance if variance > 0 else 1.0))
