"""How fast Spearman is bootstrapped for many candidates on the same resamples of groups, beside a loop over scipy.

    OMP_NUM_THREADS=1 python experiments/bootstrap_speed.py [--resamples 2000] [--candidates 30] [--items 1000]

scipy works on written-out resamples; only a share of them is measured (`--share`, 1 for all) and scaled up. The scores
are continuous, as a criteria judge gives them, which is the slower case for us, and whole numbers from 1 to 5.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from calibrator.stats.correlation import spearman_draws
from calibrator.stats.resampling import group_weights

Array = NDArray[np.float64]
PER_GROUP = 4


def by_scipy(scores: Array, human: Array, weights: Array) -> Array:
    """Return what a loop gives: each resample written out, each candidate correlated."""
    rho = np.empty((len(scores), len(weights)))
    for b, row in enumerate(weights.astype(np.int64)):
        drawn = np.repeat(np.arange(len(human)), row)
        for k, candidate in enumerate(scores):
            rho[k, b] = stats.spearmanr(candidate[drawn], human[drawn]).statistic
    return rho


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--candidates", type=int, default=30)
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--share", type=float, default=0.05, help="of the resamples that scipy is timed on")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, arguments.items).astype(float)
    continuous = human + 2 * rng.standard_normal((arguments.candidates, arguments.items))
    groups = [str(k // PER_GROUP) for k in range(arguments.items)]
    begin = time.perf_counter()
    weights = group_weights(groups, arguments.resamples, rng)
    print(f"drawing {arguments.resamples} resamples of {len(set(groups))} groups: {time.perf_counter() - begin:.2f} s")
    measured = max(1, round(arguments.share * arguments.resamples))
    for name, scores in (("continuous", continuous), ("1 to 5", np.clip(np.round(continuous), 1, 5))):
        begin = time.perf_counter()
        ours = spearman_draws(scores, human, weights)
        our_time = time.perf_counter() - begin
        begin = time.perf_counter()
        theirs = by_scipy(scores, human, weights[:measured])
        their_time = (time.perf_counter() - begin) * arguments.resamples / measured
        gap = np.abs(ours[:, :measured] - theirs).max()
        print(
            f"{name:10}  ours {our_time:.2f} s   scipy {their_time:.1f} s (from {measured} of {arguments.resamples})"
            f"   {their_time / our_time:.0f} times faster   largest difference {gap:.1e}"
        )


if __name__ == "__main__":
    main()
