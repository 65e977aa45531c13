"""Fits that are to hold for groups nobody has seen, such as new systems: how much of the groups to take out first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import spearman
from calibrator.stats.grouped import within
from calibrator.stats.linear import PENALTIES, ridge
from calibrator.stats.smoothing import centred_columns

Array = NDArray[np.float64]

SHARES = (0.0, 0.5, 1.0)  # plain, mixed and centred fits


def share_by_leaving_out(
    z: Array, y: Array, groups: Sequence[str], shares: Sequence[float] = SHARES, penalties: Sequence[float] = PENALTIES
) -> float:
    """Return how much of its group's mean to take off columns `z` (n, p) and `y` (n,) before a fit, one of `shares`.

    Each group is left out in turn and predicted by a ridge regression on the others. What counts is the mean of two
    Spearman correlations with `y`: over all the predictions, and within the groups. The first of `shares` (the plain
    fit) is left only for one whose gain over it exceeds its standard error, by jackknife over the groups: a few groups
    cannot tell much (the rule of one standard error; Breiman et al. 1984). With fewer than three groups nothing can be
    told.
    """
    names = np.asarray(groups)
    if len(set(groups)) < 3:
        return shares[0]
    figures = {share: _figures(z, y, names, share, penalties) for share in shares}
    plain, plain_without = figures[shares[0]]
    best, best_gain = shares[0], 0.0
    for share in shares[1:]:
        value, without = figures[share]
        apart = without - plain_without
        error = float(np.sqrt((len(apart) - 1) / len(apart) * ((apart - apart.mean()) ** 2).sum()))
        if value - plain > max(error, best_gain):
            best, best_gain = share, value - plain
    return best


def _figures(
    z: Array, y: Array, names: NDArray[np.str_], share: float, penalties: Sequence[float]
) -> tuple[float, Array]:
    """Return what counts for a share at its best penalty, and the same without each of the groups, shape (g,)."""
    predictions = _left_out(z, y, names, share, penalties)
    everything = np.ones(len(y), dtype=bool)
    predicted = max(predictions, key=lambda p: _figure(p, y, names, everything))
    without = [_figure(predicted, y, names, names != name) for name in sorted(set(names.tolist()))]
    return _figure(predicted, y, names, everything), np.array(without)


def _figure(predicted: Array, y: Array, names: NDArray[np.str_], kept: NDArray[np.bool_]) -> float:
    pooled = float(spearman(predicted[kept], y[kept]))
    return (pooled + within(spearman, predicted[kept], y[kept], names[kept].tolist())[0]) / 2


def _left_out(z: Array, y: Array, names: NDArray[np.str_], share: float, penalties: Sequence[float]) -> list[Array]:
    """Return the predictions with each penalty, every group's by a fit on the others; each fit's zero is its own mean.

    A left-out group of high ratings lowers the mean of the others, and with it the level of its predictions. No judge
    that is used on all groups at once has such levels.
    """
    predicted = [np.empty(len(y)) for _ in penalties]
    for name in sorted(set(names.tolist())):
        out = names == name
        rest = names[~out].tolist()
        x, target = centred_columns(np.column_stack([z[~out], y[~out]]), rest, share), z[~out].mean(axis=0)
        for penalty, into in zip(penalties, predicted, strict=True):
            into[out] = (z[out] - target) @ ridge(x[:, :-1], x[:, -1], penalty)[0]
    return predicted
