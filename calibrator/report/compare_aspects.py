"""The tables of a comparison over several aspects, side by side; and the further tables that were asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from calibrator.comparison.result import AspectTable, ComparisonResult, Extra, JudgeRow
from calibrator.report.compare_aspect import KEYS, REPLACED, WORK, mark, mark_notes, replacement_note
from calibrator.report.compare_cells import (
    HUMAN,
    NONE,
    SHORT,
    Roster,
    any_cell,
    cost,
    number,
    replaced,
    seconds,
    used,
    value,
)
from calibrator.report.sheet import Column, Sheet

SIDE_BY_SIDE = ("spearman", "kendall")
MEAN = "mean"
Cells = Callable[[JudgeRow, AspectTable], Sequence[str]]


def overview_sheet(result: ComparisonResult, roster: Roster) -> Sheet:
    """Return rho and tau of every row in each aspect, and their means."""
    tables, heads = result.tables, tuple(SHORT[m] for m in SIDE_BY_SIDE)

    def cells(row: JudgeRow, table: AspectTable) -> list[str]:
        rho, tau = (value(row.figures.get(m)) for m in SIDE_BY_SIDE)
        return [f"{mark(row, table)}{rho}", tau]

    columns, found = _side_by_side(tables, roster, heads, cells)
    notes = mark_notes(tables)
    if result.means:
        columns += [Column(head, MEAN) for head in heads]
        means = _means(result)
        found = {name: [*own, *means.get(name, [NONE] * len(heads))] for name, own in found.items()}
        if any(m.aspects < len(tables) for m in result.means):
            notes.append("(n) behind a mean: it is over only n of the aspects.")
    data = ", ".join(dict.fromkeys(t.data for t in tables))
    return Sheet(
        f"{data}: {len(tables)} aspects, test sides", tuple(columns), roster.rows(found), len(KEYS), tuple(notes)
    )


def _means(result: ComparisonResult) -> dict[str, list[str]]:
    means = {}
    for mean in result.means:
        part = f" ({mean.aspects})" if mean.aspects < len(result.tables) else ""
        told = [number(mean.figures.get(m)) for m in SIDE_BY_SIDE]
        means[mean.name] = [t if t == NONE else f"{t}{part}" for t in told]
    return means


def better_sheet(result: ComparisonResult, roster: Roster) -> Sheet | None:
    """Return the numbers of those that each judge significantly exceeds in each aspect; None if nobody does."""
    if not any(r.better_than for t in result.tables for r in t.rows):
        return None
    columns, found = _side_by_side(result.tables, roster, ("",), lambda row, _: [roster.listed(row.better_than)])
    judges = {name: cells for name, cells in found.items() if name in roster.numbers}
    measures = ", ".join(dict.fromkeys(t.measure for t in result.tables))
    note = f"By number; {measures}, permutation over groups, p below 0.05 after Holm over all pairs of an aspect."
    return Sheet("Significantly better than", tuple(columns), roster.rows(judges), len(KEYS), (note,))


def replacement_sheet(result: ComparisonResult, roster: Roster) -> Sheet | None:
    """Return whether each judge may stand in for a human in each aspect; None where that was not asked."""
    asked = {r.name for t in result.tables for r in t.rows if r.replacement}
    if not asked:
        return None
    columns, found = _side_by_side(result.tables, roster, REPLACED, lambda row, _: replaced(row.replacement))
    rows = roster.rows({name: cells for name, cells in found.items() if name in asked})
    return Sheet("May it replace a human?", tuple(columns), rows, len(KEYS), tuple(replacement_note(result.tables)))


def work_sheet(result: ComparisonResult, roster: Roster) -> Sheet:
    """Return on how many items each figure stands, and what each judge took over all aspects."""
    columns, found = _side_by_side(result.tables, roster, ("",), lambda row, table: [used(row, table.size)])
    rows: dict[str, list[JudgeRow]] = {}
    for row in (r for t in result.tables for r in t.rows):
        rows.setdefault(row.name, []).append(row)
    columns += [Column(head) for head in WORK[2:]]
    cells = {name: [*own, *_total(rows[name])] for name, own in found.items()}
    note = f"{WORK[2]} to {WORK[-1]}: all aspects together; {WORK[4]}: judgments on train and dev."
    return Sheet("Items by aspect, and what it took", tuple(columns), roster.rows(cells), len(KEYS), (note,))


def _total(rows: Sequence[JudgeRow]) -> list[str]:
    if rows[0].family == HUMAN:
        return [NONE] * len(WORK[2:])
    counts = (sum(sum(r.failures.values()) for r in rows), sum(r.judgments for r in rows), sum(r.known for r in rows))
    costs, times = [r.cost for r in rows], [r.seconds for r in rows]
    return [*(f"{n:,}" for n in counts), cost(_sum(costs)), seconds(_sum(times))]


def _sum(values: Sequence[float | None]) -> float | None:
    """Return the sum; None where one of them is not known."""
    known = [v for v in values if v is not None]
    return sum(known) if len(known) == len(values) else None


def _side_by_side(
    tables: Sequence[AspectTable], roster: Roster, heads: Sequence[str], cells: Cells
) -> tuple[list[Column], dict[str, list[str]]]:
    """Return columns for each aspect, and every row's cells under them, dashes where the aspect has no such row."""
    names = [t.aspect.name for t in tables]
    groups = names if len(set(names)) == len(names) else [t.aspect.aspect().ref for t in tables]
    rows = [{r.name: r for r in t.rows} for t in tables]
    found: dict[str, list[str]] = {}
    for name in (n for own in roster.families.values() for n in own):
        found[name] = []
        for table, known in zip(tables, rows, strict=True):
            found[name] += cells(known[name], table) if name in known else [NONE] * len(heads)
    # A single column below an aspect needs no second head.
    columns = [Column(head, group) if head else Column(group) for group in groups for head in heads]
    return [*KEYS, *columns], found


def extra_sheet(extra: Extra) -> Sheet:
    """Return a further table as it is; columns of numbers are set to the right."""
    rows = tuple(tuple(any_cell(x) for x in row) for row in extra.rows)
    texts = [
        any(isinstance(cell, str) for row in extra.rows for cell in row[k : k + 1]) for k in range(len(extra.columns))
    ]
    columns = tuple(Column(head, right=not text) for head, text in zip(extra.columns, texts, strict=True))
    return Sheet(extra.title, columns, rows, min(1, len(columns)), extra.notes)
