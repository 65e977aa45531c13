"""Prediction-powered inference for figures that are no means, by the bootstrap (Zrnic 2024, PPBoot)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.prediction_powered import FEWEST, Powered, check, interval
from calibrator.stats.resampling import codes

Array = NDArray[np.float64]
Places = NDArray[np.int64]


def powered_statistic(
    statistic: Callable[..., float],
    human: Array,
    judged: Array,
    unlabelled: Array,
    rng: np.random.Generator,
    *,
    along: Sequence[Array] = (),
    unlabelled_along: Sequence[Array] = (),
    resamples: int = 1000,
    level: float = 0.95,
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
    Student's t with the bootstrap's standard deviation, with the same two corrections as `powered_mean`. A figure whose
    bias changes much with the number of items (a maximum, a number of different values) must not be estimated so.
    Resamples in which it is not defined are left out; where more than half are, the interval is nan. Raises ValueError
    as `powered_mean` does, and where what stands beside has another length.
    """
    check(human, judged, unlabelled, level, None)
    fits = all(len(x) == len(human) for x in along) and all(len(x) == len(unlabelled) for x in unlabelled_along)
    if not fits or len(along) != len(unlabelled_along):
        raise ValueError("what stands along must be there for every labelled and every unlabelled item")
    strata, units = _strata(len(human), len(unlabelled), groups, unlabelled_groups)
    whole = (np.arange(len(human)), np.arange(len(unlabelled)))

    def three(first: Places, second: Places) -> tuple[float, float, float]:
        beside, others = [x[first] for x in along], [x[second] for x in unlabelled_along]
        known = statistic(human[first], *beside), statistic(judged[first], *beside)
        return *known, statistic(unlabelled[second], *others) if len(second) else float("nan")

    figures = np.array(three(*whole))
    draws = np.array([three(*_draw(strata, len(human), rng)) for _ in range(resamples)]).reshape(-1, 3)
    return _from_draws(figures, draws, units, level, bool(len(unlabelled)))


def _strata(
    size: int, more: int, groups: Sequence[str] | None, other_groups: Sequence[str] | None
) -> tuple[list[list[Places]], int]:
    """Return the places of each unit's items, labelled units first, both kinds next, and how many units hold labels.

    Three lists, so that each resample has as many units of a kind as there are.
    """
    if (groups is None) != (other_groups is None):
        raise ValueError("give groups for the labelled and for the unlabelled items, or for neither")
    if groups is None or other_groups is None:
        places = [np.array([k]) for k in range(size + more)]
        return [places[:size], [], places[size:]], size
    if (len(groups), len(other_groups)) != (size, more):
        raise ValueError("there must be a group for every item")
    member = codes([*groups, *other_groups])
    places = [np.flatnonzero(member == k) for k in range(int(member.max()) + 1 if len(member) else 0)]
    kinds = [
        [p for p in places if p[-1] < size],
        [p for p in places if p[0] < size <= p[-1]],
        [p for p in places if p[0] >= size],
    ]
    return kinds, len(kinds[0]) + len(kinds[1])


def _draw(strata: Sequence[Sequence[Places]], size: int, rng: np.random.Generator) -> tuple[Places, Places]:
    """Return the places of a resample's labelled and unlabelled items, the latter counted from 0."""
    drawn = [units[k] for units in strata if units for k in rng.integers(len(units), size=len(units))]
    places = np.concatenate(drawn) if drawn else np.zeros(0, dtype=np.int64)
    return places[places < size], places[places >= size] - size


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
    return Powered(*estimate, *classical, weight, units * max(1.0, spread / variance))
