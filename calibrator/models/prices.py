"""What models cost: by the table that litellm ships, read without importing litellm, or as the user says."""

from __future__ import annotations

import functools
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calibrator.errors import ConfigError
from calibrator.records import Usage

TABLE = "model_prices_and_context_window_backup.json"
_FREE, _UNKNOWN = ("local", "vllm-local", "transformers", "replay"), ("vllm",)
_MILLION = 1_000_000
_NUMBER = r"\s*([0-9]{1,9}(?:\.[0-9]*)?|\.[0-9]+)\s*"


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for one token of a prompt, and of a reply; `cached` is for those that the server had in store.

    Where `cached` is None, they cost what others do.
    """

    prompt: float
    completion: float
    cached: float | None = None

    def cost(self, usage: Usage) -> float:
        """Return the cost of a usage in US dollars."""
        stored = min(usage.cached, usage.prompt)
        cached = self.prompt if self.cached is None else self.cached
        return (usage.prompt - stored) * self.prompt + stored * cached + usage.completion * self.completion

    def halved(self) -> Price:
        """Return half the price, which is what a batch costs."""
        return Price(self.prompt / 2, self.completion / 2, None if self.cached is None else self.cached / 2)


def parse_price(text: str) -> Price:
    """Return the price in "0.15/0.60": US dollars per million tokens of prompts, and of replies.

    Raises ConfigError if it is none.
    """
    match = re.fullmatch(f"{_NUMBER}/{_NUMBER}", text)
    if match is None:
        raise ConfigError(
            f"--price: '{text}' is no price; write dollars a million tokens of prompts and of replies, like 0.15/0.60"
        )
    return Price(float(match[1]) / _MILLION, float(match[2]) / _MILLION)


def price_of(name: str) -> Price | None:
    """Return the list price of a model by its name, None if it is not known.

    What runs on this machine, and what is replayed, costs nothing. Of servers named by their address, and of vLLM
    servers, it is not known; of the others the table that litellm ships tells it, if litellm is installed.
    """
    provider, _, model = name.partition("/")
    if provider in _FREE:
        return Price(0.0, 0.0)
    if provider in _UNKNOWN or "://" in name:
        return None
    table = _table()
    entry = None if provider == "openai" else table.get(name)
    if entry is None:  # the table has the models of the providers it began with under their bare names
        tuned = model.startswith("ft:")  # ft:<model>:<organisation>::<id>
        entry = table.get(":".join(model.split(":")[:2]) if tuned else model)
        if not isinstance(entry, dict) or entry.get("litellm_provider") != provider:
            return None
    return _price(entry)


def price_for(name: str, said: Price | None) -> Price | None:
    """Return the price of a model: what runs here is free; else what the user `said`, else the list price."""
    listed = price_of(name)
    free = listed is not None and listed.prompt == listed.completion == 0
    return listed if free or said is None else said


def _price(entry: Any) -> Price | None:
    """Return the price in an entry of the table, None if it lacks one for prompts or for replies."""
    if not isinstance(entry, dict):
        return None
    prompt, completion = _amount(entry, "input_cost_per_token"), _amount(entry, "output_cost_per_token")
    if prompt is None or completion is None:
        return None
    return Price(prompt, completion, _amount(entry, "cache_read_input_token_cost"))


def _amount(entry: Mapping[str, Any], what: str) -> float | None:
    amount = entry.get(what)
    return float(amount) if isinstance(amount, int | float) and amount >= 0 else None


@functools.cache
def _table() -> Mapping[str, Any]:
    """Return litellm's table of prices, an empty one if there is none."""
    package = importlib.util.find_spec("litellm")  # does not import it
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        try:
            table = json.loads((Path(folder) / TABLE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(table, dict):
            return table
    return {}
