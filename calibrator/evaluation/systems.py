"""Where systems are named: does a judge tell good texts from poor ones, or one system from another?

A correlation over all items mixes two things: the order of texts of one system (within) and the order of the systems
(between). A judge fitted on some systems' outputs may do well by knowing systems apart, which shows as a high figure
over all with a low one within.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import MEASURES, Measure
from calibrator.stats.resampling import Interval, codes, group_weights, percentile_interval, resampled

Array = NDArray[np.float64]
RESAMPLES = 2000
DECIMALS = 9  # means are rounded to these, so that those of the same scores are tied


@dataclass(frozen=True, slots=True)
class SystemLine:
    """One system: its items, the measure on them with its interval, the means of humans and judge on the scale."""

    system: str
    items: int
    figure: Interval
    human_mean: float
    judge_mean: float


@dataclass(frozen=True, slots=True)
class BySystem:
    """A judge against the humans over all items, within systems and between them, with 95 % intervals.

    `within` is the mean over the `defined` systems in which the measure is defined, each counting the same; `between`
    is the measure on the systems' means, of which there are few: its interval says how much the items, not the choice
    of systems, leave open. `without` is the measure over all items but those of the system named.
    """

    measure: str
    pooled: Interval
    within: Interval
    between: Interval
    defined: int
    systems: tuple[SystemLine, ...]
    without: Mapping[str, float]
    items: int
    groups: int


def by_system(
    scores: Array,
    human: Array,
    systems: Sequence[str],
    groups: Sequence[str],
    seed: int,
    measure: str = "spearman",
    resamples: int = RESAMPLES,
) -> BySystem:
    """Return the agreement of `scores` (n,) with `human` (n,), by `systems` (n names); both are on the aspect's scale.

    `measure` is a name of `stats.correlation.MEASURES`. Resamples draw whole `groups` (n names), the same for all
    figures; a system that a resample does not hold counts in it neither within nor between. What is not defined is
    nan; with fewer than two groups all intervals are. Leave items without a score out first. Raises ValueError if the
    lengths differ.
    """
    if not len(scores) == len(human) == len(systems) == len(groups):
        lengths = f"{len(scores)} scores, {len(human)} ratings, {len(systems)} systems, {len(groups)} groups"
        raise ValueError(f"one of each is needed for an item, there are {lengths}")
    figure, names, count = MEASURES[measure], sorted(set(systems)), len(set(groups))
    weights = group_weights(groups, resamples, np.random.default_rng(seed)) if count > 1 else None
    member = codes(systems) if names else np.zeros(0, dtype=np.int64)
    places = [np.flatnonzero(member == k) for k in range(len(names))]
    own = [_interval(figure, scores[p], human[p], None if weights is None else weights[:, p]) for p in places]
    mean, draws = _mean([i.value for i, _ in own]), _mean_draws([d for _, d in own], resamples)
    return BySystem(
        measure=measure,
        pooled=_interval(figure, scores, human, weights)[0],
        within=percentile_interval(mean, draws),
        between=_between(figure, scores, human, places, weights),
        defined=sum(bool(np.isfinite(i.value)) for i, _ in own),
        systems=tuple(
            SystemLine(name, len(p), i, float(human[p].mean()), float(scores[p].mean()))
            for name, p, (i, _) in zip(names, places, own, strict=True)
        ),
        without={n: float(figure(scores[member != k], human[member != k])) for k, n in enumerate(names)},
        items=len(scores),
        groups=count,
    )


def _interval(figure: Measure, x: Array, y: Array, weights: Array | None) -> tuple[Interval, Array]:
    """Return a figure with its interval, and its values in the resamples: none where there are no weights."""
    value = float(figure(x, y))
    draws = np.zeros(0) if weights is None else resampled(figure, x, y, weights)
    return percentile_interval(value, draws), draws


def _mean(values: Sequence[float]) -> float:
    defined = [v for v in values if np.isfinite(v)]
    return float(np.mean(defined)) if defined else float("nan")


def _mean_draws(draws: Sequence[Array], resamples: int) -> Array:
    """Return the mean over systems in each resample, of those in which it is defined, shape (resamples,)."""
    if not draws or not len(draws[0]):
        return np.full(resamples, np.nan)
    figures = np.array(draws)
    defined = np.isfinite(figures)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean: Array = np.where(defined, figures, 0.0).sum(axis=0) / defined.sum(axis=0)
    return mean


def _between(
    figure: Measure, scores: Array, human: Array, places: Sequence[NDArray[np.int64]], weights: Array | None
) -> Interval:
    """Return the measure on the systems' means, in each resample on those of the systems that it holds."""
    everything = np.ones((1, len(scores)))
    value = _on_means(figure, scores, human, places, everything)
    draws = np.zeros(0) if weights is None else _on_means(figure, scores, human, places, weights)
    return percentile_interval(float(value[0]), draws)


def _on_means(
    figure: Measure, scores: Array, human: Array, places: Sequence[NDArray[np.int64]], weights: Array
) -> Array:
    judged, rated = (_means(series, places, weights) for series in (scores, human))
    there = np.isfinite(judged) & np.isfinite(rated)
    rows = zip(judged, rated, there, strict=True)
    return np.array([float(figure(x[t], y[t])) if t.any() else np.nan for x, y, t in rows])


def _means(series: Array, places: Sequence[NDArray[np.int64]], weights: Array) -> Array:
    """Return each system's mean in each resample, nan where it was not drawn, shape (b, systems)."""
    means = np.full((len(weights), len(places)), np.nan)
    for k, p in enumerate(places):
        part = weights[:, p]
        total = part.sum(axis=1)
        drawn = total > 0
        means[drawn, k] = np.round((part @ series[p])[drawn] / total[drawn], DECIMALS)
    return means
