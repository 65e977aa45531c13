"""Figures of a comparison as texts, and the order and numbers of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from calibrator.comparison.result import FAMILIES, ComparisonResult, JudgeRow, ReplacementPart
from calibrator.judges.frozen_parts import Figure
from calibrator.report.lines import cell

NONE = "–"
HUMAN = "human"
SHORT = {"spearman": "rho", "kendall": "tau", "pearson": "r", "mae": "MAE"}
HEADINGS = {
    "baseline": "Baselines",
    "metric": "Metrics",
    "criteria": "Embedded criteria",
    "zero-shot": "Zero-shot",
    "g-eval": "G-Eval",
    "calibrated": "Calibrated",
    "recorded": "Recorded columns",
    "panel": "Panels",
    HUMAN: "Humans",
}


@dataclass(frozen=True, slots=True)
class Roster:
    """All rows of a comparison: their names by family in the order of `FAMILIES`, and the judges' numbers from 1 up.

    One judge has one number in all tables; humans have none.
    """

    families: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, int]

    def number(self, name: str) -> str:
        """Return the number of a row, "" for humans."""
        return str(self.numbers.get(name, ""))

    def listed(self, names: Iterable[str]) -> str:
        """Return the numbers of judges with runs drawn together ("1-3,6"), a dash for none."""
        runs: list[list[int]] = []
        for n in sorted({self.numbers[name] for name in names if name in self.numbers}):
            if runs and n == runs[-1][-1] + 1:
                runs[-1].append(n)
            else:
                runs.append([n])
        return ",".join(_run(r) for r in runs) or NONE

    def rows(self, cells: Mapping[str, Sequence[str]]) -> tuple[tuple[str, ...] | str, ...]:
        """Return the rows that have cells, behind their number and name, each family under its heading."""
        rows: list[tuple[str, ...] | str] = []
        for family, names in self.families.items():
            own = [(self.number(n), n, *cells[n]) for n in names if n in cells]
            rows += [HEADINGS.get(family, family), *own] if own else []
        return tuple(rows)


def roster(result: ComparisonResult) -> Roster:
    """Return the rows of all tables; within a family they keep the order in which they come."""
    family_of: dict[str, str] = {}
    for table in result.tables:
        for row in table.rows:
            family_of.setdefault(row.name, row.family)
    unknown = [f for f in dict.fromkeys(family_of.values()) if f not in FAMILIES]
    order = [*FAMILIES[:-1], *unknown, FAMILIES[-1]]
    families = {f: tuple(n for n, own in family_of.items() if own == f) for f in order}
    judges = [n for f, names in families.items() if f != HUMAN for n in names]
    return Roster(families, {n: k for k, n in enumerate(judges, 1)})


def _run(numbers: Sequence[int]) -> str:
    if len(numbers) < 3:
        return ",".join(map(str, numbers))
    return f"{numbers[0]}-{numbers[-1]}"


def value(figure: Figure | None) -> str:
    """Return a figure without its interval."""
    return NONE if figure is None else number(figure.value)


def spanned(figure: Figure | None) -> str:
    """Return a figure with its interval."""
    return NONE if figure is None else cell(figure)


def number(x: float | None, digits: int = 3) -> str:
    """Return a number, a dash where it is not defined; one that would be shown as 0 and is not keeps two digits."""
    if x is None or not math.isfinite(x):
        return NONE
    return f"{x:.1e}" if 0 < abs(x) < 0.5 * 10**-digits else f"{x:.{digits}f}"


def any_cell(x: str | float | None) -> str:
    """Return a cell of an extra table."""
    if isinstance(x, str):
        return x
    return f"{x:,}" if isinstance(x, int) else number(x)


def used(row: JudgeRow, size: int) -> str:
    """Return on how many items the figures are, and of how many if the judge scored only a part."""
    return f"{row.items:,} of {size:,}" if row.partial else f"{row.items:,}"


def share(x: float) -> str:
    """Return a share in per cent; what is not all or nothing is never shown as that."""
    told = f"{100 * x:.1f}"
    if x < 1 and told == "100.0":
        return "> 99.9 %"
    if x > 0 and told == "0.0":
        return "< 0.1 %"
    return f"{told.removesuffix('.0')} %"


def cost(x: float | None) -> str:
    """Return US dollars, with four decimals below one."""
    if x is None:
        return "not known"
    if x == 0:
        return "0"
    if x < 0.0001:
        return "< 0.0001"
    return f"{x:.4f}" if x < 1 else f"{x:,.2f}"


def seconds(x: float | None) -> str:
    """Return a time, with one decimal below ten seconds."""
    if x is None:
        return NONE
    return "< 0.1" if 0 < x < 0.05 else f"{x:.1f}" if x < 10 else f"{x:,.0f}"


def replaced(part: ReplacementPart | None) -> tuple[str, ...]:
    """Return omega, omega of the scores as given, advantage, z and whether the judge may replace a human."""
    if part is None:
        return (NONE,) * 5
    passed = NONE if part.passed is None else "yes" if part.passed else "no"
    return (*(number(x, 2) for x in (part.omega, part.omega_given, part.advantage, part.z)), passed)


def failed(failures: Mapping[str, int]) -> str:
    """Return failures by reason, "0" if there are none."""
    return ", ".join(f"{n} × {reason}" for reason, n in failures.items()) or "0"
