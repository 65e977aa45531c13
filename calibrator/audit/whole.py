"""The whole audit of a file or of two, and the part of it that is done before every run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calibrator.aspects import Aspect, Scale
from calibrator.audit.annotators import AnnotatorAgreement, agreement_of, annotator_findings
from calibrator.audit.copies import copy_findings
from calibrator.audit.duplicates import duplicate_findings, overlap_findings
from calibrator.audit.findings import Finding, by_weight
from calibrator.audit.ranks import rank_findings
from calibrator.audit.rated import subject_of
from calibrator.audit.ratings import rating_findings
from calibrator.audit.subject import Subject, numbers_of, read_ratings
from calibrator.catalog import Source
from calibrator.columns import Mapped, Wanted
from calibrator.dataset import plain_items
from calibrator.errors import DataError
from calibrator.tables import Table


@dataclass(frozen=True, slots=True)
class Audited:
    """What was audited of one file: its texts' columns in words, counts, and the rated columns with their scales.

    `agreements` are those of its annotators, aspect by aspect.
    """

    name: str
    columns: str
    rows: int
    groups: int
    rated: tuple[str, ...]
    annotators: int
    agreements: tuple[AnnotatorAgreement, ...]


@dataclass(frozen=True, slots=True)
class Audit:
    """The files that were audited and what was found, the gravest first."""

    files: tuple[Audited, ...]
    findings: tuple[Finding, ...]

    @property
    def grave(self) -> bool:
        """Whether there is a grave finding."""
        return any(f.severity == "grave" for f in self.findings)


def audit(sources: Sequence[tuple[Source, Wanted]], aspect: Aspect | None = None, scale: Scale | None = None) -> Audit:
    """Return the audit of one or two tables, each with its columns, and of what the second shares with the first.

    Without `aspect`, all ratings are audited that a table seems to have; one without ratings only for its texts.
    `scale` stands in place of the aspects' own. Raises DataError if a table has no rows, a column that was named is not
    there, `aspect` has no rating in it, or no column looks like the rated text.
    """
    subjects, files, findings = [], [], []
    for source, wanted in sources:
        if not source.table.rows:
            raise DataError("the file has a header but no rows", file=source.table.path)
        subject = subject_of(source.name, source.table, wanted, source.suite, aspect, scale)
        agreements = [a for r in subject.rated if (a := agreement_of(r))]
        subjects.append(subject)
        files.append(_audited(subject, agreements))
        findings += _all_checks(subject, agreements)
    if len(subjects) == 2:
        findings += overlap_findings(*subjects)
    return Audit(tuple(files), by_weight(findings))


def quick_findings(table: Table, mapped: Mapped, aspect: Aspect, name: str | None = None) -> tuple[Finding, ...]:
    """Return what is to be said of the ratings of one aspect before a run, the gravest first.

    The checks of the ratings and the annotators; not those that compare whole texts (`dataset.rated_items` warns of
    repeated ones), nor of columns that the run does not read. Well under a second for a few thousand rows.
    """
    rated = read_ratings(table, aspect.name, aspect.scale, "said", mapped)
    numbers = numbers_of(table)
    subject = Subject(name or table.path.name, table, mapped, plain_items(table, mapped), (rated,), numbers)
    agreement = agreement_of(rated)
    ranks = [f for f in rank_findings(subject) if f.column in (mapped.score, *mapped.annotators)]
    found = [*rating_findings(subject), *copy_findings(subject), *ranks]
    return by_weight([*found, *annotator_findings(subject, [agreement] if agreement else [])])


def _all_checks(subject: Subject, agreements: list[AnnotatorAgreement]) -> list[Finding]:
    return [
        *rating_findings(subject),
        *copy_findings(subject),
        *rank_findings(subject),
        *annotator_findings(subject, agreements),
        *duplicate_findings(subject),
    ]


def _audited(subject: Subject, agreements: list[AnnotatorAgreement]) -> Audited:
    rated = tuple(r.column if r.known == "data" else f"{r.column} {r.scale}" for r in subject.rated)
    annotators = max((len(r.annotators) for r in subject.rated), default=0)
    groups = len({i.group for i in subject.items})
    columns = replace(subject.mapped, score=None, annotators=()).described()
    return Audited(subject.name, columns, len(subject.items), groups, rated, annotators, tuple(agreements))
