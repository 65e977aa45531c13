"""The recorded judge: what another judge gave, as it stands in a column of the data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from calibrator.aspects import Scale
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.texts import unusable

METHOD = "recorded"
ON_SCALE = 0.9  # of a judge's scores: those of one that goes by the aspect's scale
MARKS = 2  # different numbers that stand for no answer
POINTS = 3  # a measure from 0 to 1 has but one score on a scale that begins at 1


class RecordedJudge:
    """Gives each item the score that it was recorded with (`Item.recorded`); one without is a failure.

    So is an empty text, as with every judge: what was recorded for it is no judgment of it. With `scale`, a score off
    it is a failure too: programs write -1 or 0 where a model gave no answer. Without, the scores are on a scale of
    their own, as those of metrics are.
    """

    mode = METHOD

    def __init__(self, name: str, scale: Scale | None) -> None:
        self.id, self.name, self.scale = f"{METHOD}:{name}", name, scale

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item."""
        return tuple(self._verdict(item) for item in items)

    def _verdict(self, item: Item) -> Verdict:
        if reason := unusable(item.output):
            return Failure(item.id, reason)
        score = item.recorded.get(self.name)
        if score is None:
            return Failure(item.id, "no recorded score")
        if self.scale is not None and not self.scale.holds(score):
            return Failure(item.id, f"a recorded score off the scale {self.scale}")
        return Judgment(item.id, score, self.mode)


def goes_by(scale: Scale, name: str, items: Iterable[Item]) -> bool:
    """Whether a recorded judge goes by the aspect's scale, as far as its scores of `items` tell; so does one of none.

    Nearly all of them lie on it; or what does not are one or two numbers below it, by which programs say that there was
    no answer, however often there was none: then most must lie on it, or at least `POINTS` different ones.
    """
    scores = [s for i in items if (s := i.recorded.get(name)) is not None]
    off = [s for s in scores if not scale.holds(s)]
    if len(off) <= (1 - ON_SCALE) * len(scores):
        return True
    marks, points = set(off), {s for s in scores if scale.holds(s)}
    many = len(off) < len(scores) / 2 or len(points) >= POINTS
    return len(marks) <= MARKS and max(marks) < scale.low and many
