"""What `calibrate plan` says: how sure the figure on the test side will be, and what a surer one takes."""

from __future__ import annotations

import math
from typing import Any

from rich.console import Console
from rich.table import Column, Table

from calibrator.calibration.prepare import Plan, Prepared
from calibrator.calibration.result import figure
from calibrator.evaluation.planning import Outlook, half_width
from calibrator.report.console import say
from calibrator.report.lines import FEW_GROUPS, cell
from calibrator.split import SHARES
from calibrator.stats.resampling import Interval


def show_outlook(console: Console, outlook: Outlook, rated: int, test_groups: int) -> None:
    """Print what to expect; `rated` is how many rated items there are in all, `test_groups` the test side's groups."""
    say(console, f"expected  {_expected(outlook)}")
    say(console, f"groups    {_design(outlook)}")
    if math.isfinite(outlook.expected):
        console.print(_widths(outlook))
    say(console, f"needed    {_needed(outlook, rated)}", "bold")
    for caution in cautions(outlook, test_groups):
        say(console, f"caution: {caution}", "yellow")


def _widths(outlook: Outlook) -> Table:
    title = "Spearman, test side, to expect"
    table = Table(Column("test labels", justify="right"), "95 % interval", Column("±", justify="right"), title=title)
    rows = {n: (f"{n:,}", interval) for n, interval in outlook.widths.items()}
    rows[outlook.test_labels] = (f"here: {outlook.test_labels:,}", outlook.own)
    for _, (labels, interval) in sorted(rows.items()):
        table.add_row(labels, *_width(interval))
    return table


def cautions(outlook: Outlook, test_groups: int) -> list[str]:
    """Return what a reader must know before trusting the plan, a line each."""
    told, pilot = [], outlook.pilot
    if pilot.too_small:
        stands = f"the pilot stands on {pilot.items} items in {pilot.groups} groups, too few to expect anything from"
        alone = "the design effect is taken as 1, and intervals may come out wider"
        told.append(f"{stands}; {alone if outlook.said else 'say what you expect: --expect 0.6'}")
    elif not math.isfinite(outlook.expected):
        told.append("the pilot has no correlation (its predictions are all alike); say what you expect: --expect 0.6")
    elif not outlook.said:
        told.append("the pilot is of the embedded judge's kind; for one that does better or worse, say --expect 0.7")
    if math.isnan(pilot.design_effect) and not pilot.too_small:
        told.append("the design effect could not be measured and is taken as 1: intervals may come out wider")
    if test_groups < FEW_GROUPS:
        told.append(f"only {test_groups} groups on the test side: intervals over so few groups are rough")
    return told


def outlook_to_json(outlook: Outlook, prepared: Prepared, work: Plan) -> dict[str, Any]:
    """Return the plan as a JSON object: figures with six decimals, null for what is not defined or not known."""
    pilot, split = outlook.pilot, prepared.split
    return {
        "aspect": prepared.aspect.ref,
        "data": prepared.dataset.name,
        "items": len(prepared.dataset.items),
        "groups": prepared.dataset.groups,
        "split": {"seed": split.seed, "train": len(split.train), "dev": len(split.dev), "test": len(split.test)},
        "expected": {"spearman": _number(outlook.expected), "said": outlook.said},
        "pilot": {
            "spearman": figure(pilot.rho).model_dump(),
            "design_effect": _number(pilot.design_effect),
            "items": pilot.items,
            "groups": pilot.groups,
        },
        "widths": [_row(n, interval) for n, interval in outlook.widths.items()],
        "test_side": _row(outlook.test_labels, outlook.own),
        "needed": {
            "half_width": outlook.half_width,
            "test_labels": outlook.needed,
            "rated_items": outlook.rated,
        },
        "work": {
            "drafts": work.drafts,
            "refinements": work.refinements,
            "judgments": work.judgments,
            "prompt_tokens": work.tokens,
            "calls": work.calls,
        },
    }


def _row(labels: int, interval: Interval) -> dict[str, Any]:
    ends = figure(interval)
    return {"labels": labels, "low": ends.low, "high": ends.high, "half_width": _number(half_width(interval))}


def _number(value: float) -> float | None:
    return round(value, 6) if math.isfinite(value) else None


def _width(interval: Interval) -> tuple[str, str]:
    if not math.isfinite(interval.low):
        return "–", "–"
    return f"{interval.low:.3f} … {interval.high:.3f}", f"{half_width(interval):.3f}"


def _expected(outlook: Outlook) -> str:
    pilot = outlook.pilot
    if pilot.too_small:
        return f"Spearman {outlook.expected:g}, as given; there is no pilot" if outlook.said else "not known"
    where = f"{pilot.items} items in {pilot.groups} groups of train and dev"
    found = f"{cell(figure(pilot.rho))}, a ridge on the measurable criteria, cross-validated on the {where}"
    return f"Spearman {outlook.expected:g}, as given; the pilot's is {found}" if outlook.said else f"Spearman {found}"


def _design(outlook: Outlook) -> str:
    effect = outlook.pilot.design_effect
    if math.isnan(effect):
        taken = ", taken as 1" if math.isfinite(outlook.expected) else ""
        return f"the design effect is not known{taken}"
    return f"design effect {effect:.2f}: {effect * 100:.0f} items in groups like these are worth 100 that stand alone"


def _needed(outlook: Outlook, rated: int) -> str:
    if outlook.needed is None:
        return f"how many labels an interval of ± {outlook.half_width:g} takes is not known"
    takes = f"an interval of ± {outlook.half_width:g} takes {outlook.needed:,} test labels"
    if outlook.rated is None:
        return f"{takes} (here: {outlook.test_labels:,})"
    in_all = f"{outlook.rated:,} rated items in all, as the test side is {SHARES[2] * 100:.0f} % of them"
    return f"{takes}: {in_all} (here: {outlook.test_labels:,} and {rated:,})"
