"""New sources and new systems side by side: a judge that knows systems by their habits is found out."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.calibration.method import Method, embedded
from calibrator.calibration.purpose import Purpose
from calibrator.calibration.result import SystemsPart
from calibrator.calibration.transfer import systems_part
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Failure, Item, Judgment, Rubric, Verdict
from calibrator.stats.correlation import spearman
from tests.calibration.making import ASPECT, Doubles, calibrated, distinct_key, prepared, with_systems
from tests.conftest import make_items

HABITS = {"a": " is it?", "b": " indeed!", "c": " (see there).", "d": " :"}
WORTH = {"a": 4, "b": 3, "c": 2, "d": 1}
FOUR = Purpose("new-systems", "4 systems are named", 4, 0.5)


def with_habits(seed: int = 0) -> list[Item]:
    """Return items whose rating is that of their system, give or take a point, and whose habit tells which it is."""
    draw = random.Random(seed)
    items = []
    for i in with_systems(400, 100, seed=seed):
        system = i.system or ""
        rating = float(WORTH[system] + draw.choice((0, 1)))
        text = i.output.rstrip(".?!") + HABITS[system]
        items.append(distinct_key(replace(i, output=text, human=rating, ratings=(rating,))))
    return items


def of(figure: Any) -> float:
    assert figure.value is not None
    return float(figure.value)


def test_a_judge_that_knows_systems_by_their_habits_is_good_on_new_sources_and_bad_on_new_systems(
    tmp_path: Path,
) -> None:
    part = calibrated(tmp_path, with_habits(), purpose="new-sources").result.systems
    assert (part.purpose, part.why, part.fit, part.named) == ("new-sources", "as asked", "plain fit", 4)
    assert part.new_sources is not None and part.new_systems is not None
    assert of(part.new_sources.pooled) > 0.8
    assert abs(of(part.new_sources.within)) < 0.25
    assert of(part.new_sources.between) == 1
    assert of(part.new_systems.pooled) < of(part.new_sources.pooled) - 0.3
    assert of(part.new_systems.between) < 1


def test_a_judge_of_texts_is_as_good_on_new_systems(tmp_path: Path) -> None:
    part = calibrated(tmp_path, with_systems(400, 100)).result.systems
    assert part.new_sources is not None and part.new_systems is not None
    assert of(part.new_systems.pooled) == pytest.approx(of(part.new_sources.pooled), abs=0.1)
    assert of(part.new_systems.within) > 0.6


def test_each_system_has_a_line_with_its_items_of_the_test_side(tmp_path: Path) -> None:
    items = with_systems(400, 100)
    part = calibrated(tmp_path, items).result.systems
    sealed = prepared(items).split.test.unseal(1)
    assert {line.system: line.items for line in part.lines} == {s: sum(i.system == s for i in sealed) for s in "abcd"}
    assert all(line.unseen is not None and line.without is not None for line in part.lines)


class Spied(CriteriaJudge):
    """A criteria judge that knows what it was fitted on."""

    def __init__(self, rubric: Rubric, fitted: frozenset[str] | None, log: list[tuple[frozenset[str], list[Item]]]):
        super().__init__(rubric, ASPECT.scale)
        self._fitted, self._log = fitted, log

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        if self._fitted is not None:
            self._log.append((self._fitted, list(items)))
        return super().judge(items)


def spied(new_systems: bool) -> tuple[Method, list[tuple[frozenset[str], list[Item]]]]:
    """Return the embedded method and a log: on which items (keys) each fresh fit was made, and what it judged."""
    inner, log = embedded(ASPECT, "spearman", new_systems=new_systems), list[tuple[frozenset[str], list[Item]]]()
    fits: dict[int, tuple[Rubric, frozenset[str]]] = {}
    assert inner.fresh is not None
    fit = inner.fresh

    def fresh(items: Sequence[Item]) -> Rubric:
        rubric = fit(items)
        fits[id(rubric)] = (rubric, frozenset(i.key for i in items))
        return rubric

    def judge(rubric: Rubric) -> Judge:
        return Spied(rubric, fits[id(rubric)][1] if id(rubric) in fits else None, log)

    return replace(inner, fresh=fresh, judge=judge), log


@pytest.mark.parametrize("new_systems", [False, True])
def test_no_item_of_a_system_enters_the_judge_that_is_made_without_it(tmp_path: Path, new_systems: bool) -> None:
    items = with_systems(240, 60)
    method, log = spied(new_systems)
    calibrated(tmp_path, items, method)
    split = prepared(items).split
    known, sealed = split.train + split.dev, split.test.unseal(1)
    for system in "abcd":
        tested = [i.key for i in sealed if i.system == system]
        fits = [fitted for fitted, judged in log if [i.key for i in judged] == tested]
        assert fits == [frozenset(i.key for i in known if i.system != system)], system


def test_nothing_is_fitted_on_an_item_of_the_test_side(tmp_path: Path) -> None:
    items = with_systems(240, 60)
    method, log = spied(True)
    calibrated(tmp_path, items, method)
    sealed = {i.key for i in prepared(items).split.test.unseal(1)}
    assert log and not any(fitted & sealed for fitted, _ in log)


def test_a_rubric_that_is_read_is_chosen_anew_without_the_system_it_is_tried_on(tmp_path: Path) -> None:
    """The best of all on dev is best for system a alone; without it another one is, and that one judges a's texts."""
    items = with_systems(240, 60, "ab")

    @dataclass
    class Partial:
        name: str
        id: str = "partial"
        mode: str = "said"

        def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
            log.append((self.name, [i.key for i in items]))
            return tuple(Judgment(i.id, self._score(i), self.mode) for i in items)

        def _score(self, item: Item) -> float:
            noise = {"onlya": (0.0, 3.0), "even": (1.5, 1.5)}[self.name]["ab".index(item.system or "a")]
            return item.ratings[0] + noise * random.Random(item.key).gauss(0, 1)

    log: list[tuple[str, list[str]]] = []
    doubles = Doubles({"onlya": 0.5, "even": 0.5})
    method = replace(doubles.method, judge=lambda rubric: Partial(rubric.steps[0].text))
    calibrated(tmp_path, items, method, trials=2, rounds=0, keep=True, purpose="new-sources")
    sealed = prepared(items).split.test.unseal(1)
    judged = {s: [n for n, keys in log if keys == [i.key for i in sealed if i.system == s]] for s in "ab"}
    assert judged == {"a": ["even"], "b": ["onlya"]}


def test_the_papers_protocol_has_no_fit_to_repeat(tmp_path: Path) -> None:
    part = calibrated(tmp_path, with_systems(), protocol="paper").result.systems
    assert part.new_sources is not None and part.new_systems is None
    assert all(line.unseen is None for line in part.lines)


@pytest.mark.parametrize("systems", ["", "a"])
def test_without_named_systems_nothing_is_told(tmp_path: Path, systems: str) -> None:
    items = with_systems(120, 40, systems) if systems else make_items(120, 40)
    part = calibrated(tmp_path, items).result.systems
    assert (part.new_sources, part.new_systems, part.lines) == (None, None, ())
    assert part.named == len(systems)


def test_a_system_that_only_the_test_side_has_besides_another_is_told_without_a_new_fit(tmp_path: Path) -> None:
    items = make_items(200, 50)
    group = prepared(items).split.test.unseal(1)[0].group
    named = [replace(i, system="b" if i.group == group else "a") for i in items]
    part = calibrated(tmp_path, named).result.systems
    assert part.new_sources is None and part.new_systems is None
    assert {line.system: (line.seen is None, line.unseen is None) for line in part.lines} == {
        "a": (False, True),
        "b": (True, True),
    }


def test_systems_that_train_and_dev_do_not_hold_are_no_new_sources() -> None:
    items = with_systems(80, 20)
    purpose = replace(FOUR, strange=frozenset("ab"))
    part = part_of(items, [(s, Says(0.0), 3.0) for s in "abcd"], purpose)
    assert {line.system: line.seen is None for line in part.lines} == {"a": True, "b": True, "c": False, "d": False}
    assert part.new_sources is not None and part.new_systems is not None
    everybody = part_of(items, [(s, Says(0.0), 3.0) for s in "abcd"], replace(FOUR, strange=frozenset("abcd")))
    assert everybody.new_sources is None and everybody.new_systems is not None


@dataclass(frozen=True)
class Says:
    """A judge that adds what it was given to the rating."""

    more: float
    failing: frozenset[str] = frozenset()
    id: str = "says"
    mode: str = "said"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        return tuple(
            Failure(i.id, "no idea") if i.id in self.failing else Judgment(i.id, (i.human or 0) + self.more, self.mode)
            for i in items
        )


def part_of(items: Sequence[Item], judges: Iterable[tuple[str, Says, float]], purpose: Purpose = FOUR) -> SystemsPart:
    made = {system: (judge, level) for system, judge, level in judges}
    verdicts = Says(0.0).judge(items)
    return systems_part(purpose, verdicts, lambda s: made[s], items, "spearman", 0, 100)


def test_judges_made_without_a_system_are_set_to_one_level() -> None:
    """Each is right but for where its scores lie, and the level says by how much: set to one level, all are right."""
    items = with_systems(80, 20)
    more = {"a": 3.0, "b": -2.0, "c": 0.0, "d": 7.0}
    mean = float(np.mean([i.human for i in items]))
    right = part_of(items, [(s, Says(m), mean + m) for s, m in more.items()])
    assert right.new_systems is not None
    assert of(right.new_systems.pooled) == pytest.approx(1.0)
    wrong = part_of(items, [(s, Says(m), mean) for s, m in more.items()])
    assert wrong.new_systems is not None
    shifted = np.array([(i.human or 0) + more[i.system or ""] for i in items])
    expected = spearman(shifted, np.array([i.human for i in items], dtype=float))
    assert of(wrong.new_systems.pooled) == pytest.approx(float(expected), abs=1e-6)
    assert of(wrong.new_systems.within) == pytest.approx(1.0)


def test_failures_are_left_out_of_the_figures() -> None:
    items = with_systems(80, 20)
    lost = frozenset(i.id for i in items if i.system == "a")
    part = part_of(items, [(s, Says(0.0, lost), 3.0) for s in "abcd"])
    assert part.new_systems is not None
    assert {line.system: line.unseen is None for line in part.lines} == {"a": True, "b": False, "c": False, "d": False}


def test_items_without_a_system_beside_named_ones_leave_nothing_to_tell() -> None:
    items = [replace(i, system=None if i.system == "d" else i.system) for i in with_systems(80, 20)]
    part = part_of(items, [(s, Says(0.0), 3.0) for s in ("", "a", "b", "c")])
    assert part.new_sources is None and part.new_systems is None and not part.lines
