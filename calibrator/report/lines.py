"""Sentences on a result, the same at the terminal and in the report."""

from __future__ import annotations

from calibrator.calibration.result import RunResult, SystemFigures
from calibrator.evaluation.gate import FEWEST_GROUPS
from calibrator.export import number_of
from calibrator.judges.frozen_parts import Figure
from calibrator.report.console import told_p

FEW_GROUPS = 20
LEVEL = 0.05


def verdict_line(result: RunResult) -> str:
    """Return the outcome in one sentence: the gain over the best baseline and whether its interval excludes zero."""
    over = result.best_baseline
    gain = result.test.gains[over][result.objective]
    if gain.value is None:
        return f"The {result.objective} gain over '{over}' is not defined on this test side."
    if result.test.groups < FEWEST_GROUPS or gain.low is None or gain.high is None:
        few = f"Too few groups on the test side ({result.test.groups}) to say whether the calibrated judge is better"
        return f"{few} than '{over}' ({result.objective} {gain.value:+.3f}); more are needed."
    told = "better than" if gain.low > 0 else "worse than" if gain.high < 0 else "not shown to differ from"
    p = result.test.p.get(over)
    doubt = (
        " (the permutation test is less sure than the interval)"
        if (p or 0) > LEVEL and gain.low * gain.high > 0
        else ""
    )
    figures = f"{result.objective} {cell(gain, signed=True)}, p {told_p(p)}{doubt}"
    return f"On unseen data the calibrated judge is {told} '{over}': {figures}."


def start_line(result: RunResult) -> str | None:
    """Return the gain over the judge the search began with; None where `verdict_line` says it or it was left out."""
    start = result.start
    if start == result.best_baseline or start not in result.test.gains:
        return None
    gain = cell(result.test.gains[start][result.objective], signed=True)
    return f"Over '{start}': {result.objective} {gain}, p {told_p(result.test.p.get(start))}."


def handed_line(result: RunResult) -> str:
    """Return what was handed over, and whether it passed the gate."""
    verdict = result.verdict
    if result.rejected is not None:
        name = verdict.handed_over
        return f"The rubric did not beat '{name}' on dev, so '{name}' is handed over (--keep hands over the rubric)."
    if verdict.passed:
        return "Gate: passed."
    return f"Gate: not passed; {'; '.join(verdict.reasons)}."


def ceiling_line(result: RunResult) -> str | None:
    """Return the judge beside the humans among themselves; None where no item has two ratings."""
    part = result.ceiling
    if part is None:
        return None
    share = "" if part.one_share.value is None else f", {100 * part.one_share.value:.0f} % of that"
    judge = f"the judge against one human {number_of(part.one.value)}{share}"
    return f"Humans: one against another {cell(part.pairwise)} (spearman, {part.annotators} annotators); {judge}."


def systems_lines(result: RunResult) -> list[str]:
    """Return the agreement on new sources and on new systems, or why it could not be measured."""
    part = result.systems
    lines = []
    measure = "mae, less is better" if part.measure == "mae" else part.measure
    if part.new_sources is not None:
        lines.append(f"New sources ({measure}): {_figures(part.new_sources)}.")
    if part.new_systems is None:
        lines.append(f"Whether it would judge other systems as well could not be checked: {part.unchecked}.")
    else:
        how = "each judged by a fit or choice made without it"
        lines.append(f"New systems ({measure}; {how}): {_figures(part.new_systems)}.")
    if part.named > 1:
        lines.append(f"The judge is for {part.purpose} ({part.why}; {part.fit}).")
    return lines


def _figures(figures: SystemFigures) -> str:
    named = (("over all", figures.pooled), ("within systems", figures.within), ("between", figures.between))
    return ", ".join(f"{name} {cell(figure)}" for name, figure in named)


def curve_line(result: RunResult) -> str | None:
    """Return the test correlation by labels used; None where it was not measured."""
    if not result.curve:
        return None
    points = ", ".join(f"{p.labels}: {cell(p.figure)}" for p in result.curve)
    return f"Labels used and spearman on test, fits without a search: {points}."


def cautions(result: RunResult) -> list[str]:
    """Return what a reader must know before trusting the figures, a line each."""
    told = []
    if result.test.groups < FEW_GROUPS:
        told.append(f"only {result.test.groups} groups on the test side: intervals over so few groups are rough")
    if result.objective != "mae" and result.history and result.history[-1] <= 0:
        told.append("no rubric agrees with the humans on dev: the best is no better than chance")
    for name, reasons in result.left_out.items():
        listed = ", ".join(f"{n} × {reason}" for reason, n in reasons.items())
        told.append(f"'{name}' was left out: more than 5 % of its judgments on dev failed ({listed})")
    failed = {j.name: sum(j.failures.values()) for j in result.test.judges if j.failures}
    if failed:
        listed = ", ".join(f"{name} {count}" for name, count in failed.items())
        told.append(f"failures on the test side ({listed}): all figures are on the items that every judge scored")
    told += [f"a grave fault of the data, passed over by --force: {fault}" for fault in result.data.faults]
    return told + [f"noise ceiling: {c}" for c in (result.ceiling.cautions if result.ceiling else ())]


def cell(figure: Figure, *, signed: bool = False, digits: int = 3) -> str:
    """Return a figure with its interval."""
    if figure.value is None:
        return "not defined" if signed else "–"
    sign = "+" if signed else ""
    value, low, high = ("–" if v is None else f"{v:{sign}.{digits}f}" for v in (figure.value, figure.low, figure.high))
    return f"{value} [{low}, {high}]"
