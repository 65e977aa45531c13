"""Prompt templates: `prompts/*.j2`, one a file. What is the same for all items comes first, the item last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calibrator.aspects import Aspect
from calibrator.resources import folder


def render(template: str, **values: Any) -> str:
    """Return a template filled in. Nothing is escaped: a prompt is plain text."""
    import jinja2

    loader = jinja2.FileSystemLoader(folder("prompts"))
    environment = jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    return environment.get_template(f"{template}.j2").render(**values)


def score_prompt(aspect: Aspect, steps: Sequence[str], texts: Mapping[str, str]) -> str:
    """Return the prompt that asks for one score; `texts` maps what a text is called to the text, the rated one last."""
    return render("score", aspect=aspect, steps=steps, texts=texts)
