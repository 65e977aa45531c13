"""The tables of a comparison that belong to one aspect: all judges, those of a part of the items, and the pairs."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.comparison.result import AspectTable, JudgeRow, PairLine
from calibrator.judges.frozen_parts import Figure
from calibrator.report.compare_cells import (
    HUMAN,
    NONE,
    SHORT,
    Roster,
    cost,
    failed,
    replaced,
    seconds,
    share,
    spanned,
    used,
    value,
)
from calibrator.report.console import told_p
from calibrator.report.lines import cell
from calibrator.report.sheet import Column, Sheet

KEYS = (Column("#"), Column("judge", right=False))
BEST, PART = "*", "†"
WORK = ("items", "coverage", "failures", "judgments", "to make it", "US$", "seconds")
REPLACEMENT = "may it replace a human?"
REPLACED = ("omega", "as given", "advantage", "z", "passed")


def aspect_sheet(table: AspectTable, roster: Roster, full: bool = False) -> Sheet:
    """Return one aspect with every figure of each judge; `full`: all with intervals, and how each judge scores."""
    intervals = set(SHORT) if full else {"spearman", table.measure}
    rho, *others = SHORT
    several = any(r.one for r in table.rows)
    replacing = any(r.replacement for r in table.rows)

    def figure(row: JudgeRow, measure: str) -> str:
        return (spanned if measure in intervals else value)(row.figures.get(measure))

    def cells(row: JudgeRow) -> list[str]:
        return [
            f"{mark(row, table)}{figure(row, rho)}",
            roster.listed(row.better_than),
            *(figure(row, m) for m in others),
            *([(spanned if full else value)(row.one)] if several else []),
            *_work(row, table.size, full),
            *(replaced(row.replacement) if replacing else ()),
            *([_how(row)] if full else []),
        ]

    columns = (
        *KEYS,
        Column(SHORT[rho]),
        Column("better than", right=False),
        *(Column(SHORT[m]) for m in others),
        *([Column("one human", SHORT[rho])] if several else []),
        *(Column(head) for head in WORK),
        *([Column(head, REPLACEMENT) for head in REPLACED] if replacing else []),
        *([Column("scores", right=False)] if full else []),
    )
    rows = roster.rows({r.name: cells(r) for r in table.rows})
    return Sheet(title(table), columns, rows, len(KEYS), tuple(_legend(table)))


def title(table: AspectTable) -> str:
    """Return what a table is about, and how much of the test side it stands on."""
    aspect = table.aspect.aspect()
    part = f"{table.items:,} of {table.size:,} items of the test side, {table.groups:,} groups"
    return f"{aspect.label} ({aspect.ref}, {table.chosen}) on {table.data}: {part}"


def mark(row: JudgeRow, table: AspectTable) -> str:
    """Return `PART` for a judge of a part of the items, `BEST` where no other judge is significantly better, else "".

    Nothing is marked as best where nothing was tested.
    """
    if row.family == HUMAN:
        return ""
    if row.partial:
        return PART
    beaten = {name for r in table.rows if not r.partial for name in r.better_than}
    tested = {name for p in table.pairs if p.adjusted is not None for name in (p.first, p.second)}
    return BEST if row.name in tested - beaten else ""


def mark_notes(tables: Sequence[AspectTable]) -> list[str]:
    """Return what the marks mean that stand in tables."""
    marks = {mark(r, t) for t in tables for r in t.rows}
    measures = ", ".join(dict.fromkeys(t.measure for t in tables))
    best = f"{BEST} no judge is significantly better in {measures} (permutation over groups, Holm over all pairs)."
    part = f"{PART} scored only a part of the items; its figures are on that part."
    return [note for sign, note in ((BEST, best), (PART, part)) if sign in marks]


def replacement_note(tables: Sequence[AspectTable]) -> list[str]:
    """Return what the figures on replacing a human mean, if there are any."""
    if not any(r.replacement for t in tables for r in t.rows):
        return []
    test = "share of the annotators that the judge may stand in for, its scores taken at the points of the scale, where"
    near = "advantage: how probably it is at least as near to the others as one of them"
    z = "z: its agreement among that of the humans with each other"
    return [f"omega: {test} they answered too; as given: with its scores as they are; {near}; {z}."]


def _work(row: JudgeRow, size: int, full: bool) -> list[str]:
    if row.family == HUMAN:
        return [used(row, size), *[NONE] * (len(WORK) - 1)]
    missed = failed(row.failures) if full else f"{sum(row.failures.values()):,}"
    counts = (f"{row.judgments:,}", f"{row.known:,}")
    return [used(row, size), share(row.coverage), missed, *counts, cost(row.cost), seconds(row.seconds)]


def _how(row: JudgeRow) -> str:
    return f"{row.mode}, {row.model}" if row.model else row.mode


def _legend(table: AspectTable) -> list[str]:
    notes = mark_notes([table])
    if any(r.better_than for r in table.rows):
        notes.append("better than: the numbers of the judges that it significantly exceeds.")
    if any(r.one for r in table.rows):
        notes.append("rho, one human: the judge against one annotator, mean of all; rho: against the mean of all.")
    about = "to make it: judgments on train and dev; US$ and seconds: for all judgments."
    return [*notes, f"[ ]: 95 % interval by bootstrap over groups. {about}", *replacement_note([table])]


def part_sheet(table: AspectTable, roster: Roster) -> Sheet | None:
    """Return each judge of a part of the items beside the full judges on that part; None if there is none."""
    rows: list[tuple[str, ...] | str] = []
    for row in (r for r in table.rows if r.partial):
        rows.append(f"on the {used(row, table.size)} items of {row.name}")
        own = spanned(row.figures.get(table.measure))
        rows.append((roster.number(row.name), row.name, own, "", ""))
        for name, figure in row.beside.items():
            rows.append((roster.number(name), name, spanned(figure), *_over(row.name, name, table.pairs)))
    if not rows:
        return None
    columns = (*KEYS, Column(table.measure), Column("gain over it"), Column("p Holm"))
    head = f"{table.aspect.aspect().label}: judges of a part, beside the others on the same items"
    note = "gain over it: how much more the judge of the part has (for mae: how much less error)."
    return Sheet(head, columns, tuple(rows), len(KEYS), (note,))


def _over(first: str, other: str, pairs: Sequence[PairLine]) -> tuple[str, str]:
    """Return the gain of one judge over another and its adjusted p, whichever of them the pair names first."""
    for pair in pairs:
        if (pair.first, pair.second) == (first, other):
            return cell(pair.gain, signed=True), told_p(pair.adjusted)
        if (pair.second, pair.first) == (first, other):
            return cell(_turned(pair.gain), signed=True), told_p(pair.adjusted)
    return NONE, NONE


def _turned(gain: Figure) -> Figure:
    """Return the gain of the second over the first."""
    turned = (None if x is None else -x for x in (gain.value, gain.high, gain.low))
    v, low, high = turned
    return Figure(value=v, low=low, high=high)


def pairs_sheet(table: AspectTable, roster: Roster) -> Sheet | None:
    """Return all pairs of judges with their gains and p-values; None if there is none."""
    if not table.pairs:
        return None
    rows = tuple(
        (
            f"{roster.number(p.first)} {p.first}",
            f"{roster.number(p.second)} {p.second}",
            f"{p.items:,}",
            cell(p.gain, signed=True),
            told_p(p.p),
            told_p(p.adjusted),
        )
        for p in table.pairs
    )
    names = (Column("judge", right=False), Column("over", right=False))
    columns = (*names, *(Column(head) for head in ("items", f"gain ({table.measure})", "p", "p Holm")))
    note = "p: two-sided, by permutation over groups; Holm: adjusted for all pairs."
    return Sheet(f"{table.aspect.aspect().label}: pairs of judges", columns, rows, len(names), (note,))
