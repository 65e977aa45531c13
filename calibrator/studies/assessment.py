"""An overall assessment from several components, each on a scale of its own, and what to improve.

The guideline on effectiveness whose six components are `rubrics/aspects/effectiveness/` wants an overall score that
also says where a text can be made better, but gives no formula and no weights. Here each component counts by how far
it is on its own scale, all the same unless weights are given, and what to improve is where the overall loses most.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.aspects import Aspect, Scale
from calibrator.evaluation.unified import on_scale

SHARE = Scale(0, 1)
SAME = 1e-9  # part by which two costs may differ and be the same
NOTHING = "nothing: every component is at its best"


@dataclass(frozen=True, slots=True)
class Gap:
    """A component that is not at its best.

    `score` and `best` are on the component's own scale; `lost` is what the overall loses by it, a share of 0 to 1.
    """

    aspect: str
    label: str
    score: float
    best: float
    lost: float

    def __str__(self) -> str:
        return f"{self.label.lower()} ({self.score:g} of {self.best:g})"


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the components of a text come to.

    `shares` is how far each is on its own scale, 0 (worst) to 1 (best), nan where it has no score; `overall` is their
    weighted mean, nan if one has no score: `missing` names those. `improve` are the components that are not at their
    best, the one that costs most first, ties in the order of the aspects.
    """

    shares: Mapping[str, float]
    overall: float
    improve: tuple[Gap, ...]
    missing: tuple[str, ...]

    def in_words(self, most: int | None = None) -> str:
        """Return in a line what to improve, at most so many components: "improve: evidence (1 of 3), …"."""
        named = [str(gap) for gap in self.improve[:most]]
        unknown = f"; no score: {', '.join(self.missing)}" if self.missing else ""
        return f"improve: {', '.join(named) or ('not known' if self.missing else NOTHING)}{unknown}"


def assess(
    scores: Mapping[str, float], aspects: Mapping[str, Aspect], weights: Mapping[str, float] | None = None
) -> Assessment:
    """Return the overall assessment of a text from its `scores` by the names of `aspects`, each on the aspect's scale.

    A score that is absent, nan or off its scale is none. `weights` says how much a component counts beside the others
    (1 where it does not say); 0 leaves it out of the overall, and of what to improve. Raises ValueError without an
    aspect, for a score or a weight of none of them, and for weights that are negative, not finite or all 0.
    """
    weigh = dict.fromkeys(aspects, 1.0) | dict(weights or {})
    unknown = sorted((set(scores) | set(weigh)) - set(aspects))
    if unknown or not aspects:
        raise ValueError(f"there is no aspect {', '.join(unknown)}" if unknown else "an assessment needs an aspect")
    if not all(math.isfinite(w) and w >= 0 for w in weigh.values()) or not any(weigh.values()):
        raise ValueError(f"weights are finite, not negative and not all 0, unlike {dict(weights or {})}")
    total = sum(weigh.values())
    shares = {n: float(on_scale(np.array([scores.get(n, math.nan)]), a, SHARE)[0]) for n, a in aspects.items()}
    counted = [n for n in aspects if weigh[n] > 0]
    missing = tuple(n for n in counted if math.isnan(shares[n]))
    overall = math.nan if missing else math.fsum(weigh[n] * shares[n] for n in counted) / total
    gaps = [
        Gap(n, aspects[n].label, scores[n], best_of(aspects[n]), weigh[n] * (1 - shares[n]) / total)
        for n in counted
        if shares[n] < 1
    ]
    return Assessment(shares, overall, tuple(sorted(gaps, key=lambda g: -g.lost)), missing)


def best_of(aspect: Aspect) -> float:
    """Return the better end of an aspect's scale."""
    return aspect.scale.high if aspect.better == "higher" else aspect.scale.low


@dataclass(frozen=True, slots=True)
class Summary:
    """Many texts' assessments, of one system say.

    `means` are the mean scores of the components on their own scales, over the texts that have one; `overall` is the
    mean over the `complete` texts that have all; `first` counts which components came first in what to improve: one, or
    several that cost a text the same, in the order of the aspects. nan where there is none.
    """

    texts: int
    complete: int
    means: Mapping[str, float]
    overall: float
    first: Mapping[tuple[str, ...], int]


def summary(
    scores: Sequence[Mapping[str, float]], aspects: Mapping[str, Aspect], weights: Mapping[str, float] | None = None
) -> Summary:
    """Return what the assessments of several texts come to together. Raises as `assess` does."""
    found = [assess(s, aspects, weights) for s in scores]
    whole = [f.overall for f in found if not f.missing]
    means = {}
    for name in aspects:
        given = [s[name] for s, f in zip(scores, found, strict=True) if math.isfinite(f.shares[name])]
        means[name] = math.fsum(given) / len(given) if given else math.nan
    first = Counter(_first(f.improve) for f in found if f.improve and not f.missing)
    overall = math.fsum(whole) / len(whole) if whole else math.nan
    place = {name: k for k, name in enumerate(aspects)}
    ordered = sorted(first, key=lambda names: [place[n] for n in names])
    return Summary(len(found), len(whole), means, overall, {names: first[names] for names in ordered})


def _first(gaps: Sequence[Gap]) -> tuple[str, ...]:
    """Return the components that cost most; several where their costs are the same but for rounding."""
    return tuple(g.aspect for g in gaps if math.isclose(g.lost, gaps[0].lost, rel_tol=SAME))
