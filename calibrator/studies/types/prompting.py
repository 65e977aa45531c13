"""The prompts that ask for labels: the list prompt for chat models, and its short form for fine-tuned ones."""

from __future__ import annotations

import json
import secrets
from typing import Any

from calibrator.prompts import Part, Prompt
from calibrator.resources import folder
from calibrator.studies.types.scheme import Scheme

ROLE = "text"


def list_prompt(scheme: Scheme, template: str = "types") -> Prompt:
    """Return the prompt that asks which labels of a scheme a text bears: what they are, then the text, then a list.

    The structure is that of CrowdCounter's (Saha et al. 2024, table 14, CS-Type); the words are in `prompts/types.j2`.
    `template` "types-short" is the form for models that are fine-tuned on it, whose inputs are short.
    """
    import jinja2

    mark = secrets.token_hex(16)  # no scheme can hold it, so that none can make a place for a text
    loader = jinja2.FileSystemLoader(folder("prompts"))
    made = jinja2.Environment(
        loader=loader, undefined=jinja2.StrictUndefined, autoescape=False, trim_blocks=False, keep_trailing_newline=True
    )
    shown = made.get_template(f"{template}.j2").render(scheme=scheme, slot=mark)
    before, after = shown.rstrip("\n").split(mark)
    return Prompt((Part(before), Part(slot=ROLE), Part(after)) if after else (Part(before), Part(slot=ROLE)))


def list_schema(scheme: Scheme) -> str:
    """Return the JSON schema of a reply: a list of names of the scheme, none twice."""
    types: dict[str, Any] = {
        "type": "array",
        "items": {"type": "string", "enum": list(scheme.names)},
        "minItems": 0 if scheme.empty else 1,
        "maxItems": len(scheme.names),
    }
    return json.dumps(
        {"type": "object", "properties": {"types": types}, "required": ["types"], "additionalProperties": False}
    )
