"""The frozen records that travel between the steps; no behaviour beyond themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Item:
    """One rated text with what it was written for.

    `ratings` holds one number for each annotator who rated the item, or a single mean; `raters` are the numbers, from
    0 up, of these annotators in the same order, empty where that is not known. `human` is the figure that a judge is
    compared with. Ratings are on the scale of the aspect the data was read for, and empty / None where the item is not
    rated. `group` is what must never stand on both sides of a split. `key` is the digest of the content:
    it does not depend on where the item stood in its file. `row` is where it stood. `recorded` holds, by the names they
    were asked for by, what other judges gave the item: numbers, None where there is none or it is no number.
    """

    id: str
    output: str
    source: str = ""
    reference: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict, hash=False)
    group: str = ""
    system: str | None = None
    ratings: tuple[float, ...] = ()
    raters: tuple[int, ...] = ()
    human: float | None = None
    key: str = ""
    row: int | None = None
    recorded: Mapping[str, float | None] = field(default_factory=dict, hash=False, compare=False)


@dataclass(frozen=True, slots=True)
class Factor:
    """A measurable criterion: its value is standardised as (value - center) / spread and limited to -3 … 3."""

    criterion: str
    center: float
    spread: float


@dataclass(frozen=True, slots=True)
class Measure:
    """How much a measurable criterion, standardised as a `Factor` is, counts, alone or `times` another.

    `weight` is in points of the scale per standard deviation (of both, where two are multiplied).
    """

    criterion: str
    weight: float
    center: float
    spread: float
    times: Factor | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a rubric: the sentence a reader follows and, in a criteria rubric, how it is measured."""

    text: str
    measures: tuple[Measure, ...] = ()


@dataclass(frozen=True, slots=True)
class Rubric:
    """The evaluation steps for one aspect. `base` is the score of a text on which every step is neutral."""

    aspect: str
    steps: tuple[Step, ...]
    base: float = 0.0


@dataclass(frozen=True, slots=True)
class NoRubric:
    """What a drafter gave is no rubric, with the reason."""

    reason: str


Written = Rubric | NoRubric


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat: `role` is "system", "user" or "assistant"."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a reply as the server counted them; `cached` are those of the prompt that it had in store already."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Judgment:
    """A score on the aspect's scale and how it was obtained (`mode`)."""

    item: str
    score: float
    mode: str


@dataclass(frozen=True, slots=True)
class Failure:
    """No score, with the reason; never a number."""

    item: str
    reason: str


Verdict = Judgment | Failure


@dataclass(frozen=True, slots=True)
class Stopped:
    """A candidate was not scored further: after so many items its `chance` of the top k was this, its `value` that.

    The value is as good an estimate of its objective on the whole development set as could be had then, None where too
    many of its judgments had failed.
    """

    after: int
    chance: float
    value: float | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rubric with its verdicts on the development set, in the order of the items, and where it came from.

    `value` is the objective on the development set (higher is better), None where the candidate is not eligible;
    `origin` is "draft" or the move that made it, `parent` the name of the candidate it was made from. One that was
    `stopped` has None for the items it did not come to, and is not eligible.
    """

    name: str
    rubric: Rubric
    verdicts: tuple[Verdict | None, ...]
    value: float | None
    origin: str
    parent: str | None = None
    stopped: Stopped | None = None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An item on which a judge and the humans differ: both figures on the aspect's scale.

    `gap` is by how much the judge is too high (or, below 0, too low): in ranks from 0 to 1 among the items it scored,
    or in points where a search goes by points.
    """

    item: Item
    judged: float
    human: float
    gap: float
