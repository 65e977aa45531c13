"""From files to the two sides of a study: which labels there are, which rows have some, what a reader must know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from calibrator.errors import DataError
from calibrator.studies.labels import quoted
from calibrator.studies.types.data import Spelled, labelled, read_spelled
from calibrator.studies.types.folds import holdout
from calibrator.studies.types.scheme import Scheme, find_scheme, guess_scheme, scheme_of
from calibrator.studies.types.study import Sides

SHARE = 0.3  # of the groups, for the test side where no file is


@dataclass(frozen=True, slots=True)
class Read:
    """The sides, the table that the test side stands in, and what was read, in lines."""

    sides: Sides
    test: Spelled
    told: tuple[str, ...]


def read_sides(
    train: Path,
    test: Path | None,
    wanted: Mapping[str, str | None],
    scheme: str | None = None,
    *,
    none: bool = False,
    seed: int = 0,
) -> Read:
    """Return what to learn from and what to report on.

    `wanted` may name the columns ("text", "labels", "source") and the "encoding". The labels that can be given are
    those of `scheme`, a name or a YAML file; else of the one shipped scheme that has all labels of the data; else
    those of the training side. Without `test`, part of the groups of `train` is it, stratified over the labels.
    Raises DataError or ConfigError for what cannot be used.
    """
    learnt = read_spelled(train, **wanted)  # type: ignore[arg-type]
    other = read_spelled(test, **wanted) if test is not None else learnt  # type: ignore[arg-type]
    chosen, how = _scheme(scheme, learnt, other)
    chosen = chosen.allowing_none() if none else chosen
    mine, strange = labelled(learnt, chosen, empty=chosen.empty)
    its, _ = labelled(other, chosen, empty=chosen.empty)
    if strange:
        listed = ", ".join(f"{quoted(label)} ({n})" for label, n in strange.most_common(5))
        raise DataError(f"labels that are not in the scheme {chosen.name}: {listed}", file=train)
    if not mine:
        raise DataError("no row has labels", file=train, column=", ".join(learnt.columns.labels))
    told = [f"columns   {learnt.columns.described()}"]
    if test is None:
        mine, its = holdout(mine, chosen.names, SHARE, seed)
        told.append(f"split     {len(mine)} to learn from, {len(its)} to report on: by source, stratified over labels")
    elif other.columns != learnt.columns:
        told.append(f"test      {other.columns.described()}")
    told.append(f"labels    {', '.join(map(quoted, chosen.names))} ({how})")
    files = {data.path: data for data in (learnt, other)}.values()
    return Read(Sides(mine, its, chosen, tuple(_unlabelled(files, chosen))), other, tuple(told))


def read_test(test: Path, wanted: Mapping[str, str | None], scheme: Scheme, *, none: bool = False) -> Read:
    """Return a side to report on, for a classifier that was kept; `scheme` are the labels that it can give.

    Nothing is learnt, so that it cannot be known which of the texts it was fitted to: that is told. Raises DataError
    for what cannot be used.
    """
    chosen = scheme.allowing_none() if none else scheme
    data = read_spelled(test, **wanted)  # type: ignore[arg-type]
    its, _ = labelled(data, chosen, empty=chosen.empty)
    told = (f"columns   {data.columns.described()}", f"labels    {', '.join(map(quoted, chosen.names))} (as kept)")
    unseen = "what the kept classifier was fitted to is not known here: texts that it saw count as if it had not"
    return Read(Sides((), its, chosen, (*_unlabelled([data], chosen), unseen)), data, told)


def _scheme(name: str | None, learnt: Spelled, other: Spelled) -> tuple[Scheme, str]:
    if name is not None:
        found = find_scheme(name)
        return found, f"scheme {found.name}"
    spelled: Counter[str] = learnt.found + other.found
    guessed = guess_scheme(list(spelled))
    if guessed is not None:
        return guessed, f"scheme {guessed.name}, guessed: it has all of them"
    return scheme_of(learnt.found.elements()), "read off the data; without a scheme, models are not told what they mean"


def _unlabelled(files: Iterable[Spelled], scheme: Scheme) -> list[str]:
    """Return how many rows of each file were left out, as nobody labelled them, or not for every label."""
    told = []
    for data in files:
        count = sum(row is None for row in data.labels) - len(data.gaps)
        if count and not scheme.empty:
            told.append(f"{data.path.name}: {count} rows without labels are left out (--none: no label applies there)")
        if data.gaps:
            problem = (
                "rows with an empty cell beside others of 0 and 1 are left out (write 0 where a label does not apply)"
            )
            told.append(f"{data.path.name}: {len(data.gaps)} {problem}")
    return told
