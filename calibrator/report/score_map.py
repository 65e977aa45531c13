"""What a report says of the score map of the judge that is handed over."""

from __future__ import annotations

from calibrator.calibration.map_parts import CalibrationPart, MapPart
from calibrator.calibration.result import RunResult
from calibrator.export import number_of
from calibrator.report.lines import cell


def map_line(result: RunResult) -> str | None:
    """Return the map and what it does on the test side, in a sentence; None where none was asked for."""
    part = result.map
    if part is None:
        return None
    before, after = part.test.before, part.test.after
    if after is None:
        error = f"calibration error {_error(before)}"
        return f"Score map of '{part.of}': none ({part.wanted} was asked for; {part.reason or 'as it is'}); {error}."
    mended = f"calibration error {number_of(before.error)} → {_error(after)}"
    return f"Score map of '{part.of}': {part.kind}; mae {number_of(before.mae)} → {number_of(after.mae)}, {mended}."


def map_section(result: RunResult) -> list[str]:
    """Return the section of the report on the map, empty where none was asked for."""
    part = result.map
    if part is None:
        return []
    lines = ["## Score map\n", f"{map_line(result)}\n", *_tried(part), *_on_test(part)]
    for title, side in (("without the map", part.test.before), ("with the map", part.test.after)):
        if side is not None:
            lines += _curve(title if part.test.after else "", side)
    return lines


def _tried(part: MapPart) -> list[str]:
    """Return the kinds that were measured on groups left out."""
    lines = [f"Fitted to {part.items} {part.fitted_to} ({part.groups} groups). Errors on groups left out of the fit:\n"]
    lines += ["| map | mae | rmse | |", "|---|---|---|---|"]
    for tried in part.tried:
        told = tried.reason or (part.reason if tried.kind == part.kind and part.wanted == "auto" else "")
        mark = "chosen" if tried.kind == part.kind else "not fitted" if tried.reason else ""
        about = ": ".join(t for t in (mark, told) if t)
        lines.append(f"| {tried.kind} | {number_of(tried.mae)} | {number_of(tried.rmse)} | {about} |")
    return [*lines, ""]


def _on_test(part: MapPart) -> list[str]:
    lines = ["| test side | mae | rmse | calibration error | by chance | spearman |", "|---|---|---|---|---|---|"]
    for name, side in (("without the map", part.test.before), ("with the map", part.test.after)):
        if side is not None:
            row = (side.mae, side.rmse, side.error, side.by_chance, side.spearman)
            lines.append(f"| {name} | {' | '.join(map(number_of, row))} |")
    about = (
        "Calibration error: the mean distance of mean score and mean rating in bins of like scores, in points of the "
        "scale; 'by chance' is what a judge with the right means would show on so few items."
    )
    other = (
        " Only the judge that is handed over has a map; the others of the comparison, and figures on new systems, "
        "are without one."
    )
    return [*lines, f"\n{about}{other if part.test.after else ''}\n"]


def _curve(title: str, side: CalibrationPart) -> list[str]:
    lines = [f"Reliability curve on the test side{f', {title}' if title else ''}:\n"]
    lines += ["| scores | items | mean score | mean rating |", "|---|---|---|---|"]
    for b in side.bins:
        lines.append(f"| {b.low:.2f} – {b.high:.2f} | {b.items} | {b.score:.2f} | {cell(b.human, digits=2)} |")
    return [*lines, ""]


def _error(side: CalibrationPart) -> str:
    return f"{number_of(side.error)} (by chance {number_of(side.by_chance)})"
