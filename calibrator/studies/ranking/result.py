"""What a ranking study found, as it stands in `rank.json`; everything that is printed comes from it.

It holds no time of day, no path and no look number: the same judges, data and replies give the same figures.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from calibrator.judges.frozen_parts import Figure


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class OwnItems(_Part):
    """What a judge that scored a part alone is held against: so many items of a system, and the humans' score there."""

    items: int
    human: float | None


class SystemRow(_Part):
    """One system: its rated items, its score by the humans and by each judge, None where there is none.

    `judges` are on the items that the humans rated, as `human` is; `everything` on all that the judge scored, rated or
    not. A judge that scored a part of the items has its `own` ones, on which its score in `judges` is.
    """

    system: str
    items: int
    human: float | None
    judges: dict[str, float | None]
    everything: dict[str, float | None]
    own: dict[str, OwnItems] = {}


class SizePart(_Part):
    """Tau by the human labels of each system (see `sizes.SizeLine`): `subsets` at its quantiles, `anew` with ends.

    `significant` is the share of the new draws whose tau is large enough for p < 0.05, `trusted` that of those with a
    verdict of trust, None where the former alone is below 0.8. `extrapolated`: a system has fewer labels.
    """

    size: int
    subsets: tuple[float | None, ...]
    anew: Figure
    significant: float
    trusted: float | None = None
    extrapolated: bool = False


class NewSystemsPart(_Part):
    """How a judge that was fitted ranks systems that it was not fitted to, each left out of the fit in turn.

    `tau` with its interval of 90 %, `p` and `verdict` are as in `JudgeRank`; None where that could not be checked,
    which `unchecked` gives the reason of.
    """

    tau: Figure | None
    p: float | None
    verdict: str
    unchecked: str = ""


class JudgeRank(_Part):
    """One judge's ranking beside the humans' (see `agree.RankAgreement`); the interval of `tau` is one of 90 %.

    `verdict` is "trusted", "not trusted", "too few systems", "not defined" or "may have seen these items", `sentence`
    says it with its figures. It is about these systems; `new_systems` is there for a judge that was fitted to ratings.
    `needed` is the fewest labels of each system with which four of five verdicts are trust, None if none of `sizes`
    is enough; the systems `limiting` have but `labels` of them, others more. `with_others` is the mean weighted tau
    with the other judges' rankings, `adjusted` p after Holm's correction for all judges.
    """

    name: str
    tau: Figure
    p: float | None
    spearman: float | None
    pearson: float | None
    alike: float | None
    top: float | None
    top_share: float | None
    defined: float
    items: int
    sources: int
    systems: int
    partial: bool
    verdict: str
    sentence: str
    sizes: tuple[SizePart, ...] = ()
    needed: int | None = None
    labels: int = 0
    limiting: tuple[str, ...] = ()
    new_systems: NewSystemsPart | None = None
    adjusted: float | None = None
    with_others: float | None = None
    failures: dict[str, int] = {}
    notes: tuple[str, ...] = ()


class AmongPart(_Part):
    """Weighted Kendall between the judges' rankings of so many `systems`, row by row, in the order of `judges`."""

    judges: tuple[str, ...]
    systems: int
    weighted: tuple[tuple[float | None, ...], ...]


class ChoicePart(_Part):
    """The judge to rank systems with, None where none is to be trusted, and why; of so many `tried`."""

    judge: str | None
    why: str
    tried: int


class KappaPart(_Part):
    """Agreement of raters (see `kappas.Kappas`)."""

    kind: str
    names: tuple[str, ...]
    pairs: tuple[tuple[float | None, ...], ...]
    fleiss: float | None
    whole: int
    alpha: float | None
    cut: bool


class PoweredRow(_Part):
    """One system's score corrected for the judge's bias (see `powered.SystemPowered`), all intervals of 95 %.

    `truth` is the score by all human labels there are, where only some of them were used.
    """

    system: str
    labelled: int
    unlabelled: int
    judge_only: float | None
    labels_only: Figure
    powered: Figure
    weight: float | None
    effective: float | None
    truth: float | None = None


class PairDifference(_Part):
    """How much more one system has than the one that follows it in the corrected ranking."""

    first: str
    second: str
    powered: Figure
    labels_only: Figure


class PoweredPart(_Part):
    """One judge's scores of all systems with prediction-powered inference.

    `taus` are Kendall's tau of the rankings by the judge alone, by the labels alone and by both, with the ranking by
    all human labels; None where only the labels used are known.
    """

    judge: str
    rows: tuple[PoweredRow, ...]
    differences: tuple[PairDifference, ...] = ()
    taus: dict[str, float | None] | None = None


class CoOccurrence(_Part):
    """How many items have both of two labels; `counts` row by row, the diagonal being those that have the label."""

    labels: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    items: int


class RankTable(_Part):
    """The ranking study of one aspect, or of one set of labels.

    `annotators` is Kendall's tau of one annotator's ranking with that of the others. `side` says which items these are,
    `columns` which columns they were read from.
    """

    name: str
    data: str
    score: str
    better: str
    side: str
    columns: str = ""
    items: int
    unrated: int
    sources: int
    systems: tuple[SystemRow, ...]
    judges: tuple[JudgeRank, ...]
    threshold: float
    annotators: float | None
    among: AmongPart | None = None
    choice: ChoicePart
    kappas: KappaPart | None = None
    powered: tuple[PoweredPart, ...] = ()
    signature: str
    cautions: tuple[str, ...] = ()


class Overall(_Part):
    """How well a judge ranks systems in one number: the mean of tau over the aspects in which it is defined.

    `new_systems` is the same on systems left out of its fit; None for a judge that was not fitted here.
    """

    judge: str
    tau: float | None
    aspects: int
    trusted: int
    new_systems: float | None = None


class RankResult(_Part):
    """A ranking study: a table for each aspect, and each judge's mean over them."""

    calibrator: str
    tables: tuple[RankTable, ...]
    overall: tuple[Overall, ...]
    co_occurrence: CoOccurrence | None = None
