"""One split for several aspects: the same texts on the same sides, so that scores of one item can be joined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calibrator.calibration.prepare import Prepared
from calibrator.comparison.clusters import clusters
from calibrator.dataset import content_of
from calibrator.errors import DataError
from calibrator.records import Item
from calibrator.split import Sealed, Split, refuse_overlap
from calibrator.texts import normalise

TRAIN, DEV, TEST = 0, 1, 2
SIDES = ("train", "dev", "test")
Label = tuple[str, str]


def shared_split(prepared: Sequence[Prepared]) -> list[Prepared]:
    """Return the same aspects, split as the first one is: no text stands on two sides, under whatever aspect.

    Groups that share a text under any aspect go together: each aspect has its own rated rows, and groups that are made
    one under it may be two under another. They go to the first aspect's side; where they stand on several of its sides,
    to the earliest (train, dev, test), so that its test side may lose items and never gains any; what the first aspect
    does not have goes to train. Test sides from a file of their own stay what they are.

    Of the test sides only texts and groups are looked at, and whether ratings differ, as in `split.split_items`. Raises
    DataError if a side of an aspect would be empty or constant, or if a text of the test file stands in the data.
    """
    first = prepared[0]
    if first.test is not None:
        _refuse_overlap(prepared)
    own = [(k, item) for k, one in enumerate(prepared) for item in one.dataset.items]
    names = clusters([_labels(prepared[k], item) for k, item in own])
    sides = _sides_of(first, {item.group: name for (k, item), name in zip(own, names, strict=True) if k == 0})
    parts: list[list[list[Item]]] = [[[], [], []] for _ in prepared]
    for (k, item), name in zip(own, names, strict=True):
        parts[k][sides.get(name, TRAIN)].append(item)
    return [replace(one, split=_split(one, part)) for one, part in zip(prepared, parts, strict=True)]


def _labels(prepared: Prepared, item: Item) -> list[Label]:
    """Return what an item shares with those that must stand on its side.

    A group that was joined with another under one aspect may have another name there; where groups are sources, the
    source still tells that it is the same.
    """
    labels: list[Label] = [("group", item.group), ("text", content_of(item))]
    source = normalise(item.source)
    return [*labels, ("source", source)] if source and prepared.dataset.mapped.group is None else labels


def _sides_of(first: Prepared, names: Mapping[str, str]) -> dict[str, int]:
    """Return the side of each cluster that the first aspect has; `names` are its groups' clusters."""
    own: dict[str, int] = {}
    for side, items in ((TRAIN, first.split.train), (DEV, first.split.dev)):
        own |= {item.group: side for item in items}
    sides: dict[str, int] = {}
    for group, name in names.items():
        sides[name] = min(sides.get(name, TEST), own.get(group, TEST))
    return sides


def _split(prepared: Prepared, parts: Sequence[Sequence[Item]]) -> Split:
    sides = [tuple(sorted(part, key=lambda i: (i.key, i.id))) for part in parts]
    if prepared.test is not None:
        sides[TEST] = prepared.test.items
    for name, side in zip(SIDES, sides, strict=True):
        if len({i.human for i in side}) < 2:
            problem = f"with one split for all aspects, the {name} side of {prepared.aspect.ref} would hold"
            raise DataError(
                f"{problem} {len(side)} items and no two ratings that differ; more rated items are needed"
                " (or try another --seed)",
                file=prepared.dataset.path,
            )
    return Split(sides[TRAIN], sides[DEV], Sealed(sides[TEST]), prepared.split.seed)


def _refuse_overlap(prepared: Sequence[Prepared]) -> None:
    """Raise DataError if a text is data under one aspect and test under another."""
    items = [item for one in prepared for item in one.dataset.items]
    held_out = [item for one in prepared if one.test is not None for item in one.test.items]
    refuse_overlap(items, held_out, str(prepared[0].test.path if prepared[0].test else ""))
