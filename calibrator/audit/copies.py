"""Human ratings that equal a column that no human gave: a judge's scores taken for labels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import shipped_aspects
from calibrator.audit.findings import Finding, place
from calibrator.audit.subject import Rated, Subject
from calibrator.columns import OVERALL, RATING, plain
from calibrator.stats.agreement import cohen_kappa

Array = NDArray[np.float64]
FEWEST = 20  # rows with both numbers
EQUAL = 0.9  # of the rows
BEYOND_CHANCE = 0.7  # Cohen's kappa: two columns that mostly say 1 are equal in most rows by chance
MANY = 50  # rows in which two columns of two values must be equal throughout
SUMMED_UP = 0.97  # of the rows are the mean or the median of the annotators
SIMILAR = 0.7  # of the rows are equal to the rating, for an annotator beside those that nearly are the rating
MOST = 7  # columns of which all groups are tried
_HUMAN = re.compile(r"human|annot|rater|expert|crowd|worker|gold")
_MACHINE = re.compile(
    r"gpt|llama|mistral|mixtral|claude|gemini|gemma|qwen|deepseek|palm|prometheus|llm|model|judge|metric|bleu|rouge"
    r"|meteor|bert|auto|predict|eval|shot|prompt|(?:^|_)ai(?:_|$)"
)
# Words that make of a rating's name that of another form of it: score_raw, mean_relevance, relevance_2.
_FORMS = frozenset(
    "raw orig original mean median avg average score scores rating ratings human value final rounded round int "
    "scaled normalised normalized norm standardised standardized old new copy".split()
)
_WHO = r"(?:a|ann|annot|annotator|rater|r|expert)"


@dataclass(frozen=True, slots=True)
class _Copy:
    column: str
    equal: int
    rows: int


@dataclass(frozen=True, slots=True)
class _Summary:
    """A rating that is the `form` ("mean" or "median") of several columns in `equal` of `rows` rows."""

    columns: tuple[str, ...]
    form: str
    equal: int
    rows: int


def copy_findings(subject: Subject) -> list[Finding]:
    """Return the ratings that another column of numbers repeats.

    Two columns are the same if at least `EQUAL` of the rows are, beyond chance too (`BEYOND_CHANCE`), and more than two
    values occur; of two values, only if they are equal in every one of `MANY` rows. A judge that merely agrees well
    is far from this: with the mean of several humans even good ones have a kappa below 0.3.

    No judges are columns of which the rating is the mean or the median (its annotators), those that have its own name
    or its aspect's in another form (a repetition), and those that are named as another aspect's ratings.
    """
    findings = []
    ratings = {c for r in subject.rated for c in (r.mapped.score, *r.mapped.annotators)}
    for rated in subject.rated:
        others = {c: v for c, v in subject.numbers.items() if c not in ratings}
        # As it stands in the file: what lies off the scale is part of the column too.
        human = subject.numbers.get(rated.mapped.score or "", rated.human)
        series = {rated.column: human} | dict(zip(rated.names, rated.annotators, strict=True))
        for name, numbers in series.items():
            beside = others | (_of_other_aspects(subject, rated) if name == rated.mapped.score else {})
            findings += _of_series(subject, rated, name, numbers, beside)
    return findings + _across(subject)


def _of_series(subject: Subject, rated: Rated, name: str, numbers: Array, others: Mapping[str, Array]) -> list[Finding]:
    copies = _copies(numbers, others)
    kinds = {c.column: _kind(c.column, subject, rated) for c in copies}
    judges = [c for c in copies if kinds[c.column] == "judge"]
    findings = []
    if judges and name == rated.mapped.score:
        people = {c: v for c, v in others.items() if _kind(c, subject, rated) in ("judge", "human")}
        summary = _summary(numbers, people, copies)
        if summary:
            findings.append(_summed_up(subject, name, summary))
            judges = [c for c in judges if c.column not in summary.columns]
    elsewhere = [c for c in copies if kinds[c.column] == "elsewhere"]
    if judges:
        return [*findings, _judged(subject, name, judges)]
    if elsewhere:
        return [*findings, _two_aspects(subject, name, elsewhere[0])]
    if copies and not findings:
        return [_repeated(subject, name, copies[0])]
    return findings


def _of_other_aspects(subject: Subject, rated: Rated) -> dict[str, Array]:
    """Return what single annotators gave for other aspects; their ratings are compared in `_across`."""
    own = {rated.mapped.score, *rated.mapped.annotators}
    names = {c for r in subject.rated for c in r.mapped.annotators} - own
    return {c: v for c, v in subject.numbers.items() if c in names}


def _kind(column: str, subject: Subject, rated: Rated) -> str:
    """Return what a column is by its name: "own", "elsewhere" (another aspect's), "human" or else "judge"."""
    name = plain(column)
    usual = {*(p.format(plain(rated.aspect)) for p in RATING), *OVERALL, "label"}
    own = {*_words(rated.aspect), *_words(rated.mapped.score or "")}
    words = _words(column)
    if name in usual or (words and words <= own | _FORMS):
        return "own"
    aspects = {ref.split("/")[-1] for ref in shipped_aspects()} | {r.aspect for r in subject.rated}
    if any(_rates(name, plain(a)) for a in aspects if a != rated.aspect):
        return "elsewhere"
    return "human" if _HUMAN.search(name) else "judge"


def _words(name: str) -> set[str]:
    """Return the words of a column's name without the numbers."""
    return {w for word in re.split(r"[._]", plain(name)) if (w := word.rstrip("0123456789"))}


def _rates(name: str, aspect: str) -> bool:
    """Whether a column is named as the rating of an aspect, or as what one annotator gave for it."""
    words = _words(aspect)
    if name in {p.format(aspect) for p in RATING} or (words & _words(name) and _words(name) <= words | _FORMS):
        return True
    a = re.escape(aspect)
    after = rf"(?:human[_.])?{a}(?:_score|_rating)?[_.]{_WHO}?_?\d+"
    return re.fullmatch(rf"{after}|{_WHO}_?\d+[_.]{a}(?:_score|_rating)?", name) is not None


def _summary(numbers: Array, others: Mapping[str, Array], copies: Sequence[_Copy]) -> _Summary | None:
    """Return the columns of which the rating is the mean or the median: the most columns that it fits.

    Two of them at least are copies. It has to fit better than any of them alone (as well, if their names are alike but
    for a number): otherwise the rating is a copy of that one, and the others are more runs of the same judge.
    """
    near = {c.column for c in copies}
    shares = {c: _share(numbers, v) for c, v in others.items() if not _MACHINE.search(plain(c))}
    similar = sorted((c for c, s in shares.items() if s >= SIMILAR), key=lambda c: -shares[c])[:MOST]
    pool = [c for c in others if c in similar]  # in the order of the file
    for size in range(len(pool), 1, -1):
        for columns in combinations(pool, size):
            if len(near.intersection(columns)) < 2:
                continue
            best = max((_fits(numbers, np.array([others[c] for c in columns]), columns)), key=lambda s: s.equal)
            alone = max(shares[c] for c in columns) * best.rows
            alike = len({re.sub(r"\d+", "", plain(c)) for c in columns}) == 1
            enough = best.rows >= FEWEST and best.equal >= SUMMED_UP * best.rows
            if enough and (best.equal > alone + 1e-9 or (alike and best.equal >= alone - 1e-9)):
                return best
    return None


def _share(numbers: Array, other: Array) -> float:
    both = ~(np.isnan(numbers) | np.isnan(other))
    return float((numbers[both] == other[both]).mean()) if both.any() else 0.0


def _fits(numbers: Array, ratings: Array, columns: tuple[str, ...]) -> Iterator[_Summary]:
    """Give how often `numbers` (n,) are the mean and the median of `ratings` (k, n), rounded as `numbers` are."""
    count = (~np.isnan(ratings)).sum(axis=0)
    usable = ~np.isnan(numbers) & (count > 1)
    given, count, ordered = numbers[usable], count[usable], np.sort(ratings[:, usable], axis=0)  # nan stands last
    rows = len(given)
    row = np.arange(rows)
    forms = {
        "mean": np.nansum(ordered, axis=0) / count,
        "median": (ordered[(count - 1) // 2, row] + ordered[count // 2, row]) / 2,
    }
    unit = next((10.0**d for d in range(4) if np.abs(given * 10**d - np.round(given * 10**d)).max(initial=0) < 1e-6), 0)
    for form, value in forms.items():
        scaled = value * unit
        rounded = [np.rint(scaled), np.floor(scaled + 0.5 + 1e-9), np.ceil(scaled - 0.5 - 1e-9)] if unit else []
        found = [np.abs(value - given) < 1e-6, *(np.abs(r - given * unit) < 1e-6 for r in rounded)]
        yield _Summary(columns, form, max(int(f.sum()) for f in found), rows)


def _copies(numbers: Array, others: Mapping[str, Array]) -> list[_Copy]:
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


def _summed_up(subject: Subject, name: str, summary: _Summary) -> Finding:
    listed = ", ".join(f"'{c}'" for c in summary.columns)
    what = f"the ratings are the {summary.form} of {listed} in {summary.equal} of {summary.rows} rows"
    todo = f"if these are its annotators, name them: --score {','.join(summary.columns)}"
    message = f"{place(subject.name, name)}: {what}; {todo}"
    return Finding("copies", "warning", message, subject.name, name, summary.equal)


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
                findings.append(_two_aspects(subject, one.column, copy))
    return findings


def _two_aspects(subject: Subject, name: str, copy: _Copy) -> Finding:
    same = f"the ratings equal those of another aspect, '{copy.column}', in {copy.equal} of {copy.rows} rows"
    message = f"{place(subject.name, name)}: {same}; check that each was rated by itself"
    return Finding("copies", "warning", message, subject.name, name, copy.equal)
