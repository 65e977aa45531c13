"""How well annotators agree, and annotators who do not rate as the others do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.audit.findings import Finding, Severity, first, in_rows, place
from calibrator.audit.subject import Rated, Subject
from calibrator.stats.agreement import Level, krippendorff_alpha, quadratic_weighted_kappa
from calibrator.stats.correlation import spearman

Array = NDArray[np.float64]
FEW_VALUES = 10  # different ratings at most, for them to be taken as points in an order
MOST = 40  # annotators who are compared pair by pair
FEWEST = 20  # items that two must share to be compared
MANY = 50
AGREEING = 0.3  # the others' correlation with each other, before one can be said to disagree with them
APART = 0.1
AGAINST = -0.2
ALWAYS = 0.95  # of one annotator's ratings are the same, where the others have at most
VARIED = 0.8
POINT = 0.1  # of the others' ratings are at a point that one never uses
ROUNDING = 0.02
CHANCE = 0.1  # alpha
ORDER = 0.2  # spearman


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """How well the annotators of an aspect agree; nan where a figure is not defined.

    `items` are those with two ratings or more. `alpha` is Krippendorff's at `level`; `kappa` (quadratic weights) and
    `spearman` are means over the pairs of annotators; `rest` is the mean Spearman correlation of each with the mean of
    the others.
    """

    aspect: str
    column: str
    annotators: int
    items: int
    level: Level
    alpha: float
    kappa: float
    spearman: float
    rest: float


def agreement_of(rated: Rated) -> AnnotatorAgreement | None:
    """Return the agreement of the annotators of an aspect, None where no item has two ratings."""
    ratings = rated.annotators
    items = int(((~np.isnan(ratings)).sum(axis=0) > 1).sum())
    if not items:
        return None
    level: Level = "ordinal" if len(np.unique(ratings[~np.isnan(ratings)])) <= FEW_VALUES else "interval"
    pairs = list(_pairs(ratings))
    kappa = _mean([quadratic_weighted_kappa(a, b) for a, b in pairs])
    rho = _mean([float(spearman(a, b)) for a, b in pairs])
    rest = _mean([_correlation(own, others) for own, others in _against_rest(ratings)])
    alpha = krippendorff_alpha(ratings, level)
    return AnnotatorAgreement(rated.aspect, rated.column, len(ratings), items, level, alpha, kappa, rho, rest)


def annotator_findings(subject: Subject, agreements: list[AnnotatorAgreement]) -> list[Finding]:
    """Return what is odd about annotators, aspect by aspect."""
    findings = []
    for rated in subject.rated:
        if len(rated.annotators):
            findings += [*_means(subject, rated), *_same(subject, rated)]
            among = _among(rated.annotators)
            for k, (own, rest) in enumerate(_against_rest(rated.annotators)):
                findings += _one(subject, rated, k, own, rest, among)
    return findings + [f for a in agreements if (f := _little(subject, a))]


def _little(subject: Subject, found: AnnotatorAgreement) -> Finding | None:
    """Say that the annotators agree no better than by chance, or only in the order of the items."""
    if found.items < MANY or not found.alpha < CHANCE:
        return None
    what = f"agree hardly more than by chance (alpha {found.alpha:.2f} on {found.items} items)"
    severity: Severity = "warning"
    message = f"the annotators {what}; there is little that a judge could agree with"
    if found.spearman >= ORDER:
        order = f"put the items in a common order (spearman {found.spearman:.2f})"
        why = "they read the scale in different ways, so compare only means of the same annotators"
        message = f"the annotators {order} but {what}: {why}"
        severity = "note"
    return _about(subject, found.column, severity, message, found.items)


def _mean(values: list[float]) -> float:
    defined = [v for v in values if not np.isnan(v)]
    return float(np.mean(defined)) if defined else float("nan")


def _pairs(ratings: Array) -> Iterator[tuple[Array, Array]]:
    """Yield the ratings of two annotators on the items that both rated."""
    if len(ratings) <= MOST:
        for a, b in combinations(ratings, 2):
            both = ~(np.isnan(a) | np.isnan(b))
            yield a[both], b[both]


def _against_rest(ratings: Array) -> Iterator[tuple[Array, Array]]:
    """Yield each annotator's ratings and the means of the others, on the items that have both."""
    filled = ~np.isnan(ratings)
    total, count = np.where(filled, ratings, 0.0).sum(axis=0), filled.sum(axis=0)
    for own, there in zip(ratings, filled, strict=True):
        both = there & (count > 1)
        yield own[both], (total[both] - own[both]) / (count[both] - 1)


def _correlation(a: Array, b: Array) -> float:
    return float(spearman(a, b)) if len(a) >= FEWEST else float("nan")


def _one(subject: Subject, rated: Rated, k: int, own: Array, rest: Array, among: Array) -> list[Finding]:
    """Compare one annotator with the others: `rest` are their means, `among` how each two of all correlate."""
    others = np.delete(rated.annotators, k, axis=0)
    filled = others[~np.isnan(others)]
    if len(own) < FEWEST or not len(filled):
        return []
    values, counts = np.unique(own, return_counts=True)
    usual, share = float(values[counts.argmax()]), float(counts.max() / len(own))
    if share >= ALWAYS and np.unique(filled, return_counts=True)[1].max() <= VARIED * len(filled):
        what = f"this annotator gives {usual:g} in {counts.max()} of {len(own)} items, the others do not"
        return [_about(subject, rated.names[k], "warning", f"{what}; leave the annotator out or ask", len(own))]
    others_agree = _mean(np.delete(np.delete(among, k, 0), k, 1).ravel().tolist())
    findings = _disagreeing(subject, rated.names[k], own, rest, others_agree)
    points, counts = np.unique(filled, return_counts=True)
    unused = [p for p, c in zip(points, counts, strict=True) if c >= POINT * len(filled) and p not in values]
    if unused and len(own) >= MANY and len(points) <= FEW_VALUES:
        listed = ", ".join(f"{p:g}" for p in unused)
        what = f"this annotator never gives {listed}, which the others often do"
        findings.append(_about(subject, rated.names[k], "note", f"{what}; the scale may be read in two ways", len(own)))
    return findings


def _among(ratings: Array) -> Array:
    """Return how the ratings of each two annotators correlate, shape (raters, raters); nan for too few items."""
    found = np.full((len(ratings), len(ratings)), np.nan)
    if len(ratings) <= MOST:
        for (k, j), (a, b) in zip(combinations(range(len(ratings)), 2), _pairs(ratings), strict=True):
            found[k, j] = _correlation(a, b)
    return found


def _disagreeing(subject: Subject, name: str, own: Array, rest: Array, among: float) -> list[Finding]:
    rho = _correlation(own, rest)
    noise = 3 / np.sqrt(len(own))
    if rho < min(AGAINST, -noise):
        what = f"this annotator rates against the others (spearman {rho:.2f} on {len(own)} items)"
        return [_about(subject, name, "grave", f"{what}; the scale may be turned round", len(own))]
    if rho < APART and among >= max(AGREEING, noise):
        what = f"this annotator agrees with none of the others (spearman {rho:.2f}; they with each other {among:.2f})"
        return [_about(subject, name, "warning", f"{what}; look at the ratings, or leave them out", len(own))]
    return []


def _same(subject: Subject, rated: Rated) -> list[Finding]:
    """Two annotators who never differ are one."""
    findings = []
    ratings = rated.annotators if len(rated.annotators) <= MOST else rated.annotators[:0]
    for (k, a), (j, b) in combinations(enumerate(ratings), 2):
        both = ~(np.isnan(a) | np.isnan(b))
        if both.sum() >= MANY and len(np.unique(a[both])) > 2 and np.array_equal(a[both], b[both]):
            what = f"equal those of {rated.names[j]} in all {both.sum()} items; they may be one annotator's twice"
            findings.append(_about(subject, rated.names[k], "warning", f"the ratings {what}", int(both.sum())))
    return findings


def _means(subject: Subject, rated: Rated) -> list[Finding]:
    """Compare the column of means with the annotators beside it."""
    if not rated.means:
        return []
    filled = ~np.isnan(rated.annotators)
    count = filled.sum(axis=0)
    own = np.where(filled, rated.annotators, 0.0).sum(axis=0) / np.maximum(count, 1)
    there = (count > 0) & ~np.isnan(rated.human)
    apart = np.flatnonzero(there & (np.abs(own - rated.human) > ROUNDING))
    if not len(apart):
        return []
    rows = first(subject.rows[k] for k in apart)
    what = f"{len(apart)} of {there.sum()} ratings are not the mean of the annotators beside them ({in_rows(rows)})"
    severity: Severity = "note" if len(apart) > there.sum() / 2 else "warning"
    message = f"{place(subject.name, rated.column)}: {what}; this column counts, check how it was made"
    return [Finding("annotators", severity, message, subject.name, rated.column, len(apart), rows)]


def _about(subject: Subject, name: str, severity: Severity, what: str, count: int) -> Finding:
    message = f"{place(subject.name, name)}: {what}"
    return Finding("annotators", severity, message, subject.name, name, count)
