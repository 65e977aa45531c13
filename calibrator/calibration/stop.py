"""Stopping: the one rule that says whether another round of refinement is worth while."""

from __future__ import annotations

from collections.abc import Sequence

LEAST_GAIN = 0.002


def gained(history: Sequence[float], least: float = LEAST_GAIN) -> bool:
    """Whether the last round bettered the best objective by at least `least`; true before the first round."""
    return len(history) < 2 or history[-1] - history[-2] >= least
