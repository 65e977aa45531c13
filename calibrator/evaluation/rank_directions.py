"""Which way a human rank runs, ranking by ranking: is the lowest number the best in all of them?

A column of ranks may be put together from parts in which 1 was the best and others in which it was the worst. The
other scores of the same outputs show it, by the test that the audit of a table uses (`stats.direction`); the systems
that made the outputs show it too, without any score.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrator.audit.ranks import LEVEL, SMALLEST
from calibrator.stats.correlation import spearman
from calibrator.stats.direction import directions

Array = NDArray[np.float64]
Rows = Mapping[str, NDArray[np.int64]]
Best = Literal["lowest", "highest"]


@dataclass(frozen=True, slots=True)
class Marks:
    """Whether the rankings run the way the user said, judged by the consensus of other scores of the same outputs.

    `agreement` has, for each ranking by name, the Spearman correlation of relevance and consensus, nan where it is not
    defined or fewer than three items are there. `against` are those below 0. `p` is that of so many rankings of
    both directions if all ran the same way (`stats.direction.directions`); if it is below `LEVEL`, `reversed` are those
    in `against`, else there are none: a ranking that judges only disagree with is not reversed. Where nearly all are
    against, and none reversed, the end that is best was probably named wrongly.
    """

    agreement: Mapping[str, float]
    against: tuple[str, ...]
    reversed: tuple[str, ...]
    p: float


@dataclass(frozen=True, slots=True)
class Mirror:
    """The systems' mean ranks in the rankings that are marked as reversed and in the others, and how these agree.

    `spearman` near -1 says that the systems stand the other way round there: people prefer the same systems, and the
    numbers run the other way. No judge's score is in it but for the marks. nan with fewer than three systems.
    """

    marked: Mapping[str, float]
    others: Mapping[str, float]
    spearman: float


def rankings_of(rank: Array, groups: Sequence[str]) -> list[str]:
    """Return for each item, in the order of the file, which ranking it stands in: "group" or "group #2", "group #3" ….

    A group whose ranks repeat holds several rankings one after the other: a new one begins where a rank comes again.
    Where that does not part it into whole rankings 1, 2, 3, … (or 0, 1, 2, …), as with ties, it is one. An item
    without a rank (nan) stands in the ranking at hand.
    """
    rows: dict[str, list[int]] = defaultdict(list)
    for k, group in enumerate(groups):
        rows[group].append(k)
    named = [""] * len(groups)
    for group, members in rows.items():
        parts = _parts(members, rank)
        for number, part in enumerate(parts, 1):
            for k in part:
                named[k] = group if number == 1 else f"{group} #{number}"
    return named


def _parts(rows: Sequence[int], rank: Array) -> list[list[int]]:
    parts: list[list[int]] = [[]]
    for k in rows:
        if rank[k] in rank[parts[-1]]:
            parts.append([])
        parts[-1].append(k)
    return parts if all(_whole(rank[part]) for part in parts) else [list(rows)]


def _whole(rank: Array) -> bool:
    given = np.sort(rank[np.isfinite(rank)])
    return len(given) > 0 and given[0] in (0, 1) and bool((given == given[0] + np.arange(len(given))).all())


def marks(
    rank: Array, witnesses: Array, rankings: Sequence[str], best: Best = "lowest", seed: int = 0, level: float = LEVEL
) -> Marks:
    """Return which rankings look reversed, judged by `witnesses` (n, m): scores on which higher is better.

    A nan in them is a gap. `rank` (n,) and `rankings` (n names, see `rankings_of`); `best` is the end of the rank that
    is preferred. `seed` counts only where a ranking has more than six items, whose orders are drawn.
    """
    rows = {name: k for name, k in rows_of(rankings, np.isfinite(rank)).items() if len(k) >= SMALLEST}
    relevance = np.where(np.isfinite(rank), rank if best == "highest" else -rank, 0.0)
    places = list(rows.values())
    tested = directions(relevance, witnesses, places, np.random.default_rng(seed))
    # The consensus may be of poor quality upwards: which way it runs is told by the witnesses' mean within rankings.
    upward = directions(_centred_mean(witnesses, places), witnesses, places, np.random.default_rng(seed)).signs
    turn = -1.0 if np.nansum(np.array(upward)) < 0 else 1.0
    agreement = {name: turn * sign for name, sign in zip(rows, tested.signs, strict=True)}
    against = tuple(name for name, value in agreement.items() if value < 0)
    return Marks(agreement, against, against if tested.p < level else (), tested.p)


def _centred_mean(witnesses: Array, places: list[NDArray[np.int64]]) -> Array:
    """Return the mean of the witnesses, each of them less its mean in the ranking over its spread, shape (n,)."""
    centred = np.zeros_like(witnesses)
    for rows in places:
        there = np.isfinite(witnesses[rows])
        mean = np.where(there, witnesses[rows], 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
        centred[rows] = np.where(there, witnesses[rows] - mean, 0.0)
    spread = np.sqrt((centred**2).mean(axis=0))
    scaled: Array = centred / np.where(spread > 0, spread, 1.0)
    return scaled.mean(axis=1) if scaled.shape[1] else np.zeros(len(witnesses))


def mirrored(rank: Array, rankings: Sequence[str], systems: Sequence[str], reversed_: Sequence[str]) -> Mirror:
    """Return the systems' mean ranks in the rankings named in `reversed_` and in the others (see `Mirror`).

    `rank` (n,) with nan where there is none, `rankings` and `systems` n names.
    """
    marked = np.array([name in set(reversed_) for name in rankings], dtype=bool)
    names, member = sorted(set(systems)), np.array(systems)
    sides: list[dict[str, float]] = []
    for side in (marked, ~marked):
        own = {name: rank[(member == name) & side & np.isfinite(rank)] for name in names}
        sides.append({name: float(r.mean()) for name, r in own.items() if len(r)})
    both = [name for name in names if all(name in s for s in sides)]
    x, y = (np.array([s[name] for name in both]) for s in sides)
    return Mirror(sides[0], sides[1], float(spearman(x, y)) if len(both) > 2 else float("nan"))


def rows_of(rankings: Sequence[str], there: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    """Return the places of the items that are `there`, by ranking, in the order in which the rankings come."""
    rows: dict[str, list[int]] = {}
    for k in np.flatnonzero(there).tolist():
        rows.setdefault(rankings[k], []).append(k)
    return {name: np.array(k, dtype=np.int64) for name, k in rows.items()}
