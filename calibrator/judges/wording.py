"""A rubric in words, as people and models read it: the sentences, and how much each counts where that is known."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.records import Rubric, Step

WEIGHT_WORDS = ((0.75, "decisive"), (0.4, "strong"), (0.15, "moderate"), (0.0, "slight"))


def worth(step: Step) -> float:
    """Return the points of the scale that a step is worth when all it looks at is one standard deviation up."""
    return sum(m.weight for m in step.measures)


def weight_in_words(step: Step, steps: Sequence[Step]) -> str:
    """Return how much a step counts beside the weightiest of all: decisive, strong, moderate or slight."""
    most = max((abs(worth(s)) for s in steps), default=0.0)
    share = abs(worth(step)) / most if most else 0.0
    return next(word for least, word in WEIGHT_WORDS if share >= least)


def in_words(rubric: Rubric) -> tuple[str, ...]:
    """Return the steps as sentences; behind a measured one stands how much it counts."""
    return tuple(
        f"{s.text} ({weight_in_words(s, rubric.steps).capitalize()}.)" if s.measures else s.text for s in rubric.steps
    )
