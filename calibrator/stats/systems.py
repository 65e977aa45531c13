"""A score for each system from the scores or labels of its items, for the items as they are and in resamples.

All scores here are figures of sums over a system's items: an item has one or more columns of numbers, they are added
up within each system, each item as often as it counts, and the score is worked out from the sums. So one matrix product
gives the scores of all systems in thousands of resamples.

Arrays: `values` (n,) are what a judge or the humans gave the items, nan where they gave nothing; `member` (n,) numbers
each item's system, 0 to k - 1; `weights` (b, n) say how often each item counts in each of b resamples. What is not
defined, such as the score of a system without items, is nan, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.resampling import codes, group_weights

Array = NDArray[np.float64]
Places = NDArray[np.int64]
DECIMALS = 9  # of scores: those that are equal but for rounding are tied
SHARE = (0.0, 1.0)
WIN_RATE = "win rate"
MOST_COMPLETE = 0.8  # of the items: those of sources that all systems have


@dataclass(frozen=True, slots=True)
class SystemScore:
    """How a system's score is made: `columns` (n,) -> (n, c) of an item's numbers, `figure` (…, c) -> (…) of sums.

    `bounds` are the least and the greatest score there can be.
    """

    name: str
    columns: Callable[[Array], Array]
    figure: Callable[[Array], Array]
    bounds: tuple[float, float] = (-np.inf, np.inf)


def mean_score() -> SystemScore:
    """Return the mean of a system's items."""
    return SystemScore("mean", _valued, _ratio)


def share_score(label: float) -> SystemScore:
    """Return the share of a system's items that have a label, 0 to 1; labels are numbers, nan for none."""

    def columns(values: Array) -> Array:
        return _valued(np.where(np.isnan(values), np.nan, values == label))

    return SystemScore("share", columns, _ratio, SHARE)


def win_score(member: Places, sources: Sequence[str]) -> SystemScore:
    """Return the share of comparisons that a system wins, 0 to 1: the mean of its shares against each other system.

    Compared are items of one source (n names), ties are half a win. Against a rival every item counts the same that
    has one of the rival's beside it, and every rival counts the same: how often a rival was rated changes nothing but
    chance. Rivals are all other systems that have a value; nan if one of them has no source in common with the system.
    """
    place = codes(sources)

    def columns(values: Array) -> Array:
        against = wins(values, member, place)
        there = np.unique(member[~np.isnan(values)])
        found = np.zeros((len(values), 2, max(0, len(there) - 1)))
        for k in there:
            own = np.flatnonzero(member == k)
            found[own] = _valued(against[np.ix_(own, there[there != k])])
        return found.reshape(len(values), -1)

    def figure(sums: Array) -> Array:
        won, met = np.split(sums, 2, axis=-1)
        rivals = won.shape[-1]
        shares = np.where(met > 0, won / np.where(met > 0, met, 1.0), np.nan)
        return np.asarray(shares.sum(axis=-1) / rivals if rivals else np.full(sums.shape[:-1], np.nan))

    return SystemScore(WIN_RATE, columns, figure, SHARE)


def macro_f1_score(intended: Array, classes: Array) -> SystemScore:
    """Return the macro-F1 of the labels against those intended, 0 to 1: the mean over classes of 2tp / (2tp + fp + fn).

    `intended` (n,) and the values are numbers of `classes`, nan for none: such an item does not count. The mean is over
    the classes that a system's items were meant to have or were given, as `sklearn.metrics.f1_score` has it.
    """

    def columns(values: Array) -> Array:
        there = ~(np.isnan(values) | np.isnan(intended))
        given, meant = (there[:, None] & (v[:, None] == classes) for v in (values, intended))
        return np.concatenate([given & meant, given, meant], axis=1).astype(float)

    def figure(sums: Array) -> Array:
        hits, given, meant = np.split(sums, 3, axis=-1)
        occurs = given + meant > 0
        f1 = np.where(occurs, 2 * hits / np.where(occurs, given + meant, 1.0), 0.0).sum(axis=-1)
        number = occurs.sum(axis=-1)
        return np.where(number > 0, f1 / np.where(number > 0, number, 1), np.nan)

    return SystemScore("macro-F1", columns, figure, SHARE)


def system_scores(score: SystemScore, values: Array, member: Places, systems: int, weights: Array) -> Array:
    """Return each system's score in each resample, rounded to `DECIMALS`, shape (b, systems)."""
    columns = score.columns(values)
    scores = np.full((len(weights), systems), np.nan)
    for k in range(systems):
        own = np.flatnonzero(member == k)
        if len(own):
            scores[:, k] = score.figure(weights[:, own] @ columns[own])
    rounded: Array = np.round(scores, DECIMALS)
    return rounded


def wins(values: Array, member: Places, place: Places) -> Array:
    """Return of each item the share of each system's items that it beats, ties half, shape (n, k).

    Compared are the items at the same `place` (n,) that have a value; nan for the item's own system and where a system
    has none.
    """
    systems = np.arange(int(member.max()) + 1 if len(member) else 0)
    found = np.full((len(values), len(systems)), np.nan)
    order = np.argsort(place, kind="stable")
    ends = np.flatnonzero(np.diff(place[order])) + 1
    for own in np.split(order, ends):
        there = own[~np.isnan(values[own])]
        beaten = (np.sign(np.subtract.outer(values[there], values[there])) + 1) / 2
        of = (member[there][:, None] == systems).astype(float)
        count = of.sum(axis=0)
        found[there] = np.where((count > 0) & (of == 0), beaten @ of / np.where(count > 0, count, 1.0), np.nan)
    return found


def _valued(values: Array) -> Array:
    """Return the values, 0 where there is none, and whether there is one."""
    there = ~np.isnan(values)
    return np.stack([np.where(there, values, 0.0), there.astype(float)], axis=1)


def _ratio(sums: Array) -> Array:
    total, count = sums[..., 0], sums[..., 1]
    return np.where(count > 0, total / np.where(count > 0, count, 1.0), np.nan)


def complete(member: Places, sources: Sequence[str]) -> Places:
    """Return the items, by their places, of the sources of which every system has exactly one item.

    None at all where these are less than `MOST_COMPLETE` of the items: the systems have different sources then.
    """
    place = codes(sources)
    names, column = np.unique(member, return_inverse=True)
    counts = np.zeros((int(place.max()) + 1 if len(place) else 0, len(names)), dtype=np.int64)
    np.add.at(counts, (place, column), 1)
    kept: Places = np.flatnonzero((counts == 1).all(axis=1)[place])
    return kept if len(kept) >= MOST_COMPLETE * len(member) else kept[:0]


def whole_sources(member: Places, sources: Sequence[str]) -> Places:
    """Return the items, by their places, of the sources of which every system has at least one item."""
    place = codes(sources)
    pairs = np.unique(np.stack([place, member]), axis=1)
    counts = np.bincount(pairs[0], minlength=int(place.max()) + 1 if len(place) else 0)
    kept: Places = np.flatnonzero(counts[place] == len(np.unique(member)))
    return kept


def drawn_sources(sources: Sequence[str], size: int, rng: np.random.Generator) -> Places:
    """Return the items, by their places, of `size` sources drawn without replacement.

    Raises ValueError if there are fewer.
    """
    place = codes(sources)
    drawn = _drawn(len(set(sources)), size, 1, rng, replace=False)[0]
    kept: Places = np.flatnonzero(drawn[place] > 0)
    return kept


def nested(member: Places, sources: Sequence[str]) -> bool:
    """Whether no source has items of two systems."""
    place = codes(sources)
    pairs = np.unique(np.stack([member, place]), axis=1).shape[1]
    return bool(pairs == len(np.unique(place)))


def resample_weights(member: Places, sources: Sequence[str], resamples: int, rng: np.random.Generator) -> Array:
    """Return how often each item counts in each resample, shape (resamples, n): whole sources, with replacement.

    All systems are judged on the same sources that way; where no two systems share a source, sources are drawn within
    each system, as many as it has.
    """
    if not nested(member, sources):
        return group_weights(sources, resamples, rng)
    weights = np.zeros((resamples, len(member)))
    for k in np.unique(member):
        own = np.flatnonzero(member == k)
        weights[:, own] = group_weights([sources[i] for i in own.tolist()], resamples, rng)
    return weights


def sample_weights(
    member: Places, sources: Sequence[str], size: int, draws: int, rng: np.random.Generator, *, replace: bool
) -> Array:
    """Return how often each item counts in samples of `size` items for each system, shape (draws, n).

    Where nearly all sources have one item of every system (see `complete`), the same ones of these sources are drawn
    for all systems; else items are drawn for each system by itself. Raises ValueError if there are fewer than `size` to
    draw without replacement.
    """
    weights = np.zeros((draws, len(member)))
    whole = complete(member, sources)
    if len(whole):
        place = codes([sources[i] for i in whole.tolist()])
        weights[:, whole] = _drawn(int(place.max()) + 1, size, draws, rng, replace=replace)[:, place]
        return weights
    for k in np.unique(member):
        own = np.flatnonzero(member == k)
        weights[:, own] = _drawn(len(own), size, draws, rng, replace=replace)
    return weights


def _drawn(there: int, size: int, draws: int, rng: np.random.Generator, *, replace: bool) -> Array:
    """Return how often each of those there is drawn, shape (draws, there)."""
    counts = np.zeros((draws, there))
    if replace:
        np.add.at(counts, (np.arange(draws)[:, None], rng.integers(there, size=(draws, size))), 1.0)
        return counts
    if size > there:
        raise ValueError(f"{size} cannot be drawn from {there}")
    np.put_along_axis(counts, np.argsort(rng.random((draws, there)), axis=1)[:, :size], 1.0, axis=1)
    return counts
