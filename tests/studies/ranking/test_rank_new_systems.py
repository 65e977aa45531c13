"""Judges on systems that are left out of their fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from calibrator.calibration.progress import Silent
from calibrator.comparison.making import Made
from calibrator.records import Item, Judgment, Rubric, Verdict
from calibrator.studies.ranking.new_systems import FROZEN, NO_OTHER, SEARCHED, Afresh, afresh
from tests.conftest import make_items

EMPTY = Rubric("neutral/relevance", ())


@dataclass
class Recogniser:
    """Gives every text the mean rating of its system, of a strange one that of all it was fitted to."""

    known: Sequence[Item]
    id: str = "recogniser"
    mode: str = "mean"

    @property
    def means(self) -> dict[str, float]:
        by_system = {name: [i.human for i in self.known if i.system == name] for name in {i.system for i in self.known}}
        return {str(name): float(np.mean(np.array(values, dtype=float))) for name, values in by_system.items()}

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        means, rest = self.means, float(np.mean([i.human for i in self.known if i.human is not None]))
        scores = [means.get(i.system or "", rest) for i in items]
        return tuple(Judgment(i.id, s, self.mode) for i, s in zip(items, scores, strict=True))


def systems(count: int = 4, number: int = 12) -> list[Item]:
    """Items of systems A, B, … each rated higher than the one before it."""
    items = make_items(count * number, number)
    return [
        replace(item, system=chr(65 + k % count), human=1.0 + k % count, id=f"x{k}") for k, item in enumerate(items)
    ]


def made(name: str, fit: bool, seen: bool = False) -> Made:
    judge = Recogniser(systems())
    return Made(name, "test", judge, "test", EMPTY, fit=Recogniser if fit else None, seen=seen)


def test_a_judge_that_only_knows_systems_ties_new_ones() -> None:
    items = systems()
    found = afresh([made("knows", fit=True)], items[:24], items[24:], Silent())
    scores = found.scores["knows"]
    assert np.ptp(scores) == pytest.approx(0.0, abs=1e-9), "the level of each fit is taken off: nothing is left"
    seen = [v.score for v in Recogniser(items[:24]).judge(items[24:]) if isinstance(v, Judgment)]
    assert np.ptp(seen) == 3.0


def test_no_item_of_the_system_is_in_the_fit_nor_any_without_one() -> None:
    fits: list[set[str | None]] = []

    def fit(items: Sequence[Item]) -> Recogniser:
        fits.append({i.system for i in items})
        return Recogniser(items)

    known = [*systems(), *(replace(i, system=None, id=f"n{i.id}") for i in systems()[:4])]
    unrated = [replace(i, human=None, ratings=(), id=f"u{i.id}") for i in systems()[:4]]
    one = replace(made("knows", fit=True), fit=fit)
    found = afresh([one], known, [*systems()[:8], *unrated], Silent())
    assert fits == [{"B", "C", "D"}, {"A", "C", "D"}, {"A", "B", "D"}, {"A", "B", "C"}]
    assert np.isfinite(found.scores["knows"]).tolist() == [True] * 8 + [False] * 4


def test_what_cannot_be_fitted_anew_says_why() -> None:
    items = systems()
    some = [made("calibrated:a.yaml", False, seen=True), made("top:1@m", False, seen=True), made("recorded:p", False)]
    found = afresh(some, items, items, Silent())
    assert (found.scores, found.unchecked) == ({}, {"calibrated:a.yaml": FROZEN, "top:1@m": SEARCHED})
    alone = afresh([made("knows", fit=True)], [i for i in items if i.system == "A"], items, Silent())
    assert alone == Afresh({}, {"knows": NO_OTHER})
