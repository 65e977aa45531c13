"""What the tests of the calibration share: small data, and a method whose rubrics are as good as their names say."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from calibrator.aspects import find_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.loop import Outcome, calibrate
from calibrator.calibration.method import UNCALIBRATED, Method, embedded
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.purpose import NEW_SYSTEMS, purpose_of
from calibrator.columns import Mapped
from calibrator.dataset import Dataset
from calibrator.drafting.base import DraftRequest, RefineRequest
from calibrator.records import Failure, Item, Judgment, Rubric, Step, Verdict
from calibrator.split import split_items
from calibrator.store import Ledger, Run, create_run
from calibrator.texts import digest
from tests.conftest import make_items

ASPECT = find_aspect("neutral/relevance")[0]
QUICK: dict[str, Any] = {"aspect": "relevance", "trials": 3, "rounds": 2, "top_k": 2, "resamples": 100}


def prepared(items: Sequence[Item], seed: int = 0) -> Prepared:
    dataset = Dataset("made", Path("made.csv"), tuple(items), Mapped("output", source="source"), (), "digest")
    return Prepared(ASPECT, "by the test", dataset, None, split_items(items, seed))


def calibrated(
    folder: Path,
    items: Sequence[Item] | Prepared,
    method: Method | None = None,
    run: Run | None = None,
    **settings: Any,
) -> Outcome:
    """Calibrate as the command does, by default the embedded judge."""
    config = make_config(**(QUICK | settings))
    ready = items if isinstance(items, Prepared) else prepared(items, config.seed)
    run = run or create_run(folder, "test", config.model_dump(mode="json"))
    purpose = purpose_of(config, ready)
    if method is None:
        new = purpose.kind == NEW_SYSTEMS
        method = embedded(ASPECT, config.objective, config.shots, share=purpose.share, new_systems=new)
    return calibrate(ready, config, method, purpose, run, Ledger(folder))


def with_systems(count: int = 240, groups: int = 60, systems: str = "abcd", seed: int = 0) -> list[Item]:
    """Return items of several systems, each source answered by all of them in turn."""
    items = make_items(count, groups, seed)
    return [replace(i, system=systems[k // groups % len(systems)]) for k, i in enumerate(items)]


@dataclass
class Rated:
    """A judge that sees the ratings through noise: the `quality`, 0 to 1, is how little of it there is.

    It fails on the items whose id stands in `failing`. All that it judged is kept in `judged`.
    """

    name: str
    quality: float
    failing: frozenset[str] = frozenset()
    judged: list[Item] = field(default_factory=list)
    id: str = "rated"
    mode: str = "said"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        self.judged += items
        return tuple(self._verdict(i) for i in items)

    def _verdict(self, item: Item) -> Verdict:
        if item.id in self.failing:
            return Failure(item.id, "no idea")
        noise = random.Random(f"{self.name} {item.key}").gauss(0, 1)
        return Judgment(item.id, self.quality * item.ratings[0] + (1 - self.quality) * noise, self.mode)


class Listed:
    """A drafter that writes down one name after the other, and refines a rubric to the name with " more" behind it."""

    id = "listed"

    def __init__(self, names: Sequence[str], moves: tuple[str, ...] = ()) -> None:
        self.names, self.moves = names, moves
        self.refined: list[RefineRequest] = []

    def draft(self, requests: Sequence[DraftRequest]) -> Iterator[Rubric]:
        return (named(name) for name, _ in zip(self.names, requests, strict=True))

    def refine(self, requests: Sequence[RefineRequest]) -> Iterator[Rubric]:
        self.refined += requests
        return (named(f"{r.rubric.steps[0].text} more") for r in requests)


def named(name: str) -> Rubric:
    return Rubric(ASPECT.ref, (Step(name),))


@dataclass
class Doubles:
    """A method of doubles: rubrics are names, and judges by name are as good as `qualities` says."""

    qualities: Mapping[str, float]
    failing: Mapping[str, frozenset[str]] = field(default_factory=dict)
    moves: tuple[str, ...] = ()
    judges: dict[str, Rated] = field(default_factory=dict)

    @property
    def method(self) -> Method:
        drafter = Listed(self._drafts, self.moves)
        baselines = embedded(ASPECT, "spearman").baselines
        sizes = (float(len(drafter.names) + 1),)
        return Method("doubles", ((drafter, sizes),), drafter, self._judge, UNCALIBRATED, baselines, worded=True)

    @property
    def trials(self) -> int:
        return len(self._drafts)

    @property
    def _drafts(self) -> list[str]:
        return [n for n in self.qualities if not n.endswith(" more")]

    def _judge(self, rubric: Rubric) -> Rated:
        name = rubric.steps[0].text
        made = Rated(name, self.qualities[name], self.failing.get(name, frozenset()))
        return self.judges.setdefault(name, made)


def distinct_key(item: Item) -> Item:
    """Return the item with the key that its texts have."""
    return replace(item, key=digest([item.source, item.output, {}]))
