"""From a rated data set and judges by name to the field that is ranked.

What was fitted to this data meets only what it was not fitted to; of a frozen judge of other data that is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Progress
from calibrator.cells import entries, missing
from calibrator.comparison.bench import TEST, Bench
from calibrator.comparison.making import LeftOut, Made, Maker
from calibrator.comparison.names import JudgeName
from calibrator.dataset import content_of, plain_items
from calibrator.errors import ConfigError
from calibrator.evaluation.agreement import failures_of, scores_of
from calibrator.evaluation.raters import most_items, ratings_by
from calibrator.judges.frozen import read_frozen
from calibrator.judges.places import find_frozen
from calibrator.records import Item
from calibrator.split import split_items
from calibrator.stats.systems import SystemScore, mean_score, win_score
from calibrator.studies.ranking.field import Array, Field, members
from calibrator.studies.ranking.new_systems import Afresh, afresh
from calibrator.studies.ranking.study import About
from calibrator.tables import Table
from calibrator.texts import unusable

ALL, UNRATED = "all", "unrated"
SAID_UNSEEN = "that it was calibrated on none of these items is the user's word (--unseen)"


@dataclass(frozen=True, slots=True)
class Ground:
    """The items that judges are ranked on: those that humans rated, those they did not, and what these are in words."""

    rated: tuple[Item, ...]
    unrated: tuple[Item, ...]
    side: str
    told: tuple[str, ...]


def made_judges(maker: Maker, bench: Bench, names: Sequence[JudgeName]) -> tuple[list[Made], list[LeftOut]]:
    """Return the judges, and those that could not be made.

    Raises ConfigError for a panel, which is frozen first, what is wrong with a name, and what models raise.
    """
    made: list[Made] = []
    left_out: list[LeftOut] = []
    for name in names:
        if name.method in ("panel", "human"):
            how = "freeze it with `calibrate panel`, and name it calibrated:FILE"
            raise ConfigError(f"--judges: {name}: {how if name.method == 'panel' else 'the humans are always there'}")
        found, _ = bench.made(str(name), lambda name=name: maker.made(name))  # type: ignore[misc]
        made += [f for f in found if isinstance(f, Made)]
        left_out += [f for f in found if isinstance(f, LeftOut)]
    if not made:
        why = "; ".join(f"{lo.name}: {lo.reason}" for lo in left_out)
        raise ConfigError(f"no judge is left to rank with ({why})")
    return made, left_out


def fitted_here(name: JudgeName, made: Sequence[Made], prepared: Prepared) -> bool:
    """Whether a judge was fitted to, or chosen by, ratings of this data: a frozen one if this test side was its own.

    Of a frozen judge of this data with another test side `check_frozen` is to be asked before.
    """
    if name.method == "calibrated" and name.argument:
        return _kept_apart(name, prepared)
    if name.searches:
        return True
    return any(m.fit is not None for m in made if m.name == str(name))


def maybe_seen(name: JudgeName, prepared: Prepared) -> bool:
    """Whether a judge may have been calibrated on items of this data: a frozen one whose data was not this very data.

    Another version of the file, or other ratings of the same texts, have another digest too.
    """
    return name.method == "calibrated" and bool(name.argument) and not _kept_apart(name, prepared)


def _kept_apart(name: JudgeName, prepared: Prepared) -> bool:
    """Whether the test side is known to hold nothing that a frozen judge was calibrated on."""
    origin = read_frozen(find_frozen(name.argument)).origin
    of_this_data = origin.data_digest == prepared.dataset.digest and prepared.test is not None
    return origin.test_digest == prepared.split.test.digest or of_this_data


def check_frozen(names: Sequence[JudgeName], prepared: Prepared) -> None:
    """Raise ConfigError for a frozen judge that was calibrated on items of this test side: on another split of it."""
    for name in names:
        if name.method != "calibrated" or not name.argument or _kept_apart(name, prepared):
            continue
        origin = read_frozen(find_frozen(name.argument)).origin
        if prepared.test is not None and origin.data_digest == prepared.test.digest:
            raise ConfigError(f"--judges: {name}: it was calibrated on the very items of --test")
        if origin.data_digest == prepared.dataset.digest:
            own = split_items(prepared.dataset.items, origin.seed)
            how = f"name its seed: --seed {origin.seed}"
            if own.test.digest != origin.test_digest:
                how = "it had a test file of its own; name that: --test"
            raise ConfigError(f"--judges: {name}: it was calibrated on items of this test side; {how}")


def ground(prepared: Prepared, table: Table, fitted: Sequence[str], enter_look: Callable[[], int]) -> Ground:
    """Return the items that judges are ranked on.

    With a judge that was `fitted` to this data (named), or a test file, it is the test side, for all judges alike; else
    all rated items. The look at the test side is entered first in either case. Unrated rows of the file are there too,
    but for those of groups and texts that a fitted judge saw.
    """
    split, dataset = prepared.split, prepared.dataset
    test = split.test.unseal(enter_look())
    if fitted or prepared.test is not None:
        known = split.train + split.dev
        why = f": {', '.join(fitted)} saw the other ratings" if fitted else " (--test)"
        side = f"the {len(test)} rated items of the test side{why}"
        return Ground(test, _unrated(prepared, table, known), side, _no_system(test))
    side = f"all {len(dataset.items)} rated items"
    return Ground(dataset.items, _unrated(prepared, table, ()), side, _no_system(dataset.items))


def check_systems(prepared: Prepared) -> None:
    """Raise ConfigError if the rated items are not of two systems at least: better before the look than after it."""
    named = {i.system for i in prepared.dataset.items if i.system}
    if not named:
        raise ConfigError("the data names no systems; name the column that says what generated a text: --system")
    if len(named) == 1:
        problem = f"all rated texts are of one system ('{next(iter(named))}')"
        raise ConfigError(f"{prepared.dataset.name}: {problem}: there is nothing to rank (--system: another column)")


def _no_system(items: Sequence[Item]) -> tuple[str, ...]:
    """Return a word on items that name no system."""
    without = sum(not i.system for i in items)
    return (f"{without} rated items name no system and are left out",) if without else ()


def _unrated(prepared: Prepared, table: Table, known: Sequence[Item]) -> tuple[Item, ...]:
    """Return the rows without a rating whose texts and groups none of the items `known` has."""
    mapped = prepared.dataset.mapped
    columns = [c for c in (mapped.score, *mapped.annotators) if c]
    plain = plain_items(table, mapped)
    of_row = {i.row: i.group for i in plain}
    groups = {of_row.get(i.row, i.group) for i in known} | {i.group for i in known}
    texts = {content_of(i) for i in known}
    found = []
    for item, values in zip(plain, table.rows, strict=True):
        rated = any(not missing(entry) for c in columns for entry in entries(values.get(c)))
        seen = item.group in groups or content_of(item) in texts
        if not rated and not seen and item.system and not unusable(item.output):
            found.append(item)
    return tuple(found)


def scored_field(
    prepared: Prepared, where: Ground, made: Sequence[Made], bench: Bench, progress: Progress, *, wins: bool
) -> tuple[Field, dict[str, dict[str, int]], Afresh]:
    """Return what judges and humans gave the items, each judge's failures by reason, and scores on new systems.

    A system's score is its mean, or how often it `wins`. Raises what models raise.
    """
    rated = tuple(i for i in where.rated if i.system)
    items = rated + where.unrated
    progress.phase(f"{prepared.aspect.ref}: scoring what is ranked", len(made), len(items))
    judges: dict[str, Array] = {}
    failures: dict[str, dict[str, int]] = {}
    side = TEST if len(where.rated) == len(prepared.split.test) else ALL
    for one in made:
        verdicts = bench.judged(one.name, one.judge, side, rated).verdicts
        if where.unrated:
            verdicts += bench.judged(one.name, one.judge, UNRATED, where.unrated).verdicts
        judges[one.name] = scores_of(verdicts)
        failures[one.name] = failures_of(verdicts)
        progress.advance(len(verdicts))
    systems, member = members([i.system or "" for i in items])
    sources = tuple(i.group for i in items)
    people = ratings_by(rated, most_items(rated), prepared.split.seed)
    annotators = np.full((0 if people is None else len(people.columns), len(items)), np.nan)
    if people is not None:
        annotators[:, people.places] = people.values.T
    score: SystemScore = win_score(member, sources) if wins else mean_score()
    field = Field(
        systems=systems,
        member=member,
        sources=sources,
        human=np.array([np.nan if i.human is None else i.human for i in items], dtype=float),
        judges=judges,
        score=score,
        annotators=annotators,
        raters=tuple(f"annotator {k + 1}" for k in (people.columns if people else ())),
        sign=-1.0 if prepared.aspect.better == "lower" else 1.0,
    )
    known = prepared.split.train + prepared.split.dev
    return field, failures, afresh(made, known, items, progress)


def about_scores(
    prepared: Prepared,
    where: Ground,
    made: Sequence[Made],
    left_out: Sequence[LeftOut],
    failures: dict[str, dict[str, int]],
    new: Afresh,
    frozen: Mapping[str, bool],
) -> About:
    """Return what the field is, in words.

    `new` is what judges give on systems left out of their fits; `frozen` holds the judges that may have seen the items,
    and whether the user says that they did not.
    """
    told = [f"'{lo.name}' was left out: {lo.reason}" for lo in left_out]
    told += [f"a grave fault of the data, passed over by --force: {fault}" for fault in prepared.faults]
    notes = {m.name: m.notes for m in made}
    notes |= dict.fromkeys((name for name, unseen in frozen.items() if unseen), (SAID_UNSEEN,))
    return About(
        name=prepared.aspect.ref,
        data=prepared.dataset.name,
        side=where.side,
        kind="scores",
        signature=f"split:{prepared.split.digest[:12]}",
        notes=notes,
        failures=failures,
        cautions=(*where.told, *told),
        columns=prepared.dataset.mapped.described(),
        new=new,
        maybe_seen=tuple(name for name, unseen in frozen.items() if not unseen),
    )
