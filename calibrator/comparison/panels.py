"""Panels: fitted on train and dev, their members' scores cross-fitted by group; the best under a cost chosen on dev."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect
from calibrator.comparison.joining import Join, Joined, join_by_fit, join_by_ranks
from calibrator.comparison.making import Made
from calibrator.criteria import Measured
from calibrator.errors import ConfigError
from calibrator.evaluation.agreement import MOST_FAILURES, scores_of
from calibrator.judges.criteria import CriteriaJudge
from calibrator.judges.panel import BOUNDLESS, PanelJudge
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.stats.correlation import objective
from calibrator.stats.linear import folds_of

ALL_PANELS = 6  # of so many members all panels are tried, of more those that a greedy search comes by
FOLDS = 5

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Seat:
    """A judge that may be on a panel: its scores (n,) of train and dev, and what it costs to score an item.

    The scores of a judge that is fitted are cross-fitted: each item's is by a fit without its group. `cost` is in US
    dollars, None where it is not known. `criteria`: the panel measures them itself, and takes no score.
    """

    made: Made
    scores: Array
    cost: float | None

    @property
    def criteria(self) -> bool:
        """Whether this is the embedded judge, which takes part with its single criteria."""
        return self.made.family == "criteria"


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel, its seats in the order of its members, and how it came about, in words.

    `bench` are all that it was made of: the seats, and the embedded judge where the panel measures the criteria itself.
    """

    name: str
    joined: Joined
    seats: tuple[Seat, ...]
    bench: tuple[Seat, ...]
    judge: PanelJudge
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Terms:
    """How panels are fitted: the aspect, the way of joining, the objective, whether judges may count downwards."""

    aspect: Aspect
    join: Join
    objective: str
    measured: Measured
    negative: bool = False
    seed: int = 0


def cross_fitted(made: Made, items: Sequence[Item], seed: int) -> Array:
    """Return the scores (n,) of a judge that is fitted, each by a fit to the items of other groups."""
    assert made.fit is not None
    fold = folds_of([i.group for i in items], FOLDS, np.random.default_rng(seed))
    scores = np.full(len(items), np.nan)
    for k in np.unique(fold):
        judge = made.fit([i for i, f in zip(items, fold, strict=True) if f != k])
        places = np.flatnonzero(fold == k).tolist()
        scores[places] = scores_of(judge.judge([items[p] for p in places]))
    return scores


def join(name: str, seats: Sequence[Seat], items: Sequence[Item], terms: Terms, rows: Sequence[int]) -> Panel:
    """Return the panel of some seats, fitted to the items at some places (`rows`) of those that the seats scored."""
    places = np.array(rows, dtype=np.int64)
    chosen = [items[p] for p in rows]
    alone = terms.join == "fit" and any(s.criteria for s in seats)
    voting = [s for s in seats if not (alone and s.criteria)]
    scores = np.column_stack([s.scores[places] for s in voting]) if voting else np.zeros((len(rows), 0))
    names = [s.made.name for s in voting]
    if terms.join == "ranks":
        joined = join_by_ranks(names, scores, chosen, terms.aspect)
    else:
        by_rank = terms.objective in ("spearman", "kendall")
        measured = terms.measured if alone else None
        joined = join_by_fit(
            names,
            scores,
            chosen,
            terms.aspect,
            measured,
            by_rank=by_rank,
            negative=terms.negative,
            seed=terms.seed,
        )
    part = CriteriaJudge(joined.measured, BOUNDLESS, terms.measured) if joined.measured.steps else None
    judges = [(m, s.made.judge) for m, s in zip(joined.members, voting, strict=True)]
    judge = PanelJudge(name, judges, terms.aspect.scale, joined.measured.base, part)
    return Panel(name, joined, tuple(voting), tuple(seats), judge)


def chosen_under(
    name: str,
    seats: Sequence[Seat],
    items: Sequence[Item],
    terms: Terms,
    train: Sequence[int],
    dev: Sequence[int],
    most: float,
) -> Panel:
    """Return the panel with the best objective on dev among those that cost at most `most` US dollars an item.

    Panels are fitted on the items at the places `train` and compared on those at `dev`; the best is fitted again on
    both. All are compared on the items of dev that every judge scored which scored nearly all; a panel that fails on
    one of them, or on more than `MOST_FAILURES` of dev, is not eligible. Of equals the cheaper one is chosen, then the
    smaller. Raises ConfigError if a price is not known, nobody is cheap enough, or no panel is eligible.
    """
    unknown = [s.made.name for s in seats if s.cost is None]
    if unknown:
        problem = f"the cost of {unknown[0]} is not known; give it: --cost '{unknown[0]}=0.002'"
        raise ConfigError(f"--max-cost-per-item: {problem}")
    common = _scored_by_all(seats, dev)
    human = np.array([items[dev[k]].human for k in common], dtype=float)
    tried: dict[tuple[int, ...], tuple[float, float, int]] = {}

    def merit(some: tuple[int, ...]) -> tuple[float, float, int]:
        if some not in tried:
            panel = join(name, [seats[k] for k in some], items, terms, train)
            given = on_known(panel, items, dev)
            fit = np.isnan(given).mean() <= MOST_FAILURES and not np.isnan(given[common]).any()
            value = objective(terms.objective, given[common], human) if fit else -np.inf
            tried[some] = (value, -_cost([seats[k] for k in some]), -len(some))
        return tried[some]

    def allowed(some: Sequence[int]) -> bool:
        return _cost([seats[k] for k in some]) <= most + 1e-12

    best = _best(len(seats), merit, allowed)
    if best is None:
        raise ConfigError(f"--max-cost-per-item: nobody scores an item for {most:g} US dollars")
    if merit(best)[0] == -np.inf:
        problem = f"no panel of at most {most:g} US dollars an item scores {1 - MOST_FAILURES:.0%} of dev"
        raise ConfigError(f"--max-cost-per-item: {problem}")
    panel = join(name, [seats[k] for k in best], items, terms, [*train, *dev])
    members = ", ".join(seats[k].made.name for k in best)
    cost = _cost([seats[k] for k in best])
    about = f"chosen on dev among {len(tried)} panels of at most {most:g} US dollars an item: {members} ({cost:g})"
    return replace(panel, notes=(about,))


def _scored_by_all(seats: Sequence[Seat], rows: Sequence[int]) -> NDArray[np.int64]:
    """Return which of the items at `rows` every seat scored that failed on at most `MOST_FAILURES` of them."""
    there = [~np.isnan(s.scores[list(rows)]) for s in seats]
    full = [t for t in there if t.mean() >= 1 - MOST_FAILURES]
    return np.flatnonzero(np.all(full, axis=0)) if full else np.arange(len(rows))


def _best(
    count: int, merit: Callable[[tuple[int, ...]], tuple[float, float, int]], allowed: Callable[[Sequence[int]], bool]
) -> tuple[int, ...] | None:
    """Return the best of all allowed sets of `count` members; of many members, that which a greedy search ends with."""
    if count <= ALL_PANELS:
        sets = [c for size in range(1, count + 1) for c in combinations(range(count), size) if allowed(c)]
        return max(sets, key=merit, default=None)
    best: tuple[int, ...] = ()
    while True:
        more = [tuple(sorted((*best, k))) for k in range(count) if k not in best]
        more = [some for some in more if allowed(some)]
        if not more:
            return best or None
        found = max(more, key=merit)
        if best and merit(found) <= merit(best):
            return best
        best = found


def on_known(panel: Panel, items: Sequence[Item], rows: Sequence[int]) -> Array:
    """Return what a panel gives the items at some places of train and dev, from its seats' scores there; nan for none.

    Members that are fitted count with their cross-fitted scores.
    """
    some = [items[p] for p in rows]
    given: list[list[Verdict]] = [
        [
            Failure(i.id, "no score") if np.isnan(s) else Judgment(i.id, float(s), "known")
            for i, s in zip(some, seat.scores[list(rows)], strict=True)
        ]
        for seat in panel.seats
    ]
    return scores_of(panel.judge.joined(some, given, panel.judge.measure(some)))


def shares(panel: Panel) -> tuple[tuple[str, float], ...]:
    """Return what each member and each step of a panel is worth, in points of the scale, the weightiest first.

    For a judge: per standard deviation of its scores, or, on a panel by ranks, over the whole range of ranks; for a
    step: when all it looks at is one standard deviation up.
    """
    named = [(m.name, m.weight) for m in panel.joined.members]
    named += [(s.text, sum(m.weight for m in s.measures)) for s in panel.joined.measured.steps]
    return tuple(sorted(named, key=lambda pair: -abs(pair[1])))


def _cost(seats: Sequence[Seat]) -> float:
    return float(sum(s.cost or 0.0 for s in seats))
