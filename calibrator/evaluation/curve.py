"""How many labels it takes: nested subsets of the labelled items, to fit on each and measure on one test side."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from calibrator.records import Item

SIZES = (50, 100, 200)
STRATA = 10


def labels_used(
    known_items: Sequence[Item], sizes: Sequence[int] = SIZES, *, rng: np.random.Generator
) -> dict[int, tuple[Item, ...]]:
    """Return subsets of the labelled items by their size, the smallest first, each in the order of `known_items`.

    Every subset holds all smaller ones. A size above what there is stands for all items, and comes under their number.
    Groups are put in `STRATA` strata by their mean rating and drawn by lot, always from the stratum that is furthest
    behind its share, so that each subset is spread over the scale as the whole is. Groups are taken whole, but for the
    last one of a size, which is cut off at it. The same items and state of `rng` give the same subsets, whatever order
    the items are in. Raises ValueError for a size below 1.
    """
    if any(size < 1 for size in sizes):
        raise ValueError(f"a subset needs one label at least, not {min(sizes)}")
    order = _order(known_items, rng)
    wanted = sorted({min(size, len(order)) for size in sizes}) if order else []
    return {size: tuple(known_items[place] for place in sorted(order[:size])) for size in wanted}


def _order(items: Sequence[Item], rng: np.random.Generator) -> list[int]:
    """Return the places of all items in an order of which every beginning is spread over the scale."""
    strata = _strata(items, rng)
    sizes = [sum(len(group) for group in stratum) for stratum in strata]
    taken, order = [0] * len(strata), list[int]()
    for _ in range(sum(map(len, strata))):
        left = [k for k, stratum in enumerate(strata) if stratum]
        behind = [taken[k] / sizes[k] for k in left]
        last = [k for k, share in zip(left, behind, strict=True) if share == min(behind)]
        k = last[int(rng.integers(len(last)))]
        group = strata[k].pop()
        taken[k] += len(group)
        order += group
    return order


def _strata(items: Sequence[Item], rng: np.random.Generator) -> list[list[list[int]]]:
    """Return the groups, each as the places of its items, in strata of about as many groups, shuffled within each."""
    places: dict[str, list[int]] = defaultdict(list)
    for place in sorted(range(len(items)), key=lambda k: (items[k].key, items[k].id)):
        places[items[place].group].append(place)
    names = sorted(places)
    means = {g: statistics.fmean(items[k].human or 0.0 for k in places[g]) for g in names}
    lot = dict(zip(names, rng.permutation(len(names)).tolist(), strict=True))
    by_scale = sorted(names, key=lambda g: (means[g], lot[g]))
    strata = [part for part in np.array_split(np.arange(len(names)), STRATA) if len(part)]
    return [[places[by_scale[j]] for j in rng.permutation(part).tolist()] for part in strata]
