"""What the probes of a judge found: as tables at the terminal and in Markdown, and as a file that can be read again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from rich import box
from rich.console import Console
from rich.table import Column, Table

from calibrator.aspects import Scale, ScaleFile
from calibrator.calibration.result import figure, interval
from calibrator.errors import RunError
from calibrator.evaluation.probes.base import Finding, Line
from calibrator.evaluation.probes.thresholds import Probed, Thresholds, probe_reasons
from calibrator.judges.frozen_parts import Figure
from calibrator.report.console import say, told_p
from calibrator.report.lines import cell
from calibrator.validation import first_fault

FORMAT: Literal[1] = 1
WIDTH = 4  # figures with their intervals that stand side by side in a terminal


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class LineFile(_Part):
    """One case of a probe; see `evaluation.probes.base.Line`."""

    case: str
    figures: dict[str, Figure]
    items: int
    groups: int
    failures: dict[str, int]


class FindingFile(_Part):
    """What a probe found; see `evaluation.probes.base.Finding`."""

    probe: str
    basis: str
    lines: tuple[LineFile, ...]
    notes: tuple[str, ...]
    absent: str
    undone: str


class ProbeFile(_Part):
    """The whole file; see `evaluation.probes.thresholds.Probed`. `reasons` are the thresholds that were missed.

    `content_hash` is that of the frozen judge that was probed, "" where it was none.
    """

    format: Literal[1] = FORMAT
    judge: str
    mode: str
    aspect: str
    scale: ScaleFile
    stands_on: str
    items: int
    groups: int
    failed: int
    planned_calls: dict[str, int]
    findings: tuple[FindingFile, ...]
    thresholds: dict[str, float]
    passed: bool
    reasons: tuple[str, ...]
    signature: str
    content_hash: str = ""

    def probed(self) -> Probed:
        """Return the record."""
        scale = Scale(self.scale.min, self.scale.max, self.scale.step)
        findings = tuple(
            Finding(f.probe, f.basis, tuple(_line(one) for one in f.lines), f.notes, f.absent, f.undone)
            for f in self.findings
        )
        about = (self.judge, self.mode, self.aspect, scale, self.stands_on, self.items, self.groups, self.failed)
        return Probed(*about, findings, self.signature)


def probe_file(result: Probed, thresholds: Thresholds, planned: Mapping[str, int], content_hash: str = "") -> ProbeFile:
    """Return the file form of what was found, judged by thresholds; `planned` are the calls of each probe.

    `content_hash` is that of a frozen judge.
    """
    reasons = probe_reasons(result, thresholds)
    return ProbeFile(
        judge=result.judge,
        mode=result.mode,
        aspect=result.aspect,
        scale=ScaleFile(min=result.scale.low, max=result.scale.high, step=result.scale.step),
        stands_on=result.stands_on,
        items=result.items,
        groups=result.groups,
        failed=result.failed,
        planned_calls=dict(planned),
        findings=tuple(_finding_file(f) for f in result.findings),
        thresholds=asdict(thresholds),
        passed=not reasons,
        reasons=reasons,
        signature=result.signature,
        content_hash=content_hash,
    )


def read_probe(path: Path) -> ProbeFile:
    """Return what `probe --out` wrote. Raises RunError, which names the file, if it is none."""
    try:
        return ProbeFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RunError(f"{path}: not readable: {error.strerror}") from None
    except ValidationError as error:
        where, problem = first_fault(error)
        raise RunError(f"{path}: not what `calibrate probe --out` of this version writes: {where} {problem}") from None


def reasons_for(path: Path, content_hash: str) -> tuple[str, ...]:
    """Return the thresholds that a frozen judge missed, by the file that `probe --out` wrote about it.

    Raises RunError if the file is none, or is about another judge than the one with this content hash.
    """
    found = read_probe(path)
    if found.content_hash != content_hash:
        raise RunError(f"{path}: about another judge ({found.judge} on {found.aspect}); probe the frozen one and --out")
    return found.reasons


def show_probe(console: Console, found: ProbeFile) -> None:
    """Print the tables of each probe, what does not apply, and the verdict."""
    say(console, f"{found.judge} ({found.mode}) on {found.aspect}: {found.stands_on}", "bold")
    for finding in found.findings:
        if not finding.lines:
            continue
        say(console, f"\n{finding.probe}", "bold")
        for heads, rows in _tables(finding, 2, WIDTH):
            columns = (Column(h, justify="right", no_wrap=True) for h in heads[1:])
            table = Table(Column(heads[0], no_wrap=True), *columns, box=box.SIMPLE_HEAD, padding=(0, 0, 0, 1))
            for row in rows:
                table.add_row(*row)
            console.print(table)
        for line in (finding.basis, *finding.notes, *_failures(finding)):
            say(console, f"  {line}", "dim")
    say(console, "")
    for line in (*_without(found.findings), *verdict_lines(found)):
        say(console, line)
    say(console, found.signature, "dim")


def probe_markdown(found: ProbeFile) -> str:
    """Return the tables and the verdict in Markdown."""
    lines = [f"**{found.judge}** ({found.mode}) on {found.aspect}: {found.stands_on}", ""]
    for finding in found.findings:
        if not finding.lines:
            continue
        lines += [f"{finding.probe}: {finding.basis}", ""]
        for heads, rows in _tables(finding, 3):
            lines += [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
            lines += [*(f"| {' | '.join(row)} |" for row in rows), ""]
        told = [f"- {note}" for note in (*finding.notes, *_failures(finding))]
        lines += [*told, ""] if told else []
    lines += [f"- {line}" for line in (*_without(found.findings), *verdict_lines(found))]
    return "\n".join([*lines, "", f"`{found.signature}`", ""])


def verdict_lines(found: ProbeFile) -> list[str]:
    """Return whether all thresholds were kept to, and a line for each that was not."""
    if found.passed:
        applied = sum(bool(f.lines) for f in found.findings)
        return [f"Reliability: every threshold kept ({applied} of {len(found.findings)} probes applied)."]
    count = f"{len(found.reasons)} threshold{'s' if len(found.reasons) > 1 else ''}"
    return [f"Reliability: {count} missed.", *(f"missed: {r}" for r in found.reasons)]


def _tables(finding: FindingFile, digits: int, most: int | None = None) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield the heads and rows of a table for each run of lines that have the same figures.

    With more than `most` figures there are several tables, of about as many each.
    """
    for figures, run in itertools.groupby(finding.lines, lambda line: tuple(line.figures)):
        lines = list(run)
        tables = 1 if most is None else -(-len(figures) // most)
        width = -(-len(figures) // tables)
        for at in range(0, len(figures), width):
            yield _table(figures[at : at + width], lines, digits)


def _table(names: Sequence[str], lines: Sequence[LineFile], digits: int) -> tuple[list[str], list[list[str]]]:
    """Return the heads and rows of one table; failures are counted in it where there are any."""
    rows = [[one.case, *(_cell(n, one.figures[n], digits) for n in names), _stands_on(one)] for one in lines]
    if any(one.failures for one in lines):
        rows = [[*row, str(sum(one.failures.values()))] for row, one in zip(rows, lines, strict=True)]
        return ["", *names, "n / groups", "failures"], rows
    return ["", *names, "n / groups"], rows


def _stands_on(line: LineFile) -> str:
    return f"{line.items} / {line.groups}"


def _cell(name: str, figure: Figure, digits: int) -> str:
    if name == "p":
        return told_p(figure.value)
    if figure.value is not None and figure.low is None and figure.high is None:
        return f"{figure.value:.{digits}f}"
    return cell(figure, digits=digits)


def _failures(finding: FindingFile) -> list[str]:
    listed = [(one.case, "; ".join(f"{n} × {why}" for why, n in one.failures.items())) for one in finding.lines]
    return [f"failures, {case}: {told}" for case, told in listed if told]


def _without(findings: Sequence[FindingFile]) -> list[str]:
    told = [f"{f.probe} does not apply: {f.absent}" for f in findings if f.absent]
    return told + [f"{f.probe} could not be measured: {f.undone}" for f in findings if f.undone]


def _finding_file(finding: Finding) -> FindingFile:
    lines = tuple(
        LineFile(
            case=one.case,
            figures={name: figure(i) for name, i in one.figures.items()},
            items=one.items,
            groups=one.groups,
            failures=dict(one.failures),
        )
        for one in finding.lines
    )
    return FindingFile(
        probe=finding.probe,
        basis=finding.basis,
        lines=lines,
        notes=finding.notes,
        absent=finding.absent,
        undone=finding.undone,
    )


def _line(line: LineFile) -> Line:
    figures = {name: interval(f) for name, f in line.figures.items()}
    return Line(line.case, figures, line.items, line.groups, line.failures)
