"""What a judge must keep to be called reliable: a limit for each probe, and which of them it missed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Literal

from calibrator.aspects import Scale
from calibrator.errors import ConfigError
from calibrator.evaluation.probes.base import Finding, Line
from calibrator.evaluation.probes.injection import ALL


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The limits, each by its name; a figure at its limit is within it.

    Shares are from 0 to 1. `max_spread`, `max_shift`, `max_lenience` and `max_self_preference` are shares of the length
    of the scale, so that they mean the same on 1-5 and on 0-100.
    """

    max_failures: float = 0.05
    max_spread: float = 0.05
    min_temperature_rho: float = 0.8
    min_order_rho: float = 0.8
    min_paraphrase_rho: float = 0.8
    max_shift: float = 0.1
    max_length_partial: float = 0.3
    max_lenience: float = 0.15
    max_crowding: float = 0.3
    min_spread_ratio: float = 0.4
    max_self_preference: float = 0.05
    max_raised: float = 0.25
    max_over_control: float = 0.1

    def changed(self, named: Mapping[str, str]) -> Thresholds:
        """Return these with others in the place of some, by name. Raises ConfigError, with the names there are."""
        known = [f.name for f in fields(self)]
        values = {name: getattr(self, name) for name in known}
        for name, text in named.items():
            if name not in known:
                raise ConfigError(f"--threshold: there is none called '{name}'; those there are: {', '.join(known)}")
            try:
                values[name] = float(text)
            except ValueError:
                raise ConfigError(f"--threshold: {name}: '{text}' is not a number") from None
        return Thresholds(**values)


@dataclass(frozen=True, slots=True)
class Rule:
    """Which figure of which probe a threshold holds for.

    `keeps` says what is within the limit: "least" at or above it, "most" at or below, "between" from minus the limit to
    the limit. `case`: of which line only; "" for all that have the figure. `of_scale`: the limit is a share of the
    scale's length, the figure in points.
    """

    threshold: str
    probe: str
    figure: str
    keeps: Literal["least", "most", "between"]
    case: str = ""
    of_scale: bool = False


RULES = (
    Rule("max_failures", "temperatures", "failed", "most"),
    Rule("max_spread", "repeatability", "spread", "most", of_scale=True),
    Rule("max_failures", "repeatability", "unsteady", "most"),
    Rule("min_temperature_rho", "temperatures", "rho", "least"),
    Rule("max_shift", "temperatures", "shift", "between", of_scale=True),
    Rule("min_order_rho", "order", "rho", "least"),
    Rule("max_shift", "order", "shift", "between", of_scale=True),
    Rule("min_paraphrase_rho", "paraphrase", "rho", "least"),
    Rule("max_shift", "paraphrase", "shift", "between", of_scale=True),
    Rule("max_length_partial", "verbosity", "partial", "between"),
    Rule("max_lenience", "range", "lenience", "between", of_scale=True),
    Rule("max_crowding", "range", "crowding", "most"),
    Rule("min_spread_ratio", "range", "spread ratio", "least"),
    Rule("max_self_preference", "self-preference", "difference", "between", of_scale=True),
    Rule("max_raised", "injection", "raised", "most", case=ALL),
    Rule("max_over_control", "injection", "over control", "most", case=ALL),
)


@dataclass(frozen=True, slots=True)
class Probed:
    """All that the probes of one judge found.

    `stands_on` says in words which items were probed, `failed` is how many of these the judge gave no score as they
    are; `signature` is what figures with the same one are the same for.
    """

    judge: str
    mode: str
    aspect: str
    scale: Scale
    stands_on: str
    items: int
    groups: int
    failed: int
    findings: tuple[Finding, ...]
    signature: str


def probe_reasons(result: Probed, thresholds: Thresholds) -> tuple[str, ...]:
    """Return a sentence for each threshold that was missed, none for a judge that kept to all.

    Figures count by their value, not by an end of their interval. What is not defined, or could not be measured, does
    not keep to its threshold; a probe that does not apply, or was not asked for, misses none.
    """
    reasons = []
    if result.items and result.failed > thresholds.max_failures * result.items:
        share = f"{result.failed} of {result.items} items as they are have no score"
        reasons.append(f"{share}, above max_failures {thresholds.max_failures:g}")
    for finding in result.findings:
        if finding.undone:
            reasons.append(f"{finding.probe} could not be measured: {finding.undone}")
        reasons += _missed(finding, result.scale, thresholds)
    return tuple(reasons)


def _missed(finding: Finding, scale: Scale, thresholds: Thresholds) -> Iterator[str]:
    for rule in RULES:
        if rule.probe != finding.probe:
            continue
        share = float(getattr(thresholds, rule.threshold))
        limit = share * (scale.high - scale.low) if rule.of_scale else share
        for line in finding.lines:
            if rule.figure in line.figures and rule.case in ("", line.case):
                yield from _told(rule, finding.probe, line, limit, share)


def _told(rule: Rule, probe: str, line: Line, limit: float, share: float) -> Iterator[str]:
    value = line.figures[rule.figure].value
    within = {"least": value >= limit, "most": value <= limit, "between": -limit <= value <= limit}
    if within[rule.keeps]:
        return
    wanted = {"least": f"at least {limit:g}", "most": f"at most {limit:g}", "between": f"within ±{limit:g}"}
    points = f" ({share:g} of the scale)" if rule.of_scale else ""
    shown = "not defined" if math.isnan(value) else f"{value:.3f}"
    yield f"{probe}, {line.case}: {rule.figure} is {shown}, {rule.threshold} wants {wanted[rule.keeps]}{points}"
