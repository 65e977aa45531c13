"""Train, dev and test: whole groups, stratified over the scale, drawn by a seed; the test side stays sealed."""

from __future__ import annotations

import hashlib
import statistics
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from calibrator.dataset import content_of
from calibrator.errors import DataError
from calibrator.records import Item
from calibrator.texts import digest, digest_set

SHARES = (0.4, 0.3, 0.3)
STRATA = 10


class Sealed:
    """Items that nobody may look at before the look is entered in the ledger (see `store.Ledger`)."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.__items = tuple(items)
        self.digest = digest_set(digest([i.key, i.human]) for i in items)

    def __len__(self) -> int:
        return len(self.__items)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len({i.group for i in self.__items})

    def unseal(self, look: int) -> tuple[Item, ...]:
        """Return the items; `look` is the number that the ledger gave for this look, from 1 up."""
        if look < 1:
            raise ValueError("a look must be entered in the ledger first")
        return self.__items


@dataclass(frozen=True, slots=True)
class Split:
    """The three sides. `digest` tells splits apart: same items on the same sides, same digest."""

    train: tuple[Item, ...]
    dev: tuple[Item, ...]
    test: Sealed
    seed: int

    @property
    def digest(self) -> str:
        """SHA-256 over the content of the sides, independent of the order of the items."""
        sides = [digest_set(digest([i.key, i.human]) for i in side) for side in (self.train, self.dev)]
        return digest([*sides, self.test.digest])


def split_items(items: Sequence[Item], seed: int, test: Sequence[Item] | None = None, file: str = "") -> Split:
    """Split items 40 / 30 / 30; with `test` given, `items` 57 / 43 into train and dev, and `test` is the test side.

    No group stands on two sides, each side has its share of every part of the scale, and the order of the items does
    not matter: groups are drawn by a digest of the seed and their name. Raises DataError, which names `file`, if a side
    would be left without items or with one constant rating.
    """
    shares = SHARES if test is None else SHARES[:2]
    sides = _assign(items, seed, shares)
    train, dev = sides[0], sides[1]
    held_out = tuple(test) if test is not None else sides[2]
    for name, side in (("train", train), ("dev", dev), ("test", held_out)):
        if len({i.human for i in side}) < 2:
            problem = f"the {name} side would hold {len(side)} items and no two ratings that differ"
            raise DataError(
                f"{problem}; more rated items or groups are needed (or try another --seed)", file=file or None
            )
    return Split(train, dev, Sealed(held_out), seed)


def _assign(items: Sequence[Item], seed: int, shares: Sequence[float]) -> list[tuple[Item, ...]]:
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        groups[item.group].append(item)
    means = {g: statistics.fmean(i.human or 0.0 for i in members) for g, members in groups.items()}
    by_scale = sorted(groups, key=lambda g: (means[g], _draw(seed, g)))
    size = max(len(shares), -(-len(by_scale) // STRATA))
    strata = [by_scale[k : k + size] for k in range(0, len(by_scale), size)]
    sides: list[list[Item]] = [[] for _ in shares]
    placed = 0
    for stratum in strata:
        for group in sorted(stratum, key=lambda g: _draw(seed, g)):
            placed += len(groups[group])
            wanting = [share / sum(shares) * placed - len(side) for share, side in zip(shares, sides, strict=True)]
            sides[wanting.index(max(wanting))].extend(groups[group])
    return [tuple(sorted(side, key=lambda i: (i.key, i.id))) for side in sides]


def _draw(seed: int, group: str) -> str:
    return hashlib.sha256(f"{seed}\0{group}".encode("utf-8", "surrogatepass")).hexdigest()


def refuse_overlap(items: Sequence[Item], test: Sequence[Item], file: str) -> None:
    """Raise DataError, with the counts, if items or groups of `test` stand in `items` too.

    Items are the same if their texts are, but for case, accents, punctuation and spacing.
    """
    texts, groups = {content_of(i) for i in items}, {i.group for i in items}
    same_items = sum(content_of(i) in texts for i in test)
    same_groups = len({i.group for i in test} & groups)
    if same_items or same_groups:
        problem = f"{same_items} of its items and {same_groups} of its groups stand in the training data too"
        raise DataError(f"{problem}; a test on them would prove nothing. Take them out of one of the files", file=file)
