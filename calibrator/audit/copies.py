"""Human ratings that equal a column that no human gave: a judge's scores taken for labels."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.audit.findings import Finding, place
from calibrator.audit.subject import Rated, Subject
from calibrator.columns import OVERALL, RATING, plain
from calibrator.stats.agreement import cohen_kappa

Array = NDArray[np.float64]
FEWEST = 20  # rows with both numbers
EQUAL = 0.9  # of the rows
BEYOND_CHANCE = 0.7  # Cohen's kappa: two columns that mostly say 1 are equal in most rows by chance
MANY = 50  # rows in which two columns of two values must be equal throughout
_HUMAN = re.compile(r"human|annot|rater|expert|crowd|worker|gold")


@dataclass(frozen=True, slots=True)
class _Copy:
    column: str
    equal: int
    rows: int


def copy_findings(subject: Subject) -> list[Finding]:
    """Return the ratings that another column of numbers repeats.

    Two columns are the same if at least `EQUAL` of the rows are, beyond chance too (`BEYOND_CHANCE`), and more than two
    values occur; of two values, only if they are equal in every one of `MANY` rows. A judge that merely agrees well
    is far from this: with the mean of several humans even good ones have a kappa below 0.3.
    """
    findings = []
    ratings = {c for r in subject.rated for c in (r.mapped.score, *r.mapped.annotators)}
    for rated in subject.rated:
        usual = {*(p.format(plain(rated.aspect)) for p in RATING), *OVERALL, "label"}
        others = {c: v for c, v in subject.numbers.items() if c not in ratings}
        # As it stands in the file: what lies off the scale is part of the column too.
        human = subject.numbers.get(rated.mapped.score or "", rated.human)
        series = {rated.column: human} | dict(zip(rated.names, rated.annotators, strict=True))
        for name, numbers in series.items():
            copies = _copies(numbers, others)
            judges = [c for c in copies if plain(c.column) not in usual and not _HUMAN.search(plain(c.column))]
            if judges:
                findings.append(_judged(subject, name, judges))
            elif copies:
                findings.append(_repeated(subject, name, copies[0]))
    return findings + _across(subject)


def _copies(numbers: Array, others: dict[str, Array]) -> list[_Copy]:
    found = [c for column, other in others.items() if (c := _copy(column, numbers, other))]
    return sorted(found, key=lambda c: -c.equal / c.rows)


def _copy(column: str, numbers: Array, other: Array) -> _Copy | None:
    both = ~(np.isnan(numbers) | np.isnan(other))
    rows = int(both.sum())
    if rows < FEWEST:
        return None
    a, b = numbers[both], other[both]
    equal = int((a == b).sum())
    if equal < EQUAL * rows:
        return None
    values = len(np.unique(a))
    same = cohen_kappa(a, b) >= BEYOND_CHANCE if values > 2 else values == 2 and equal == rows >= MANY
    return _Copy(column, equal, rows) if same else None


def _judged(subject: Subject, name: str, copies: list[_Copy]) -> Finding:
    listed = ", ".join(f"'{c.column}' in {c.equal} of {c.rows} rows" for c in copies[:3])
    more = f" and {len(copies) - 3} more" if len(copies) > 3 else ""
    todo = "find out which of them humans gave, and neither calibrate nor report on these ratings before"
    message = f"{place(subject.name, name)}: the human ratings equal {listed}{more}; {todo}"
    return Finding("copies", "grave", message, subject.name, name, copies[0].equal)


def _repeated(subject: Subject, name: str, copy: _Copy) -> Finding:
    same = f"equal '{copy.column}' in {copy.equal} of {copy.rows} rows, which by its name holds human ratings too"
    message = f"{place(subject.name, name)}: the ratings {same}; do not take it for a judge or for a second annotator"
    return Finding("copies", "note", message, subject.name, name, copy.equal)


def _across(subject: Subject) -> list[Finding]:
    """Two aspects with the same ratings: one column may have been filled from the other."""
    findings = []
    for k, one in enumerate(subject.rated):
        for other in subject.rated[k + 1 :]:
            copy = _copy(other.column, one.human, other.human)
            if copy:
                findings.append(_two_aspects(subject, one, copy))
    return findings


def _two_aspects(subject: Subject, one: Rated, copy: _Copy) -> Finding:
    same = f"the ratings equal those of another aspect, '{copy.column}', in {copy.equal} of {copy.rows} rows"
    message = f"{place(subject.name, one.column)}: {same}; check that each was rated by itself"
    return Finding("copies", "warning", message, subject.name, one.column, copy.equal)
