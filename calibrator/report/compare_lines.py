"""Sentences on a comparison: where the line of one human against another is crossed, and what to beware of."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from calibrator.comparison.result import AspectTable, JudgeRow
from calibrator.evaluation.humans import ANOTHER
from calibrator.judges.frozen_parts import Figure
from calibrator.report.compare_cells import HUMAN, Roster, failed
from calibrator.report.lines import FEW_GROUPS, cell

READINGS = (
    "The two readings differ in the mark: another human is held against one annotator, and the mean of several is less "
    "noisy and so easier to agree with, so that only the first sets judge and human the same task."
)


def human_lines(table: AspectTable) -> list[str]:
    """Return which judges reach one human against another, by both readings; nothing where no two humans are known.

    Judges of a part of the items are left out: the humans stand on others.
    """
    human = _figure(next((r for r in table.rows if r.name == ANOTHER), None))
    if human is None or human.value is None:
        return []
    judges = [r for r in table.rows if r.family != HUMAN and not r.partial]
    about = f"{cell(human)} (spearman, {table.annotators} annotators)"
    lines = [f"{table.aspect.aspect().label}: one human against another {about}. Point figures beside it:"]
    if any(r.one and r.one.value is not None for r in judges):
        found = _reaching(judges, human.value, lambda row: row.one)
        lines.append(f"Against one annotator, as that human is held, {found}.")
    plain = _reaching(judges, human.value, _figure)
    return [*lines, f"Against the mean of all annotators {plain}.", READINGS]


def _figure(row: JudgeRow | None) -> Figure | None:
    return None if row is None else row.figures.get("spearman")


def _reaching(rows: list[JudgeRow], line: float, figure: Callable[[JudgeRow], Figure | None]) -> str:
    """Say which judges have a figure of at least `line`, the highest first, or which comes nearest."""
    known = [(f.value, row.name) for row in rows if (f := figure(row)) is not None and f.value is not None]
    known.sort(key=lambda pair: -pair[0])
    reached = [f"{name} {value:.3f}" for value, name in known if value >= line]
    if reached:
        return f"it is reached by {', '.join(reached)}"
    return f"no judge reaches it; nearest is {known[0][1]} {known[0][0]:.3f}" if known else "no judge has a figure"


def caution_lines(table: AspectTable) -> list[str]:
    """Return what a reader must know before trusting the figures of an aspect, a line each."""
    told = list(table.cautions)
    if not table.items:
        return [*told, "no item was scored by every judge that is not of a part: nothing is compared"]
    few = f"only {table.groups} groups on the test side: intervals over so few groups are rough"
    if table.groups < FEW_GROUPS and few not in told:
        told.append(few)
    return told


def note_lines(table: AspectTable, roster: Roster) -> Iterator[str]:
    """Yield what is to be said of single judges: failures by reason, and their notes."""
    for row in table.rows:
        named = f"{roster.number(row.name)} {row.name}".strip()
        if row.failures:
            yield f"{named}: failures {failed(row.failures)}"
        for note in row.notes:
            yield f"{named}: {note}"
