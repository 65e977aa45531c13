"""What all metrics share: how one is described, what it is made with, and what it gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from calibrator.records import Item

Family = Literal["overlap", "embedding", "likelihood", "classifier", "diversity", "quality"]
Better = Literal["higher", "lower", "neither"]
Role = Literal["output", "source", "reference"]
OVERLAP, NEURAL = "metrics", "neural"  # the extras


@dataclass(frozen=True, slots=True)
class Unscored:
    """No value, with the reason; never a number."""

    reason: str


Value = float | Unscored
Tick = Callable[[int], None]  # told how many more items are done


@dataclass(frozen=True, slots=True)
class Settings:
    """What a metric is made with.

    `model` is a folder or a name of the hub, "" for the metric's own. `download` allows that weights are fetched, of
    which `tell` is told. `device` is torch's, or "auto"; `batch_size` is in items, 0 for the metric's own.
    `nltk_data` is a folder of NLTK's data beside those that NLTK looks into, `corpus` the texts that those measured
    may be new beside.
    """

    model: str = ""
    device: str = "auto"
    batch_size: int = 0
    download: bool = False
    nltk_data: Path | None = None
    corpus: tuple[str, ...] = ()
    tell: Callable[[str], None] | None = None


class ItemScorer(Protocol):
    """Gives every item its values.

    Items have what the metric `needs`, and an output with a word in it. The value of an item does not depend on what
    stands beside it. It never raises because of a text.
    """

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        """Return by the names of metrics one value for each item, in their order."""


class SetScorer(Protocol):
    """Gives a set of items, such as those of one system, its values."""

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, Value]:
        """Return by the names of metrics a value for all items together."""


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as the registry has it.

    `make` is shared by metrics that are computed at one go: what it returns gives the values of all of them. It
    imports what is heavy, and raises ModelMissing, with the command that provides it, where something is absent.
    `of` says whether it is a figure of each item or of a set; `low` and `high` bound it, None where nothing does.
    `source` is where the formula was published, and by which library it is computed, if by one; `packages` are those
    from PyPI whose versions its values follow from. `model` is what it uses unless told otherwise, "" if it uses none
    or has no default (then `wants_model` is True). `wants_corpus` says that it
    compares with `Settings.corpus`, `by_file` that a value follows from whatever else is measured with it.
    """

    name: str
    family: Family
    better: Better
    needs: tuple[Role, ...]
    make: Callable[[Settings], ItemScorer | SetScorer]
    summary: str
    source: str
    of: Literal["item", "set"] = "item"
    extra: str = ""
    model: str = ""
    wants_model: bool = False
    wants_corpus: bool = False
    by_file: bool = False
    low: float | None = None
    high: float | None = None
    packages: tuple[str, ...] = ()

    @property
    def reference(self) -> bool:
        """Whether it needs a reference text."""
        return "reference" in self.needs
