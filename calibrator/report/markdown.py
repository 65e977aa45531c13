"""`report.md`: everything a reader needs to believe, or not, what a run found. No item text."""

from __future__ import annotations

from collections.abc import Mapping

from calibrator.calibration.result import CandidateLine, JudgeFigures, RunResult, Side
from calibrator.export import number_of, rubric_lines
from calibrator.judges.frozen import Figure
from calibrator.models.recorded import Spent

MEASURES = ("spearman", "kendall", "pearson", "mae")
START = {"criteria": "uncalibrated", "llm": "zero-shot"}
FEW_GROUPS, FEWEST_GROUPS = 20, 5


def report(result: RunResult, look: int, frozen_path: str, paid: Mapping[str, Spent], calls: int = 0) -> str:
    """Return the report of a run; `paid` is what each model was used for, `calls` how many were made in all."""
    aspect = result.aspect.aspect()
    parts = [
        f"# {aspect.label} ({aspect.ref}), calibrated on {result.data.name}\n",
        _verdict(result, look),
        "## On the test side\n",
        *_table(result.test),
        f"\n`{result.test.signature}` · look {look} at this test side\n",
        *_gains(result),
        "## The rubric\n",
        *rubric_lines(result.steps, result.base, result.method),
        f"\nFrozen in `{frozen_path}`, content {result.content_hash[:12]}.\n",
        "## How it was found\n",
        *_search(result),
        *_spent(paid, calls),
        "## Worst remaining disagreements (winner, development side)\n",
        "| item | judge | humans |\n|---|---|---|",
        *(f"| {d.item} | {d.judged:.2f} | {d.human:.2f} |" for d in result.disagreements),
        "\n## Data\n",
        *_data(result),
        "## What this is and is not\n",
        _limits(result),
    ]
    return "\n".join(parts) + "\n"


def verdict_line(result: RunResult) -> str:
    """Return the outcome in one sentence: the gain over the best baseline and whether its interval excludes zero."""
    gain = result.test.gains[result.best_baseline][result.objective]
    if gain.value is None:
        return f"The {result.objective} gain over '{result.best_baseline}' is not defined on this test side."
    if result.test.groups < FEWEST_GROUPS or gain.low is None or gain.high is None:
        few = f"Too few groups on the test side ({result.test.groups}) to say whether the calibrated judge is better"
        return f"{few} than '{result.best_baseline}' ({result.objective} {gain.value:+.3f}); more are needed."
    span = f"{gain.value:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
    told = "better than" if gain.low > 0 else "worse than" if gain.high < 0 else "not shown to differ from"
    return f"On unseen data the calibrated judge is {told} '{result.best_baseline}': {result.objective} {span}."


def start_line(result: RunResult) -> str | None:
    """Return the gain over the judge the search began with; None where `verdict_line` says it or it was left out."""
    start = START[result.method]
    if start == result.best_baseline or start not in result.test.gains:
        return None
    return f"Over '{start}': {result.objective} {cell(result.test.gains[start][result.objective], signed=True)}."


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
    return told


def _verdict(result: RunResult, look: int) -> str:
    chosen = f"'{result.best_baseline}' was the best baseline on dev."
    told = "".join(f"\n\nCaution: {c}." for c in cautions(result))
    start = f" {line}" if (line := start_line(result)) else ""
    return f"{verdict_line(result)}{start} {chosen} This was look {look} at this test side.{told}\n"


def cell(figure: Figure, *, signed: bool = False) -> str:
    """Return a figure with its interval."""
    if figure.value is None:
        return "not defined" if signed else "–"
    if signed and figure.low is not None and figure.high is not None:
        return f"{figure.value:+.3f} [{figure.low:+.3f}, {figure.high:+.3f}]"
    return f"{number_of(figure.value)} [{number_of(figure.low)}, {number_of(figure.high)}]"


def _table(side: Side) -> list[str]:
    lines = [f"| judge | {' | '.join(MEASURES)} | failures |", "|---|---|---|---|---|---|"]
    lines += [f"| {j.name} | {' | '.join(cell(j.figures[m]) for m in MEASURES)} | {failures(j)} |" for j in side.judges]
    about = (
        f"{side.items} items in {side.groups} groups, scored by every judge; 95 % intervals by bootstrap over groups."
    )
    return [*lines, "", about]


def failures(judge: JudgeFigures) -> str:
    """Return the failures of a judge by reason, "0" if there are none."""
    return ", ".join(f"{n} × {reason}" for reason, n in judge.failures.items()) or "0"


def _gains(result: RunResult) -> list[str]:
    lines = ["Paired gains of the calibrated judge (for mae: how much less error):\n"]
    lines += [f"| over | {' | '.join(MEASURES)} |", "|---|---|---|---|---|"]
    for other, gains in result.test.gains.items():
        lines.append(f"| {other} | {' | '.join(cell(gains[m]) for m in MEASURES)} |")
    return [*lines, ""]


def _search(result: RunResult) -> list[str]:
    by_name = {c.name: c for c in result.candidates}
    line: list[CandidateLine] = []
    step = by_name.get(result.winner)
    while step is not None:
        line.append(step)
        step = by_name.get(step.parent or "")
    line.reverse()
    ancestry = " → ".join(_ancestor(c, p, result.objective) for p, c in zip([None, *line], line, strict=False))
    failed = sum(c.value is None for c in result.candidates)
    missed = "; ".join(f"{n} × {reason}" for reason, n in result.no_rubric.items())
    rounds = " → ".join(_merit(v, result.objective) for v in result.history)
    on_dev = "; ".join(f"{j.name} {cell(j.figures[result.objective])}" for j in result.dev.judges)
    as_chosen = result.protocol == "paper" or result.method != "criteria"
    refitted = "as it was chosen" if as_chosen else "refitted on train and dev"
    return [
        f"- protocol {result.protocol}, objective {result.objective}, seed {result.split.seed}",
        f"- judge {result.judge}, drafter {result.drafter}",
        f"- {len(result.candidates)} candidates scored ({result.near_duplicates} near-duplicates dropped before,"
        f" {failed} not eligible), {result.judgments:,} judgments",
        *([f"- replies to the drafter's requests that were no rubric: {missed}"] if missed else []),
        f"- best {result.objective} on dev, by round: {rounds}",
        f"- the winner's line: {ancestry}; handed over {refitted}",
        f"- {result.objective} on dev, where the winner was chosen: {on_dev}\n",
    ]


def _merit(value: float | None, objective: str) -> str:
    """Return the objective as it is read: errors are sought low, so that the search holds them with a minus."""
    return number_of(None if value is None else -value if objective == "mae" else value)


def _ancestor(candidate: CandidateLine, parent: CandidateLine | None, objective: str) -> str:
    """Return a candidate with where it came from and, where it was made from another, its gain on dev."""
    value = _merit(candidate.value, objective)
    if parent is None:
        return f"{candidate.name} ({candidate.origin} by {candidate.by}, {value})"
    gain = "" if candidate.value is None or parent.value is None else f", gain {candidate.value - parent.value:+.3f}"
    return f"{candidate.name} ({candidate.origin} by {candidate.by}, {value}{gain})"


def _spent(paid: Mapping[str, Spent], calls: int) -> list[str]:
    """Return what the run asked of models and what that cost."""
    if not paid:
        return []
    lines = ["## What it cost\n", "| model | replies | prompt tokens | tokens written | US dollars |"]
    lines.append("|---|---|---|---|---|")
    for model, spent in paid.items():
        cost = "not known" if spent.cost is None else f"{spent.cost:.4f}"
        counts = (spent.replies, spent.prompt, spent.completion)
        lines.append(f"| {model} | {' | '.join(f'{n:,}' for n in counts)} | {cost} |")
    about = "A reply from the cache takes no call, one after retries takes several."
    return [*lines, "", f"{calls:,} calls were made, those of earlier sittings included. {about}\n"]


def _data(result: RunResult) -> list[str]:
    split, data = result.split, result.data
    sides = (("train", split.train), ("dev", split.dev), ("test", split.test))
    lines = [
        f"- {data.name}: {data.items} rated items, {data.groups} groups; content {data.digest[:12]}",
        f"- columns: {data.columns}",
        f"- aspect: {result.aspect.suite}/{result.aspect.name} ({result.chosen})",
        "- split: " + ", ".join(f"{name} {n} items / {g} groups" for name, (n, g) in sides),
        f"- split digest {split.digest[:12]}, test side {split.test_digest[:12]}",
    ]
    return [*lines, *(f"- warning: {w}" for w in data.warnings), ""]


def _limits(result: RunResult) -> str:
    if result.method == "criteria":
        return (
            "The embedded judge measures words and forms; it does not understand the text. It can be fooled by whoever "
            "knows its steps, and what it learned holds for texts like those it was calibrated on. Whether it would "
            "judge outputs of other systems as well was not checked."
        )
    return (
        "The figures hold for this model, these prompts and texts like those of the test side. Another model, or "
        "another version of it behind the same name, is another judge. Whether it would judge outputs of other systems "
        "as well was not checked."
    )
