"""Freezing: what is handed over, with everything that is known of it, becomes one file."""

from __future__ import annotations

from calibrator import __version__
from calibrator.aspects import AspectFile
from calibrator.calibration.config import RunConfig
from calibrator.calibration.method import Contender
from calibrator.calibration.prepare import Prepared, origin_of
from calibrator.calibration.result import Side
from calibrator.judges.frozen import FrozenJudge, judge_file, step_files
from calibrator.judges.frozen_parts import Figures, VerdictFile
from calibrator.judges.mapped import MapFile


def freeze(
    prepared: Prepared,
    config: RunConfig,
    chosen: Contender,
    drafter: str,
    winner: str,
    dev: Side,
    test: Side,
    verdict: VerdictFile,
    score_map: MapFile | None = None,
) -> FrozenJudge:
    """Return the frozen judge. It holds no item text, no time and no path: the same run gives the same file."""
    return FrozenJudge(
        calibrator=__version__,
        aspect=AspectFile.of(prepared.aspect),
        judge=judge_file(chosen.kind, chosen.judge, prepared.roles),
        base=chosen.rubric.base,
        steps=step_files(chosen.rubric),
        origin=origin_of(prepared, config, config.protocol, drafter, winner),
        dev=_figures(dev, verdict.handed_over),
        test=_figures(test, verdict.handed_over),
        verdict=verdict,
        map=score_map,
    ).hashed()


def _figures(side: Side, judge: str) -> Figures:
    return Figures(figures=next(j.figures for j in side.judges if j.name == judge), signature=side.signature)
