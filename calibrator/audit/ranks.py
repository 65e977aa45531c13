"""Columns that rank the rows of each group, and whether 1 is the best in all of them."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from calibrator.audit.findings import Finding, first, place
from calibrator.audit.subject import Subject
from calibrator.columns import plain
from calibrator.stats.direction import Directions, directions

Array = NDArray[np.float64]
FEWEST = 10  # groups
SMALLEST = 3  # rows of a group: two have no direction but the one they show
RANKED = 0.9  # of the rows with a number stand in groups that are ranked 1, 2, 3, …
LEVEL = 0.001
_RANK = re.compile(r"(?:^|[_.])rank(?:s|ed|ing)?(?:[_.]|$)")


def rank_findings(subject: Subject) -> list[Finding]:
    """Return the columns of ranks that run one way in some groups and the other way in others.

    Groups are those of the data (its group column, or the same source); where a group holds several rankings one after
    the other, each is taken by itself. The direction is judged by the other columns of numbers, see
    `stats.direction.directions`; a column of ranks that only agrees badly with them raises nothing.
    """
    found = {c: groups for c, v in subject.numbers.items() if len(groups := _ranked(subject, c, v)) >= FEWEST}
    scores = [v for c, v in subject.numbers.items() if c not in found and not _counts_on(v)]
    if not scores:
        return []
    findings = []
    for column, groups in found.items():
        tested = directions(subject.numbers[column], np.column_stack(scores), groups, np.random.default_rng(0))
        if tested.p < LEVEL:
            findings.append(_mixed(subject, column, groups, tested))
    return findings


def _counts_on(numbers: Array) -> bool:
    """Whether a column only numbers the rows."""
    steps = np.diff(numbers[~np.isnan(numbers)])
    return bool(len(steps)) and bool((steps > 0).all() or (steps < 0).all())


def _ranked(subject: Subject, column: str, numbers: Array) -> list[NDArray[np.int64]]:
    """Return the rows of each ranking in a column, none if it is no column of ranks."""
    if (numbers[~np.isnan(numbers)] % 0.5).any():
        return []
    named = bool(_RANK.search(plain(column)))
    groups: dict[str, list[int]] = defaultdict(list)
    for k, item in enumerate(subject.items):
        if not np.isnan(numbers[k]):
            groups[item.group].append(k)
    large = [rows for rows in groups.values() if len(rows) >= SMALLEST]
    rankings = [r for rows in large for r in _rankings(rows, numbers, named)]
    enough = sum(map(len, rankings)) >= RANKED * sum(map(len, large))
    return [np.array(r, dtype=np.int64) for r in rankings] if enough else []


def _rankings(rows: list[int], numbers: Array, named: bool) -> list[list[int]]:
    """Return the rows of a group as one ranking, or as several that follow each other."""
    if _complete(rows, numbers):
        return [rows]
    parts: list[list[int]] = []
    for row in rows:
        if not parts or numbers[row] in numbers[parts[-1]]:
            parts.append([])
        parts[-1].append(row)
    if all(_complete(p, numbers) for p in parts):
        return parts
    values = numbers[rows]
    tied = named and values.min() >= 1 and values.max() <= len(rows) and len(set(values)) > 1
    return [rows] if tied else []


def _complete(rows: list[int], numbers: Array) -> bool:
    values = sorted(numbers[rows])
    return len(rows) >= SMALLEST and values[0] in (0, 1) and values == [values[0] + k for k in range(len(rows))]


def _mixed(subject: Subject, column: str, groups: list[NDArray[np.int64]], tested: Directions) -> Finding:
    up = [int(g[0]) for g, s in zip(groups, tested.signs, strict=True) if s > 0]
    down = [int(g[0]) for g, s in zip(groups, tested.signs, strict=True) if s < 0]
    fewer = min(up, down, key=len)
    rows = first(subject.rows[k] for k in fewer)
    what = f"this rank runs one way in {max(len(up), len(down))} groups and the other way in {len(fewer)}"
    more = ", …" if len(fewer) > len(rows) else ""
    where = f"these begin in row{'s' if len(fewer) > 1 else ''} {', '.join(map(str, rows))}{more}"
    what = f"{what} ({where})"
    todo = "judged by the other scores of the rows; turn those round or leave them out"
    message = f"{place(subject.name, column)}: {what}, {todo}"
    return Finding("ranks", "grave", message, subject.name, column, len(fewer), rows)
