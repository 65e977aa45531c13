"""Which of several outputs do people prefer? Judges against human rankings, one ranking at a time, by NDCG.

The relevance of an output rises towards the *preferred* end of its ranking, and which end that is the user says: the
number 1 by convention. Whether the numbers run that way in every ranking is looked at first (`rank_directions`).

Three things to know before a figure is believed:

- NDCG of few items is high by chance: five items with relevance 4, 3, 2, 1, 0 in a random order have 0.805 in the
  mean, and with 5, 4, 3, 2, 1 even 0.861. So every figure stands beside those of a random order and of the worst.
- A relevance that rises towards the worst output rewards the worst judge. The published script of CSEval takes the
  rank itself as the relevance; `Standing.published` is that figure, for comparison only.
- Rankings are marked as reversed because judges, or whoever gave the `witnesses`, say so. Without the marked ones, or
  with them turned round, a judge that resembles the witnesses must look better: what disagrees with it was taken out.
  Such figures are no evidence for a judge; evidence about the marks has to come from elsewhere, such as the systems
  (`rank_directions.mirrored`) or whoever collected the rankings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.evaluation.rank_directions import Best, Marks, Rows, marks, rows_of
from calibrator.stats.correlation import kendall, spearman
from calibrator.stats.ranking import ndcg
from calibrator.stats.resampling import Interval, group_weights, percentile_interval

Array = NDArray[np.float64]
RESAMPLES = 2000
DECIMALS = 9


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over rankings with 95 % intervals by bootstrap over groups of them; `rankings` is how many count.

    `ndcg` is 0 to 1, and `random` and `worst` are what every order alike, or the reversed one, would have on the same
    rankings, exactly. `spearman` and `kendall` are within rankings, where they are defined. `top` is the share of
    rankings whose best output the judge puts first, a tie for the first place counting in part; `top_by_chance` that of
    a random order.
    """

    ndcg: Interval
    random: float
    worst: float
    spearman: Interval
    kendall: Interval
    top: Interval
    top_by_chance: float
    rankings: int


@dataclass(frozen=True, slots=True)
class Standing:
    """One judge: over `all` rankings as they are, without those marked as reversed (`kept`), and with those `turned`.

    `kept` and `turned` favour the judges (see the module). `published` has the relevance of the published script, the
    number of the rank itself, which with 1 as the best rewards the worst: never a result, only what it would have
    printed.
    """

    all: Figures
    kept: Figures
    turned: Figures
    published: Figures


@dataclass(frozen=True, slots=True)
class Preference:
    """Several judges against the same rankings.

    All on the `items` that every judge scored; a ranking of fewer than two of them, or with one rank only, is left out
    (`left_out`). `failures` counts the ranked items without a score, by judge; `gains` holds, for each judge but the
    first, how much more NDCG the first has over `all` rankings, paired.
    """

    judges: Mapping[str, Standing]
    gains: Mapping[str, Interval]
    marks: Marks
    best: Best
    failures: Mapping[str, int]
    items: int
    rankings: int
    left_out: int


def by_preference(
    scores: Mapping[str, Array],
    rank: Array,
    rankings: Sequence[str],
    groups: Sequence[str],
    seed: int,
    best: Best = "lowest",
    witnesses: Array | None = None,
    resamples: int = RESAMPLES,
) -> Preference:
    """Return how judges by name order the outputs that people ranked.

    `scores` (n,) each, higher is better (see `evaluation.unified` for aspects where it is not), nan for a failure;
    `rank` (n,), `best` the end of it that is preferred; `rankings`, n names (see `rankings_of`). Resamples draw whole
    `groups` (n names) of rankings, such as those of one source: a ranking belongs to the group of its first item.
    `witnesses` (n, m) are what the marks go by, the judges themselves if not given. Raises ValueError if lengths differ
    or if there is no judge.
    """
    if not scores or {len(rank), len(rankings), len(groups)} != {len(s) for s in scores.values()}:
        raise ValueError("every item needs a score of each judge, a rank, the name of its ranking and a group")
    # Means of the same scores are tied, whatever rounding left of them.
    scores = {name: np.round(s, DECIMALS) for name, s in scores.items()}
    judged = np.column_stack(list(scores.values()))
    found = marks(rank, judged if witnesses is None else witnesses, rankings, best, seed)
    ranked = np.isfinite(rank)
    rows = rows_of(rankings, ranked & np.isfinite(judged).all(axis=1))
    usable = {name: k for name, k in rows.items() if len(k) > 1 and len(set(rank[k])) > 1}
    of_group = [groups[int(k[0])] for k in usable.values()]
    weights = group_weights(of_group, resamples, np.random.default_rng(seed))
    if len(set(of_group)) < 2:
        weights = np.zeros((0, len(of_group)))
    single = {judge: _single(s, _relevance(rank, usable, best), usable) for judge, s in scores.items()}
    first, *others = scores
    return Preference(
        judges={
            judge: _standing(single[judge], s, rank, usable, best, found.reversed, weights)
            for judge, s in scores.items()
        },
        gains={other: _mean(single[first].ndcg - single[other].ndcg, weights) for other in others},
        marks=found,
        best=best,
        failures={name: int((ranked & ~np.isfinite(s)).sum()) for name, s in scores.items()},
        items=sum(map(len, usable.values())),
        rankings=len(usable),
        left_out=len(set(rankings)) - len(usable),
    )


@dataclass(frozen=True, slots=True)
class _Single:
    """The figures of one judge in each ranking, each (r,), nan where it is not defined."""

    ndcg: Array
    random: Array
    worst: Array
    spearman: Array
    kendall: Array
    top: Array
    chance: Array


def _standing(
    single: _Single, scores: Array, rank: Array, rows: Rows, best: Best, reversed_: Sequence[str], weights: Array
) -> Standing:
    every = np.ones(len(rows), dtype=bool)
    kept = np.array([name not in reversed_ for name in rows], dtype=bool)
    turned = _single(scores, _relevance(rank, rows, best, reversed_), rows)
    return Standing(
        all=_figures(single, every, weights),
        kept=_figures(single, kept, weights),
        turned=_figures(turned, every, weights),
        published=_figures(_single(scores, rank, rows), every, weights),
    )


def _relevance(rank: Array, rows: Rows, best: Best, reversed_: Sequence[str] = ()) -> Array:
    """Return each item's relevance, 0 for the worst of its ranking; in those `reversed_` the other end is the best."""
    relevance = np.full(len(rank), np.nan)
    for name, k in rows.items():
        upward = (best == "highest") != (name in reversed_)
        relevance[k] = rank[k] - rank[k].min() if upward else rank[k].max() - rank[k]
    return relevance


def _single(scores: Array, relevance: Array, rows: Rows) -> _Single:
    columns = [_of_ranking(relevance[k], scores[k]) for k in rows.values()]
    return _Single(*np.array(columns, dtype=float).reshape(-1, 7).T)


def _of_ranking(relevance: Array, score: Array) -> tuple[float, ...]:
    first, best = score == score.max(), relevance == relevance.max()
    return (
        ndcg(relevance, score),
        ndcg(relevance, np.zeros(len(relevance))),  # all tied: the mean over all orders, so what a random one expects
        ndcg(relevance, -relevance),
        float(spearman(relevance, score)),
        float(kendall(relevance, score)),
        float(best[first].mean()),
        float(best.mean()),
    )


def _figures(single: _Single, chosen: NDArray[np.bool_], weights: Array) -> Figures:
    def over(figures: Array) -> Interval:
        return _mean(figures[chosen], weights[:, chosen])

    return Figures(
        ndcg=over(single.ndcg),
        random=over(single.random).value,
        worst=over(single.worst).value,
        spearman=over(single.spearman),
        kendall=over(single.kendall),
        top=over(single.top),
        top_by_chance=over(single.chance).value,
        rankings=int(chosen.sum()),
    )


def _mean(figures: Array, weights: Array) -> Interval:
    """Return the mean of the figures that are defined, with the interval of the same mean in the resamples."""
    there = np.isfinite(figures)
    if not there.any():
        return Interval(*[float("nan")] * 3)
    counts = weights[:, there]
    total = counts.sum(axis=1)
    draws = np.where(total > 0, counts @ figures[there] / np.where(total > 0, total, 1.0), np.nan)
    return percentile_interval(float(figures[there].mean()), draws)
