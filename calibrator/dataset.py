"""Rated texts: a table and its columns become items, checked row by row."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calibrator.aspects import Scale
from calibrator.cells import entries, missing, number
from calibrator.columns import Mapped
from calibrator.errors import DataError
from calibrator.records import Item
from calibrator.tables import Table
from calibrator.texts import digest, digest_set, normalise, unusable

FEWEST = 12
LONG = 100_000


@dataclass(frozen=True, slots=True)
class Dataset:
    """The rated items of one aspect, in an order that follows from their content alone.

    `warnings` say in one line each what was left out or looks odd, with counts; `digest` is that of the content.
    """

    name: str
    path: Path
    items: tuple[Item, ...]
    mapped: Mapped
    warnings: tuple[str, ...]
    digest: str

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return len({i.group for i in self.items})


def rated_items(
    table: Table, mapped: Mapped, scale: Scale, name: str | None = None, *, lenient: bool = False
) -> Dataset:
    """Return the rated rows of a table as items.

    Raises DataError, which names file, row and column, if a rating is no number or off the scale, if ids that the
    user named repeat, or if what is there cannot be calibrated on: fewer than `FEWEST` rated rows, one constant
    rating, fewer than three groups. If `lenient`, rows with a rating that is no number or off the scale are left out
    instead, with a warning.
    """
    if not table.rows:
        raise DataError("the file has a header but no rows", file=table.path)
    items: list[Item] = []
    faults: list[DataError] = []
    unrated = 0
    mute: list[int] = []
    starts = _starts(table, mapped)
    for row, values in zip(table.row_numbers, table.rows, strict=True):
        try:
            ratings, raters, human = _ratings(table, mapped, scale, row, values, starts)
        except DataError as fault:
            faults.append(fault)
            continue
        item = replace(_item(mapped, row, values), ratings=ratings, raters=raters, human=human)
        if human is None:
            unrated += 1
        elif unusable(item.output):
            mute.append(row)
        else:
            items.append(item)
    if faults and not lenient:
        count = f" ({len(faults)} rows have such a fault)" if len(faults) > 1 else ""
        raise DataError(faults[0].problem + count, file=table.path, row=faults[0].row, column=faults[0].column)
    warnings = [f"{table.path.name}: {unrated} rows have no rating and are left out"] if unrated else []
    if faults:
        where = f"first in row {faults[0].row}, column '{faults[0].column}'"
        problem = "rows have a rating off the scale or that is no number"
        warnings.append(f"{table.path.name}: {len(faults)} {problem} ({where}) and are left out")
    if mute:
        where = f"first in row {min(mute)}, column '{mapped.output}'"
        warnings.append(f"{table.path.name}: {len(mute)} rows have no word to judge ({where}) and are left out")
    items, merged = _merged(items)
    if merged:
        warnings.append(f"{table.path.name}: {merged} groups hold a text of another group and are counted with it")
    items, more = _with_ids(table, mapped, items)
    warnings += [*more, *_oddities(table, mapped, items)]
    _enough(table, mapped, items)
    content = digest_set(digest([i.key, i.group, i.ratings, i.human]) for i in items)
    return Dataset(name or table.path.name, table.path, tuple(items), mapped, tuple(warnings), content)


def content_of(item: Item) -> str:
    """Return what two items share that are the same but for case, accents, punctuation and spacing."""
    return f"{normalise(item.source)}\0{normalise(item.output)}"


def _merged(items: Sequence[Item]) -> tuple[list[Item], int]:
    """Return the items with groups that share a text made one, named by the first of their names, and how many went.

    Otherwise one text could stand on two sides of the split under two groups.
    """
    leader: dict[str, str] = {}

    def find(group: str) -> str:
        while leader.setdefault(group, group) != group:
            group = leader[group]
        return group

    seen: dict[str, str] = {}
    for item in items:
        ends = sorted((find(item.group), find(seen.setdefault(content_of(item), item.group))))
        leader[ends[1]] = ends[0]
    merged = [replace(i, group=find(i.group)) for i in items]
    return merged, len({i.group for i in items}) - len({i.group for i in merged})


def plain_items(table: Table, mapped: Mapped) -> tuple[Item, ...]:
    """Return every row as an item without rating, in the order of the file; the id is the row's number."""
    rows = zip(table.row_numbers, table.rows, strict=True)
    return tuple(replace(_item(mapped, row, values), id=str(row)) for row, values in rows)


def _item(mapped: Mapped, row: int, values: Mapping[str, Any]) -> Item:
    def text(column: str | None) -> str:
        value = values.get(column) if column else None
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return ""
        return value if isinstance(value, str) else _joined(value)

    output, source = text(mapped.output), text(mapped.source)
    inputs = {name: text(column) for name, column in mapped.inputs.items()}
    key = digest([source, output, inputs])
    named = (t for t in (text(mapped.group), source, output) if t.strip())
    return Item(
        id="",
        output=output,
        source=source,
        reference=text(mapped.reference) or None,
        inputs=inputs,
        group=next((normalise(t) or t.strip() for t in named), key),
        system=text(mapped.system) or None,
        key=key,
        row=row,
        recorded={name: _recorded(values.get(column)) for name, column in mapped.recorded.items()},
    )


def _recorded(cell: Any) -> float | None:
    """Return what a judge gave; an empty cell and one that holds no finite number are no score."""
    value = None if missing(cell) else number(cell)
    return value if value is not None and math.isfinite(value) else None


def _joined(value: Any) -> str:
    """A list of strings (the turns of a dialogue) is one text; anything else is written as JSON."""
    if isinstance(value, list) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _starts(table: Table, mapped: Mapped) -> list[int]:
    """Return the number of the first annotator of each column of annotators.

    A column of single ratings is one annotator, a column of lists as many as its longest list has entries.
    """
    widths = [max(len(entries(values.get(c))) for values in table.rows) for c in mapped.annotators]
    return [sum(widths[:k]) for k in range(len(widths))]


def _ratings(
    table: Table, mapped: Mapped, scale: Scale, row: int, values: Mapping[str, Any], starts: Sequence[int]
) -> tuple[tuple[float, ...], tuple[int, ...], float | None]:
    """Return the ratings of a row, the numbers of who gave them, and their mean.

    Where there is a column of means, that one counts; who rated is not known if there is nothing else.
    """
    found: dict[int, float] = {}
    for start, column in zip(starts, mapped.annotators, strict=True):
        for place, entry in enumerate(entries(values.get(column))):
            rating = _rating(table, row, column, entry, scale)
            if rating is not None:
                found[start + place] = rating
    ratings, raters = tuple(found.values()), tuple(found)
    if mapped.score is None:
        return ratings, raters, math.fsum(ratings) / len(ratings) if ratings else None
    mean = _rating(table, row, mapped.score, values.get(mapped.score), scale)
    if mean is None:
        return (), (), None
    return ratings or (mean,), raters, mean


def _rating(table: Table, row: int, column: str, cell: Any, scale: Scale) -> float | None:
    if missing(cell):
        return None
    rating = number(cell)
    if rating is None:
        raise DataError(f"'{str(cell)[:40]}' is not a number", file=table.path, row=row, column=column)
    if math.isnan(rating):
        return None
    if not scale.holds(rating):
        problem = f"the rating {rating:g} is outside the scale {scale}; mend the row or give the scale with --scale"
        raise DataError(problem, file=table.path, row=row, column=column)
    return rating


def _with_ids(table: Table, mapped: Mapped, items: Sequence[Item]) -> tuple[list[Item], list[str]]:
    """Return the items in the order of their content, each with its own id or one made from its content."""
    ordered = _by_content(items)
    warnings = []
    if mapped.identifier:
        column = mapped.identifier
        by_row = dict(zip(table.row_numbers, table.rows, strict=True))
        cells = [by_row[i.row or 0].get(column) for i in ordered]
        named = ["" if c is None else str(c).strip() for c in cells]
        counts = Counter(named)
        repeated = [n for n in counts if counts[n] > 1 or not n]
        if not repeated:
            return _by_content([replace(i, id=n) for i, n in zip(ordered, named, strict=True)]), []
        rows = sorted(i.row or 0 for i, n in zip(ordered, named, strict=True) if n == repeated[0])
        problem = (
            f"{len(repeated)} ids stand in several rows or are empty (first in rows {', '.join(map(str, rows[:3]))})"
        )
        if "identifier" not in mapped.guessed:
            hint = "give unique ids, or --id none"
            raise DataError(f"{problem}; {hint}", file=table.path, row=rows[1 % len(rows)], column=column)
        warnings.append(f"column '{column}' is not used as id: {problem}")
    seen: Counter[str] = Counter()
    result = []
    for item in ordered:
        short = item.key[:10]
        seen[short] += 1
        result.append(replace(item, id=short if seen[short] == 1 else f"{short}-{seen[short]}"))
    return result, warnings


def _by_content(items: Sequence[Item]) -> list[Item]:
    """Return the items in an order that does not depend on where they stood in their file."""
    return sorted(
        items, key=lambda i: (i.key, i.ratings, i.human, i.system or "", i.group, i.reference or "", i.raters, i.id)
    )


def _oddities(table: Table, mapped: Mapped, items: Sequence[Item]) -> list[str]:
    """Say what looks odd but does not stop the work; such rows stay in."""
    warnings = []
    bare = [i.row or 0 for i in items if mapped.source and not i.source.strip()]
    if bare:
        warnings.append(f"{len(bare)} rows have an empty {mapped.source} (first in row {min(bare)})")
    long = {i.row or 0: size for i in items if (size := len(i.output) + len(i.source)) > LONG}
    if long:
        where = f"first row {min(long)}, with {long[min(long)]:,}"
        warnings.append(f"{len(long)} rows have more than {LONG:,} characters ({where}); is each one text?")
    ratings: dict[str, set[float | None]] = defaultdict(set)
    for item in items:
        ratings[item.key].add(item.human)
    same = sum(c - 1 for c in Counter(i.key for i in items).values())
    if same:
        differ = sum(len(r) > 1 for r in ratings.values())
        warnings.append(f"{same} rows repeat the text of another row, {differ} of these texts with other ratings")
    if mapped.source is None:
        warnings.append("no source column: the texts are judged by themselves, and each text is its own group")
    return [f"{table.path.name}: {w}" for w in warnings]


def _enough(table: Table, mapped: Mapped, items: Sequence[Item]) -> None:
    column = mapped.score or ", ".join(mapped.annotators)
    if len(items) < FEWEST:
        raise DataError(
            f"{len(items)} rated rows are too few to calibrate on; at least {FEWEST} are needed",
            file=table.path,
            column=column,
        )
    first = items[0].human
    if all(i.human == first for i in items):
        problem = f"all {len(items)} ratings are {first:g}: there is no order to agree with"
        raise DataError(problem, file=table.path, column=column)
    groups = len({i.group for i in items})
    if groups < 3:
        origin = mapped.group or mapped.source or mapped.output
        problem = f"{groups} group{'s' if groups > 1 else ''} only; train, dev and test need one each at least"
        raise DataError(f"{problem} (name another column with --group)", file=table.path, column=origin)
