"""The floor under the embedded judge: a plain cross-validated ridge on all criteria, on the splits of the loop.

    python experiments/ridge_floor.py [--seeds 0,1,2,3,4] [--tasks cseval:relevance] [--criteria 24] [--data-dir DIR]

For each task the mean test-side Spearman over the seeds of the ridge, of one draft from all of train and dev without
any search, of the calibrated rubric (the whole default loop), and of the paired difference between loop and ridge; then
the mean over the tasks. Needs the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from calibrator.calibration.config import make_config
from calibrator.calibration.loop import calibrate
from calibrator.calibration.method import embedded
from calibrator.calibration.prepare import Prepared, prepare
from calibrator.calibration.purpose import purpose_of
from calibrator.criteria import measure
from calibrator.drafting.base import DraftRequest
from calibrator.drafting.criteria import TERMS_AT_MOST, CriteriaDrafter
from calibrator.evaluation.aim import Aim
from calibrator.judges.criteria import CriteriaJudge
from calibrator.stats.correlation import spearman
from calibrator.stats.linear import center_and_spread, penalty_by_cv, ridge, standardise
from calibrator.store import Ledger, create_run

TASKS = (
    "cseval:relevance,cseval:coherence,cseval:aggressiveness,cseval:suitableness,"
    "topical-chat:overall,topical-chat:engagingness,dialsummeval:relevance,dialsummeval:consistency"
)


def floor(prepared: Prepared, seed: int) -> float:
    """Return the test-side Spearman of a ridge on all criteria, fitted to the raw ratings of train and dev."""
    known = prepared.split.train + prepared.split.dev
    test = prepared.split.test.unseal(1)
    x, y = measure(known), np.array([i.human for i in known], dtype=float)
    center, spread = center_and_spread(x)
    z = standardise(x, center, spread)
    penalty = penalty_by_cv(z, y, [i.group for i in known], np.random.default_rng(seed))
    weights, base = ridge(z, y, penalty)
    predicted = standardise(measure(test), center, spread) @ weights + base
    return float(spearman(predicted, np.array([i.human for i in test], dtype=float)))


def one_draft(prepared: Prepared, seed: int, criteria: int) -> float:
    """Return the test-side Spearman of a single draft at temperature 0 from all of train and dev."""
    known, test = prepared.split.train + prepared.split.dev, prepared.split.test.unseal(1)
    rubric = next(CriteriaDrafter(size=criteria).draft([DraftRequest(prepared.aspect, known, 0.0, seed)]))
    verdicts = CriteriaJudge(rubric, prepared.aspect.scale).judge(test)
    return Aim("spearman").of(verdicts, test)


def loop(prepared: Prepared, data: str, seed: int, criteria: int) -> float:
    """Return the test-side Spearman of the default loop, for new sources, with at most so many criteria in a rubric."""
    config = make_config(data=data, aspect=prepared.aspect.ref, seed=seed, resamples=100, purpose="new-sources")
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(Path(folder), "floor", {})
        method = embedded(prepared.aspect, config.objective, size=criteria)
        outcome = calibrate(prepared, config, method, purpose_of(config, prepared), run, Ledger(Path(folder)))
    return outcome.result.test.judges[0].figures["spearman"].value or 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--tasks", default=TASKS)
    parser.add_argument("--criteria", type=int, default=TERMS_AT_MOST, help="criteria in a rubric at most")
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    seeds = [int(s) for s in arguments.seeds.split(",")]
    print(f"{'task':30} {'ridge':>7} {'draft':>7} {'loop':>7} {'loop - ridge':>13}  {'s a run':>7}   by seed (loop)")
    means = []
    for task in arguments.tasks.split(","):
        data, aspect = task.split(":")
        floors, drafts, loops = [], [], []
        begin = time.perf_counter()
        for seed in seeds:
            prepared = prepare(make_config(data=data, aspect=aspect, seed=seed, data_dir=arguments.data_dir))
            floors.append(floor(prepared, seed))
            drafts.append(one_draft(prepared, seed, arguments.criteria))
            loops.append(loop(prepared, data, seed, arguments.criteria))
        seconds = (time.perf_counter() - begin) / len(seeds)
        gain = np.array(loops) - np.array(floors)
        by_seed = " ".join(f"{v:.3f}" for v in loops)
        spread = gain.std(ddof=1) if len(seeds) > 1 else 0.0
        print(
            f"{task:30} {np.mean(floors):7.3f} {np.mean(drafts):7.3f} {np.mean(loops):7.3f}"
            f" {gain.mean():+7.3f} ±{spread:.3f}  {seconds:7.1f}   {by_seed}",
            flush=True,
        )
        means.append((np.mean(floors), np.mean(drafts), np.mean(loops)))
    print(f"{'mean':30} " + " ".join(f"{np.mean(column):7.3f}" for column in zip(*means, strict=True)))


if __name__ == "__main__":
    main()
