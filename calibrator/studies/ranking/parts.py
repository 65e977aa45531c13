"""What was found for systems and judges, in the form in which it is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.calibration.result import figure, rounded
from calibrator.judges.frozen_parts import Figure
from calibrator.studies.ranking.agree import TRUSTED, OnNewSystems, RankAgreement
from calibrator.studies.ranking.field import Field, Places
from calibrator.studies.ranking.result import (
    JudgeRank,
    NewSystemsPart,
    Overall,
    OwnItems,
    RankTable,
    SizePart,
    SystemRow,
)
from calibrator.studies.ranking.sentences import sentence
from calibrator.studies.ranking.sizes import Fewest, SizeLine, needed


@dataclass(frozen=True, slots=True)
class Judged:
    """All that was found of one judge, and what must be known of it."""

    found: RankAgreement
    verdict: str
    new: OnNewSystems | None
    lines: tuple[SizeLine, ...]
    labels: Fewest
    adjusted: float
    with_others: float
    failures: Mapping[str, int]
    notes: Sequence[str]


def judge_part(judged: Judged, threshold: float) -> JudgeRank:
    """Return a judge's figures with the sentence on them."""
    found, enough = judged.found, needed(judged.lines)
    return JudgeRank(
        name=found.judge,
        tau=figure(found.tau),
        p=rounded(found.p),
        spearman=rounded(found.spearman),
        pearson=rounded(found.pearson),
        alike=rounded(found.alike),
        top=rounded(found.top),
        top_share=rounded(found.top_share),
        defined=round(found.defined, 4),
        items=found.items,
        sources=found.sources,
        systems=found.systems,
        partial=found.partial,
        verdict=judged.verdict,
        sentence=sentence(found, judged.verdict, threshold, judged.new),
        sizes=tuple(_size(line) for line in judged.lines),
        needed=None if enough is None else enough.size,
        labels=judged.labels.labels,
        limiting=judged.labels.systems,
        new_systems=None if judged.new is None else _new_systems(judged.new),
        adjusted=rounded(judged.adjusted),
        with_others=rounded(judged.with_others),
        failures=dict(judged.failures),
        notes=tuple(judged.notes),
    )


def _new_systems(new: OnNewSystems) -> NewSystemsPart:
    if new.found is None:
        return NewSystemsPart(tau=None, p=None, verdict=new.verdict, unchecked=new.why)
    return NewSystemsPart(tau=figure(new.found.tau), p=rounded(new.found.p), verdict=new.verdict)


def _size(line: SizeLine) -> SizePart:
    low, middle, high = (rounded(v) for v in line.anew)
    return SizePart(
        size=line.size,
        subsets=tuple(rounded(v) for v in line.subsets),
        anew=Figure(value=middle, low=low, high=high),
        significant=round(line.significant, 4),
        trusted=rounded(line.trusted),
        extrapolated=line.extrapolated,
    )


def system_rows(subject: Field, found: Mapping[str, RankAgreement]) -> tuple[SystemRow, ...]:
    """Return the systems with their scores by humans and judges."""
    rows = subject.common()
    human = subject.plain_scores(subject.human, rows)
    every = {name: subject.plain_scores(values) for name, values in subject.judges.items()}
    counts = _counts(subject, rows)
    own = {name: _counts(subject, subject.rows_of(subject.judges[name])) for name, a in found.items() if a.partial}
    return tuple(
        SystemRow(
            system=name,
            items=int(counts[k]),
            human=rounded(float(human[k])),
            judges={judge: rounded(float(a.judged[k])) for judge, a in found.items()},
            everything={judge: rounded(float(scores[k])) for judge, scores in every.items()},
            own={j: OwnItems(items=int(n[k]), human=rounded(float(found[j].human[k]))) for j, n in own.items()},
        )
        for k, name in enumerate(subject.systems)
    )


def _counts(subject: Field, rows: Places) -> Places:
    return np.bincount(subject.member[rows], minlength=len(subject.systems))


def overall(tables: tuple[RankTable, ...]) -> tuple[Overall, ...]:
    """Return each judge's mean tau over the tables in which it is defined."""
    found: dict[str, list[JudgeRank]] = {}
    for table in tables:
        for judge in table.judges:
            found.setdefault(judge.name, []).append(judge)
    result = []
    for name, ranks in found.items():
        known = [j.tau.value for j in ranks if j.tau.value is not None]
        new = [j.new_systems.tau.value for j in ranks if j.new_systems is not None and j.new_systems.tau is not None]
        result.append(
            Overall(
                judge=name,
                tau=_mean(known),
                aspects=len(known),
                trusted=sum(j.verdict == TRUSTED for j in ranks),
                new_systems=_mean([tau for tau in new if tau is not None]),
            )
        )
    return tuple(result)


def _mean(values: Sequence[float]) -> float | None:
    return rounded(float(np.mean(values))) if values else None
