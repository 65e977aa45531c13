"""Things that share a label, directly or through others, brought together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def clusters(labels: Sequence[Sequence[Hashable]]) -> list[str]:
    """Return a name for each thing, given its labels, of which it has at least one.

    Things that share a label have the same name, and so have those that are joined through others. Names follow from
    the order of the things.
    """
    leader: dict[Hashable, Hashable] = {}

    def find(label: Hashable) -> Hashable:
        while leader.setdefault(label, label) != label:
            leader[label] = leader[leader[label]]  # halves the way for the next
            label = leader[label]
        return label

    for own in labels:
        first = find(own[0])
        for other in own[1:]:
            leader[find(other)] = first
    numbers: dict[Hashable, str] = {}
    return [numbers.setdefault(find(own[0]), str(len(numbers))) for own in labels]
