"""Tau by the number of human labels of each system: tables, box plots in letters, and the boxes of the drawing."""

from __future__ import annotations

from calibrator.report.boxplot import Box, axis_line, box_line
from calibrator.report.lines import cell
from calibrator.report.rank_cells import EXTRAPOLATED, number, share
from calibrator.report.sheet import Column, Sheet
from calibrator.studies.ranking.result import JudgeRank, RankTable, SizePart

EMPTY = 61  # letters of a box plot


def sizes_sheet(judge: JudgeRank) -> Sheet | None:
    """Return tau by the number of labels; None where it was not measured."""
    if not judge.sizes:
        return None
    heads = ("lowest", "5 %", "25 %", "median", "75 %", "95 %", "highest")
    columns = [Column("labels"), *(Column(head, "subsets of the labels") for head in heads)]
    columns += [Column(head, "other items") for head in ("median [90 %]", "p < 0.05", "trusted")]
    rows = tuple(
        (_size(s), *(number(v, 2) for v in s.subsets), cell(s.anew, digits=2), share(s.significant), _trusted(s))
        for s in judge.sizes
    )
    notes = [
        "Subsets: the judge's scores on all items against those of so many human labels of each system, without "
        "replacement (as published; they come to a point where all there are is taken). Other items: judge and humans "
        "on so many items drawn anew; trusted: how often the verdict on these is trust."
    ]
    notes += beyond_lines(judge)
    return Sheet(f"Kendall's tau by the labels of each system: {judge.name}", tuple(columns), rows, 1, tuple(notes))


def box_lines(judge: JudgeRank, threshold: float) -> list[str]:
    """Return box plots of tau by the number of labels with their axis, a line each; none where it was not measured."""
    if not judge.sizes:
        return []
    labels = [f"{_size(s)} labels" for s in judge.sizes]
    width = max(map(len, labels))
    lines = []
    for label, part in zip(labels, judge.sizes, strict=True):
        box = _box(part)
        drawn = "" if box is None else box_line(box, threshold)
        figures = f"[{number(part.anew.low, 2)}, {number(part.anew.high, 2)}]"
        lines.append(f"  {label:>{width}}  {drawn:{EMPTY}}  {figures} {share(part.significant):>5} {_trusted(part):>7}")
    return [*lines, f"  {'':>{width}}  {axis_line()}", *beyond_lines(judge)]


def beyond_lines(judge: JudgeRank) -> list[str]:
    """Return what it means that a size is marked, and which systems have so few labels."""
    if not any(s.extrapolated for s in judge.sizes):
        return []
    whose = f"; {', '.join(judge.limiting)} has no more, others do" if len(judge.limiting) == 1 else ""
    whose = f"; {', '.join(judge.limiting)} have no more, others do" if len(judge.limiting) > 1 else whose
    return [f"{EXTRAPOLATED} extrapolated: more than the {judge.labels} labels that every system has{whose}."]


def size_boxes(judge: JudgeRank) -> list[Box]:
    """Return the box of each size in which tau is defined; none of those that are extrapolated."""
    return [box for part in judge.sizes if (box := _box(part)) is not None]


def _box(part: SizePart) -> Box | None:
    known = [v for v in part.subsets if v is not None]
    return Box(f"{part.size} labels", tuple(known)) if len(known) == 7 else None  # type: ignore[arg-type]


def interval_boxes(table: RankTable) -> list[Box]:
    """Return the interval of each judge's tau as a box without quartiles."""
    boxes = []
    for judge in table.judges:
        tau = judge.tau
        if tau.value is not None and tau.low is not None and tau.high is not None:
            low, high = min(tau.low, tau.value), max(tau.high, tau.value)
            boxes.append(Box(judge.name, (low, low, tau.value, tau.value, tau.value, high, high)))
    return boxes


def needed_cell(judge: JudgeRank) -> str:
    """Return the fewest labels that are needed, marked where they are extrapolated; a dash where none is enough."""
    enough = next((s for s in judge.sizes if s.size == judge.needed), None)
    return "–" if enough is None else _size(enough)


def _size(part: SizePart) -> str:
    return f"{part.size}{f' {EXTRAPOLATED}' if part.extrapolated else ''}"


def _trusted(part: SizePart) -> str:
    """Return how often the verdict is trust: at most as often as p is small enough, where that is all that is known."""
    known = part.trusted if part.significant else 0.0
    return f"≤ {share(part.significant)}" if known is None else share(known)
