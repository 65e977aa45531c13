"""Which columns of a table are human ratings, and on which scale, where nobody has said it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace

from calibrator.aspects import NEUTRAL, Aspect, Scale, find_aspect, read_aspect, shipped_aspects
from calibrator.audit.subject import Known, Rated, Subject, numbers_of, read_ratings
from calibrator.columns import OVERALL, RATING, REFERENCE, Mapped, Wanted, map_columns, plain
from calibrator.dataset import plain_items
from calibrator.errors import AspectError, DataError
from calibrator.tables import Table

# `human.fluency`, `annotators.fluency`: rated by humans as the name says, whatever the aspect is.
_HUMAN = re.compile(r"(?:human|human_scores|human_ratings|annotators|annotations|expert_annotations)\.(.+)")


def subject_of(
    name: str, table: Table, wanted: Wanted, suite: str | None, aspect: Aspect | None, scale: Scale | None
) -> Subject:
    """Return what is to be audited: the ratings of `aspect`, or without one all that the table seems to have.

    `suite` is the data set's own, where it is known; `scale` stands in place of every aspect's. Raises DataError if a
    column that was named is not there, if `aspect` has no rating, or if no column looks like the rated text.
    """
    if aspect is not None:
        mapped = map_columns(table, wanted, aspect)
        rated = [read_ratings(table, aspect.name, scale or aspect.scale, "said", mapped)]
    else:
        wanted = _with_text(table, wanted)
        rated = _all_rated(table, wanted, suite, scale)
        mapped = rated[0].mapped if rated else map_columns(table, wanted, None)
    return Subject(name, table, mapped, plain_items(table, mapped), tuple(rated), numbers_of(table))


def _with_text(table: Table, wanted: Wanted) -> Wanted:
    """Take the reference for the text where there is no other: files of references are audited for duplicates too."""
    if wanted.output is not None:
        return wanted
    try:
        map_columns(table, replace(wanted, score=()), None)
    except DataError:
        reference = next((c for c in table.columns if plain(c) in REFERENCE), None)
        if reference is not None and wanted.reference is None:
            return replace(wanted, output=reference)
    return wanted


def _all_rated(table: Table, wanted: Wanted, suite: str | None, scale: Scale | None) -> list[Rated]:
    if wanted.score:
        mapped = map_columns(table, wanted, _nameless(wanted.score[0]))
        return [read_ratings(table, wanted.score[0], scale, "said" if scale else "data", mapped)]
    found = shipped_ratings(table, wanted, suite)
    known: Known = "said" if suite or scale else "guessed"
    rated = [read_ratings(table, a.name, scale or a.scale, known, m) for a, m in found]
    taken = {c for r in rated for c in (r.mapped.score, *r.mapped.annotators)}
    others = [m[1] for c in table.columns if c not in taken and (m := _HUMAN.fullmatch(plain(c)))]
    if not rated and not others:
        others = ["rating"]
    for name in dict.fromkeys(others):
        own = _mapped(table, wanted, _nameless(name))
        if own is not None and not {own.score, *own.annotators} & taken:
            rated.append(read_ratings(table, name, scale, "said" if scale else "data", own))
            taken |= {own.score, *own.annotators} - {None}
    return [r for r in rated if r.known == "said" or _holds_numbers(r)]


def _holds_numbers(rated: Rated) -> bool:
    """A column that only looks like a rating by its name holds words."""
    words = sum(f.value is None for f in rated.faults)
    return words < max(len(rated.faults) - words, int((rated.human == rated.human).sum()))


def shipped_ratings(table: Table, wanted: Wanted, suite: str | None) -> list[tuple[Aspect, Mapped]]:
    """Return the aspects that columns are named for: of `suite`, else of the suite that fits the table best.

    The best has the most aspects in the table, then the fewest beside them; on a tie it is the neutral one. Further
    aspects are those that a bare name finds.
    """
    suites: dict[str, dict[str, tuple[Aspect, Mapped] | None]] = defaultdict(dict)
    for ref, path in shipped_aspects().items():
        if suite in (None, ref.split("/")[0]):
            aspect = read_aspect(path)
            mapped = _mapped(table, wanted, aspect)
            named = mapped is not None and _named_for(mapped, aspect.name)
            suites[aspect.suite][aspect.name] = (aspect, mapped) if mapped and named else None
    if not suites:
        return []
    best = max(suites, key=lambda s: (*_fit(suites[s]), s == NEUTRAL))
    found = {n: f for n, f in suites[best].items() if f}
    for others in suites.values():
        for name, pair in others.items():
            if pair and name not in found:
                try:
                    found[name] = (find_aspect(name)[0], pair[1])
                except AspectError:
                    found[name] = pair
    return list(found.values())


def _fit(aspects: Mapping[str, object]) -> tuple[int, int]:
    there = sum(a is not None for a in aspects.values())
    return there, there - len(aspects)


def _mapped(table: Table, wanted: Wanted, aspect: Aspect) -> Mapped | None:
    try:
        return map_columns(table, wanted, aspect)
    except DataError:
        return None


def _named_for(mapped: Mapped, aspect: str) -> bool:
    """Whether the rating was found by the aspect's name and not by one that would do for any aspect."""
    if mapped.annotators and plain(mapped.annotators[0]) not in OVERALL:
        return True
    usual = {pattern.format(plain(aspect)) for pattern in RATING}
    return mapped.score is not None and plain(mapped.score) in usual


def _nameless(name: str) -> Aspect:
    """Return an aspect that is known by its column only."""
    return Aspect("", name, name, "", Scale(0, 1))
