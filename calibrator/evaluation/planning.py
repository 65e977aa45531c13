"""Before a calibration: how sure its figure on the test side can be, and how many labels a surer one takes.

A pilot on the labelled items, a ridge regression on the measurable criteria whose predictions are for groups that it
has not seen, says what correlation to expect of the embedded judge and how much the groups widen an interval. On
fewer than `FEWEST_ITEMS` items or `FEWEST_GROUPS` groups it says nothing: what little data gives by chance, a high
correlation above all, would promise a narrow interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrator.criteria import measure
from calibrator.records import Item
from calibrator.split import SHARES
from calibrator.stats.correlation import spearman
from calibrator.stats.linear import center_and_spread, folds_of, penalty_by_cv, ridge, standardise
from calibrator.stats.resampling import Interval, group_weights, percentile_interval, resampled

Array = NDArray[np.float64]
SIZES = (25, 50, 100, 200, 400, 800)
HALF_WIDTH = 0.05
RESAMPLES = 2000
FOLDS = 5
FEWEST_ITEMS, FEWEST_GROUPS = 50, 10  # with fewer there is no pilot
NORMAL = 1.959964  # the 97.5 % point of the normal distribution
MOST_LABELS = 10**9


@dataclass(frozen=True, slots=True)
class Pilot:
    """What the pilot found: Spearman's rho with the humans and its 95 % interval by bootstrap over groups.

    `design_effect`, 1 or more, is how many times larger the variance of rho (on Fisher's z) is than it would be for as
    many items that have nothing to do with each other; nan where it could not be measured. Both are nan where the
    pilot is `too_small`.
    """

    rho: Interval
    design_effect: float
    items: int
    groups: int

    @property
    def too_small(self) -> bool:
        """Whether there are too few items or groups to expect anything from."""
        return self.items < FEWEST_ITEMS or self.groups < FEWEST_GROUPS


@dataclass(frozen=True, slots=True)
class Outlook:
    """What to expect of the figure on a test side.

    `expected` is the correlation that all else is for: the pilot's, or what the user `said`. `widths` are the 95 %
    intervals to expect by the number of test labels, `own` that on the `test_labels` there are. `needed` test labels
    give an interval of ± `half_width`, and `rated` is how many rated items that takes in all, None where the test side
    is a file of its own; both are None where nothing is known to expect.
    """

    expected: float
    said: bool
    pilot: Pilot
    widths: dict[int, Interval]
    test_labels: int
    own: Interval
    half_width: float
    needed: int | None
    rated: int | None


def outlook(
    known: Sequence[Item],
    test_labels: int,
    seed: int,
    expect: float | None = None,
    *,
    own_test_file: bool = False,
    resamples: int = RESAMPLES,
) -> Outlook:
    """Return what to expect; `known` are the items of train and dev, so that the test side stays sealed.

    `expect` is the correlation that the user expects of their judge, between -1 and 1; the design effect is the
    pilot's all the same, as it follows from how the items come in groups; 1 where the pilot is too small.
    """
    tried = pilot(known, seed, resamples)
    expected = tried.rho.value if expect is None else expect
    needed = labels_for(expected, HALF_WIDTH, tried.design_effect)
    return Outlook(
        expected=expected,
        said=expect is not None,
        pilot=tried,
        widths={n: expected_interval(expected, n, tried.design_effect) for n in SIZES},
        test_labels=test_labels,
        own=expected_interval(expected, test_labels, tried.design_effect),
        half_width=HALF_WIDTH,
        needed=needed,
        rated=None if needed is None or own_test_file else math.ceil(needed / SHARES[2]),
    )


def pilot(items: Sequence[Item], seed: int, resamples: int = RESAMPLES) -> Pilot:
    """Return what a cross-validated ridge regression on the measurable criteria reaches on rated items.

    Whole groups are left out, for the predictions as for the choice of the penalty. With too few items or groups, or
    items that measure alike, the figures are nan.
    """
    human = np.array([i.human for i in items], dtype=float)
    groups = [i.group for i in items]
    nothing = Pilot(Interval(math.nan, math.nan, math.nan), math.nan, len(items), len(set(groups)))
    if nothing.too_small:
        return nothing
    rng = np.random.default_rng(seed)
    predicted = cross_validated(measure(items), human, groups, rng)
    draws = resampled(spearman, predicted, human, group_weights(groups, resamples, rng))
    rho = percentile_interval(float(spearman(predicted, human)), draws)
    return Pilot(rho, design_effect(rho.value, draws, len(items)), len(items), len(set(groups)))


def cross_validated(x: Array, y: Array, groups: Sequence[str], rng: np.random.Generator) -> Array:
    """Return predictions of `y` (n,) from `x` (n, p), each by a ridge regression that never saw the item's group.

    In points of `y` from the mean of the items that were seen. That mean is not added: where a fold's items are high,
    those of the others are low on average, and the order of the predictions would be turned against that of `y`.
    """
    fold = folds_of(groups, FOLDS, rng)
    predicted = np.empty(len(y))
    for k in np.unique(fold):
        seen, unseen = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        center, spread = center_and_spread(x[seen])
        z = standardise(x[seen], center, spread)
        penalty = penalty_by_cv(z, y[seen], [groups[i] for i in seen.tolist()], rng)
        weights, _ = ridge(z, y[seen], penalty)
        # Rounded, so that items that measure alike are tied in all folds.
        predicted[unseen] = np.round(standardise(x[unseen], center, spread) @ weights, 9)
    return predicted


def design_effect(rho: float, draws: Array, n: int) -> float:
    """Return the variance of `draws`, correlations in resamples of groups, over that of `n` independent items.

    Both are on Fisher's z (Kish 1965 for the ratio). At least 1: where the bootstrap comes out narrower, by chance or
    because every group holds good and poor items alike, a plan should not count on it. nan where the correlation is not
    defined, is ±1, or is so in more than half of the draws.
    """
    usable = draws[np.isfinite(draws) & (np.abs(draws) < 1)]
    alone = standard_error(rho, n)
    if not math.isfinite(alone) or abs(rho) >= 1 or len(usable) * 2 <= len(draws):
        return math.nan
    return max(1.0, float(np.arctanh(usable).var()) / alone**2)


def standard_error(rho: float, n: float, design: float = 1.0) -> float:
    """Return the standard error of Spearman's rho on Fisher's z: sqrt(design · (1 + rho²/2) / (n - 3)).

    The formula of Bonett and Wright (2000) for `n` items, with a design effect. nan for three items or fewer.
    """
    return math.sqrt(design * (1 + rho**2 / 2) / (n - 3)) if n > 3 else math.nan


def expected_interval(rho: float, n: int, design: float = 1.0) -> Interval:
    """Return the 95 % interval to expect where a judge reaches `rho` on `n` items; a design effect of nan counts as 1.

    nan for three items or fewer, and for a correlation that is not between -1 and 1.
    """
    if not abs(rho) < 1:
        return Interval(rho, math.nan, math.nan)
    reach = NORMAL * standard_error(rho, n, 1.0 if math.isnan(design) else design)
    return Interval(rho, math.tanh(math.atanh(rho) - reach), math.tanh(math.atanh(rho) + reach))


def half_width(interval: Interval) -> float:
    """Return half the width of an interval."""
    return (interval.high - interval.low) / 2


def labels_for(rho: float, half: float, design: float = 1.0) -> int | None:
    """Return the fewest items on which the 95 % interval to expect is ± `half` or narrower.

    None where `rho` is not between -1 and 1. The further from 0 the correlation, the fewer items it takes. Raises
    ValueError if `half` is not above 0.
    """
    if half <= 0:
        raise ValueError(f"an interval cannot be ± {half}")
    if not abs(rho) < 1:
        return None
    low, high = 3, MOST_LABELS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width(expected_interval(rho, middle, design)) <= half else (middle, high)
    return high
