"""What `--model-arg` may say of a `transformers/` model."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from calibrator.errors import ConfigError
from calibrator.validation import first_fault

Template = Literal["chat", "turns", "plain"]
_NO_MATTER = frozenset({"download", "device", "adapter"})  # an adapter is told apart by its files


class Arguments(BaseModel):
    """How a model is loaded and its replies are drawn.

    `download` (yes or no) allows that weights are fetched from the hub. `device` is torch's, or "auto"; `dtype` that of
    the weights. `adapter` is the folder of a LoRA adapter. `template` says how messages are put to the model: by its
    chat template, as turns with an end each, or as plain text; by default what its files ask for. `top_p` (0 … 1) and
    `top_k` (0: all) say from which part of the distribution tokens are drawn.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    download: bool = False
    device: str = "auto"
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    adapter: str = ""
    template: Template | None = None
    top_p: float = Field(default=1.0, gt=0, le=1)
    top_k: int = Field(default=0, ge=0)

    def that_matter(self) -> dict[str, Any]:
        """Return those that change a reply and are not as usual, as a JSON object."""
        return self.model_dump(mode="json", exclude_defaults=True, exclude=set(_NO_MATTER))


def arguments_of(given: Mapping[str, str]) -> Arguments:
    """Return the arguments in what was said. Raises ConfigError, which names the key, for one that cannot be used."""
    keyed = {key.strip().replace("-", "_"): text for key, text in given.items()}
    for key in keyed:
        if key not in Arguments.model_fields:
            near = difflib.get_close_matches(key, Arguments.model_fields, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(Arguments.model_fields)}"
            raise ConfigError(f"--model-arg {key}: transformers/ models have no such argument; {hint}")
    try:
        return Arguments.model_validate(keyed)
    except ValidationError as error:
        key, problem = first_fault(error)
        raise ConfigError(f"--model-arg {key}: '{keyed[key]}' does not fit: {problem}") from None
