"""Monte-Carlo sampling of exemplars: spread over the scale, and no group twice while others are left."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator.records import Item


def sample_exemplars(items: Sequence[Item], shots: float, rng: np.random.Generator) -> tuple[Item, ...]:
    """Return exemplars drawn without replacement.

    `shots` up to 1 is a fraction of the items, above 1 a number of them; all items if there are no more. The items
    are put in the order of their ratings (ties by lot), cut into as many strata as exemplars are wanted, and one is
    drawn from each stratum, from a group that has not been drawn yet if the stratum has one.
    """
    size = round(shots * len(items)) if shots <= 1 else int(shots)
    size = max(1, min(size, len(items)))
    lot = rng.permutation(len(items))
    order = sorted(range(len(items)), key=lambda i: (items[i].human or 0.0, lot[i]))
    drawn: list[Item] = []
    used: set[str] = set()
    for stratum in np.array_split(np.array(order), size):
        fresh = [i for i in stratum if items[i].group not in used]
        pick = items[int(rng.choice(fresh or stratum))]
        used.add(pick.group)
        drawn.append(pick)
    return tuple(drawn)
