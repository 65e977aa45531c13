"""Frozen judges in the forms that other tools and people take."""

from __future__ import annotations

import json
from collections.abc import Callable

from calibrator.judges.frozen import FrozenJudge, StepFile, dump
from calibrator.prompts import score_prompt

WEIGHT_WORDS = ((0.75, "decisive"), (0.4, "strong"), (0.15, "moderate"), (0.0, "slight"))


def weight_in_words(step: StepFile, steps: tuple[StepFile, ...]) -> str:
    """Return how much a step counts beside the weightiest of all: decisive, strong, moderate or slight."""
    most = max((abs(s.worth) for s in steps), default=0.0)
    share = abs(step.worth) / most if most else 0.0
    return next(word for least, word in WEIGHT_WORDS if share >= least)


def to_prompt(frozen: FrozenJudge) -> str:
    """Return text to paste into a chat: the rubric, with places for the texts to be rated."""
    aspect = frozen.aspect.aspect()
    names = [
        aspect.called("source"),
        *(n for r, n in aspect.fields.items() if r not in ("source", "output", "reference")),
    ]
    texts = {name: f"<paste the {name} here>" for name in [*names, aspect.called("output")]}
    steps = [_weighed(s, frozen.steps) for s in frozen.steps]
    return score_prompt(aspect, steps, texts)


def _weighed(step: StepFile, steps: tuple[StepFile, ...]) -> str:
    return f"{step.text} ({weight_in_words(step, steps).capitalize()}.)" if step.measures else step.text


def rubric_lines(steps: tuple[StepFile, ...], base: float) -> list[str]:
    """Return the steps as a numbered Markdown list, each with its weight in words and in points of the scale."""
    lines = []
    if any(s.measures for s in steps):
        about = "A step moves it by the points behind it when all it looks at is one standard deviation above average."
        lines += [f"An average text scores {base:.2f}. {about}", ""]
    for number, step in enumerate(steps, 1):
        weight = f" — *{weight_in_words(step, steps)}*, {step.worth:+.2f}" if step.measures else ""
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
        "## Steps\n",
        *rubric_lines(frozen.steps, frozen.base),
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


EXPORTS: dict[str, Callable[[FrozenJudge], str]] = {
    "prompt": to_prompt,
    "markdown": to_markdown,
    "json": to_json,
    "yaml": to_yaml,
}
