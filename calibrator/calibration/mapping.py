"""The score map of the judge that is handed over: fitted without the test side, measured in the one look at it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from calibrator.aspects import Scale
from calibrator.calibration.map_parts import BinLine, CalibrationPart, MapPart, MapTest, TriedLine
from calibrator.calibration.result import figure, rounded
from calibrator.evaluation.agreement import scores_of
from calibrator.evaluation.mapping import FOLDS, By, MapChoice, Wanted, map_for
from calibrator.judges.base import Judge
from calibrator.judges.mapped import MapFile, MappedJudge
from calibrator.records import Item, Verdict
from calibrator.stats.correlation import mae, rmse, spearman
from calibrator.stats.linear import folds_of
from calibrator.stats.reliability import reliability

Remade = Callable[[Sequence[Item]], Judge]


@dataclass(frozen=True, slots=True)
class JudgeMap:
    """A judge by its `name` in the comparison, and the map that was chosen for it; `fitted_to` says on what."""

    name: str
    judge: Judge
    choice: MapChoice
    fitted_to: str

    @property
    def mapped(self) -> Judge:
        """The judge with its map, itself where it has none."""
        return self.judge if self.choice.map.kind == "identity" else MappedJudge(self.judge, self.choice.map)

    @property
    def signed(self) -> str:
        """What a signature says of it, empty without a map."""
        return "" if self.mapped is self.judge else f"|map:{self.choice.map.kind} of {self.name}"


def find_map(
    name: str,
    judge: Judge,
    remade: Remade | None,
    items: Sequence[Item],
    scale: Scale,
    wanted: Wanted,
    seed: int,
    by: By,
) -> JudgeMap:
    """Return a judge with the map that suits its scores of `items`, which are never those of the test side.

    A judge that was fitted to the ratings of these items scores them better than others. So one that can be `remade`
    on other items is, once without each fold (whole groups together), and scores that fold: what the map is fitted to
    are scores of items that no fit has seen.
    """
    if remade is None:
        return JudgeMap(name, judge, map_for(judge.judge(items), items, scale, wanted, seed, by), "scores on dev")
    fold = folds_of([i.group for i in items], FOLDS, np.random.default_rng(seed))
    verdicts: dict[int, Verdict] = {}
    for k in np.unique(fold).tolist():
        out = np.flatnonzero(fold == k).tolist()
        kept = [items[j] for j in np.flatnonzero(fold != k).tolist()]
        judged = (remade(kept) if kept else judge).judge([items[j] for j in out])
        verdicts.update(zip(out, judged, strict=True))
    crossed = [verdicts[k] for k in range(len(items))]
    told = "scores on train and dev, each fold by a fit without it"
    return JudgeMap(name, judge, map_for(crossed, items, scale, wanted, seed, by), told)


def measured(found: JudgeMap, items: Sequence[Item], seed: int, resamples: int) -> MapTest:
    """Return what the judge's scores of `items` are worth without its map and with it."""
    before = _calibration(found.judge.judge(items), items, seed, resamples)
    after = None
    if found.mapped is not found.judge:
        after = _calibration(found.mapped.judge(items), items, seed, resamples)
    return MapTest(before=before, after=after)


def map_part(found: JudgeMap, test: MapTest) -> MapPart:
    """Return a judge's map in its file form."""
    choice = found.choice
    tried = (TriedLine(kind=t.kind, mae=rounded(t.mae), rmse=rounded(t.rmse), reason=t.reason) for t in choice.tried)
    return MapPart(
        of=found.name,
        wanted=choice.wanted,
        kind=choice.map.kind,
        reason=choice.reason,
        fitted_to=found.fitted_to,
        items=choice.items,
        groups=choice.groups,
        tried=tuple(tried),
        map=map_file(found),
        test=test,
    )


def map_file(found: JudgeMap | None) -> MapFile | None:
    """Return the map in its file form; None where there is none."""
    if found is None or found.mapped is found.judge:
        return None
    return MapFile.of(found.choice.map)


def _calibration(verdicts: Sequence[Verdict], items: Sequence[Item], seed: int, resamples: int) -> CalibrationPart:
    scores = scores_of(verdicts)
    human = np.array([math.nan if i.human is None else i.human for i in items], dtype=float)
    both = np.isfinite(scores) & np.isfinite(human)
    curve = reliability(scores, human, [i.group for i in items], resamples, np.random.default_rng(seed))
    return CalibrationPart(
        mae=rounded(float(mae(scores[both], human[both]))),
        rmse=rounded(float(rmse(scores[both], human[both]))),
        spearman=rounded(float(spearman(scores[both], human[both]))),
        error=rounded(curve.error),
        by_chance=rounded(curve.by_chance),
        items=int(both.sum()),
        bins=tuple(
            BinLine(
                low=round(b.low, 6),
                high=round(b.high, 6),
                items=b.items,
                score=round(b.score, 6),
                human=figure(b.human),
            )
            for b in curve.bins
        ),
    )
