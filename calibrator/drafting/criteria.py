"""The embedded drafter: fits a short rubric of measurable criteria to rated exemplars. No model, no network.

A full ridge regression on all criteria takes the noise out of the ratings; the rubric is its projection on at most
`CRITERIA_AT_MOST` criteria (see `stats.linear.project`), told in at most `STEPS_AT_MOST` steps: kindred criteria that
count the same way are one sentence. Temperature perturbs which criteria are preferred.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.criteria import BY_NAME, CRITERIA, VERSION, Measured
from calibrator.drafting.base import DraftRequest, RefineRequest
from calibrator.records import Item, Measure, Rubric, Step
from calibrator.stats.correlation import normal_scores
from calibrator.stats.linear import center_and_spread, penalty_by_cv, project, ridge, standardise

STEPS_AT_MOST = 12
CRITERIA_AT_MOST = 24
TOLD_AT_MOST = 3  # criteria in one step
EMPHASIS = 3.0  # how often a disagreement counts beside an exemplar when a rubric is refined
_COLUMN = {c.name: j for j, c in enumerate(CRITERIA)}

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Fit:
    """Everything known of some rated items: standardised criteria, ratings, and the full model's fitted values."""

    z: Array
    center: Array
    spread: Array
    human: Array
    fitted: Array
    importance: Array


class CriteriaDrafter:
    """Drafts and refines criteria rubrics.

    `objective` decides what is fitted: the order of the items (spearman, kendall) or their ratings (pearson, mae).
    """

    id = f"criteria/{VERSION}"
    moves = ("modify", "paraphrase", "add", "calibrate")

    def __init__(
        self, objective: str = "spearman", measured: Measured | None = None, size: int = CRITERIA_AT_MOST
    ) -> None:
        self._by_rank = objective in ("spearman", "kendall")
        self._measured = measured or Measured()
        self._size = size

    def draft(self, requests: Sequence[DraftRequest]) -> Iterator[Rubric]:
        """Yield rubrics fitted to the exemplars; at temperature t a criterion's merit varies by a factor of e^±t."""
        return map(self._drafted, requests)

    def _drafted(self, request: DraftRequest) -> Rubric:
        rng = np.random.default_rng(request.seed)
        fit = self._fit(request.exemplars, np.ones(len(request.exemplars)), rng)
        favour = np.exp(request.temperature * rng.standard_normal(len(CRITERIA)))
        return self._rubric(request.aspect, fit, project(fit.z, fit.fitted, self._size, favour))

    def refine(self, requests: Sequence[RefineRequest]) -> Iterator[Rubric]:
        """Yield each rubric after one move, its weights fitted anew with the disagreements counting more.

        modify: only the weights change. paraphrase: one step is put in terms of the unused criterion most like it.
        add: the criterion that explains most of what the rubric misses joins it, in place of the weakest if it is
        full. calibrate: the weakest step goes.
        """
        return map(self._refined, requests)

    def _refined(self, request: RefineRequest) -> Rubric:
        rng = np.random.default_rng(request.seed)
        disputed = {d.item.key: d.item for d in request.disagreements}
        items = (*(i for i in request.exemplars if i.key not in disputed), *disputed.values())
        noise = np.exp(request.temperature * rng.standard_normal(len(items)))
        importance = np.array([EMPHASIS if i.key in disputed else 1.0 for i in items]) * noise
        fit = self._fit(items, importance, rng)
        columns = _columns(request.rubric)
        return self._rubric(request.aspect, fit, self._moved(request.move, columns, fit, rng))

    def refit(self, aspect: Aspect, rubrics: Sequence[Rubric], items: Sequence[Item], seed: int) -> Rubric:
        """Return the consensus of `rubrics`, the best of a search, on all `items`.

        The criteria are chosen anew: one that all of `rubrics` hold is favoured twofold over one that none holds. What
        they agree on stays, and what one of them had by luck has to earn its place again on more items.
        """
        rng = np.random.default_rng(seed)
        fit = self._fit(tuple(items), np.ones(len(items)), rng)
        votes = np.zeros(len(CRITERIA))
        for rubric in rubrics:
            votes[_columns(rubric)] += 1
        return self._rubric(aspect, fit, project(fit.z, fit.fitted, self._size, 1.0 + votes / len(rubrics)))

    def _fit(self, items: tuple[Item, ...], importance: Array, rng: np.random.Generator) -> _Fit:
        x = self._measured(items)
        center, spread = (np.array([float(f"{v:.6g}") for v in part]) for part in center_and_spread(x))
        z = standardise(x, center, spread)
        human = np.array([i.human for i in items], dtype=float)
        target = _rank_target(human) if self._by_rank else human
        penalty = penalty_by_cv(z, target, [i.group for i in items], rng)
        weights, base = ridge(z, target, penalty, importance)
        return _Fit(z, center, spread, human, z @ weights + base, importance)

    def _moved(self, move: str, columns: list[int], fit: _Fit, rng: np.random.Generator) -> list[int]:
        strength = np.abs(ridge(fit.z[:, columns], fit.fitted, 1.0, fit.importance)[0])
        weakest = columns[int(np.argmin(strength))]
        unused = [j for j in range(len(CRITERIA)) if j not in columns and fit.z[:, j].std() > 0]
        if move == "calibrate" and len(columns) > 1:
            return [c for c in columns if c != weakest]
        if move == "paraphrase" and unused:
            old = columns[int(rng.integers(len(columns)))]
            likeness = np.abs(fit.z[:, unused].T @ fit.z[:, old])
            new = unused[int(np.argmax(likeness))]
            return [new if c == old else c for c in columns]
        if move == "add" and unused:
            kept = [c for c in columns if c != weakest] if len(columns) >= self._size else columns
            weights, base = ridge(fit.z[:, kept], fit.fitted, 1.0, fit.importance)
            missed = fit.importance * (fit.fitted - fit.z[:, kept] @ weights - base)
            return [*kept, unused[int(np.argmax(np.abs(fit.z[:, unused].T @ missed)))]]
        return columns

    def _rubric(self, aspect: Aspect, fit: _Fit, columns: list[int]) -> Rubric:
        """Return the rubric of some columns: weights that reproduce the full model, put on the scale of the ratings."""
        if not columns:  # nothing tells the items apart: the best constant
            return Rubric(aspect.ref, (), float(f"{fit.human.mean():.6g}"))
        weights, base = ridge(fit.z[:, columns], fit.fitted, 1.0, fit.importance)
        line = fit.z[:, columns] @ weights + base
        slope, level = _onto_scale(line, fit.human, aspect)
        measures = [
            Measure(CRITERIA[c].name, float(f"{w * slope:.6g}"), float(fit.center[c]), float(fit.spread[c]))
            for c, w in zip(columns, weights, strict=True)
        ]
        steps = told(measures, aspect)
        if len(steps) > STEPS_AT_MOST:
            weakest = columns[int(np.argmin(np.abs(weights)))]
            return self._rubric(aspect, fit, [c for c in columns if c != weakest])
        return Rubric(aspect.ref, steps, float(f"{base * slope + level:.6g}"))


def _columns(rubric: Rubric) -> list[int]:
    return [_COLUMN[m.criterion] for s in rubric.steps for m in s.measures]


def _rank_target(human: Array) -> Array:
    """Return what is fitted where the order counts: half the ratings, half their normal scores, both standardised.

    Normal scores alone aim at the order, but make much of small differences where ratings crowd; the ratings alone let
    a few extreme items lead.
    """
    parts = [(v - v.mean()) / spread for v in (human, normal_scores(human)) if (spread := v.std()) > 0]
    target: Array = np.mean(parts, axis=0) if parts else human
    return target


def _onto_scale(line: Array, human: Array, aspect: Aspect) -> tuple[float, float]:
    """Return slope and level of the least-squares line from fitted values to ratings; the slope is never negative."""
    spread = float(((line - line.mean()) ** 2).sum())
    slope = float(((line - line.mean()) * (human - human.mean())).sum()) / spread if spread > 1e-12 else 0.0
    slope = max(slope, 1e-3 * (aspect.scale.high - aspect.scale.low))
    return slope, float(human.mean()) - slope * float(line.mean())


def told(measures: Sequence[Measure], aspect: Aspect) -> tuple[Step, ...]:
    """Return the steps that tell a reader of `measures`, the weightiest first.

    Criteria of one theme that count the same way stand in one step, weightiest first, `TOLD_AT_MOST` in each.
    """
    bundles: list[list[Measure]] = []
    unfilled: dict[tuple[str, bool], list[Measure]] = {}
    for measure in sorted(measures, key=lambda m: -abs(m.weight)):
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
    names = [f"the {aspect.called('output')}"] + ["it"] * (len(criteria) - 1)
    source = f"the {aspect.called('source')}"
    looks = [c.look.format(output=name, source=source) for c, name in zip(criteria, names, strict=True)]
    what = looks[0] if len(looks) == 1 else f"{'; '.join(looks[:-1])}; and {looks[-1]}"
    more = criteria[0].more if len(criteria) == 1 else "more of this"
    return f"Look at {what}: the {more}, the {'higher' if bundle[0].weight >= 0 else 'lower'} the score."


def uncalibrated(aspect: Aspect, items: Sequence[Item], measured: Measured) -> Rubric:
    """Return the rubric before any rating was seen: criteria that most readers would count, with equal weights.

    Only the texts of `items` are used, to know what is much and what is little; the middle of the scale is an average
    text, and a sixth of its length is what one standard deviation of all criteria together is worth.
    """
    criteria = [c for c in CRITERIA if c.prior]
    center, spread = center_and_spread(measured(tuple(items), criteria))
    sign = 1 if aspect.better == "higher" else -1
    worth = (aspect.scale.high - aspect.scale.low) / 6 / np.sqrt(len(criteria))
    measures = [
        Measure(c.name, float(f"{sign * c.prior * worth:.6g}"), float(f"{m:.6g}"), float(f"{s:.6g}"))
        for c, m, s in zip(criteria, center, spread, strict=True)
    ]
    return Rubric(aspect.ref, told(measures, aspect), (aspect.scale.low + aspect.scale.high) / 2)
