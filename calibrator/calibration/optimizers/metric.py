"""What DSPy's optimizers are told of a score: how near it is to the humans', and which way it is wrong."""

from __future__ import annotations

from calibrator.aspects import Scale


def closeness(score: float | None, human: float, scale: Scale) -> float:
    """Return 1 - |score - human| / length of the scale, in [0, 1].

    No score counts 0 here, since DSPy's optimizers average; it is a failure everywhere else.
    """
    if score is None:
        return 0.0
    return 1.0 - min(1.0, abs(score - human) / (scale.high - scale.low))


def feedback(score: float | None, failure: str | None, human: float, scale: Scale) -> str:
    """Return in words what was wrong with a score, for a model that is to better the guide."""
    rated = f"The human raters gave {human:.3g} on the scale {scale}"
    if score is None:
        return f"There is no score: {failure}. {rated}."
    gap = score - human
    if abs(gap) < scale.step / 2:
        return f"{rated}, and so did the assessor: the guide led to the right rating here."
    way, other = ("high", "lower") if gap > 0 else ("low", "higher")
    gave = f"the assessor, who followed the guide, gave {score:.3g}, which is {abs(gap):.3g} too {way}"
    return f"{rated}; {gave}. The guide should lead to a {other} rating of texts like this one."
