"""Scoring a whole file with a frozen judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from calibrator.columns import Wanted, map_columns
from calibrator.dataset import plain_items
from calibrator.errors import ConfigError, DataError
from calibrator.judges.loaded import LoadedJudge
from calibrator.judges.metric import METHOD as METRIC
from calibrator.judges.recorded import METHOD, RecordedJudge
from calibrator.metrics.measure import check_texts, lacking
from calibrator.metrics.named import parse_metric
from calibrator.records import Failure, Item, Judgment
from calibrator.tables import kind_of, read_table, write_table


@dataclass(frozen=True, slots=True)
class Scored:
    """What came of scoring a file; `without` are texts that the judge was calibrated with and the file has not.

    `lacking` counts, for each member of a panel whose scores or texts the file may lack, the rows without.
    """

    out: Path
    column: str
    columns: str
    judge: str
    judged: int
    failures: Mapping[str, int]
    without: tuple[str, ...] = ()
    lacking: Mapping[str, int] = field(default_factory=dict)

    def told(self) -> str:
        """Return the outcome in a few lines."""
        failed = sum(self.failures.values())
        reasons = "; ".join(f"{n} × {reason}" for reason, n in self.failures.items())
        counted = f"{self.judged} scores, {failed} failures{f' ({reasons})' if reasons else ''}"
        lines = [f"judge     {self.judge}", f"columns   {self.columns}"]
        lines += [f"warning   scored without {name}, with which the judge was calibrated" for name in self.without]
        lines += [
            f"warning   {name} has no score in {n} rows: its average there, or a failure where the others count little"
            for name, n in self.lacking.items()
        ]
        return "\n".join([*lines, f"{counted} in column '{self.column}' of {self.out}"])


def scored_path(file: Path, out: Path | None) -> Path:
    """Return where the scored form of a file goes."""
    return out or file.with_name(f"{file.stem}.scored{file.suffix}")


def score_file(
    file: Path,
    judge: LoadedJudge,
    wanted: Wanted,
    *,
    out: Path | None = None,
    column: str | None = None,
    encoding: str | None = None,
    rows: Callable[[int], object] = lambda count: None,
) -> Scored:
    """Score every row of `file` and write it to `out` with two columns more: the score, and why there is none.

    All columns and the order of the rows are kept; a row without a score has an empty cell. `rows` hears how many there
    are before the work. Raises DataError if the file cannot be read, holds no row, or lacks the source that the judge
    was calibrated with (unless `wanted.source` is "none"), ConfigError if it has such a column already, would be
    overwritten, or lacks a text that a metric on a panel needs.
    """
    target = scored_path(file, out)
    if target.resolve() == file.resolve():
        raise ConfigError(f"--out: {target} is the file to be scored; give another name")
    kind_of(target)  # before the work, not after it
    table = read_table(file, encoding)
    if not table.rows:
        raise DataError("the file has a header but no rows", file=file)
    rows(len(table.rows))
    name = column or f"judge_{judge.aspect.name.replace('-', '_')}"
    for taken in (name, f"{name}_failure"):
        if taken in table.columns or any(taken in r for r in table.records):
            raise ConfigError(f"{file} has a column '{taken}' already; give another name with --column")
    wanted = replace(wanted, recorded=judge.frozen.recorded)
    mapped = map_columns(table, wanted, None, judge.aspect.fields, judge.aspect.name)
    had = {"output", *mapped.inputs, *(["source"] if mapped.source else [])}
    without = tuple(t for t in judge.frozen.judge.texts if t not in had)
    if "source" in without and wanted.source != "none":
        problem = f"no column looks like the {judge.aspect.called('source')}, with which the judge compares"
        raise DataError(f"{problem}; name it with --source, or score without it: --source none", file=file)
    there = [role for role in ("output", "source", "reference") if getattr(mapped, role)]
    check_texts(map(parse_metric, judge.frozen.metrics), there, table.columns)
    items = plain_items(table, mapped)
    verdicts = judge.judge(items)
    scores = [round(v.score, 6) if isinstance(v, Judgment) else None for v in verdicts]
    reasons = [None if isinstance(v, Judgment) else v.reason for v in verdicts]
    write_table(target, table, {name: scores, f"{name}_failure": reasons})
    failures = Counter(r for r in reasons if r is not None)
    judged = len(scores) - failures.total()
    return Scored(
        target, name, mapped.described(), repr(judge), judged, dict(failures), without, lacking_of(judge, items)
    )


def lacking_of(judge: LoadedJudge, items: Sequence[Item]) -> dict[str, int]:
    """Return how many items lack what a recorded member of a panel, or a metric, goes by; none for another judge."""
    members = judge.frozen.panel.members if judge.frozen.panel else ()
    found = {}
    for member in (m for m in members if m.judge.method == METHOD):
        scale = judge.aspect.scale if member.on_scale else None
        verdicts = RecordedJudge(member.judge.id.removeprefix(f"{METHOD}:"), scale).judge(items)
        found[member.name] = sum(isinstance(v, Failure) for v in verdicts)
    for member in (m for m in members if m.judge.method == METRIC):
        metric = parse_metric(member.judge.id.removeprefix(f"{METRIC}:")).metric
        found[member.name] = sum(lacking(metric, item) is not None for item in items)
    return {name: count for name, count in found.items() if count}
