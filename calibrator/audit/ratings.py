"""Ratings that are none, ratings off the scale, and scales that are hardly used."""

from __future__ import annotations

from collections import Counter

import numpy as np

from calibrator.audit.findings import Finding, Severity, counted, first, in_rows, place
from calibrator.audit.subject import Rated, Subject
from calibrator.dataset import FEWEST

ONE_VALUE = 0.9  # of the ratings are the same: hardly any order is left to agree with
NARROW = 0.5  # of the scale from the lowest to the highest rating
ANOTHER_SCALE = 0.05  # of the ratings lie off a guessed scale: then the guess is wrong and not the rows


def rating_findings(subject: Subject) -> list[Finding]:
    """Return what is wrong with each column of ratings."""
    return [
        f for rated in subject.rated for f in (*_words(subject, rated), *_off(subject, rated), *_use(subject, rated))
    ]


def _words(subject: Subject, rated: Rated) -> list[Finding]:
    faults = [f for f in rated.faults if f.value is None]
    if not faults:
        return []
    rows = first(f.row for f in faults)
    verb = "is" if len(faults) == 1 else "are"
    what = f"{counted(len(faults), 'rating')} {verb} not a number ({in_rows(rows)})"
    what += "; mend them, or leave them empty if there are none"
    column = faults[0].column
    return [
        Finding("ratings", "grave", f"{place(subject.name, column)}: {what}", subject.name, column, len(faults), rows)
    ]


def _off(subject: Subject, rated: Rated) -> list[Finding]:
    faults = [f for f in rated.faults if f.value is not None]
    if not faults:
        return []
    rows, count = first(f.row for f in faults), len(faults)
    own = rated.means or not len(rated.annotators)
    total = count + int((~np.isnan(rated.annotators)).sum()) + (int((~np.isnan(rated.human)).sum()) if own else 0)
    usual = Counter(f"{f.value:g}" for f in faults).most_common(3)
    values = ", ".join(f"{value} in {times}" for value, times in usual)
    where = (
        f"{count} of {total} ratings are outside the scale {rated.scale} of {rated.aspect} ({values}; {in_rows(rows)})"
    )
    systematic = rated.known == "guessed" and count >= ANOTHER_SCALE * total
    severity: Severity = "warning" if systematic else "grave"
    todo = (
        "the scale may be another: give it with --scale" if systematic else "mend them or give the scale with --scale"
    )
    column = faults[0].column
    message = f"{place(subject.name, column)}: {where}; {todo}"
    return [Finding("ratings", severity, message, subject.name, column, count, rows)]


def _use(subject: Subject, rated: Rated) -> list[Finding]:
    """Say where the ratings leave little to agree with."""
    numbers = rated.human[~np.isnan(rated.human)]
    if not len(numbers):
        return [
            _about(subject, rated, "warning", "there is no rating that can be used; name another column with --score")
        ]
    if len(numbers) < FEWEST:
        few = f"{len(numbers)} rated rows are too few to calibrate on; at least {FEWEST} are needed"
        return [_about(subject, rated, "warning", few)]
    value, times = Counter(numbers.tolist()).most_common(1)[0]
    if times == len(numbers):
        same = f"all {times} ratings are {value:g}: there is no order to agree with; take another column"
        return [_about(subject, rated, "grave", same, times)]
    findings = []
    if times >= ONE_VALUE * len(numbers):
        most = f"{times} of {len(numbers)} ratings are {value:g}: few rows decide every figure; look at the intervals"
        findings.append(_about(subject, rated, "warning", most, times))
    low, high, scale = float(numbers.min()), float(numbers.max()), rated.scale
    if rated.known != "data" and high - low <= NARROW * (scale.high - scale.low):
        used = f"only {low:g}-{high:g} of the scale {scale} is used; if the scale is another, give it with --scale"
        findings.append(_about(subject, rated, "warning", used, len(numbers)))
    return findings


def _about(subject: Subject, rated: Rated, severity: Severity, what: str, count: int = 0) -> Finding:
    message = f"{place(subject.name, rated.column)}: {what}"
    return Finding("ratings", severity, message, subject.name, rated.column, count)
