"""Frozen judges in the forms that other tools and people take."""

from __future__ import annotations

import json
from collections.abc import Callable

from calibrator.calibration.optimizers.base import require_dspy
from calibrator.errors import ConfigError
from calibrator.judges.frozen import FrozenJudge, dump
from calibrator.judges.frozen_parts import StepFile
from calibrator.judges.llm import METHOD
from calibrator.judges.wording import in_words, weight_in_words, worth
from calibrator.prompts import MARK, score_prompt
from calibrator.records import Rubric


def to_prompt(frozen: FrozenJudge) -> str:
    """Return text to paste into a chat: what an LLM judge asks, or a criteria rubric put the same way.

    The texts to be rated have their places behind the mark that quotes them. Raises ConfigError for a panel.
    """
    _refuse_panel(frozen, "prompt")
    aspect, roles = frozen.aspect.aspect(), frozen.judge.texts
    prompt = frozen.prompt() if frozen.judge.asked else score_prompt(aspect, in_words(frozen.rubric()), roles)
    places = {p.slot: f"{MARK}<paste the {aspect.called(p.slot)} here>" for p in prompt.parts if p.slot}
    return f"{prompt.shown(places).rstrip()}\n"


def rubric_lines(files: tuple[StepFile, ...], base: float, method: str) -> list[str]:
    """Return the steps as a numbered Markdown list.

    Behind a measured one stands how much it counts: in words and in points of the scale, or, where a model reads the
    steps, as the model reads it.
    """
    if method != "criteria":
        read = in_words(Rubric("", tuple(f.step() for f in files)))
        return [f"{number}. {text}" for number, text in enumerate(read, 1)] or ["(No steps: the definition alone.)"]
    lines, steps = [], tuple(f.step() for f in files)
    if any(s.measures for s in steps):
        about = "A step moves it by the points behind it when all it looks at is one standard deviation above average."
        lines += [f"An average text scores {base:.2f}. {about}", ""]
    for number, step in enumerate(steps, 1):
        weight = f" — *{weight_in_words(step, steps)}*, {worth(step):+.2f}" if step.measures else ""
        lines.append(f"{number}. {step.text}{weight}")
    return lines


def to_markdown(frozen: FrozenJudge) -> str:
    """Return the rubric for people: steps with weights in words and in figures, and what is known of the judge."""
    aspect, origin = frozen.aspect.aspect(), frozen.origin
    rows = []
    for measure, test in frozen.test.figures.items():
        span = f"{number_of(test.low)} … {number_of(test.high)}"
        rows.append(
            f"| {measure} | {number_of(frozen.dev.figures[measure].value)} | {number_of(test.value)} | {span} |"
        )
    lines = [
        f"# {aspect.label} ({aspect.ref})\n",
        f"{aspect.definition}\n",
        f"Scale: {aspect.scale}; {aspect.better} is better.\n",
        *_members(frozen),
        "## Steps\n",
        *rubric_lines(frozen.steps, frozen.base, "criteria" if frozen.panel else frozen.judge.method),
        *(
            [f"\nIts scores are put on the scale of the ratings by a score map ({frozen.map.kind})."]
            if frozen.map
            else []
        ),
        "\n## How well it agrees with the humans\n",
        "| measure | dev | test | 95 % interval (test) |\n|---|---|---|---|",
        *rows,
        f"\nTest: `{frozen.test.signature}`\n",
        f"Dev (the winner, on the items it was chosen on): `{frozen.dev.signature}`\n",
        f"Calibrated on {origin.data}: {origin.items} items, {origin.groups} groups, seed {origin.seed}.",
    ]
    return "\n".join(lines) + "\n"


def number_of(value: float | None) -> str:
    """Return a figure with three decimals, a dash where it is not defined."""
    return "–" if value is None else f"{value:.3f}"


def to_json(frozen: FrozenJudge) -> str:
    """Return the whole frozen judge as JSON."""
    return json.dumps(frozen.model_dump(mode="json"), ensure_ascii=False, indent=1) + "\n"


def to_yaml(frozen: FrozenJudge) -> str:
    """Return the whole frozen judge as YAML, fit to be loaded again."""
    return dump(frozen.model_dump(mode="json"))


def to_dspy(frozen: FrozenJudge) -> str:
    """Return a saved program of DSPy (see `dspy_program`). Raises ConfigError if DSPy is not installed."""
    require_dspy()
    from calibrator.export.dspy_program import saved

    return saved(frozen)


def _refuse_panel(frozen: FrozenJudge, to: str) -> None:
    if frozen.panel is not None and frozen.panel.members:
        named = ", ".join(m.name for m in frozen.panel.members)
        raise ConfigError(f"--to {to}: no one prompt does what a panel does ({named}); take markdown, json or yaml")


def _members(frozen: FrozenJudge) -> list[str]:
    """Return the judges on a panel with what each is worth, none for another judge."""
    if frozen.panel is None or not frozen.panel.members:
        return []
    unit = "from the lowest rank to the highest" if frozen.panel.join == "ranks" else "a standard deviation up"
    lines = [f"| judge | points of the scale, {unit} |", "|---|---|"]
    lines += [f"| `{m.name.replace('|', chr(92) + '|')}` | {m.weight:+.2f} |" for m in frozen.panel.members]
    about = "A judge without a score counts as its average; without more than half of their weight the panel has none."
    return ["## Members\n", *lines, f"\n{about}\n"]


def differs(frozen: FrozenJudge, to: str) -> str:
    """Return in what a form does not do what the judge does, empty if it does the same."""
    if to == "dspy" and frozen.judge.method != METHOD:
        return f"a {frozen.judge.method} judge computes its score; this program has a model follow its rubric in words"
    return ""


EXPORTS: dict[str, Callable[[FrozenJudge], str]] = {
    "prompt": to_prompt,
    "markdown": to_markdown,
    "json": to_json,
    "yaml": to_yaml,
    "dspy": to_dspy,
}
