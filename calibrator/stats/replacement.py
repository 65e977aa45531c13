"""May a judge stand in for a human annotator? Two tests on ratings that are known annotator by annotator.

The alternative annotator test is that of Calderon, Reichart and Dror (2025, "The Alternative Annotator Test for
LLM-as-a-Judge", ACL, section 3; false-discovery control in their appendix C.6), the human-likeness z that of Han,
Titericz Junior, Balough and Zhou (2025, "Judge's Verdict", arXiv 2510.09738).

Ours, in neither paper: the group-aware test beside the plain one, ties up to rounding, and what happens where a
difference has no spread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats.agreement import cohen_kappa
from calibrator.stats.correlation import ranks
from calibrator.stats.resampling import codes

Array = NDArray[np.float64]
Aligned = Literal["rmse", "accuracy"]
Likeness = Literal["human-like", "super-consistent", "less than human", "low correlation", "undefined"]
EPSILONS: Mapping[str, float] = {"expert": 0.2, "skilled": 0.15, "crowd": 0.1}  # their FAQ and appendix B.1
DISCOVERIES = 0.05  # the share of false ones among the rejections that is put up with
MAJORITY = 0.5  # of the annotators must be beaten (section 3.3)
FEW = 30  # items below which the t test is left for the signed-rank test (section 3.3)
ANNOTATORS = 3  # at least: with two, the "remaining annotators" are one person's taste
CORRELATED = 0.80  # Pearson's r that a judge must reach before its kappas are looked at
ALIKE = 1.0  # |z| below it is human-like
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class AgainstOne:
    """The judge beside one annotator, both against the remaining ones; `annotator` is the number of a column.

    `rho`: the share of `items` in which the judge comes at least as near to the others as the annotator does;
    `rho_human`: the share in which the annotator comes at least as near as the judge; `ties`: where both do. `p` is
    that of the null hypothesis rho <= rho_human - epsilon by the `test` named, `rejected` after false-discovery
    control; `p_grouped` and `rejected_grouped` the same where items of one of the `groups` may go together (nan with
    fewer than two groups, and then not rejected).
    """

    annotator: int
    items: int
    groups: int
    rho: float
    rho_human: float
    ties: float
    test: Literal["t", "signed-rank"]
    p: float
    rejected: bool
    p_grouped: float
    rejected_grouped: bool


@dataclass(frozen=True, slots=True)
class AltTest:
    """The alternative annotator test: `omega` and `rho` from 0 to 1.

    `omega` (winning rate): the share of annotators for whom the null hypothesis is rejected; `passed` if it is at
    least one half. `rho` (average advantage probability): the mean of the `lines`' rho, which depends neither on
    epsilon nor on a test and is what judges are compared by. `omega_grouped` and `passed_grouped` take the items of
    one group for dependent.
    """

    lines: tuple[AgainstOne, ...]
    omega: float
    rho: float
    passed: bool
    omega_grouped: float
    passed_grouped: bool
    epsilon: float


@dataclass(frozen=True, slots=True)
class HumanLikeness:
    """Whether a judge's kappas with the annotators look like those of the annotators with each other.

    `r`: Pearson's r of judge and mean of the annotators; `kappa`: the judge's mean kappa over the annotators;
    `humans` and `spread`: mean and standard deviation over the `pairs` of annotators; z = (kappa - humans) / spread.
    `verdict` is "low correlation" where r is below 0.80 (the first step, whatever z is), else "human-like" with
    |z| < 1, "super-consistent" above, "less than human" below, "undefined" where z is nan.
    """

    r: float
    kappa: float
    humans: float
    spread: float
    z: float
    pairs: int
    verdict: Likeness


def alternative_annotator_test(
    judge: Array, ratings: Array, groups: Sequence[str], epsilon: float, aligned: Aligned = "rmse"
) -> AltTest:
    """Return how a judge does in the alternative annotator test.

    `judge` (n,) holds its scores, `ratings` (n, k) those of the annotators, a column each, nan where one did not rate
    an item; `groups` are n names. `epsilon`, 0 to 1, is how much an annotator's advantage is marked down for being
    dearer (`EPSILONS`). An annotator is compared on the items that he and at least one other rated. Alignment is
    minus the root mean squared error to the others ("rmse", for ordered scores) or the share of the others with the
    same label ("accuracy"); ties count for both sides. With d = W_human - W_judge for each item, the null hypothesis
    mean d >= epsilon is tested by the one-sided t test, below 30 items by the exact signed-rank test of d - epsilon;
    then the Benjamini-Yekutieli procedure at 0.05 over all annotators.

    Raises ValueError for other shapes, judge scores that are not finite, an epsilon outside 0 to 1, or fewer than
    three annotators with an item to compare on.
    """
    _check(judge, ratings, groups, epsilon)
    rated = ~np.isnan(ratings)
    usable = rated & (rated.sum(axis=1, keepdims=True) > 1)
    columns = [j for j in range(ratings.shape[1]) if usable[:, j].any()]
    if len(columns) < ANNOTATORS:
        raise ValueError(f"the test needs {ANNOTATORS} annotators or more, not {len(columns)}")
    places = [np.flatnonzero(usable[:, j]) for j in columns]
    ahead = [_ahead(judge[p], ratings[p], j, aligned) for j, p in zip(columns, places, strict=True)]
    apart = [_sides(a) for a in ahead]
    everyone = codes(groups)
    members = [everyone[p] for p in places]
    p = [_below(d, epsilon) for d in apart]
    grouped = [clustered_t(d, m, epsilon) for d, m in zip(apart, members, strict=True)]
    rejected, rejected_grouped = benjamini_yekutieli(p), benjamini_yekutieli(grouped)
    lines = tuple(
        AgainstOne(
            annotator=j,
            items=len(a),
            groups=len(np.unique(members[k])),
            rho=float((a >= 0).mean()),
            rho_human=float((a <= 0).mean()),
            ties=float((a == 0).mean()),
            test="t" if len(a) >= FEW else "signed-rank",
            p=p[k],
            rejected=rejected[k],
            p_grouped=grouped[k],
            rejected_grouped=rejected_grouped[k],
        )
        for k, (j, a) in enumerate(zip(columns, ahead, strict=True))
    )
    omega, omega_grouped = float(np.mean(rejected)), float(np.mean(rejected_grouped))
    rho = float(np.mean([line.rho for line in lines]))
    return AltTest(lines, omega, rho, omega >= MAJORITY, omega_grouped, omega_grouped >= MAJORITY, epsilon)


def _check(judge: Array, ratings: Array, groups: Sequence[str], epsilon: float) -> None:
    if ratings.ndim != 2 or judge.shape != ratings.shape[:1] or len(groups) != len(judge):
        raise ValueError(f"shapes do not fit: judge {judge.shape}, ratings {ratings.shape}, {len(groups)} groups")
    if not np.isfinite(judge).all() or np.isinf(ratings).any():
        raise ValueError("scores and ratings must be finite: leave out what the judge failed on")
    if not 0 <= epsilon <= 1:
        raise ValueError(f"epsilon must be from 0 to 1, not {epsilon}")


def _ahead(judge: Array, ratings: Array, own: int, aligned: Aligned) -> Array:
    """Return by how much the judge is better aligned with the others than annotator `own`, 0 for a tie; (n,)."""
    others = np.delete(ratings, own, axis=1)
    count = (~np.isnan(others)).sum(axis=1)

    def misfit(scores: Array) -> Array:
        apart = others - scores[:, None]
        # The root is left out: who has the smaller mean square has the smaller root of it.
        cost = apart**2 if aligned == "rmse" else (np.abs(apart) > ROUNDING).astype(float)
        total: Array = np.where(np.isnan(others), 0.0, cost).sum(axis=1) / count
        return total

    ahead = misfit(ratings[:, own]) - misfit(judge)
    return np.where(np.abs(ahead) <= ROUNDING, 0.0, ahead)


def _sides(ahead: Array) -> Array:
    """Return d = W_human - W_judge: -1 where the judge alone is nearer, 1 where the annotator is, 0 for a tie."""
    return np.asarray(-np.sign(ahead), dtype=float)


def _below(d: Array, epsilon: float) -> float:
    """Return the one-sided p of mean d >= epsilon, as the paper has it."""
    if len(d) < FEW:
        return signed_rank(d - epsilon)
    spread = float(d.std(ddof=1))
    return _t(float(d.mean()) - epsilon, spread / np.sqrt(len(d)), len(d) - 1)


def _t(above: float, error: float, freedom: int) -> float:
    """Return the lower tail of Student's t; without any spread the sign of `above` settles it."""
    if error <= ROUNDING:
        return 0.0 if above < -ROUNDING else 1.0
    return float(stats.t.cdf(above / error, freedom))


def signed_rank(values: Array) -> float:
    """Return the exact one-sided p of the signed-rank test (Wilcoxon 1945) that `values` (n,) lie at 0 or above.

    Zeros are left out and equal sizes share their rank, which the distribution takes into account: all 2^n choices of
    signs are counted. 1 where no value differs from 0. It tests the centre of a symmetric distribution. Of d - epsilon,
    which takes three values, that is not the mean, and a true null hypothesis is rejected far too often: at 0.05, where
    four items in five tie and one goes to the annotator (mean d = epsilon = 0.2), in 41 % of samples of 20.
    """
    sizes = np.round(values, 12)
    sizes = sizes[sizes != 0]
    if not len(sizes):
        return 1.0
    doubled = np.rint(2 * ranks(np.abs(sizes))).astype(int)
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled:
        moved = np.zeros_like(chance)
        moved[rank:] = chance[: len(chance) - rank]
        chance = (chance + moved) / 2
    return float(min(1.0, chance[: int(doubled[sizes > 0].sum()) + 1].sum()))


def clustered_t(d: Array, groups: NDArray[np.int64], epsilon: float) -> float:
    """Return the one-sided p of mean d >= epsilon where values of one group may go together; nan below two groups.

    The mean of `d` (n,) with a cluster-robust error (Liang and Zeger 1986; finite-sample factor G / (G - 1)) on
    G - 1 degrees of freedom, `groups` (n,) being numbers. With one value a group it is the plain t test.
    """
    _, member = np.unique(groups, return_inverse=True)
    count = int(member.max()) + 1 if len(member) else 0
    if count < 2:
        return float("nan")
    sums = np.bincount(member, weights=d - d.mean())
    error = float(np.sqrt(count / (count - 1) * (sums**2).sum()) / len(d))
    return _t(float(d.mean()) - epsilon, error, count - 1)


def benjamini_yekutieli(p: Sequence[float], q: float = DISCOVERIES) -> list[bool]:
    """Return which hypotheses are rejected, in the order given (Benjamini and Yekutieli 2001, theorem 1.3).

    The share of false rejections is at most `q` in expectation, however the tests depend on each other. A nan is
    never rejected and counts as a test.
    """
    values = np.nan_to_num(np.asarray(p, dtype=float), nan=1.0)
    size = len(values)
    order = np.argsort(values, kind="stable")
    bars = np.arange(1, size + 1) / size * q / (1 / np.arange(1, size + 1)).sum()
    under = np.flatnonzero(values[order] <= bars)
    rejected = np.zeros(size, dtype=bool)
    if len(under):
        rejected[order[: under[-1] + 1]] = True
    return [bool(r) for r in rejected]


def on_points(values: Array, low: float, high: float, step: float) -> Array:
    """Return `values` at the nearest points of a scale, halves upwards and never past an end; nan stays nan."""
    last = np.floor((high - low) / step + ROUNDING)
    number = np.clip(np.floor((values - low) / step + 0.5 + ROUNDING), 0, last)
    return np.asarray(low + step * number)


def human_likeness(
    labels: Array, ratings: Array, r: float, weights: Literal["linear", "quadratic"] | None = None
) -> HumanLikeness:
    """Return the human-likeness z of a judge (Judge's Verdict 2025); weights None is Cohen's kappa, as there.

    `labels` (n,) and `ratings` (n, k, nan for gaps) are points of the scale; `r` is Pearson's r of the judge's own
    scores with the mean of the annotators. Taken from the paper: r >= 0.80 first; the judge's kappa as the mean of its
    kappas with each annotator; z against mean and standard deviation of the annotators' kappas with each other;
    |z| < 1 and z > 1. The text of the paper was at hand in its abstract and in other people's summaries only. Ours:
    the standard deviation is that of a sample (divisor pairs - 1), kappas that are not defined are left out, "less
    than human" is a name for what the paper leaves without one, and so are quadratic weights. The z that the paper
    prints for its judges cannot all come from one mean and spread of human pairs (kappas 0.728 and 0.730 stand beside
    -1.55 and -2.73), so its own runs did something more that the summaries do not tell: compare our z with each other
    only.
    """
    own = [cohen_kappa(labels, ratings[:, j], weights) for j in range(ratings.shape[1])]
    among = [cohen_kappa(ratings[:, i], ratings[:, j], weights) for i, j in combinations(range(ratings.shape[1]), 2)]
    mine, pairs = (np.array([v for v in several if np.isfinite(v)]) for several in (own, among))
    kappa = float(mine.mean()) if len(mine) else float("nan")
    humans = float(pairs.mean()) if len(pairs) else float("nan")
    spread = float(pairs.std(ddof=1)) if len(pairs) > 1 else float("nan")
    z = (kappa - humans) / spread if spread > ROUNDING else float("nan")
    return HumanLikeness(r, kappa, humans, spread, z, len(pairs), _likeness(r, z))


def _likeness(r: float, z: float) -> Likeness:
    if not np.isfinite(z) or not np.isfinite(r):
        return "undefined"
    if r < CORRELATED:
        return "low correlation"
    if abs(z) < ALIKE:
        return "human-like"
    return "super-consistent" if z > 0 else "less than human"
