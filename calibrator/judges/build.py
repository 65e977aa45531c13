"""A judge from its frozen form or its name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from calibrator.aspects import Aspect
from calibrator.criteria import VERSION
from calibrator.errors import RubricError, ScoringFailed
from calibrator.judges.base import Judge
from calibrator.judges.criteria import ID, CriteriaJudge
from calibrator.judges.frozen import FrozenJudge, find_frozen, read_frozen
from calibrator.records import Failure, Item, Verdict
from calibrator.texts import digest


class LoadedJudge:
    """A frozen judge, ready to score."""

    def __init__(self, frozen: FrozenJudge, judge: Judge) -> None:
        self.frozen, self._judge = frozen, judge

    @property
    def aspect(self) -> Aspect:
        """The aspect it scores."""
        return self.frozen.aspect.aspect()

    @property
    def id(self) -> str:
        """What scores."""
        return self._judge.id

    @property
    def mode(self) -> str:
        """How a score is obtained."""
        return self._judge.mode

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item, in their order."""
        return self._judge.judge(items)

    def score(self, *, output: str, source: str = "", inputs: Mapping[str, str] | None = None) -> float:
        """Return the score of one text on the aspect's scale.

        `source` is what the text answers or sums up, `inputs` whatever else it was written from, by name. Raises
        ScoringFailed, with the reason, if there is no score.
        """
        inputs = dict(inputs or {})
        item = Item(id="", output=output, source=source, inputs=inputs, key=digest([source, output, inputs]))
        verdict = self.judge([item])[0]
        if isinstance(verdict, Failure):
            raise ScoringFailed(verdict.reason)
        return verdict.score


def load_judge(name: str | Path) -> LoadedJudge:
    """Return the frozen judge in a file, or of a name (see `find_frozen`).

    Raises RubricError if there is none, if it was changed after freezing, or if it needs another version.
    """
    path = find_frozen(str(name))
    frozen = read_frozen(path)
    if frozen.judge.method != "criteria":
        problem = f"its method is '{frozen.judge.method}'"
        raise RubricError(f"{path}: {problem}, which this version of calibrator does not know; upgrade calibrator")
    if frozen.judge.id != ID:
        problem = f"it was frozen with {frozen.judge.id}, and this version measures as criteria/{VERSION}"
        raise RubricError(f"{path}: {problem}; its weights would not fit: calibrate again")
    return LoadedJudge(frozen, CriteriaJudge(frozen.rubric(), frozen.aspect.aspect().scale))
