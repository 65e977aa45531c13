"""The study of one field, put together: from the figures of judges and humans to the table that is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibrator import __version__
from calibrator.calibration.result import figure, rounded
from calibrator.errors import ConfigError
from calibrator.judges.frozen_parts import Figure
from calibrator.stats.prediction_powered import Powered
from calibrator.stats.resampling import Interval
from calibrator.studies.ranking.agree import (
    RankAgreement,
    annotators_agreement,
    rank_agreement,
    verdict_of,
)
from calibrator.studies.ranking.among import Among, among, choose
from calibrator.studies.ranking.field import Array, Field
from calibrator.studies.ranking.kappas import Kind, kappas
from calibrator.studies.ranking.powered import MEANS, PoweredScores, labelled_rows, powered_scores
from calibrator.studies.ranking.result import (
    AmongPart,
    ChoicePart,
    JudgeRank,
    KappaPart,
    PairDifference,
    PoweredPart,
    PoweredRow,
    RankTable,
    SizePart,
    SystemRow,
)
from calibrator.studies.ranking.sentences import sentence
from calibrator.studies.ranking.sizes import PUBLISHED, REPEATS, SizeLine, needed, size_lines, sizes_there
from calibrator.texts import digest

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Terms:
    """How a field is studied.

    `threshold` is what the interval of tau must lie above; `sizes` are numbers of labels of each system, tried
    `repeats` times; `labelled` uses the human labels of so many items of each system alone for the corrected scores.
    """

    threshold: float = 0.0
    sizes: tuple[int, ...] = PUBLISHED
    repeats: int = REPEATS
    labelled: int | None = None
    resamples: int = RESAMPLES
    seed: int = 0


@dataclass(frozen=True, slots=True)
class About:
    """What a field is, in words: its name, its data, which items these are; and what must be known of its judges."""

    name: str
    data: str
    side: str
    kind: Kind
    signature: str = ""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()


def study(subject: Field, terms: Terms, about: About) -> RankTable:
    """Return the ranking study of a field. Raises ConfigError if there are not two systems that humans rated.

    So does a number of labels (`labelled`) that a system does not have.
    """
    rated = _rated(subject, about)
    found = {name: rank_agreement(subject, name, terms.resamples, terms.seed) for name in subject.judges}
    verdicts = {name: verdict_of(a, terms.threshold) for name, a in found.items()}
    together = among(subject)
    first = next(iter(found))
    choice = choose(together, verdicts, first)
    agreed = kappas(subject, about.kind, tuple(found) if about.kind == "labels" else ())
    rows = subject.common()
    return RankTable(
        name=about.name,
        data=about.data,
        score=subject.score.name,
        better="lower" if subject.sign < 0 else "higher",
        side=about.side,
        items=len(rows),
        unrated=int((~np.isfinite(subject.human)).sum()),
        sources=len(set(subject.sources_of(rows))),
        systems=_systems(subject, found),
        judges=tuple(_judge(subject, a, verdicts[name], together, terms, about) for name, a in found.items()),
        threshold=terms.threshold,
        annotators=rounded(annotators_agreement(subject)),
        among=_among_part(together) if len(found) > 1 else None,
        choice=ChoicePart(judge=choice.judge, why=choice.why),
        kappas=None
        if agreed is None
        else KappaPart(
            kind=agreed.kind,
            names=agreed.names,
            pairs=_matrix(agreed.pairs),
            fleiss=rounded(agreed.fleiss),
            whole=agreed.whole,
            alpha=rounded(agreed.alpha),
            cut=agreed.cut,
        ),
        powered=_powered(subject, terms),
        signature=_signature(subject, terms, about),
        cautions=(*about.cautions, *_cautions(subject, rated, found, terms)),
    )


def _rated(subject: Field, about: About) -> list[str]:
    """Return the systems that have an item with a human figure. Raises ConfigError if there are not two."""
    if not subject.judges:
        raise ConfigError(f"{about.data}: no judge is left to be ranked with")
    there = np.unique(subject.member[np.isfinite(subject.human)])
    rated = [subject.systems[k] for k in there]
    if len(subject.systems) < 2:
        problem = f"{about.data} has one system only ('{subject.systems[0]}')" if subject.systems else "no system"
        raise ConfigError(f"{problem}: there is nothing to rank (--system names another column)")
    if len(rated) < 2:
        problem = f"{len(rated)} of {len(subject.systems)} systems have items that humans rated"
        raise ConfigError(f"{about.data}: {problem}; a ranking takes two at least")
    return rated


def _cautions(subject: Field, rated: Sequence[str], found: Mapping[str, RankAgreement], terms: Terms) -> list[str]:
    told = []
    if unrated := [s for s in subject.systems if s not in rated]:
        told.append(f"humans rated no item of {', '.join(unrated)}: judges are not held against them there")
    for name, agreement in found.items():
        missing = [s for s, v in zip(subject.systems, agreement.judged, strict=True) if s in rated and np.isnan(v)]
        if missing:
            told.append(f"'{name}' has no score for {', '.join(missing)}: its tau is over the other systems")
        if agreement.partial:
            told.append(f"'{name}' scored {agreement.items} rated items only; its figures are on those alone")
    rows = subject.common()
    if len(rows) and len(set(subject.sources_of(rows))) == len(rows):
        told.append("no two systems have a source in common: items are drawn within each system by itself")
    counts = np.bincount(subject.member[rows], minlength=len(subject.systems))
    if counts.any() and counts[counts > 0].max() > 2 * counts[counts > 0].min():
        told.append(f"systems have from {counts[counts > 0].min()} to {counts.max()} rated items")
    if subject.score.name not in MEANS and (terms.labelled is not None or np.isnan(subject.human).any()):
        told.append(f"no corrected scores: the {subject.score.name} of a system is no mean over its items")
    return told


def _systems(subject: Field, found: Mapping[str, RankAgreement]) -> tuple[SystemRow, ...]:
    rows = subject.common()
    human = subject.plain_scores(subject.human, rows)
    every = {name: subject.plain_scores(values) for name, values in subject.judges.items()}
    counts = np.bincount(subject.member[rows], minlength=len(subject.systems))
    return tuple(
        SystemRow(
            system=name,
            items=int(counts[k]),
            human=rounded(float(human[k])),
            judges={judge: rounded(float(a.judged[k])) for judge, a in found.items()},
            everything={judge: rounded(float(scores[k])) for judge, scores in every.items()},
        )
        for k, name in enumerate(subject.systems)
    )


def _judge(
    subject: Field, found: RankAgreement, verdict: str, together: Among, terms: Terms, about: About
) -> JudgeRank:
    lines: tuple[SizeLine, ...] = ()
    if np.isfinite(found.tau.value):
        sizes = sizes_there(subject, subject.rows_of(subject.judges[found.judge]), terms.sizes)
        lines = size_lines(subject, found.judge, sizes, terms.repeats, terms.seed)
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
        verdict=verdict,
        sentence=sentence(found, verdict, terms.threshold),
        sizes=tuple(_size(line) for line in lines),
        needed=needed(lines, terms.threshold),
        with_others=rounded(together.mean_with_others(found.judge)) if len(together.judges) > 1 else None,
        failures=dict(about.failures.get(found.judge, {})),
        notes=about.notes.get(found.judge, ()),
    )


def _size(line: SizeLine) -> SizePart:
    low, middle, high = (rounded(v) for v in line.anew)
    return SizePart(
        size=line.size,
        subsets=tuple(rounded(v) for v in line.subsets),
        anew=Figure(value=middle, low=low, high=high),
        significant=round(line.significant, 4),
    )


def _among_part(found: Among) -> AmongPart:
    return AmongPart(judges=found.judges, systems=found.systems, weighted=_matrix(found.weighted))


def _matrix(values: Array) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(rounded(float(v)) for v in row) for row in values)


def _powered(subject: Field, terms: Terms) -> tuple[PoweredPart, ...]:
    parts = []
    for name in subject.judges:
        try:
            rows = labelled_rows(subject, name, terms.labelled, terms.seed)
        except ValueError:
            most = sizes_there(subject, subject.rows_of(subject.judges[name]), range(1, terms.labelled or 0))
            problem = f"a system has only {most[-1] if most else 0} items that humans rated and {name} scored"
            raise ConfigError(f"--labelled {terms.labelled}: {problem}") from None
        if len(rows) and (found := powered_scores(subject, name, rows)) is not None:
            parts.append(_powered_part(found))
    return tuple(parts)


def _powered_part(found: PoweredScores) -> PoweredPart:
    rows = tuple(
        PoweredRow(
            system=s.system,
            labelled=s.labelled,
            unlabelled=s.unlabelled,
            judge_only=rounded(s.judge_only),
            labels_only=_classical(s.powered),
            powered=_corrected(s.powered),
            weight=rounded(s.powered.weight),
            effective=rounded(s.powered.effective),
            truth=rounded(s.truth) if found.taus else None,
        )
        for s in found.systems
    )
    differences = tuple(
        PairDifference(first=d.first, second=d.second, powered=_corrected(d.powered), labels_only=_classical(d.powered))
        for d in found.differences
    )
    taus = {name: rounded(tau) for name, tau in found.taus.items()} or None
    return PoweredPart(judge=found.judge, rows=rows, differences=differences, taus=taus)


def _corrected(found: Powered) -> Figure:
    return figure(Interval(found.value, found.low, found.high))


def _classical(found: Powered) -> Figure:
    return figure(Interval(found.classical_value, found.classical_low, found.classical_high))


def _signature(subject: Field, terms: Terms, about: About) -> str:
    rows = subject.common()
    judged = digest([[name, [_told(v) for v in values]] for name, values in subject.judges.items()])[:12]
    parts = [f"n:{len(rows)}", f"sources:{len(set(subject.sources_of(rows)))}", f"systems:{len(subject.systems)}"]
    parts += [about.signature] if about.signature else []
    parts += [f"seed:{terms.seed}", f"resamples:{terms.resamples}", f"score:{subject.score.name}"]
    return "|".join([*parts, f"judges:{judged}", f"calibrator:{__version__}"])


def _told(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 9)
