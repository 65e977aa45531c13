"""The papers' own tests as further tables of a comparison: trials, systems, unified score, mean against overall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrator.calibration.result import rounded
from calibrator.comparison.compare import Looked
from calibrator.comparison.further_parts import (
    SHORT,
    Array,
    Cell,
    Field,
    Joint,
    field_of,
    joint,
    listed,
    spanned,
    turned,
)
from calibrator.comparison.result import Extra
from calibrator.comparison.table import Side
from calibrator.errors import ConfigError
from calibrator.evaluation.overall import MEAN, SINGLE, mean_against_overall
from calibrator.evaluation.system_errors import system_errors
from calibrator.evaluation.systems import by_system
from calibrator.evaluation.trials import run_trials
from calibrator.evaluation.unified import FIVE, unified
from calibrator.records import Item
from calibrator.stats.correlation import MEASURES

NOBODY = "No judge scored enough of the test side to be compared with others."


def trials_extra(looked: Looked, measure: str, seed: int, resamples: int) -> Extra:
    """Return the 39 trials of every full judge (see `evaluation.trials`), on the items that all full judges scored.

    `measure` is a name of `stats.correlation.MEASURES`; `seed` and `resamples` are those of the interval on the whole.
    Judges whose scores are not on the aspect's scale have no mae.
    """
    field, table = field_of(looked), looked.table
    able = field.able(measure)
    rows: list[tuple[Cell, ...]] = []
    notes = [*field.notes(measure), *([] if able else [NOBODY])]
    if able:
        found = run_trials(able, field.human, field.groups, seed, measure, resamples=resamples)
        every = len(found.sizes) * len(found.seeds)
        for name, own in found.judges.items():
            rows.append((name, rounded(own.mean), rounded(own.deviation), own.defined, spanned(own.whole)))
        sizes = ", ".join(map(str, found.sizes))
        notes = [
            f"{every} trials: samples of {sizes} items, without replacement, for seeds"
            f" {', '.join(map(str, found.seeds))}; all of {found.items} items in {found.groups} groups.",
            "The deviation over the trials is no standard error: the samples overlap, and the largest are the whole"
            " set. How far the figure would move with other items is what the interval on all items says.",
            *notes,
        ]
    short = SHORT[measure]
    return Extra(
        name=f"trials/{table.aspect.suite}/{table.aspect.name}",
        title=f"Trials: {table.data}, {table.aspect.name}",
        about=f"Mean and deviation of {short} over random samples of the test side (Hengle et al. 2025, appendix D).",
        columns=("judge", f"mean {short}", "deviation", "trials where defined", f"{short} on all items"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def systems_extras(looked: Looked, measure: str, seed: int, resamples: int) -> tuple[Extra, ...]:
    """Return how judges stand within and between systems, and system by system; () with fewer than two systems named.

    Of the full judges, on the items that all of them scored and that name their system; `measure` as for trials.
    """
    field = field_of(looked)
    named = [k for k, i in enumerate(field.items) if i.system]
    unnamed = len(field.items) - len(named)
    if len({field.items[k].system for k in named}) < 2:
        return ()
    field = Field(
        tuple(field.items[k] for k in named),
        {n: s[named] for n, s in field.scores.items()},
        field.unscaled,
        field.partial,
    )
    told = [f"Left out, as they name no system: {unnamed} items."] if unnamed else []
    notes = (*told, *field.notes(measure), *([] if field.able(measure) else [NOBODY]))
    return _within_and_between(looked, field, measure, (seed, resamples), notes), _each_system(
        looked, field, measure, (seed, resamples), notes
    )


def _within_and_between(
    looked: Looked, field: Field, measure: str, drawn: tuple[int, int], notes: tuple[str, ...]
) -> Extra:
    human, groups, table = field.human, field.groups, looked.table
    systems = [i.system or "" for i in field.items]
    rows: list[tuple[Cell, ...]] = []
    for name, scores in field.able(measure).items():
        found = by_system(scores, human, systems, groups, drawn[0], measure, drawn[1])
        errors: tuple[Cell, ...] = (None, None)
        if name not in field.unscaled:
            off = system_errors(scores, human, systems, groups, *drawn)
            errors = spanned(off.mean_error), spanned(off.item_error)
        rows.append((name, *map(spanned, (found.pooled, found.within, found.between)), found.defined, *errors))
    short = SHORT[measure]
    return Extra(
        name=f"systems/{table.aspect.suite}/{table.aspect.name}",
        title=f"Systems: {table.data}, {table.aspect.name}",
        about="Does a judge tell good texts from poor ones, or one system from another?",
        columns=(
            *("judge", f"{short} over all", f"{short} within systems", f"{short} between systems"),
            *("systems where defined", "error of a system's mean", "error of an item"),
        ),
        rows=tuple(rows),
        notes=(
            f"{len(field.items)} items of {len(set(systems))} systems in {len(set(groups))} groups. Within: mean over"
            " the systems; between: of the systems' means, and its interval is over items, not over other systems.",
            "Errors: mean absolute errors in points of the scale, every system counting the same; none for scores that"
            " are not on the aspect's scale. Near 0 the interval of a mean's error lies above its value.",
            *notes,
        ),
    )


def _each_system(looked: Looked, field: Field, measure: str, drawn: tuple[int, int], notes: tuple[str, ...]) -> Extra:
    human, groups, table = field.human, field.groups, looked.table
    systems, judges = [i.system or "" for i in field.items], field.able(measure)
    found = {n: by_system(s, human, systems, groups, drawn[0], measure, drawn[1]).systems for n, s in judges.items()}
    rows: list[tuple[Cell, ...]] = []
    for k, system in enumerate(sorted(set(systems))):
        there = np.array([s == system for s in systems])
        cells: list[Cell] = [system, int(there.sum()), rounded(float(human[there].mean()))]
        for lines in found.values():
            cells += [rounded(lines[k].judge_mean), spanned(lines[k].figure)]
        rows.append(tuple(cells))
    short = SHORT[measure]
    own = [n for n in judges if n in field.unscaled]
    scale = (f"On scales of their own, not the humans': the means of {listed(own)}.",) if own else ()
    return Extra(
        name=f"system-by-system/{table.aspect.suite}/{table.aspect.name}",
        title=f"System by system: {table.data}, {table.aspect.name}",
        about=f"What each system's texts are given on average, and {short} on them.",
        columns=("system", "items", "human mean", *(f"{n}: {what}" for n in judges for what in ("mean", short))),
        rows=tuple(rows),
        notes=(*scale, *notes),
    )


def unified_extra(looked: Sequence[Looked], seed: int, resamples: int) -> Extra:
    """Return how the judges' unified scores agree with the humans' (see `evaluation.unified`), over all aspects.

    Of the judges that are full on every aspect, on the items that all of them scored in every aspect. Raises
    ConfigError for fewer than two aspects, DataError if the test sides share no item.
    """
    both = joint(looked, "--unified")
    scores = {n: unified(both.scores[n], both.aspects) for n in both.full}
    common = np.ones(len(both.groups), dtype=bool)
    for given in scores.values():
        common &= np.isfinite(given)
    places = np.flatnonzero(common)
    side = Side(_as_items(both, unified(both.human, both.aspects)), seed, resamples)
    rows = tuple((n, *(spanned(side.figure(m, s, places)) for m in MEASURES)) for n, s in scores.items())
    groups = len({both.groups[p] for p in places.tolist()})
    absent = [n for n in _all_judges(looked) if n not in both.full]
    notes = [
        f"{len(places)} items in {groups} groups: on every aspect's test side, and scored in all by all of these"
        f" judges; {len(both.groups)} stand on every test side.",
        f"The mean of {', '.join(a.name for a in both.aspects.values())}, each moved to {FIVE}"
        f"{turned(both.aspects.values())}; the same for judges and humans.",
    ]
    if absent:
        notes.append(f"Left out, as they lack an aspect, or most of one, or its scale: {listed(absent)}.")
    return Extra(
        name="unified",
        title=f"Unified score: {looked[0].table.data}",
        about="One score from all aspects, higher is better (Hengle et al. 2025, equation 2), against that of humans.",
        columns=("judge", *(SHORT[m] for m in MEASURES)),
        rows=rows,
        notes=tuple(notes),
    )


def overall_extra(looked: Sequence[Looked], overall: str, seed: int, resamples: int) -> Extra:
    """Return whether a judge's mean over the other aspects tells the human overall rating better than its own does.

    `overall` is the name of an aspect, or its suite/name (see `evaluation.overall`); a row for each judge with scores
    for all aspects, on the items where it has all of them. Raises ConfigError if `overall` is not among the aspects
    compared, means several, or is the only one; DataError if the test sides share no item.
    """
    refs = [f"{one.table.aspect.suite}/{one.table.aspect.name}" for one in looked]
    named = [ref for ref in refs if overall in (ref, ref.partition("/")[2])]
    if len(named) != 1:
        problem = "means several of" if named else "is not one of"
        raise ConfigError(f"--overall: '{overall}' {problem} the aspects compared: {', '.join(refs)}")
    both = joint(looked, "--overall")
    ref = named[0]
    aspects = {r: a for r, a in both.aspects.items() if r != ref}
    rows: list[tuple[Cell, ...]] = []
    for name, given in both.scores.items():
        found = mean_against_overall(
            aspects, given, both.aspects[ref], given[ref], both.human[ref], both.groups, seed, resamples
        )
        rho = {a.judge: a.figures["spearman"] for a in found.agreements}
        gain = found.gains[SINGLE]["spearman"]
        cells = (spanned(rho[MEAN]), spanned(rho[SINGLE]), spanned(gain, "+"), rounded(found.p.get(SINGLE)))
        rows.append((name, found.items, found.groups, *cells))
    absent = [n for n in _all_judges(looked) if n not in both.scores]
    notes = [
        f"Mean of {', '.join(a.name for a in aspects.values())}, each on the scale of {both.aspects[ref].name}"
        f"{turned(both.aspects.values())}. Gain: the mean's rho less that of the overall score, on the same items, with"
        " its two-sided p by permutation over groups; rows of several judges may stand on different items.",
        "The aspects of one judge may come from different prompts: a row need not be one way of asking.",
    ]
    if absent:
        notes.append(f"Left out, as they lack an aspect or its scale: {listed(absent)}.")
    return Extra(
        name="overall",
        title=f"Mean of aspects against {both.aspects[ref].name}: {looked[0].table.data}",
        about=f"Which foretells the human rating of {both.aspects[ref].name} better (Jones et al. 2024, table 2)?",
        columns=("judge", "items", "groups", f"rho, {MEAN}", f"rho, {SINGLE}", "gain", "p"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _as_items(both: Joint, human: Array) -> list[Item]:
    return [
        Item(id=str(k), output="", group=group, human=float(h))
        for k, (group, h) in enumerate(zip(both.groups, human.tolist(), strict=True))
    ]


def _all_judges(looked: Sequence[Looked]) -> list[str]:
    return list(dict.fromkeys(row.name for one in looked for row in one.table.rows if row.name in one.verdicts))
