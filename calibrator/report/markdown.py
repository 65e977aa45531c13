"""`report.md`: everything a reader needs to believe, or not, what a run found. No item text."""

from __future__ import annotations

from collections.abc import Mapping

from calibrator.calibration.result import CandidateLine, JudgeFigures, RubricPart, RunResult, Side
from calibrator.export import number_of, rubric_lines
from calibrator.journal import Outlay
from calibrator.models.recorded import Spent
from calibrator.report.console import told_p
from calibrator.report.lines import (
    cautions,
    ceiling_line,
    cell,
    curve_line,
    handed_line,
    start_line,
    systems_lines,
    verdict_line,
)
from calibrator.report.score_map import map_section

MEASURES = ("spearman", "kendall", "pearson", "mae")


def report(
    result: RunResult, look: int, frozen_path: str, paid: Mapping[str, Spent], outlay: Outlay | None = None
) -> str:
    """Return the report of a run; `paid` is what each model was used for, `outlay` what all calls took."""
    aspect = result.aspect.aspect()
    parts = [
        f"# {aspect.label} ({aspect.ref}), calibrated on {result.data.name}\n",
        _verdict(result, look),
        "## On the test side\n",
        *_table(result.test),
        f"\n`{result.test.signature}` · look {look} at this test side\n",
        *_gains(result),
        *map_section(result),
        *_systems(result),
        "## The rubric\n",
        *shown(result.rubric),
        f"\nFrozen in `{frozen_path}`, content {result.content_hash[:12]}.\n",
        *(("## The calibrated rubric, not handed over\n", *shown(result.rejected), "") if result.rejected else ()),
        "## How it was found\n",
        *_search(result),
        *_spent(paid, outlay or Outlay()),
        *_candidates(result),
        "## Worst remaining disagreements (winner, development side)\n",
        f"Gap: how much too high the judge is, in {'points' if result.protocol == 'paper' else 'ranks (-1 to 1)'}.\n",
        "| item | judge | humans | gap |\n|---|---|---|---|",
        *(f"| {d.item} | {d.judged:.2f} | {d.human:.2f} | {d.gap:+.2f} |" for d in result.disagreements),
        "\n## Data\n",
        *_data(result),
        "## What this is and is not\n",
        _limits(result),
    ]
    return "\n".join(parts) + "\n"


def _verdict(result: RunResult, look: int) -> str:
    chosen = f"'{result.best_baseline}' was the best baseline on dev."
    told = "".join(f"\n\nCaution: {c}." for c in cautions(result))
    start = f" {line}" if (line := start_line(result)) else ""
    outcome = f"{verdict_line(result)}{start} {chosen} {handed_line(result)}"
    ceiling = f"\n\n{line}" if (line := ceiling_line(result)) else ""
    curve = f"\n\n{line}" if (line := curve_line(result)) else ""
    return f"{outcome} This was look {look} at this test side.{ceiling}{curve}{told}\n"


def shown(rubric: RubricPart) -> list[str]:
    """Return a rubric as a numbered Markdown list."""
    return rubric_lines(rubric.steps, rubric.base, rubric.kind)


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
    lines += [f"| over | {' | '.join(MEASURES)} | p ({result.objective}) |", "|---|---|---|---|---|---|"]
    for other, gains in result.test.gains.items():
        p = told_p(result.test.p.get(other))
        lines.append(f"| {other} | {' | '.join(cell(gains[m]) for m in MEASURES)} | {p} |")
    optimism = number_of(result.optimism)
    about = (
        f"p: two-sided, by permutation over groups. The winner on dev, where it was chosen, less on test: {optimism}."
    )
    return [*lines, "", f"{about}\n"]


def _systems(result: RunResult) -> list[str]:
    """Return the agreement by system, and with each system left out."""
    part = result.systems
    told = [f"{line}\n" for line in systems_lines(result)]
    if not part.lines:
        return ["## By system\n", *told]
    lines = [f"| system | items | {result.objective} | judged without it | all but it |", "|---|---|---|---|---|"]
    for line in part.lines:
        seen, unseen = ("–" if figure is None else cell(figure) for figure in (line.seen, line.unseen))
        lines.append(f"| {line.system} | {line.items} | {seen} | {unseen} | {number_of(line.without)} |")
    return ["## By system\n", *told, *lines, ""]


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
    stopped = sum(c.stopped is not None for c in result.candidates)
    failed -= stopped
    share = f"{100 * result.judgments / max(1, result.judgments_full):.0f} % of scoring all on all of dev"
    if any(c.origin == "optimized" for c in result.candidates):
        share = "all that the optimizer asked for on train and dev"
    refitted = "as it was chosen" if as_chosen else "refitted on train and dev"
    return [
        f"- protocol {result.protocol}, objective {result.objective}, seed {result.split.seed}",
        f"- judge {result.judge}, drafter {result.drafter}",
        f"- {len(result.candidates)} candidates scored ({result.near_duplicates} near-duplicates dropped before,"
        f" {failed} not eligible, {stopped} stopped early), {result.judgments:,} judgments: {share}",
        *([f"- replies to the drafter's requests that were no rubric: {missed}"] if missed else []),
        f"- best {result.objective} on dev, by round: {rounds}",
        *_moves(result),
        f"- the winner's line: {ancestry}; handed over {refitted}",
        f"- {result.objective} on dev, where the winner was chosen: {on_dev}\n",
    ]


def _candidates(result: RunResult) -> list[str]:
    """Return all candidates, with where and why a race stopped them."""
    lines = ["## Candidates\n", "| candidate | made by | judged | failures | dev | stopped at a chance of |"]
    lines.append("|---|---|---|---|---|---|")
    for c in result.candidates:
        value = _merit(c.value if c.stopped is None else c.stopped.value, result.objective)
        about = "" if c.stopped is None else f"{c.stopped.chance:.2f}"
        lines.append(f"| {c.name} | {c.origin} | {c.judged} | {c.failures} | {value} | {about} |")
    return [
        *lines,
        f"\nThe chance is that of belonging to the top {result.top_k}; its dev figure is then an estimate.\n",
    ]


def _moves(result: RunResult) -> list[str]:
    """Return what the moves of the refinement came to on dev."""
    lines = []
    for m in result.moves:
        mean, best = ("–" if gain is None else f"{gain:+.3f}" for gain in (m.mean_gain, m.best_gain))
        better = f"{m.better} better than what they were made from"
        lines.append(f"- {m.move}: {m.tried} tried, {better}, mean gain {mean}, best {best}")
    return lines


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


def _spent(paid: Mapping[str, Spent], outlay: Outlay) -> list[str]:
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
    lines += ["", f"{outlay.calls:,} calls were made, those of earlier sittings included. {about}"]
    for model, spent in paid.items():
        if len(spent.served) > 1:
            lines += ["", f"**Caution**: replies of {model} came from several models: {', '.join(spent.served)}."]
        elif spent.served and not _alike(model, spent.served[0]):
            lines += ["", f"The server of {model} says that {spent.served[0]} answered."]
    return [*lines, ""]


def _alike(asked: str, served: str) -> bool:
    """Whether the name that a server answers by is that which was asked for, or a dated form of it."""
    wanted = asked.rpartition("#")[2].rpartition("/")[2].lower()
    return served.rpartition("/")[2].lower().startswith(wanted) or asked.startswith("local/")


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
            "knows its steps, and what it learned holds for texts like those it was calibrated on."
        )
    return (
        "The figures hold for this model, these prompts and texts like those of the test side. Another model, or "
        "another version of it behind the same name, is another judge."
    )
