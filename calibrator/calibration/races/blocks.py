"""Blocks: the order in which the development set is judged, so that every beginning of it stands for the whole.

Groups are spread over the blocks, not kept whole. The resamples of a race draw groups, and a beginning that holds a few
whole groups would leave them next to nothing to draw from; one that holds a part of every group has as many groups as
dev itself, and, since the items of a group tell partly the same, more to tell than whole groups of as many items.
"""

from __future__ import annotations

import hashlib
import heapq
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from calibrator.records import Item

FIRST = 30
GROWTH = 2.0
STRATA = 10


def block_order(
    items: Sequence[Item], seed: int, first: int = FIRST, growth: float = GROWTH
) -> tuple[tuple[int, ...], ...]:
    """Return a partition of the places of `items` into blocks, in the order in which they are to be judged.

    The first block has `first` items, and each further one makes what is judged `growth` times as much; what would be a
    short last block joins the one before, so that few items are one block. Every block has its share of each tenth of
    the items in order of their ratings, and as far as that allows its share of each group. The same items and seed give
    the same blocks whatever the order of the items. Raises ValueError for `first` below 1 or `growth` of 1 or less.
    """
    if first < 1 or growth <= 1:
        raise ValueError(f"blocks need a first of 1 or more and a growth above 1, not {first} and {growth}")
    order = _order(items, seed)
    return tuple(tuple(order[a:b]) for a, b in pairwise([0, *block_ends(len(items), first, growth)]))


def block_ends(count: int, first: int = FIRST, growth: float = GROWTH) -> list[int]:
    """Return how many of `count` items are judged after each block."""
    ends = []
    end = float(first)
    while round(end) * growth**0.5 < count:
        ends.append(round(end))
        end = max(end * growth, end + 1)
    return [*ends, count] if count else []


def _order(items: Sequence[Item], seed: int) -> list[int]:
    """Return the places in order: always from the stratum, and in it from the group, that is furthest behind."""
    lots = [_lot(seed, item.key, item.id) for item in items]
    by_rating = sorted(range(len(items)), key=lambda i: (items[i].human or 0.0, lots[i]))
    sizes = Counter(item.group for item in items)
    # A group's k-th item is due when (k - 1 + its own lot) / size of the group of dev has been judged.
    starts = {group: _lot(seed, group) for group in sizes}
    taken: Counter[str] = Counter()

    def due(i: int) -> float:
        group = items[i].group
        return (taken[group] + starts[group]) / sizes[group]

    strata = [
        part.tolist() for part in np.array_split(np.array(by_rating, dtype=np.int64), min(STRATA, len(items) or 1))
    ]
    heaps = [[(due(i), lots[i], i) for i in stratum] for stratum in strata]
    for heap in heaps:
        heapq.heapify(heap)
    offsets = [_lot(seed, "stratum", s) for s in range(len(strata))]
    order: list[int] = []
    for _ in items:
        behind = [
            (len(part) - len(h) + o) / len(part) if h else 2.0
            for h, part, o in zip(heaps, strata, offsets, strict=True)
        ]
        heap = heaps[behind.index(min(behind))]
        while heap[0][0] < due(heap[0][2]):  # its group was drawn from since
            _, lot, i = heap[0]
            heapq.heapreplace(heap, (due(i), lot, i))
        i = heapq.heappop(heap)[2]
        taken[items[i].group] += 1
        order.append(i)
    return order


def _lot(seed: int, *of: object) -> float:
    """Return a number from 0 to 1 that the seed and the words decide."""
    told = hashlib.sha256(repr((seed, *of)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(told[:7], "big") / 256**7
