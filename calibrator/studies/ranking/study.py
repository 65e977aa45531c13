"""The study of one field, put together: from the figures of judges and humans to the table that is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from calibrator import __version__
from calibrator.calibration.result import figure, rounded
from calibrator.errors import ConfigError
from calibrator.judges.frozen_parts import Figure
from calibrator.stats.permutation import holm
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
from calibrator.studies.ranking.figures import ENOUGH_LABELS
from calibrator.studies.ranking.kappas import Kind, kappas
from calibrator.studies.ranking.new_systems import Afresh
from calibrator.studies.ranking.parts import Judged, judge_part, system_rows
from calibrator.studies.ranking.powered import MEANS, PoweredScores, labelled_rows, powered_scores
from calibrator.studies.ranking.result import (
    AmongPart,
    ChoicePart,
    KappaPart,
    PairDifference,
    PoweredPart,
    PoweredRow,
    RankTable,
)
from calibrator.studies.ranking.sizes import PUBLISHED, REPEATS, fewest, size_lines, sizes_tried
from calibrator.studies.ranking.win_rates import never_met
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
    """What a field is, in words: its name, its data, which items these are; and what must be known of its judges.

    `new` is what judges that were fitted give on systems left out of the fit; those in `maybe_seen` may have been
    calibrated on some of the items. `columns` says which ones were read.
    """

    name: str
    data: str
    side: str
    kind: Kind
    signature: str = ""
    notes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    cautions: tuple[str, ...] = ()
    columns: str = ""
    new: Afresh = field(default_factory=Afresh)
    maybe_seen: tuple[str, ...] = ()


def study(subject: Field, terms: Terms, about: About) -> RankTable:
    """Return the ranking study of a field. Raises ConfigError if there are not two systems that humans rated.

    So does a number of labels (`labelled`) that a system does not have.
    """
    rated = rated_systems(subject, about)
    found = {name: rank_agreement(subject, name, terms.resamples, terms.seed) for name in subject.judges}
    verdicts = {n: verdict_of(a, terms.threshold, maybe_seen=n in about.maybe_seen) for n, a in found.items()}
    adjusted = dict(zip(found, holm([a.p for a in found.values()]), strict=True))
    together = among(subject)
    choice = choose(together, verdicts, adjusted, next(iter(found)))
    agreed = kappas(subject, about.kind, tuple(found) if about.kind == "labels" else ())
    rows = subject.common()
    powered = _powered(subject, terms)
    told = (*_cautions(subject, rated, found), *never_met(subject, rows), *_few_labels(subject, powered))
    return RankTable(
        name=about.name,
        data=about.data,
        score=subject.score.name,
        better="lower" if subject.sign < 0 else "higher",
        side=about.side,
        columns=about.columns,
        items=len(rows),
        unrated=int((~np.isfinite(subject.human)).sum()),
        sources=len(set(subject.sources_of(rows))),
        systems=system_rows(subject, found),
        judges=tuple(
            judge_part(_judged(subject, a, verdicts[name], adjusted[name], together, terms, about), terms.threshold)
            for name, a in found.items()
        ),
        threshold=terms.threshold,
        annotators=rounded(annotators_agreement(subject)),
        among=_among_part(together) if len(found) > 1 else None,
        choice=ChoicePart(judge=choice.judge, why=choice.why, tried=len(found)),
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
        powered=powered,
        signature=_signature(subject, terms, about),
        cautions=(*about.cautions, *told),
    )


def rated_systems(subject: Field, about: About) -> list[str]:
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


def _cautions(subject: Field, rated: Sequence[str], found: Mapping[str, RankAgreement]) -> list[str]:
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
        least = int(counts[counts > 0].min())
        few = ", ".join(subject.systems[k] for k in np.flatnonzero(counts == least))
        told.append(f"systems have from {least} ({few}) to {counts.max()} rated items")
    return told


def _few_labels(subject: Field, powered: Sequence[PoweredPart]) -> list[str]:
    """Return what must be said of corrected scores that are no means and rest on few labels."""
    fewest = min((row.labelled for part in powered for row in part.rows), default=ENOUGH_LABELS)
    if subject.score.name in MEANS or fewest >= ENOUGH_LABELS:
        return []
    what = f"corrected {subject.score.name} from only {fewest} labelled items of a system"
    return [
        f"{what}: below {ENOUGH_LABELS} its 95 % intervals, and those of the labels alone, hold the truth less often"
    ]


def _judged(
    subject: Field,
    found: RankAgreement,
    verdict: str,
    adjusted: float,
    together: Among,
    terms: Terms,
    about: About,
) -> Judged:
    name = found.judge
    there = fewest(subject, subject.rows_of(subject.judges[name]))
    sizes = sizes_tried(there.labels, terms.sizes) if np.isfinite(found.tau.value) else ()
    return Judged(
        found=found,
        verdict=verdict,
        new=about.new.of(subject, name, terms.resamples, terms.seed, terms.threshold),
        lines=size_lines(subject, name, sizes, terms.repeats, terms.seed, terms.threshold),
        labels=there,
        adjusted=adjusted,
        with_others=together.mean_with_others(name) if len(together.judges) > 1 else float("nan"),
        failures=about.failures.get(name, {}),
        notes=about.notes.get(name, ()),
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
            both = np.isfinite(subject.human) & np.isfinite(subject.judges[name])
            most = fewest(subject, np.flatnonzero(both)).labels
            problem = f"a system has only {most} items that humans rated and {name} scored"
            raise ConfigError(f"--labelled {terms.labelled}: {problem}") from None
        if len(rows) and (found := powered_scores(subject, name, rows, terms.seed, terms.resamples)) is not None:
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
