"""Freezing: the winner with everything that is known of it becomes one file."""

from __future__ import annotations

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.result import Side
from calibrator.judges.base import Judge
from calibrator.judges.frozen import Figures, FrozenJudge, Origin, judge_file, step_files
from calibrator.records import Rubric


def freeze(
    prepared: Prepared,
    config: RunConfig,
    method: str,
    judge: Judge,
    drafter: str,
    rubric: Rubric,
    winner: str,
    dev: Side,
    test: Side,
) -> FrozenJudge:
    """Return the frozen judge. It holds no item text, no time and no path: the same run gives the same file."""
    dataset, split = prepared.dataset, prepared.split
    return FrozenJudge(
        calibrator=__version__,
        aspect=AspectFile.of(prepared.aspect),
        judge=judge_file(method, judge, prepared.roles),
        base=rubric.base,
        steps=step_files(rubric),
        origin=Origin(
            data=dataset.name,
            data_digest=dataset.digest,
            items=len(dataset.items),
            groups=dataset.groups,
            split_digest=split.digest,
            test_digest=split.test.digest,
            seed=split.seed,
            protocol=config.protocol,
            objective=config.objective,
            drafter=drafter,
            winner=winner,
        ),
        dev=_figures(dev),
        test=_figures(test),
    ).hashed()


def _figures(side: Side) -> Figures:
    return Figures(figures=side.judges[0].figures, signature=side.signature)
