"""The texts of an item in another order in the prompt: should a judge care which it reads first?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from calibrator.evaluation.probes.base import Finding, Subject, beside
from calibrator.evaluation.probes.variant import Variant
from calibrator.prompts import Part, Prompt

RATED = "output"


@dataclass(frozen=True, slots=True)
class Order:
    """Puts the texts, each with the line that names it, into other orders; all else in the prompt stays in place."""

    name: ClassVar[str] = "order"

    def absent(self, subject: Subject) -> str:
        """See `Probe`."""
        if subject.asked is None:
            return "it puts no prompt of its own to a model; it takes texts by their names"
        return "" if orders(slots_of(subject.asked.prompt)) else "its prompt holds one text only"

    def calls(self, subject: Subject) -> int:
        """See `Probe`."""
        tried = len(orders(slots_of(subject.asked.prompt))) if subject.asked else 0
        return tried * len(subject.items) * subject.draws

    def find(self, subject: Subject) -> Finding:
        """Return, for each other order, the correlation with the scores as they were, and the shift."""
        assert subject.asked is not None
        lines = []
        for order in orders(slots_of(subject.asked.prompt)):
            verdicts = subject.judged_by(Variant(subject.asked, prompt=permuted(subject.asked.prompt, order)))
            lines.append(beside(subject, ", ".join(order), subject.scores, verdicts))
        usual = ", ".join(slots_of(subject.asked.prompt))
        return Finding(self.name, f"beside the scores with the texts in the order {usual}", tuple(lines))


def slots_of(prompt: Prompt) -> tuple[str, ...]:
    """Return the roles of the texts in a prompt, in their order."""
    return tuple(p.slot for p in prompt.parts if p.slot)


def orders(roles: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Return the other orders that are tried.

    The rated text first, the others turned round before the rated one, and all turned round, as far as these differ
    from each other and from the order there is. None for a single text, or one that stands in several places.
    """
    usual = tuple(roles)
    if len(set(usual)) < max(2, len(usual)):
        return ()
    others = tuple(r for r in usual if r != RATED)
    rated = (RATED,) if RATED in usual else ()
    tried = ((*rated, *others), (*reversed(others), *rated), usual[::-1])
    return tuple(order for order in dict.fromkeys(tried) if order != usual)


def permuted(prompt: Prompt, order: Sequence[str]) -> Prompt:
    """Return the prompt with its texts in another order.

    The last line before a text, if there is one, names it and goes with it; what stands before that line stays.
    """
    blocks: dict[str, tuple[Part, ...]] = {}
    frame: list[Part | None] = []  # None: the place of a text
    for part in prompt.parts:
        if not part.slot:
            frame.append(part)
            continue
        heading = ""
        if frame and (before := frame[-1]) is not None:
            cut = before.text.rstrip("\n").rfind("\n") + 1
            heading = before.text[cut:]
            frame[-1] = Part(before.text[:cut])
        blocks[part.slot] = (Part(heading), part) if heading else (part,)
        frame.append(None)
    places = iter(order)
    parts = [p for piece in frame for p in (blocks[next(places)] if piece is None else (piece,))]
    return Prompt(tuple(p for p in parts if p.slot or p.text), prompt.role)
