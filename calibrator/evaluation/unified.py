"""One score from several aspects: the mean over them, each put on one scale first on which higher is better.

The unified score of CSEval (Hengle et al. 2025, equation 2) for any aspects: direction and scale come from the aspects,
never from the data. For relevance, aggressiveness and coherence from 1 to 5 and suitableness from 1 to 3 it is
(R + (6 - A) + C + ((S - 1) / 2 · 4 + 1)) / 4.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect, Scale

Array = NDArray[np.float64]
FIVE = Scale(1, 5)
DECIMALS = 9  # means are rounded to these, so that those of the same scores are tied


def on_scale(scores: Array, aspect: Aspect, scale: Scale = FIVE) -> Array:
    """Return scores (n,) of an aspect moved to `scale`, where its better end is the higher one.

    A number off the aspect's own scale is no score (a recorded -1 stands for a failure) and becomes nan, as nan stays.
    """
    own = aspect.scale
    with np.errstate(invalid="ignore"):
        given = np.where((scores >= own.low) & (scores <= own.high), scores, np.nan)
    upward = own.low + own.high - given if aspect.better == "lower" else given
    if (own.low, own.high) == (scale.low, scale.high):
        return upward  # as it is: working it out would round
    moved: Array = (upward - own.low) / (own.high - own.low) * (scale.high - scale.low) + scale.low
    return moved


def unified(scores: Mapping[str, Array], aspects: Mapping[str, Aspect], scale: Scale = FIVE) -> Array:
    """Return the mean over `aspects` of the scores of each, (n,) on `scale`, higher is better.

    `scores` has the scores (n,) of every aspect by the same names; others in it do not count. nan where an aspect has
    no score. Raises ValueError if there is no aspect, if one has no scores, or if their lengths differ.
    """
    missing = [name for name in aspects if name not in scores]
    if missing or not aspects:
        raise ValueError(f"no scores of {', '.join(missing)}" if missing else "a mean needs one aspect at least")
    lengths = {name: len(scores[name]) for name in aspects}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"every aspect needs as many scores as the others, there are {lengths}")
    total = np.sum([on_scale(scores[name], aspect, scale) for name, aspect in aspects.items()], axis=0)
    mean: Array = np.round(total / len(aspects), DECIMALS)
    return mean
