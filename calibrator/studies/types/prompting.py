"""The prompts that ask for labels: the list prompt for chat models, and its short form for fine-tuned ones."""

from __future__ import annotations

import json
import secrets
from typing import Any

from calibrator.prompts import Part, Prompt, template
from calibrator.studies.types.scheme import Scheme

ROLE = "text"


def list_prompt(scheme: Scheme, form: str = "list") -> Prompt:
    """Return the prompt that asks which labels of a scheme a text bears: what they are, then the text, then a list.

    The structure is that of CrowdCounter's (Saha et al. 2024, table 14, CS-Type); the words are in `prompts/types/`.
    `form` "short" is the one for models that are fine-tuned on it, whose inputs are short.
    """
    mark = secrets.token_hex(16)  # no scheme can hold it, so that none can make a place for a text
    shown = template(f"types/{form}").render(scheme=scheme, slot=mark)
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
