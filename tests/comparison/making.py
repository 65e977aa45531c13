"""What the tests of the comparison share: items with recorded judges, and panels of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import find_aspect
from calibrator.comparison.making import Made
from calibrator.comparison.panels import Seat
from calibrator.judges.recorded import RecordedJudge
from calibrator.records import Item, Rubric
from tests.conftest import make_items

Array = NDArray[np.float64]
ASPECT = find_aspect("neutral/relevance")[0]
SCALE = ASPECT.scale


def rating(item: Item) -> float:
    assert item.human is not None
    return item.human


def noisy(item: Item, name: str, noise: float, slope: float = 1.0) -> float:
    """Return what a judge gives an item: its rating, or what runs against it, through noise of its own."""
    return slope * rating(item) + noise * random.Random(f"{name} {item.key}").gauss(0, 1)


def rated(count: int = 120, groups: int = 30, seed: int = 0, **noises: float) -> list[Item]:
    """Return items with a recorded judge for each name; the less noise, the better it is."""
    items = make_items(count, groups, seed)
    return [replace(i, recorded={n: noisy(i, n, noise) for n, noise in noises.items()}) for i in items]


def matrix(items: Sequence[Item], *names: str) -> Array:
    """Return the recorded scores, shape (items, names), nan for none."""
    rows = [[i.recorded.get(n) for n in names] for i in items]
    return np.array([[np.nan if v is None else v for v in row] for row in rows], dtype=float).reshape(-1, len(names))


def seat(items: Sequence[Item], name: str, cost: float | None = 0.0) -> Seat:
    """Return the seat of a recorded judge whose scores may lie off the scale."""
    judge = RecordedJudge(name, None)
    made = Made(f"recorded:{name}", "recorded", judge, "recorded", Rubric(ASPECT.ref, ()))
    return Seat(made, matrix(items, name)[:, 0], cost)
