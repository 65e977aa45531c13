"""Does a judge rank systems as humans do? Kendall's tau with its test and its interval over items (Zheng et al.)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.stats.correlation import pearson, spearman
from calibrator.stats.orders import kendall_test, pairs_alike, same_top, smallest_p, tau_draws
from calibrator.stats.resampling import Interval, percentile_interval
from calibrator.stats.systems import resample_weights
from calibrator.studies.ranking.field import Array, Field, only

LEVEL = 0.90  # of the interval of tau
SIGNIFICANT = 0.05
TRUSTED, NOT_TRUSTED, TOO_FEW, UNDEFINED = "trusted", "not trusted", "too few systems", "not defined"
MAYBE_SEEN = "may have seen these items"


@dataclass(frozen=True, slots=True)
class RankAgreement:
    """A judge's ranking of systems against the humans', on the same `items` of as many `systems` and `sources`.

    `tau` is Kendall's tau-b with its 90 % percentile interval: whole sources are drawn anew, the same for all systems,
    judge and humans. It says what these items leave open about the order of *these* systems, nothing of others: with
    few systems tau moves in large steps (2 / 15 with six). `defined` is the share of resamples in which there is a tau.
    `p` is two-tailed; `alike` the share of pairs of systems in the same order, `top` 1 where both have the same system
    first, `top_share` how often that is so in the resamples. `human` and `judged` (k,) are the systems' scores, nan for
    one that has no such item.
    """

    judge: str
    tau: Interval
    p: float
    spearman: float
    pearson: float
    alike: float
    top: float
    top_share: float
    defined: float
    human: Array
    judged: Array
    items: int
    sources: int
    systems: int
    partial: bool


@dataclass(frozen=True, slots=True)
class OnNewSystems:
    """How a judge that was fitted ranks systems whose texts it was not fitted to, each left out of the fit in turn.

    `found` is None where that was not measured; `why` says why.
    """

    found: RankAgreement | None
    verdict: str
    why: str = ""

    @property
    def trusted(self) -> bool:
        """Whether the judge may be trusted to rank new systems."""
        return self.verdict == TRUSTED


def rank_agreement(field: Field, judge: str, resamples: int, seed: int) -> RankAgreement:
    """Return how a judge of the field ranks the systems beside the humans."""
    values = field.judges[judge]
    rows = field.rows_of(values)
    human, judged = (field.plain_scores(v, rows) for v in (field.human, values))
    there = np.isfinite(human) & np.isfinite(judged)
    tau, p = kendall_test(judged[there], human[there])
    drawn_judge, drawn_human = _draws(field, values, rows, resamples, seed)
    draws = tau_draws(drawn_judge[:, there], drawn_human[:, there])
    x, y = judged[there], human[there]
    tops = _tops(field.sign * drawn_judge[:, there], field.sign * drawn_human[:, there])
    return RankAgreement(
        judge=judge,
        tau=percentile_interval(tau, draws, LEVEL) if len(draws) else Interval(tau, float("nan"), float("nan")),
        p=p,
        spearman=float(spearman(x, y)),
        pearson=float(pearson(x, y)),
        alike=pairs_alike(x, y),
        top=float(_tops(field.sign * x[None], field.sign * y[None])[0]) if there.any() else float("nan"),
        top_share=float(np.nanmean(tops)) if np.isfinite(tops).any() else float("nan"),
        defined=float(np.isfinite(draws).mean()) if len(draws) else 0.0,
        human=human,
        judged=judged,
        items=len(rows),
        sources=len(set(field.sources_of(rows))),
        systems=int(there.sum()),
        partial=not field.full(values),
    )


def _draws(field: Field, values: Array, rows: NDArray[np.int64], resamples: int, seed: int) -> tuple[Array, Array]:
    """Return the systems' scores by judge and humans in the same resamples, shape (b, k); none without two sources."""
    sources = field.sources_of(rows)
    if len(set(sources)) < 2:
        nothing = np.zeros((0, len(field.systems)))
        return nothing, nothing
    weights = np.zeros((resamples, len(values)))
    weights[:, rows] = resample_weights(field.member[rows], sources, resamples, np.random.default_rng(seed))
    return field.scores(only(values, rows), weights), field.scores(only(field.human, rows), weights)


def _tops(judged: Array, human: Array) -> Array:
    """Return the agreement on the first system in each resample that has all of them, nan in the others."""
    whole = np.isfinite(judged).all(axis=1) & np.isfinite(human).all(axis=1) & (judged.shape[1] > 0)
    found = np.full(len(judged), np.nan)
    if whole.any():
        found[whole] = same_top(judged[whole], human[whole])
    return found


def verdict_of(agreement: RankAgreement, threshold: float, *, maybe_seen: bool = False) -> str:
    """Return whether a judge may be trusted to rank: the interval's lower end is above the threshold, and p < 0.05.

    With so few systems that not even the same order is significant (four or fewer), that cannot be said, nor of a judge
    that may have been calibrated on some of the items (`maybe_seen`); a tau that is not defined is no trust either.
    """
    if not np.isfinite(agreement.tau.value):
        return UNDEFINED
    if smallest_p(agreement.systems) >= SIGNIFICANT:
        return TOO_FEW
    passed = agreement.tau.low > threshold and agreement.p < SIGNIFICANT
    return NOT_TRUSTED if not passed else MAYBE_SEEN if maybe_seen else TRUSTED


def annotators_agreement(field: Field) -> float:
    """Return Kendall's tau of one annotator's ranking with that of the others, the mean over annotators.

    On the items that all annotators rated; the others' score of a system is the mean of their scores. nan with fewer
    than two annotators, or where no item was rated by all.
    """
    whole = np.flatnonzero(np.isfinite(field.annotators).all(axis=0)) if len(field.annotators) > 1 else np.zeros(0)
    if not len(whole):
        return float("nan")
    scores = np.array([field.plain_scores(values, whole.astype(np.int64)) for values in field.annotators])
    there = np.isfinite(scores).all(axis=0)
    taus = []
    for k, own in enumerate(scores):
        rest = np.round(np.delete(scores, k, axis=0).mean(axis=0), 9)
        taus.append(kendall_test(own[there], rest[there])[0])
    return float(np.mean(taus))
