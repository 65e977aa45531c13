"""A panel as people read it: who counts how much, what it is held against, and where its file is."""

from __future__ import annotations

import json
from pathlib import Path

from rich.console import Console

from calibrator.comparison.result import ComparisonResult
from calibrator.judges.frozen import FrozenJudge
from calibrator.report.console import say
from calibrator.report.lines import cell


def panel_lines(frozen: FrozenJudge) -> list[str]:
    """Return what each judge and each step of a panel is worth, in points of the scale, the weightiest first."""
    if frozen.panel is None:
        return []
    unit = "over the whole range of ranks" if frozen.panel.join == "ranks" else "a standard deviation"
    parts = [(m.weight, m.name) for m in frozen.panel.members]
    parts += [(sum(m.weight for m in s.measures), s.text) for s in frozen.steps]
    lines = [f"An average text scores {frozen.base:.2f}. Points of the scale that each moves it by, {unit}:"]
    return lines + [f"  {weight:+.2f}  {name}" for weight, name in sorted(parts, key=lambda p: -abs(p[0]))]


def verdict_of(frozen: FrozenJudge) -> str:
    """Return the outcome in a sentence: the gain over the best of members and baselines on dev."""
    verdict = frozen.verdict
    if verdict is None:
        return "Nothing is known of this panel."
    gain = verdict.gain
    told = "not shown to differ from"
    if gain.low is not None and gain.high is not None:
        told = "better than" if gain.low > 0 else "worse than" if gain.high < 0 else told
    gate = "Gate: passed." if verdict.passed else f"Gate: not passed; {'; '.join(verdict.reasons)}."
    over = f"'{verdict.over}', the best of its members and the baselines on dev"
    return f"On unseen data the panel is {told} {over}: {frozen.origin.objective} {cell(gain, signed=True)}. {gate}"


def show_panel(console: Console, frozen: FrozenJudge, path: Path) -> None:
    """Print the panel below the table of its members."""
    say(console, "")
    say(console, verdict_of(frozen), "bold")
    for line in panel_lines(frozen):
        say(console, line)
    say(console, f"\nfrozen panel  {path}")


def panel_json(result: ComparisonResult, frozen: FrozenJudge, path: Path, look: int) -> str:
    """Return the panel with its comparison as JSON."""
    members = [] if frozen.panel is None else [{"name": m.name, "weight": m.weight} for m in frozen.panel.members]
    about = {
        "frozen": str(path),
        "look": look,
        "members": members,
        "verdict": frozen.verdict.model_dump(mode="json") if frozen.verdict else None,
        "comparison": result.model_dump(mode="json"),
    }
    return json.dumps(about, ensure_ascii=False, indent=1)
