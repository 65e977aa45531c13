"""What a comparison found, as it stands in `comparison.json`; everything that is printed comes from it.

It holds no time of day, no path and no look number: the same judges, data and replies give the same figures.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from calibrator.aspects import AspectFile
from calibrator.judges.frozen_parts import Figure

# Families in the order of their rows.
FAMILIES = ("baseline", "metric", "criteria", "zero-shot", "g-eval", "calibrated", "recorded", "panel", "human")


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ReplacementPart(_Part):
    """May the judge stand in for a human? See `evaluation.replacement`; None where it is not defined.

    `omega`, `advantage` and `passed` are of its scores at the nearest points of the scale, where the annotators
    answered too; `omega_given` is of the scores as they are, the same where they stand on points anyway.
    """

    omega: float | None
    omega_given: float | None = None
    advantage: float | None
    z: float | None
    passed: bool | None


class JudgeRow(_Part):
    """One judge, or the humans, on the test side of one aspect.

    `figures` holds each measure of `stats.correlation.MEASURES` (mae only for scores on the aspect's scale) on `items`
    items; `coverage`, 0 to 1, is the share of the test side that it scored. A judge that is `partial` scored too
    little to be compared with all others on the same items: its figures are on its own part, and `beside` has the
    figure of each full judge, in the measure of the comparison, on that part. `one`: Spearman against one annotator,
    mean of all, which is what may be held beside one annotator against another. `better_than` names the judges that it
    exceeds significantly (Holm-adjusted). `judgments` counts those on the test side, `known` those on train and dev
    that it took to make it; `cost` is in US dollars for all of them, None where the price is not known; `seconds` the
    time that all took.
    """

    name: str
    family: str
    mode: str
    model: str | None = None
    figures: dict[str, Figure]
    items: int
    coverage: float
    partial: bool = False
    beside: dict[str, Figure] = {}
    failures: dict[str, int] = {}
    one: Figure | None = None
    replacement: ReplacementPart | None = None
    better_than: tuple[str, ...] = ()
    judgments: int = 0
    known: int = 0
    cost: float | None = 0.0
    seconds: float | None = None
    notes: tuple[str, ...] = ()


class PairLine(_Part):
    """Two judges on the items that both are compared on: how much more the first has, and how sure that is.

    `gain` is positive where the first is better (for mae: has less error); `p` is two-sided, by permutation over
    groups, `adjusted` that after Holm's adjustment for all pairs of the table. None where it is not defined.
    """

    first: str
    second: str
    items: int
    gain: Figure
    p: float | None
    adjusted: float | None


class AspectTable(_Part):
    """All judges on the test side of one aspect.

    `items` and `groups` are those that every full judge scored, on which all full judges are compared; `size` is the
    whole test side. `measure` is what pairs are compared by.
    """

    aspect: AspectFile
    chosen: str
    data: str
    size: int
    items: int
    groups: int
    annotators: int
    measure: str
    rows: tuple[JudgeRow, ...]
    pairs: tuple[PairLine, ...]
    signature: str
    cautions: tuple[str, ...] = ()


class MeanRow(_Part):
    """One judge over the aspects: the mean of its figures, over those `aspects` in which it has them."""

    name: str
    family: str
    figures: dict[str, float | None]
    aspects: int


class Extra(_Part):
    """A further table that was asked for (trials, unified score, preference, systems, …), ready to be printed.

    `columns` are its heads and `rows` its cells: texts, numbers, or None for what is not defined; `notes` are sentences
    below it, `about` one above.
    """

    name: str
    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str | float | int | None, ...], ...]
    notes: tuple[str, ...] = ()


class ComparisonResult(_Part):
    """A comparison: a table for each aspect, the means over them if there are several, and what else was asked for."""

    calibrator: str
    tables: tuple[AspectTable, ...]
    means: tuple[MeanRow, ...] = ()
    extras: tuple[Extra, ...] = ()
