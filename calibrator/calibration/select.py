"""Selection: the one rule that says which candidates go on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from calibrator.errors import CalibrationError
from calibrator.evaluation.agreement import failures_of, objective_on
from calibrator.records import Candidate, Item, Judgment


def top_k(candidates: Sequence[Candidate], items: Sequence[Item], objective: str, k: int) -> tuple[Candidate, ...]:
    """Return the k best candidates, best first, by the objective on the items that all eligible ones scored.

    Equals are put in order by fewer steps, then by name, so that the result never depends on the order they came in.
    Raises CalibrationError if none is eligible.
    """
    eligible = [c for c in candidates if c.value is not None]
    if not eligible:
        reasons = failures_of(candidates[0].verdicts) if candidates else {}
        told = ", ".join(f"{count} × {reason}" for reason, count in reasons.items()) or "no candidate at all"
        more = "; --max-tokens gives replies more room" if "cut off" in told else ""
        raise CalibrationError(f"no rubric is eligible: more than 5 % of its judgments failed ({told}){more}")
    common = [k for k in range(len(items)) if all(isinstance(c.verdicts[k], Judgment) for c in eligible)]
    if len(common) < len(items):
        shared = [items[k] for k in common]
        values = [objective_on(objective, [c.verdicts[k] for k in common], shared) for c in eligible]
        eligible = [replace(c, value=v) for c, v in zip(eligible, values, strict=True)]
    ranked = sorted(eligible, key=lambda c: (-(c.value or 0.0), len(c.rubric.steps), c.name))
    return tuple(ranked[:k])
