"""The embedded drafter: fits a short rubric of measurable criteria to rated exemplars. No model, no network.

A full model of all criteria, with their products where these help, takes the noise out of the ratings; the rubric is
its projection on at most `TERMS_AT_MOST` criteria and products (see `stats.linear.project`), told in at most
`STEPS_AT_MOST` steps: kindred criteria that count the same way are one sentence. Temperature perturbs which are
preferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.criteria import VERSION, Measured
from calibrator.drafting.base import DraftRequest, RefineRequest
from calibrator.drafting.fitting import Fit, fit, known_of, smoothing_of
from calibrator.drafting.moves import MOVES
from calibrator.drafting.telling import told
from calibrator.drafting.terms import PAIRS, SINGLES, TERMS, measure_of, place_of
from calibrator.records import Item, Rubric
from calibrator.stats.linear import project
from calibrator.stats.smoothing import Smoothing

STEPS_AT_MOST = 12
TERMS_AT_MOST = 24
PAIRS_AT_MOST = 4
VOTE = 0.25  # how much a criterion that all of the best hold is preferred to one that none holds
EMPHASIS = 3.0  # how often a disagreement counts beside an exemplar when a rubric is refined

Array = NDArray[np.float64]


class CriteriaDrafter:
    """Drafts and refines criteria rubrics.

    `objective` decides what is fitted: the order of the items (spearman, kendall) or their ratings (pearson, mae).
    `share`, 0 to 1, is how much of each system's mean is taken off criteria and ratings before the fit. `pairs` is how
    many products a rubric may hold.
    """

    id = f"criteria/{VERSION}"
    moves = tuple(MOVES)

    def __init__(
        self,
        objective: str = "spearman",
        measured: Measured | None = None,
        size: int = TERMS_AT_MOST,
        share: float = 0.0,
        pairs: int = PAIRS_AT_MOST,
    ) -> None:
        self._by_rank = objective in ("spearman", "kendall")
        self._measured = measured or Measured()
        self._size, self._share, self._pairs = size, share, pairs
        self._smoothing: dict[tuple[str, ...], Smoothing] = {}

    def draft(self, requests: Sequence[DraftRequest]) -> Iterator[Rubric]:
        """Yield rubrics fitted to the exemplars, half of them by lot without products.

        At temperature t a term's merit varies by a factor of e^±t.
        """
        return map(self._drafted, requests)

    def _drafted(self, request: DraftRequest) -> Rubric:
        rng = np.random.default_rng(request.seed)
        favour = np.exp(request.temperature * rng.standard_normal(len(TERMS)))
        pairs = int(rng.choice((0, self._pairs)))
        return self._projected(request.aspect, self._fit(request.exemplars), favour, pairs)

    def refine(self, requests: Sequence[RefineRequest]) -> Iterator[Rubric]:
        """Yield each rubric after one move (see `moves`), fitted anew with the disagreements counting more."""
        return map(self._refined, requests)

    def _refined(self, request: RefineRequest) -> Rubric:
        rng = np.random.default_rng(request.seed)
        disputed = {d.item.key: d.item for d in request.disagreements}
        items = (*(i for i in request.exemplars if i.key not in disputed), *disputed.values())
        noise = np.exp(request.temperature * rng.standard_normal(len(items)))
        importance = np.array([EMPHASIS if i.key in disputed else 1.0 for i in items]) * noise
        fitted = self._fit(items, importance, request.exemplars)
        return self._rubric(
            request.aspect, fitted, MOVES[request.move](_places(request.rubric), fitted, self._size, rng)
        )

    def refit(self, aspect: Aspect, rubrics: Sequence[Rubric], items: Sequence[Item], seed: int) -> Rubric:
        """Return the consensus of `rubrics`, the best of a search, on all `items`.

        The terms are chosen anew: a criterion is favoured by up to `VOTE` as more of `rubrics` hold it, and as many
        products are let in as they have on average. What they agree on stays, and what one of them had by luck has to
        earn its place again on more items.
        """
        count = max(1, len(rubrics))
        held = [place for rubric in rubrics for place in _places(rubric)]
        votes = np.bincount(held, minlength=len(TERMS)) / count
        votes[len(SINGLES) :] = 0.0
        pairs = round(sum(place >= len(SINGLES) for place in held) / count) if rubrics else self._pairs
        return self._projected(aspect, self._fit(tuple(items)), 1.0 + VOTE * votes, pairs)

    def _fit(self, items: tuple[Item, ...], importance: Array | None = None, like: Sequence[Item] | None = None) -> Fit:
        """Return the full model of `items`, regularised as suits `like` (`items` themselves by default)."""
        known = known_of(items, self._measured, self._by_rank)
        whose = items if like is None else tuple(like)
        key = tuple(f"{i.key} {i.human}" for i in whose)
        if key not in self._smoothing:
            near = known if like is None else known_of(whose, self._measured, self._by_rank)
            self._smoothing[key] = smoothing_of(near, self._share, products=self._pairs > 0)
        weight = np.ones(len(items)) if importance is None else importance
        return fit(known, weight, self._smoothing[key], self._share)

    def _projected(self, aspect: Aspect, fitted: Fit, favour: Array, pairs: int) -> Rubric:
        places = project(fitted.terms, fitted.fitted, self._size, favour, rare=len(PAIRS), most=pairs)
        return self._rubric(aspect, fitted, places)

    def _rubric(self, aspect: Aspect, fitted: Fit, places: list[int]) -> Rubric:
        """Return the rubric of some terms: weights that reproduce the full model, put on the scale of the ratings."""
        known = fitted.known
        if not places:  # nothing tells the items apart: the best constant
            return Rubric(aspect.ref, (), float(f"{known.human.mean():.6g}"))
        weights, base = fitted.weights(places)
        line = fitted.terms[:, places] @ weights + base
        slope, level = onto_scale(line, known.human, aspect)
        measures = [
            measure_of(p, w * slope, known.center, known.spread) for p, w in zip(places, weights.tolist(), strict=True)
        ]
        steps = told(measures, aspect)
        if len(steps) > STEPS_AT_MOST:
            weakest = fitted.weakest(places)
            return self._rubric(aspect, fitted, [p for p in places if p != weakest])
        return Rubric(aspect.ref, steps, float(f"{base * slope + level:.6g}"))


def _places(rubric: Rubric) -> list[int]:
    return [place_of(m) for s in rubric.steps for m in s.measures]


def onto_scale(line: Array, human: Array, aspect: Aspect) -> tuple[float, float]:
    """Return slope and level of the least-squares line from fitted values to ratings; the slope is never negative."""
    spread = float(((line - line.mean()) ** 2).sum())
    slope = float(((line - line.mean()) * (human - human.mean())).sum()) / spread if spread > 1e-12 else 0.0
    slope = max(slope, 1e-3 * (aspect.scale.high - aspect.scale.low))
    return slope, float(human.mean()) - slope * float(line.mean())
