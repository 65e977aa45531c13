"""The sentences of a criteria rubric: what a reader looks at, and which way it counts."""

from __future__ import annotations

from collections.abc import Sequence

from calibrator.aspects import Aspect
from calibrator.criteria import BY_NAME, Criterion
from calibrator.records import Measure, Step

TOLD_AT_MOST = 3  # criteria in one step


def told(measures: Sequence[Measure], aspect: Aspect) -> tuple[Step, ...]:
    """Return the steps that tell a reader of `measures`, the weightiest first.

    Criteria of one theme that count the same way stand in one step, weightiest first, `TOLD_AT_MOST` in each. A product
    of two criteria is a step of its own.
    """
    bundles: list[list[Measure]] = []
    unfilled: dict[tuple[str, bool], list[Measure]] = {}
    for measure in sorted(measures, key=lambda m: -abs(m.weight)):
        if measure.times is not None:
            bundles.append([measure])
            continue
        key = (BY_NAME[measure.criterion].theme, measure.weight >= 0)
        if len(unfilled.get(key, ())) in (0, TOLD_AT_MOST):
            unfilled[key] = []
            bundles.append(unfilled[key])
        unfilled[key].append(measure)
    ordered = sorted(bundles, key=lambda bundle: -sum(abs(m.weight) for m in bundle))
    return tuple(Step(sentence(bundle, aspect), tuple(bundle)) for bundle in ordered)


def sentence(bundle: Sequence[Measure], aspect: Aspect) -> str:
    """Return the sentence of a step: what to look at, and which way it counts."""
    criteria = [BY_NAME[m.criterion] for m in bundle]
    up, down = ("higher", "lower") if bundle[0].weight >= 0 else ("lower", "higher")
    if bundle[0].times is not None:
        first, second = _looks([*criteria, BY_NAME[bundle[0].times.criterion]], aspect)
        both = "where both are above average or both below it"
        return f"Look at {first} together with {second}: {both}, the score is {up}; where only one is, {down}."
    looks = _looks(criteria, aspect)
    what = looks[0] if len(looks) == 1 else f"{'; '.join(looks[:-1])}; and {looks[-1]}"
    more = criteria[0].more if len(criteria) == 1 else "more of this"
    return f"Look at {what}: the {more}, the {up} the score."


def _looks(criteria: Sequence[Criterion], aspect: Aspect) -> list[str]:
    """Return what to look at, the text named once and "it" from then on."""
    names = [f"the {aspect.called('output')}"] + ["it"] * (len(criteria) - 1)
    source = f"the {aspect.called('source')}"
    return [c.look.format(output=name, source=source) for c, name in zip(criteria, names, strict=True)]
