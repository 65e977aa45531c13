"""An audit on the terminal: what was audited, how the annotators agree, and the findings by weight."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from calibrator.audit.annotators import AnnotatorAgreement
from calibrator.audit.findings import SEVERITIES, Finding, counted
from calibrator.audit.whole import Audit, Audited
from calibrator.report.console import make_console, say
from calibrator.texts import visible

HEADINGS = {
    "grave": ("Grave: figures worked out on this data would be wrong", "red"),
    "warning": ("Warnings: to be looked at", "yellow"),
    "note": ("Notes", None),
}


def show_audit(audit: Audit, *, as_json: bool) -> None:
    """Print an audit; as JSON only its findings, a list of objects."""
    if as_json:
        print(json.dumps([asdict(f) for f in audit.findings], ensure_ascii=False, indent=1))
        return
    console = make_console()
    for file in audit.files:
        say(console, _head(file))
        say(console, f"  {file.columns}")
        if file.agreements:
            _show_agreements(console, file.agreements)
    if not audit.findings:
        say(console, "nothing found")
    for severity in SEVERITIES:
        _show_findings(console, severity, [f for f in audit.findings if f.severity == severity])


def _head(file: Audited) -> str:
    """Say in one line what was audited."""
    rated = (
        f"{counted(len(file.rated), 'rated column')} ({'; '.join(file.rated)})"
        if file.rated
        else "no ratings (--score names their column)"
    )
    parts = [counted(file.rows, "row"), counted(file.groups, "group"), rated]
    if file.annotators:
        parts.append(counted(file.annotators, "annotator"))
    return f"{file.name}: {', '.join(parts)}"


def _show_agreements(console: Console, agreements: Sequence[AnnotatorAgreement]) -> None:
    numbers = [Column(n, justify="right") for n in ("items", "annotators")]
    figures = [Column(n, justify="right") for n in ("alpha", "kappa (quadratic)", "spearman", "one against the rest")]
    table = Table("aspect", *numbers, "level", *figures, title="Agreement of the annotators", title_justify="left")
    for a in agreements:
        values = (_figure(v) for v in (a.alpha, a.kappa, a.spearman, a.rest))
        table.add_row(escape(visible(a.aspect)), str(a.items), str(a.annotators), a.level, *values)
    console.print(table)
    say(console, "alpha: Krippendorff's; kappa and spearman: mean over pairs of annotators; the last: spearman")


def _figure(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}"


def _show_findings(console: Console, severity: str, findings: Sequence[Finding]) -> None:
    if not findings:
        return
    heading, style = HEADINGS[severity]
    say(console, f"\n{heading}", style)
    for finding in findings:
        say(console, f"  {finding.check}: {finding.message}")
