"""Judges against human preference: outputs that people ranked, in a file that need not hold a single rating.

Every judge scores every ranked output on each aspect, the aspects are joined into one score on which more is better
(`evaluation.unified`; of one aspect only the direction counts), and judges are held against the rankings by NDCG
(`evaluation.preference`). There is nothing to fit a judge to, and so no fitted judge is let in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress
from calibrator.catalog import Source
from calibrator.cells import missing, number
from calibrator.columns import find, map_columns, recorded_names
from calibrator.comparison.bench import TEST, Bench
from calibrator.comparison.making import LeftOut, Made, Maker
from calibrator.comparison.names import JudgeName
from calibrator.comparison.preferring_tables import Ranked, Ranking, preference_extras
from calibrator.comparison.result import Extra
from calibrator.criteria import Measured
from calibrator.dataset import Dataset, plain_items
from calibrator.drafting.baselines import uncalibrated
from calibrator.errors import ConfigError, DataError
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.rank_directions import rankings_of, rows_of
from calibrator.evaluation.unified import on_scale, unified
from calibrator.journal import Journal
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.frozen import read_frozen
from calibrator.judges.places import find_frozen
from calibrator.models.build import Connections
from calibrator.split import Sealed, Split
from calibrator.store import Run
from calibrator.tables import Table
from calibrator.texts import digest, digest_set

Array = NDArray[np.float64]
ALLOWED = ("recorded", "zero-shot", "g-eval", "calibrated", "uncalibrated")
_WHO = "recorded:P, zero-shot@MODEL, g-eval@MODEL, calibrated:FILE and uncalibrated can"
METRIC = "metric/"


@dataclass(frozen=True, slots=True)
class Preferring:
    """What is to be held against human rankings: judges by name, on each aspect, on the rows of a source.

    Of `config` what concerns columns, models, seed and resamples counts.
    """

    source: Source
    aspects: tuple[Aspect, ...]
    names: tuple[JudgeName, ...]
    ranks: Ranked
    config: RunConfig


@dataclass(frozen=True, slots=True)
class _Rater:
    """A judge as it stands in the tables, and the judge it is on each aspect, by `suite/name`."""

    name: str
    on: Mapping[str, JudgeName]


@dataclass(frozen=True, slots=True)
class _Desk:
    """What the judges of one aspect are made and asked at."""

    prepared: Prepared
    maker: Maker
    bench: Bench


def prefer(
    task: Preferring, place: Run, journal: Journal, connections: Connections, progress: Progress
) -> tuple[Extra, ...]:
    """Return how the judges order the outputs that people ranked, as tables (see `preferring_tables`).

    Outputs of one group are ranked against each other; groups are those of `--group`, else of the source, and a group
    whose ranks repeat holds several rankings, one after the other. A frozen judge (`calibrated:FILE`) scores its own
    aspect: of several aspects, those with the same model, one for each aspect, are one judge.

    Raises ConfigError for a judge that must be fitted, or whose scores are not on the aspects' scales, and if nobody is
    left; DataError, with the row, for a rank that is no number, and if there is nothing ranked; what models raise.
    """
    if not task.aspects:
        raise ConfigError("--preference: name an aspect that the judges score: --aspect relevance")
    raters = _raters(task)
    rank = _ranks(task.source.table, find(task.source.table, task.ranks.column))
    prepared = [_prepared(task, aspect, raters, rank) for aspect in task.aspects]
    ranked = rank[np.isfinite(rank)]
    items = prepared[0].split.train
    groups = [i.group for i in items]
    rankings = rankings_of(ranked, groups)
    _refuse_unranked(ranked, rankings, task)
    desks = [
        _Desk(
            one,
            Maker(one, task.config, connections, place.folder / f"preference-{one.aspect.name}", progress),
            Bench(journal, connections, f"preference/{one.aspect.ref}"),
        )
        for one in prepared
    ]
    made, left_out = _made(raters, desks)
    scores, notes = _scores(made, desks, progress)
    ranking = Ranking(ranked, tuple(rankings), tuple(groups), tuple(i.system for i in items))
    told = [*(f"'{lo.name}' was left out: {lo.reason}." for lo in left_out), *notes]
    return preference_extras(task.source.name, task.aspects, scores, ranking, task.ranks, task.config, told)


def _raters(task: Preferring) -> list[_Rater]:
    """Return the judges; frozen ones of several aspects are brought together."""
    refs = [a.ref for a in task.aspects]
    raters: list[_Rater] = []
    frozen: dict[str, list[JudgeName]] = {}
    for name in (n for n in task.names if n.method != "human"):
        if name.method not in ALLOWED or (name.method == "calibrated" and not name.argument):
            problem = "there are ranks only, and nothing to fit or calibrate it to"
            raise ConfigError(f"--preference: {name}: {problem}; {_WHO}")
        if name.method == "calibrated":
            frozen.setdefault(name.model, []).append(name)
        elif name.method == "recorded" and not name.argument:
            raters += [_Rater(str(n), dict.fromkeys(refs, n)) for n in _all_recorded(task)]
        else:
            raters.append(_Rater(str(name), dict.fromkeys(refs, name)))
    for names in frozen.values():
        raters += _frozen(names, refs)
    if not raters:
        raise ConfigError(f"--preference: nobody is named who can be held against rankings; {_WHO}")
    return list({r.name: r for r in raters}.values())


def _all_recorded(task: Preferring) -> list[JudgeName]:
    """Return the recorded judges with scores for every aspect; a metric is on no aspect's scale."""
    found = [recorded_names(task.source.table, a.name) for a in task.aspects]
    names = [n for n in found[0] if all(n in f for f in found) and not n.startswith(METRIC)]
    if not names:
        raise ConfigError("--preference: no recorded judge is found for every aspect; name the columns: recorded:P")
    return [JudgeName("recorded", n) for n in names]


def _frozen(names: Sequence[JudgeName], refs: Sequence[str]) -> list[_Rater]:
    """Return the judges that frozen files of one model make: each alone on one aspect, all together on several."""
    of: dict[str, list[JudgeName]] = {ref: [] for ref in refs}
    for name in names:
        scored = read_frozen(find_frozen(name.argument)).aspect.aspect().ref
        if scored not in of:
            raise ConfigError(f"--preference: {name} scores {scored}, which is not among {', '.join(refs)}")
        of[scored].append(name)
    if len(refs) == 1:
        return [_Rater(str(name), {refs[0]: name}) for name in names]
    for ref, own in of.items():
        if len(own) != 1:
            problem = f"{len(own)} frozen judges score {ref}, and one score of all aspects takes one for each"
            raise ConfigError(f"--preference: {problem}; name calibrated:FILE once for each aspect")
    model = f"@{names[0].model}" if names[0].model else ""
    joined = "+".join(own[0].argument for own in of.values())
    return [_Rater(f"calibrated:{joined}{model}", {ref: own[0] for ref, own in of.items()})]


def _ranks(table: Table, column: str) -> Array:
    """Return the rank of each row, nan where the cell is empty."""
    found = []
    for row, values in zip(table.row_numbers, table.rows, strict=True):
        cell = values.get(column)
        rank = np.nan if missing(cell) else number(cell)
        if rank is None or np.isinf(rank):
            raise DataError("this rank is no number", file=table.path, row=row, column=column)
        found.append(rank)
    if not np.isfinite(found).any():
        raise DataError("no row has a rank", file=table.path, column=column)
    return np.array(found, dtype=float)


def _prepared(task: Preferring, aspect: Aspect, raters: Sequence[_Rater], rank: Array) -> Prepared:
    """Return the ranked outputs as what judges of an aspect are made for: all on one side, none of them rated."""
    table, config = task.source.table, task.config
    recorded: list[str] = []
    for name in (r.on[aspect.ref] for r in raters):
        if name.method == "calibrated":
            recorded += read_frozen(find_frozen(name.argument)).recorded
        recorded += name.recorded
    wanted = replace(config.columns.over(task.source.wanted), score=(), recorded=tuple(dict.fromkeys(recorded)))
    mapped = map_columns(table, wanted, None, aspect.fields, aspect.name)
    items = tuple(i for i, r in zip(plain_items(table, mapped), rank.tolist(), strict=True) if np.isfinite(r))
    content = digest_set(digest([i.key, i.group]) for i in items)
    dataset = Dataset(task.source.name, Path(table.path), items, mapped, (), content)
    return Prepared(aspect, "to be joined", dataset, None, Split(items, (), Sealed(()), config.seed))


def _refuse_unranked(rank: Array, rankings: Sequence[str], task: Preferring) -> None:
    """Raise DataError if no group holds two outputs of different rank."""
    rows = rows_of(rankings, np.isfinite(rank))
    if not any(len(set(rank[k].tolist())) > 1 for k in rows.values()):
        problem = "no group holds two outputs of different rank; name the column of the groups with --group"
        raise DataError(problem, file=task.source.table.path, column=task.ranks.column)


def _made(raters: Sequence[_Rater], desks: Sequence[_Desk]) -> tuple[dict[str, list[Made]], list[LeftOut]]:
    """Return each judge as the judges that it is on the aspects, in their order, and those that could not be made.

    All are made before any scores, so that a name that is wrong costs nothing.
    """
    measured = Measured()
    found: dict[str, list[Made]] = {}
    left_out: list[LeftOut] = []
    for rater in raters:
        parts = [_part(desk, rater.on[desk.prepared.aspect.ref], measured) for desk in desks]
        missing_parts = [part for part in parts if isinstance(part, LeftOut)]
        if missing_parts:
            left_out.append(missing_parts[0])
            continue
        found[rater.name] = [part for part in parts if isinstance(part, Made)]
        for part, desk in zip(found[rater.name], desks, strict=True):
            if not part.on_scale:
                aspect = desk.prepared.aspect
                problem = f"its scores are not on the scale {aspect.scale} of {aspect.ref}"
                raise ConfigError(f"--preference: {rater.name}: {problem}, so nothing says which way they run")
    if not found:
        raise ConfigError(f"--preference: no judge is left ({'; '.join(f'{lo.name}: {lo.reason}' for lo in left_out)})")
    return found, left_out


def _part(desk: _Desk, name: JudgeName, measured: Measured) -> Made | LeftOut:
    """Return the judge of one aspect. None of those allowed is several."""
    if name.method == "uncalibrated":
        return _uncalibrated(desk.prepared, measured)
    (made,), _ = desk.bench.made(str(name), lambda: desk.maker.made(name))
    if isinstance(made, Made) and name.method == "calibrated":
        origin = read_frozen(find_frozen(name.argument)).origin
        return replace(made, notes=(f"calibrated on {origin.data}; whether it has seen these outputs is not known",))
    return made


def _uncalibrated(prepared: Prepared, measured: Measured) -> Made:
    """Return the judge that most readers would count by; it takes no rating (`Maker` fits other baselines with it)."""
    aspect = prepared.aspect
    rubric = uncalibrated(aspect, prepared.split.train, measured)
    judge: Judge = CriteriaJudge(rubric, aspect.scale, measured)
    return Made("uncalibrated", "baseline", judge, "criteria", rubric)


def _scores(
    made: Mapping[str, Sequence[Made]], desks: Sequence[_Desk], progress: Progress
) -> tuple[dict[str, Array], list[str]]:
    """Return each judge's scores (n,), higher is better, nan for a failure on any aspect; and what must be known."""
    given: dict[str, dict[str, Array]] = {name: {} for name in made}
    aspects = {desk.prepared.aspect.ref: desk.prepared.aspect for desk in desks}
    for k, desk in enumerate(desks):
        items = desk.prepared.split.train
        progress.phase(f"{desk.prepared.aspect.ref}: scoring what was ranked", len(made), len(items))
        for name, parts in made.items():
            verdicts = desk.bench.judged(parts[k].name, parts[k].judge, TEST, items).verdicts
            given[name][desk.prepared.aspect.ref] = scores_of(verdicts)
            progress.advance(len(verdicts))
    notes = dict.fromkeys(f"'{name}': {note}." for name, parts in made.items() for part in parts for note in part.notes)
    return {name: _joined(scores, aspects) for name, scores in given.items()}, list(notes)


def _joined(scores: Mapping[str, Array], aspects: Mapping[str, Aspect]) -> Array:
    """Return one score (n,) from those on each aspect; a single aspect is only turned upwards."""
    if len(aspects) == 1:
        ((ref, aspect),) = aspects.items()
        return on_scale(scores[ref], aspect, aspect.scale)
    return unified(scores, aspects)
