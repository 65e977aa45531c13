"""An LLM judge with one thing changed."""

from __future__ import annotations

from dataclasses import replace

from calibrator.judges.llm import LLMJudge
from calibrator.models.base import ChatRequest
from calibrator.prompts import Prompt
from calibrator.records import Item


class Variant(LLMJudge):
    """The same judge with another prompt, another temperature, or other draws of the replies.

    `draw` counts the repeats of a judgment, from 1 up: each asks for replies of its own by the number of the draw and
    by the seed, so that neither a cache nor a server gives the first ones again. 0 asks as the judge itself does.
    """

    def __init__(
        self,
        judge: LLMJudge,
        *,
        prompt: Prompt | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        draw: int = 0,
    ) -> None:
        """`prompt` has the same places for texts as the judge's own; `seed` is for replies at another temperature."""
        vars(self).update(vars(judge))
        self._draw = draw
        if prompt is not None:
            self.prompt = prompt
        if temperature is not None:
            self.sampling = replace(judge.sampling, temperature=temperature, seed=seed)

    def requests(self, item: Item) -> tuple[ChatRequest, ...]:
        """Return what is asked for an item."""
        usual = super().requests(item)
        if not self._draw:
            return usual
        numbers = range(self._draw * len(usual), (self._draw + 1) * len(usual))
        return tuple(
            replace(r, sampling=replace(r.sampling, seed=n), sample=n) for n, r in zip(numbers, usual, strict=True)
        )
