"""Scoring a whole file with a frozen judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from calibrator.columns import Wanted, map_columns
from calibrator.dataset import plain_items
from calibrator.errors import ConfigError, DataError
from calibrator.judges.build import LoadedJudge
from calibrator.records import Judgment
from calibrator.tables import kind_of, read_table, write_table


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of scoring a file."""

    out: Path
    column: str
    columns: str
    judged: int
    failures: Mapping[str, int]

    def told(self) -> str:
        """Return the outcome in a few lines."""
        failed = sum(self.failures.values())
        reasons = "; ".join(f"{n} × {reason}" for reason, n in self.failures.items())
        counted = f"{self.judged} scores, {failed} failures{f' ({reasons})' if reasons else ''}"
        return f"columns   {self.columns}\n{counted} in column '{self.column}' of {self.out}"


def score_file(
    file: Path,
    judge: LoadedJudge,
    wanted: Wanted,
    *,
    out: Path | None = None,
    column: str | None = None,
    encoding: str | None = None,
) -> Scored:
    """Score every row of `file` and write it to `out` with two columns more: the score, and why there is none.

    All columns and the order of the rows are kept; a row without a score has an empty cell. Raises DataError if the
    file cannot be read or holds no row, ConfigError if it has such a column already.
    """
    target = out or file.with_name(f"{file.stem}.scored{file.suffix}")
    kind_of(target)  # before the work, not after it
    table = read_table(file, encoding)
    if not table.rows:
        raise DataError("the file has a header but no rows", file=file)
    name = column or f"judge_{judge.aspect.name.replace('-', '_')}"
    for taken in (name, f"{name}_failure"):
        if taken in table.columns or any(taken in r for r in table.records):
            raise ConfigError(f"{file} has a column '{taken}' already; give another name with --column")
    mapped = map_columns(table, wanted, None, judge.aspect.fields)
    verdicts = judge.judge(plain_items(table, mapped))
    scores = [round(v.score, 6) if isinstance(v, Judgment) else None for v in verdicts]
    reasons = [None if isinstance(v, Judgment) else v.reason for v in verdicts]
    write_table(target, table, {name: scores, f"{name}_failure": reasons})
    failures = Counter(r for r in reasons if r is not None)
    return Scored(target, name, mapped.described(), len(scores) - failures.total(), dict(failures))
