"""The tables of judges against human rankings: NDCG in four ways, the order within rankings, the systems' ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.audit.ranks import LEVEL
from calibrator.calibration.config import RunConfig
from calibrator.calibration.result import rounded
from calibrator.comparison.further_parts import Cell, spanned, turned
from calibrator.comparison.result import Extra
from calibrator.comparison.table import FULL
from calibrator.errors import ConfigError
from calibrator.evaluation.preference import Figures, Preference, Standing, by_preference
from calibrator.evaluation.rank_directions import Best, Mirror, mirrored
from calibrator.evaluation.unified import FIVE

Array = NDArray[np.float64]
BEST: tuple[Best, ...] = ("lowest", "highest")
NEARLY_ALL = 0.75
RANDOM, WORST = "random order", "worst order"
Ways = Sequence[tuple[str, Callable[[Standing], Figures]]]
WAYS: Ways = (
    ("as stated", lambda s: s.all),
    ("without the marked", lambda s: s.kept),
    ("the marked turned", lambda s: s.turned),
)


@dataclass(frozen=True, slots=True)
class Ranked:
    """The column of the ranks, and which end of them is preferred."""

    column: str
    best: Best = "lowest"


def parse_ranked(column: str, best: str) -> Ranked:
    """Return what a user said of the ranks. Raises ConfigError if `best` is no end of them."""
    for end in BEST:
        if best == end:
            return Ranked(column, end)
    raise ConfigError(f"--rank-best: '{best}' is none; say which number is preferred: {' or '.join(BEST)}")


@dataclass(frozen=True, slots=True)
class Ranking:
    """What people said: of each output its rank, its ranking, its group and its system (None: not named), n of each."""

    rank: Array
    rankings: tuple[str, ...]
    groups: tuple[str, ...]
    systems: tuple[str | None, ...]


def preference_extras(
    data: str,
    aspects: Sequence[Aspect],
    scores: Mapping[str, Array],
    ranking: Ranking,
    ranked: Ranked,
    config: RunConfig,
    told: Sequence[str],
) -> tuple[Extra, ...]:
    """Return the tables of judges by name: `scores` (n,), higher is better, nan for a failure.

    Judges that scored most of the outputs stand together on those that all of them scored; one that scored less has
    tables of its own, with the others beside it on what it scored. All go by the same marks. `told` are further notes.
    """
    full = {name: s for name, s in scores.items() if np.isfinite(s).mean() >= FULL}
    witnesses = np.column_stack(list(scores.values()))

    def found(some: Mapping[str, Array]) -> Preference:
        return by_preference(
            some,
            ranking.rank,
            ranking.rankings,
            ranking.groups,
            config.seed,
            ranked.best,
            witnesses,
            config.resamples,
        )

    extras: list[Extra] = []
    parts = [("", full)] if full else []
    parts += [(name, {name: s, **full}) for name, s in scores.items() if name not in full]
    mirror = None
    for name, some in parts:
        one = found(some)
        mirror = mirror or _mirror(ranking, one)
        notes = (*_notes(one, aspects, ranked, mirror), *told)
        title = f": {data}, '{ranked.column}'{f'; on what {name} scored' if name else ''}"
        extras += _tables(one, f"/{name}" if name else "", title, ranked, notes)
    if mirror is not None:
        extras.append(_systems_table(mirror, f": {data}, '{ranked.column}'"))
    return tuple(extras)


def _tables(found: Preference, name: str, title: str, ranked: Ranked, notes: tuple[str, ...]) -> list[Extra]:
    ways = _ways(found)
    about = f"Judges against human rankings, the {ranked.best} number preferred; means over rankings."
    return [
        Extra(
            name=f"preference{name}",
            title=f"Preference, NDCG{title}",
            about=about,
            columns=("judge", *(f"NDCG, {way}" for way, _ in ways), "NDCG, the published way", "failures"),
            rows=(*(_ndcg(n, s, ways, found.failures[n]) for n, s in found.judges.items()), *_bounds(found)),
            notes=notes,
        ),
        Extra(
            name=f"preference-order{name}",
            title=f"Preference, order within rankings{title}",
            about=f"{about} Top right: the share of rankings whose best output the judge puts first.",
            columns=("judge", *(f"{what}, {way}" for what in ("tau", "top right") for way, _ in ways)),
            rows=(*(_order(n, s, ways) for n, s in found.judges.items()), _by_chance(found)),
        ),
    ]


def _ways(found: Preference) -> Ways:
    """Return how the rankings are taken; without a marked one all ways are the first."""
    return WAYS if found.marks.reversed else WAYS[:1]


def _ndcg(name: str, standing: Standing, ways: Ways, failures: int) -> tuple[Cell, ...]:
    return (name, *(spanned(way(standing).ndcg) for _, way in ways), spanned(standing.published.ndcg), failures)


def _bounds(found: Preference) -> list[tuple[Cell, ...]]:
    """Return the rows of a random and of the worst order, the same for every judge: all stand on the same outputs."""
    any_one = next(iter(found.judges.values()))
    four = [*(way(any_one) for _, way in _ways(found)), any_one.published]
    return [
        (RANDOM, *(rounded(f.random) for f in four), None),
        (WORST, *(rounded(f.worst) for f in four), None),
    ]


def _order(name: str, standing: Standing, ways: Ways) -> tuple[Cell, ...]:
    found = [way(standing) for _, way in ways]
    return (name, *(spanned(f.kendall) for f in found), *(spanned(f.top) for f in found))


def _by_chance(found: Preference) -> tuple[Cell, ...]:
    any_one = next(iter(found.judges.values()))
    ways = [way(any_one) for _, way in _ways(found)]
    return (RANDOM, *(0.0 if f.rankings else None for f in ways), *(rounded(f.top_by_chance) for f in ways))


def _mirror(ranking: Ranking, found: Preference) -> Mirror | None:
    """Return the systems' mean ranks; None with fewer than two systems named."""
    there = [k for k, system in enumerate(ranking.systems) if system]
    systems = [ranking.systems[k] or "" for k in there]
    if len(set(systems)) < 2:
        return None
    rankings = [ranking.rankings[k] for k in there]
    return mirrored(ranking.rank[there], rankings, systems, found.marks.reversed)


def _notes(found: Preference, aspects: Sequence[Aspect], ranked: Ranked, mirror: Mirror | None) -> list[str]:
    told = [
        f"{found.items} outputs in {found.rankings} rankings, those that every judge here scored;"
        f" {found.left_out} rankings are left out, with fewer than two such outputs or one rank only. NDCG of few"
        " outputs is high by chance: read it beside the random order.",
        _score_note(aspects),
        *_marks_notes(found, ranked, mirror),
    ]
    if ranked.best == "lowest":
        told.append(
            "The published way takes the number of the rank as the relevance, and so rewards who puts the worst first;"
            " it is no result. Failures are left out here, and the published figures have them as numbers."
        )
    return told


def _score_note(aspects: Sequence[Aspect]) -> str:
    if len(aspects) == 1:
        return f"Scores of {aspects[0].name}, {aspects[0].better} is better."
    return f"Scores: the mean of {', '.join(a.name for a in aspects)}, each moved to {FIVE}{turned(aspects)}."


def _marks_notes(found: Preference, ranked: Ranked, mirror: Mirror | None) -> list[str]:
    """Return what the audit of the rankings' directions found."""
    marks, every = found.marks, len(found.marks.agreement)
    reversed_ = len(marks.reversed)
    p = "not defined" if not np.isfinite(marks.p) else f"{marks.p:.1g}"
    told: list[str] = []
    if reversed_:
        told.append(
            f"{reversed_} of {every} rankings are marked as running the other way (p {p} that all run one way), by the"
            " consensus of these judges. To leave them out, or to turn them, takes out what disagrees with the judges,"
            " and so favours them: it is no evidence for any."
        )
        if reversed_ > every / 2:
            other = "highest" if ranked.best == "lowest" else "lowest"
            told.append(f"These are most of the rankings: --rank-best {other} would fit more of them.")
        if mirror is not None and np.isfinite(mirror.spearman):
            told.append(
                "Of the systems' mean ranks in the marked rankings and in the others, Spearman is"
                f" {mirror.spearman:+.2f}: near -1 the numbers run the other way there, whatever the judges say."
            )
    else:
        against = (
            f"{len(marks.against)} of {every} against these judges; p {p} that all run one way, not below {LEVEL:g}"
        )
        told.append(f"No ranking is marked as running the other way ({against}).")
        if len(marks.against) > NEARLY_ALL * every:
            told.append(f"Nearly all run against the judges: is the {ranked.best} number the best (--rank-best)?")
    return told


def _systems_table(mirror: Mirror, title: str) -> Extra:
    """Return the systems' mean ranks, in two columns where rankings are marked."""
    names = sorted({*mirror.others, *mirror.marked}, key=lambda n: (mirror.others.get(n, np.inf), n))
    sides = [("mean rank, not marked", mirror.others), ("mean rank, marked", mirror.marked)]
    if not mirror.marked:
        sides = [("mean rank", mirror.others)]
    return Extra(
        name="preference-systems",
        title=f"Preference, the systems' mean ranks{title}",
        about="Mean rank of each system's outputs; no judge's score is in it but for the marks.",
        columns=("system", *(head for head, _ in sides)),
        rows=tuple((n, *(rounded(side.get(n)) for _, side in sides)) for n in names),
    )
