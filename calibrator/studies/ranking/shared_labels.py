"""Whether columns of labels speak of the same labels: those that do not agree nowhere, and look like a poor judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from calibrator.errors import ConfigError

Cells = Sequence[str | None]
MANY = 0.2  # of a column's cells, with labels that none of the others has
SHOWN = 3  # labels named in a line


def check_shared(human: Mapping[str, Cells], judges: Mapping[str, Cells], intended: Mapping[str, Cells]) -> list[str]:
    """Return a caution for each column of which many cells have a label that it is compared with in no column.

    What was intended is compared with the annotators, an annotator with the others and what was intended (with the
    judges if there is neither), a judge with the annotators and what was intended. Raises ConfigError for a column that
    shares no label with these.
    """
    told = []
    for name, cells, others in _compared(human, judges, intended):
        own = Counter(c for c in cells if c is not None)
        there = {c for column in others.values() for c in column if c is not None}
        beside, columns = ", ".join(others), "column" if len(others) == 1 else "columns"
        if not there & own.keys():
            problem = f"column '{name}' shares no label with {columns} {beside}"
            here = f"{_named(sorted(own))} here, {_named(sorted(there))} there"
            raise ConfigError(f"{problem} ({here}); give them the same labels, or leave it out")
        strange = {label: n for label, n in own.most_common() if label not in there}
        count, whole = sum(strange.values()), sum(own.values())
        if count > MANY * whole:
            told.append(f"'{name}': {count} of its {whole} labels stand nowhere in {beside} ({_named(list(strange))})")
    return told


def _compared(
    human: Mapping[str, Cells], judges: Mapping[str, Cells], intended: Mapping[str, Cells]
) -> Iterator[tuple[str, Cells, Mapping[str, Cells]]]:
    """Yield each column with those that it is compared with."""
    yield from ((name, cells, human) for name, cells in intended.items())
    for name, cells in human.items():
        others = {k: v for k, v in {**human, **intended}.items() if k != name}
        yield name, cells, others or judges
    yield from ((name, cells, {**human, **intended}) for name, cells in judges.items())


def _named(labels: Sequence[str]) -> str:
    shown = ", ".join(f"'{label[:40]}'" for label in labels[:SHOWN])
    return f"{shown}, …" if len(labels) > SHOWN else shown
