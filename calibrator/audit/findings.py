"""What an audit says: findings, each with its weight and the place where it was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["grave", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("grave", "warning", "note")
FIRST = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check found.

    "grave": figures worked out on the data would be wrong; "warning": they may be, somebody should look; "note": good
    to know. `message` is one sentence with everything in it: file, column, rows, count, and what to do. `count` is how
    many rows (or pairs, or groups) it is about, `rows` are the first of them.
    """

    check: str
    severity: Severity
    message: str
    file: str
    column: str | None = None
    count: int = 0
    rows: tuple[int, ...] = ()


def place(file: str, column: str | None = None) -> str:
    """Return how a message begins: the file and, if there is one, the column."""
    return f"{file}, column '{column}'" if column else file


def first(rows: Iterable[int]) -> tuple[int, ...]:
    """Return the first rows, in the order of the file."""
    return tuple(sorted(set(rows))[:FIRST])


def in_rows(rows: Sequence[int]) -> str:
    """Return the rows in words."""
    return f"first in row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"


def by_weight(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings with the gravest first, otherwise in their order."""
    return tuple(sorted(findings, key=lambda f: SEVERITIES.index(f.severity)))


def counted(count: int, noun: str) -> str:
    """Return "1 row" or "3 rows"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
