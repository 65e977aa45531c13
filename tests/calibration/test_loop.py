"""The whole loop, called as a library, on small data sets that the tests make."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.calibration.config import RunConfig, make_config
from calibrator.calibration.method import FRACTIONS, embedded
from calibrator.drafting.base import DraftRequest, RefineRequest
from calibrator.drafting.criteria import CriteriaDrafter
from calibrator.errors import CalibrationError, ConfigError
from calibrator.files import read_lines
from calibrator.judges.base import Judge
from calibrator.judges.criteria import CriteriaJudge
from calibrator.records import Failure, Item, Rubric, Verdict
from calibrator.store import create_run
from tests.calibration.making import ASPECT, calibrated, prepared
from tests.conftest import make_items


def test_it_learns_what_the_ratings_follow(tmp_path: Path) -> None:
    def merit(item: Item) -> float:
        shared = set(item.source.split()) & set(item.output.rstrip(".?!").split())
        return 1.0 + 2 * ("?" in item.output) + min(2, len(shared))

    outcome = calibrated(tmp_path, [replace(i, human=merit(i)) for i in make_items(240, 60)])
    figures = {j.name: j.figures["spearman"].value for j in outcome.result.test.judges}
    assert figures["calibrated"] is not None and figures["length only"] is not None
    assert figures["calibrated"] > max(0.8, figures["length only"] + 0.2)
    assert len(outcome.frozen.steps) <= 12


def test_one_seed_one_result_and_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    items = make_items(120, 40)
    one = calibrated(tmp_path / "a", items)
    two = calibrated(tmp_path / "b", items[::-1])
    assert one.result == two.result
    assert one.frozen == two.frozen
    assert calibrated(tmp_path / "c", items, seed=1).result.split != one.result.split


def test_the_test_side_changes_nothing_but_its_own_figures(tmp_path: Path) -> None:
    """Other ratings and other texts on the test side: the very same rubric comes out."""
    items = make_items(150, 50)
    plain = prepared(items)
    test_keys = {i.key for i in plain.split.test.unseal(1)}
    # The ratings of the test side are shuffled, and its texts replaced, behind the back of the split.
    swapped = [
        replace(i, human=6 - (i.human or 0), output="Something else entirely.") for i in items if i.key in test_keys
    ]
    split = replace(plain.split, test=type(plain.split.test)(swapped))
    outcomes = []
    for name, ready in (("a", plain), ("b", replace(plain, split=split))):
        outcomes.append(calibrated(tmp_path / name, ready).result)
    one, two = outcomes
    for part in ("rubric", "winner", "candidates", "best_baseline", "history", "moves", "disagreements"):
        assert getattr(one, part) == getattr(two, part), part
    assert (one.dev.judges, one.dev.gains) == (two.dev.judges, two.dev.gains)
    assert one.verdict.handed_over == two.verdict.handed_over
    assert one.test.judges != two.test.judges


class _Spy:
    """A drafter that keeps what it was shown."""

    id = "spy"
    moves: tuple[str, ...] = ("modify", "add")

    def __init__(self) -> None:
        self._inner = CriteriaDrafter()
        self.seen: list[Item] = []

    def draft(self, requests: Sequence[DraftRequest]) -> Iterable[Rubric]:
        for request in requests:
            self.seen += request.exemplars
            yield from self._inner.draft([request])

    def refine(self, requests: Sequence[RefineRequest]) -> Iterable[Rubric]:
        for request in requests:
            self.seen += [*request.exemplars, *(d.item for d in request.disagreements)]
            yield from self._inner.refine([request])

    def refit(self, aspect: Any, rubrics: Sequence[Rubric], items: Sequence[Item], seed: int) -> Rubric:
        self.seen += items
        return self._inner.refit(aspect, rubrics, items, seed)

    def fresh(self, items: Sequence[Item]) -> Rubric:
        return self.refit(ASPECT, (), items, 0)


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_no_step_before_validation_sees_an_item_of_the_test_side(tmp_path: Path, protocol: str) -> None:
    items = make_items(120, 40)
    spy, judged = _Spy(), list[Item]()
    inner = embedded(ASPECT, "spearman")

    class Watching:
        id, mode = "criteria/0", "criteria"

        def __init__(self, rubric: Rubric) -> None:
            self._judge = CriteriaJudge(rubric, ASPECT.scale)

        def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
            if not (tmp_path / "ledger.jsonl").exists():
                judged.extend(items)
            return self._judge.judge(items)

    method = replace(inner, drafters=((spy, FRACTIONS),), refiner=spy, judge=Watching, refit=spy.refit, fresh=spy.fresh)
    calibrated(tmp_path, items, method, protocol=protocol)
    sealed = {i.key for i in prepared(items).split.test.unseal(1)}
    assert spy.seen and judged
    assert not sealed & {i.key for i in spy.seen}
    assert not sealed & {i.key for i in judged}


def test_the_look_is_entered_before_the_test_side_is_judged(tmp_path: Path) -> None:
    outcome = calibrated(tmp_path, make_items(90, 30))
    entries = read_lines(tmp_path / "ledger.jsonl")
    assert outcome.look == 1
    assert [e["test"] for e in entries] == [outcome.result.split.test_digest]
    assert calibrated(tmp_path, make_items(90, 30)).look == 2


class _StoppedError(Exception):
    pass


def test_a_run_that_stops_anywhere_is_resumed_to_the_same_result(tmp_path: Path) -> None:
    items = make_items(90, 30)
    undisturbed = calibrated(tmp_path / "whole", items)
    run = create_run(tmp_path / "parts", "test", {})
    inner = embedded(ASPECT, "spearman")
    draw = np.random.default_rng(0)
    written = 0

    def stopping(rubric: Rubric) -> Judge:
        if draw.random() < 0.1:
            raise _StoppedError
        return inner.judge(rubric)

    for _ in range(200):
        before = len(run.journal())
        assert before >= written  # nothing that was written is lost
        written = before
        try:
            outcome = calibrated(tmp_path / "parts", items, replace(inner, judge=stopping), run)
            break
        except _StoppedError:
            continue
    assert outcome.result == undisturbed.result
    assert outcome.look == 1
    keys = [json.loads(line)["key"] for line in (run.folder / "journal.jsonl").read_text().splitlines()]
    assert len(keys) == len(set(keys))


def test_a_finished_run_is_replayed_without_judging_or_drafting(tmp_path: Path) -> None:
    items = make_items(90, 30)
    run = create_run(tmp_path, "test", {})
    first = calibrated(tmp_path, items, run=run)
    calls = []
    inner = embedded(ASPECT, "spearman")

    class Counting(_Spy):
        id, moves = inner.refiner.id, inner.refiner.moves

        def draft(self, requests: Sequence[DraftRequest]) -> Iterable[Rubric]:
            calls.append("draft")
            return super().draft(requests)

        def refine(self, requests: Sequence[RefineRequest]) -> Iterable[Rubric]:
            calls.append("refine")
            return super().refine(requests)

    counting = Counting()
    method = replace(inner, drafters=((counting, FRACTIONS),), refiner=counting, refit=counting.refit)
    again = calibrated(tmp_path, items, method, run)
    assert again.result == first.result
    assert not calls


def test_the_papers_protocol_hands_over_a_candidate_as_it_was_scored(tmp_path: Path) -> None:
    outcome = calibrated(tmp_path, make_items(120, 40), protocol="paper", trials=4)
    result = outcome.result
    assert result.protocol == "paper"
    assert result.dev.items == result.split.train[0] + result.split.dev[0]
    drafts = [c for c in result.candidates if c.origin == "draft"]
    refined = [c for c in result.candidates if c.origin != "draft"]
    assert len(drafts) + len(refined) + result.near_duplicates == 3 * 4 + 2 * 4
    assert len(result.history) == 2
    best = max(c.value for c in result.candidates if c.value is not None)
    assert next(c.value for c in result.candidates if c.name == result.winner) == best
    # The same rubric, so the same figures on dev as the candidate had.
    assert result.dev.judges[0].figures["spearman"].value == pytest.approx(best, abs=1e-6)


def test_a_judge_that_fails_too_often_hands_over_nothing(tmp_path: Path) -> None:
    inner = embedded(ASPECT, "spearman")

    class Refusing:
        id = mode = "refusing"

        def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
            return tuple(Failure(i.id, "refused") for i in items)

    with pytest.raises(CalibrationError, match="refused"):
        calibrated(tmp_path, make_items(90, 30), replace(inner, judge=lambda rubric: Refusing()))
    assert not (tmp_path / "ledger.jsonl").exists()  # nobody has looked


def test_few_failures_are_counted_and_left_out_for_every_judge(tmp_path: Path) -> None:
    items = make_items(150, 50)
    items[0] = replace(items[0], output="", key="empty")
    result = calibrated(tmp_path, items).result
    side = result.dev if result.dev.items < result.split.dev[0] else result.test
    counted = [sum(j.failures.values()) for j in (*result.dev.judges, *result.test.judges)]
    assert max(counted) <= 1
    if max(counted):
        assert side.items in (result.split.dev[0] - 1, result.split.test[0] - 1)


@pytest.mark.parametrize("objective", ["spearman", "kendall", "pearson", "mae"])
def test_every_objective_runs_and_its_history_never_falls(tmp_path: Path, objective: str) -> None:
    result = calibrated(tmp_path, make_items(90, 30), objective=objective).result
    assert list(result.history) == sorted(result.history)
    assert result.objective == objective


@pytest.mark.parametrize(
    "settings, option",
    [
        ({"trials": 0}, "--trials"),
        ({"shots": ()}, "--shots"),
        ({"shots": (2.5,)}, "--shots"),
        ({"temperature": (0.5, 0.1)}, "--temperature"),
        ({"objective": "luck"}, "--objective"),
        ({"seed": -1}, "--seed"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(settings: dict[str, Any], option: str) -> None:
    with pytest.raises(ConfigError, match=option):
        make_config(**({"aspect": "relevance"} | settings))


def test_a_configuration_survives_its_file(tmp_path: Path) -> None:
    config = make_config(aspect="relevance", shots=(3, 5), temperature=(0.0, 1.0), out=Path("x.yaml"))
    assert RunConfig.model_validate(json.loads(config.model_dump_json())) == config
