"""A whole comparison: judges on one aspect or several, the means over them, and the further tables asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from calibrator import __version__
from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress
from calibrator.calibration.result import rounded
from calibrator.comparison.bench import Bench
from calibrator.comparison.compare import Comparison, Looked, Wishes
from calibrator.comparison.freezing import frozen_panel
from calibrator.comparison.further import overall_extra, systems_extras, trials_extra, unified_extra
from calibrator.comparison.making import Maker
from calibrator.comparison.names import JudgeName
from calibrator.comparison.result import AspectTable, ComparisonResult, Extra, JudgeRow, MeanRow
from calibrator.comparison.shared import shared_split
from calibrator.journal import Journal
from calibrator.judges.frozen import FrozenJudge
from calibrator.models.build import Connections
from calibrator.store import Ledger, Run


@dataclass(frozen=True, slots=True)
class Further:
    """The further tables that are wanted; `overall` names the aspect that the mean of the others is held against."""

    trials: bool = False
    by_system: bool = False
    unified: bool = False
    overall: str = ""

    @property
    def one_split(self) -> bool:
        """Whether the aspects must stand on the same items."""
        return self.unified or bool(self.overall)


@dataclass(frozen=True, slots=True)
class AspectWork:
    """One aspect: its configuration, its data, and the judges to be compared on it."""

    config: RunConfig
    prepared: Prepared
    names: tuple[JudgeName, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be compared."""

    aspects: tuple[AspectWork, ...]
    wishes: Wishes = field(default_factory=Wishes)
    further: Further = field(default_factory=Further)


@dataclass(frozen=True, slots=True)
class Done:
    """What a comparison came to: its result, the number of the look at each test side, and frozen panels by aspect."""

    result: ComparisonResult
    looks: tuple[int, ...]
    frozen: Mapping[str, FrozenJudge]


def compare_all(
    work: Work, place: Run, journal: Journal, ledger: Ledger, connections: Connections, progress: Progress
) -> Done:
    """Compare the judges on every aspect; the same work in the same place goes on where it stopped.

    The last panel that is named is frozen, for each aspect. Raises what is wrong with names and data, and what models
    raise.
    """
    aspects = list(work.aspects)
    if work.further.one_split and len(aspects) > 1:
        split = shared_split([part.prepared for part in aspects])
        aspects = [replace(part, prepared=new) for part, new in zip(aspects, split, strict=True)]
    looked: list[Looked] = []
    looks: list[int] = []
    frozen: dict[str, FrozenJudge] = {}
    for part in aspects:
        config, prepared, names, name = part.config, part.prepared, part.names, part.prepared.aspect.name
        maker = Maker(prepared, config, connections, place.folder / name, progress)
        comparison = Comparison(maker, Bench(journal, connections, name), config, work.wishes)
        ready, left_out = comparison.make(names, progress)
        progress.phase(f"{prepared.aspect.ref}: looking at the test side", len(ready), len(prepared.split.test))
        sides = (prepared.split.test.digest, prepared.split.digest)
        found = comparison.look(ready, left_out, partial(ledger.look, *sides, place.id), progress)
        looked.append(replace(found, table=with_absent(found, names, work.further)))
        looks.append(ledger.look(*sides, place.id))  # the same look, entered once
        if found.panels:
            panel = found.panels[-1]
            terms = comparison.terms(panel.joined.join)
            rivals = comparison.baselines(ready)
            frozen[prepared.aspect.ref] = frozen_panel(prepared, config, panel, terms, found.table, rivals)
    tables = tuple(f.table for f in looked)
    result = ComparisonResult(
        calibrator=__version__,
        tables=tables,
        means=means(tables),
        extras=_extras(work.further, aspects[0].config, looked),
    )
    return Done(result, tuple(looks), frozen)


def with_absent(found: Looked, names: Sequence[JudgeName], further: Further) -> AspectTable:
    """Return the table with what was asked for and cannot be had."""
    told = []
    if any(n.method == "human" for n in names) and not found.table.annotators:
        told.append("no item has ratings of two annotators, so that there is no row of the humans")
    named = len({i.system for i in found.items if i.system})
    if further.by_system and named < 2:
        told.append(f"no figures by system: the data names {named or 'none'} (--system names their column)")
    return found.table.model_copy(update={"cautions": (*found.table.cautions, *told)})


def means(tables: Sequence[AspectTable]) -> tuple[MeanRow, ...]:
    """Return each judge's mean over the aspects in which it has a figure; none for a single aspect."""
    if len(tables) < 2:
        return ()
    by_name: dict[str, list[JudgeRow]] = {}
    for row in (row for table in tables for row in table.rows):
        by_name.setdefault(row.name, []).append(row)
    return tuple(
        MeanRow(name=name, family=rows[0].family, figures=_mean(rows), aspects=len(rows))
        for name, rows in by_name.items()
    )


def _mean(rows: Sequence[JudgeRow]) -> dict[str, float | None]:
    """Return the mean of each measure; None where one of the rows has none: means of different aspects differ."""
    found: dict[str, float | None] = {}
    for measure in rows[0].figures:
        values = [row.figures[measure].value if measure in row.figures else None for row in rows]
        known = [v for v in values if v is not None]
        found[measure] = rounded(float(np.mean(known))) if len(known) == len(values) else None
    return found


def _extras(further: Further, config: RunConfig, looked: Sequence[Looked]) -> tuple[Extra, ...]:
    extras: list[Extra] = []
    for found in looked:
        if further.trials:
            extras.append(trials_extra(found, config.objective, config.seed, config.resamples))
        if further.by_system:
            extras += systems_extras(found, config.objective, config.seed, config.resamples)
    if further.unified:
        extras.append(unified_extra(looked, config.seed, config.resamples))
    if further.overall:
        extras.append(overall_extra(looked, further.overall, config.seed, config.resamples))
    return tuple(extras)
