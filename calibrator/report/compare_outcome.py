"""What a comparison comes to, in a sentence or three for each aspect."""

from __future__ import annotations

from calibrator.comparison.result import AspectTable, ComparisonResult, JudgeRow
from calibrator.report.console import told_p
from calibrator.report.lines import cell

BASELINE = "length"


def outcome_lines(result: ComparisonResult) -> list[str]:
    """Return for each aspect which judge is highest, whether it is better than length, and than a human's stand-in."""
    return [line for table in result.tables for line in _outcome(table)]


def _outcome(table: AspectTable) -> list[str]:
    sign = -1 if table.measure == "mae" else 1
    full = [r for r in table.rows if r.family != "human" and not r.partial and _value(r, table) is not None]
    if not full:
        return [f"{table.aspect.name}: no judge has a {table.measure}."]
    best = max(full, key=lambda r: sign * (_value(r, table) or 0.0))
    name = table.aspect.name
    lines = [
        f"{name}: highest is {best.name}, {table.measure} {cell(best.figures[table.measure])}; {_over(best, table)}"
    ]
    part = best.replacement
    if part is not None and part.omega is not None:
        may = "passes" if part.passed else "does not pass"
        given = f", omega {part.omega_given:.2f} with its scores as given" if part.omega_given is not None else ""
        lines.append(f"{name}: in the place of a human it {may} the annotator test (omega {part.omega:.2f}{given}).")
    return lines


def _over(best: JudgeRow, table: AspectTable) -> str:
    """Return how sure it is that the highest judge is better than the length of the text."""
    if best.name == BASELINE:
        return "no judge is above it."
    for line in table.pairs:
        if {line.first, line.second} == {best.name, BASELINE}:
            told = "better than" if BASELINE in best.better_than else "not shown to be better than"
            return f"{told} {BASELINE} (p {told_p(line.adjusted)} after Holm)."
    return f"not compared with {BASELINE}."


def _value(row: JudgeRow, table: AspectTable) -> float | None:
    found = row.figures.get(table.measure)
    return None if found is None else found.value
