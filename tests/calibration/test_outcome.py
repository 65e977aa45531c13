"""What is handed over and with which verdict: a rubric that does not beat the best baseline on dev is not."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrator.calibration.loop import Outcome
from calibrator.calibration.method import CONSTANT, LENGTH, UNCALIBRATED, embedded
from calibrator.calibration.outcome import move_lines
from calibrator.calibration.score import make_candidate
from calibrator.calibration.validate import beats, best_baseline
from calibrator.evaluation.aim import Aim
from calibrator.files import read_lines
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import FrozenJudge, read_frozen
from calibrator.judges.frozen_parts import Figure
from calibrator.records import Item, Judgment, Stopped
from calibrator.split import Sealed
from calibrator.store import create_run
from tests.calibration.making import ASPECT, Doubles, calibrated, named, prepared
from tests.conftest import make_items

ITEMS = make_items(150, 50)
POOR, GOOD = {"one": 0.05, "two": 0.1}, {"one": 0.8, "two": 0.95}


def searched(folder: Path, qualities: dict[str, float], items: Sequence[Item] = ITEMS, **settings: Any) -> Outcome:
    doubles = Doubles(qualities)
    return calibrated(folder, items, doubles.method, trials=doubles.trials, rounds=0, **settings)


def value(outcome: Outcome, side: str, judge: str, measure: str = "spearman") -> float:
    found: float | None = getattr(outcome.result, side).of(judge, measure).value
    assert found is not None
    return found


def test_a_rubric_worse_than_a_baseline_on_dev_gives_way_to_it(tmp_path: Path) -> None:
    outcome = searched(tmp_path, POOR)
    result, verdict = outcome.result, outcome.result.verdict
    assert value(outcome, "dev", "calibrated") < value(outcome, "dev", LENGTH)
    assert (verdict.handed_over, verdict.over, result.best_baseline) == (LENGTH, LENGTH, LENGTH)
    assert not verdict.passed
    assert verdict.reasons[0] == "the rubric did not beat 'length only' on dev and was not handed over"
    assert result.rejected is not None
    assert [s.text for s in result.rejected.steps] == [{"d01": "one", "d02": "two"}[result.winner]]
    assert (result.rubric.kind, len(result.rubric.steps)) == ("criteria", 1)
    assert result.rubric.steps[0].measures[0].criterion == "length"
    # The judge whose figures the result tells first is still the calibrated one.
    assert result.test.judges[0].name == "calibrated" and result.judge == "rated"


def test_the_frozen_file_of_a_fall_back_says_so_and_scores(tmp_path: Path) -> None:
    outcome = searched(tmp_path, POOR)
    path = tmp_path / "frozen.yaml"
    outcome.frozen.save(path)
    frozen = read_frozen(path)
    assert frozen == outcome.frozen
    assert frozen.verdict is not None
    assert (frozen.verdict.handed_over, frozen.verdict.passed, frozen.judge.method) == (LENGTH, False, "criteria")
    assert frozen.content_hash == outcome.result.content_hash
    for side in ("dev", "test"):
        assert getattr(frozen, side).figures["spearman"].value == value(outcome, side, LENGTH)
    judge = load_judge(path)
    short, long = (judge.score(output=o, source="x") for o in ("A word.", "A word " * 30))
    assert 1 <= short < long <= 5


def test_a_better_rubric_is_handed_over_with_what_it_gained_on_test(tmp_path: Path) -> None:
    outcome = searched(tmp_path, GOOD)
    verdict = outcome.result.verdict
    assert (verdict.handed_over, verdict.passed, verdict.reasons) == ("calibrated", True, ())
    assert outcome.result.rejected is None
    assert verdict.gain == outcome.result.test.gains[verdict.over]["spearman"]
    gain = value(outcome, "test", "calibrated") - value(outcome, "test", verdict.over)
    assert verdict.gain.value == pytest.approx(gain, abs=2e-6)
    assert outcome.frozen.judge.method == "doubles"
    assert outcome.frozen.test.figures["spearman"].value == value(outcome, "test", "calibrated")


def test_keep_hands_over_the_rubric_all_the_same_and_the_gate_is_not_passed(tmp_path: Path) -> None:
    outcome = searched(tmp_path, POOR, keep=True)
    verdict = outcome.result.verdict
    assert verdict.handed_over == "calibrated"
    assert outcome.result.rejected is None
    assert not verdict.passed
    assert verdict.reasons and "was not handed over" not in " ".join(verdict.reasons)
    assert [s.text for s in outcome.frozen.steps] == [s.text for s in outcome.result.rubric.steps]


def test_the_test_side_has_no_say_in_what_is_handed_over(tmp_path: Path) -> None:
    """Ratings turned round on the test side alone: figures and gate change, what is handed over does not."""
    plain = prepared(ITEMS)
    turned = Sealed([replace(i, human=6 - (i.human or 0)) for i in plain.split.test.unseal(1)])
    other = replace(plain, split=replace(plain.split, test=turned))
    for qualities in (POOR, GOOD):
        doubles = Doubles(qualities), Doubles(qualities)
        one, two = (
            calibrated(tmp_path, ready, d.method, trials=2, rounds=0).result
            for ready, d in zip((plain, other), doubles, strict=True)
        )
        assert one.verdict.handed_over == two.verdict.handed_over
        assert one.verdict.over == two.verdict.over
        assert one.rubric == two.rubric
        assert one.test.judges != two.test.judges
    assert one.verdict.passed and not two.verdict.passed


def test_the_best_baseline_is_that_of_dev_and_a_baseline_without_a_figure_is_none(tmp_path: Path) -> None:
    dev = searched(tmp_path, GOOD).result.dev
    values = {j.name: j.figures["spearman"].value for j in dev.judges if j.name != "calibrated"}
    assert set(values) == {UNCALIBRATED, LENGTH, CONSTANT}
    assert values[CONSTANT] is None
    assert best_baseline(dev, "spearman") == max((n for n in values if n != CONSTANT), key=lambda n: values[n] or 0)
    errors = {n: dev.of(n, "mae").value for n in values}
    assert best_baseline(dev, "mae") == min(errors, key=lambda n: errors[n] or 0)


def test_who_has_no_figure_beats_nobody_and_nobody_with_a_figure_loses_to_one_without(tmp_path: Path) -> None:
    dev = searched(tmp_path, GOOD).result.dev
    assert beats(dev, CONSTANT, "spearman")
    mine, *rest = dev.judges
    silent = mine.model_copy(update={"figures": {**mine.figures, "spearman": Figure(value=None)}})
    assert not beats(dev.model_copy(update={"judges": (silent, *rest)}), CONSTANT, "spearman")
    same = mine.model_copy(update={"name": LENGTH})
    assert not beats(dev.model_copy(update={"judges": (mine, same)}), LENGTH, "spearman")
    assert not beats(dev.model_copy(update={"judges": (mine, same)}), LENGTH, "mae")


def test_dev_has_no_p_value_and_test_has_one_for_every_baseline_with_a_figure(tmp_path: Path) -> None:
    result = searched(tmp_path, GOOD).result
    assert result.dev.p == {}
    assert set(result.test.p) == {UNCALIBRATED, LENGTH, CONSTANT}
    for name in (UNCALIBRATED, LENGTH):
        p = result.test.p[name]
        assert p is not None and 0 < p <= 1
    assert (result.test.p[LENGTH] or 1.0) < 0.05
    assert result.test.p[CONSTANT] is None


@pytest.mark.parametrize("objective", ["spearman", "mae"])
def test_optimism_is_by_how_much_dev_looked_better_than_test(tmp_path: Path, objective: str) -> None:
    """Ratings with more noise on the test side: the judge looks better on dev, whatever the objective."""
    plain = prepared(ITEMS)
    blurred = [replace(i, human=(i.human or 0) + 3 * (-1) ** k) for k, i in enumerate(plain.split.test.unseal(1))]
    ready = replace(plain, split=replace(plain.split, test=Sealed(blurred)))
    outcome = calibrated(tmp_path, ready, objective=objective)
    found = outcome.result.optimism
    # The winner as it was chosen, not its refit: the same rubric on both sides.
    journal = next(tmp_path.rglob("journal.jsonl")).read_text(encoding="utf-8").splitlines()
    entry = next(json.loads(line) for line in journal if '"validated"' in line)
    dev, test = value(outcome, "dev", "calibrated", objective), entry["value"]["winner"]
    assert found == pytest.approx(test - dev if objective == "mae" else dev - test, abs=2e-6)
    assert found is not None and found > 0
    assert test != pytest.approx(value(outcome, "test", "calibrated", objective), abs=1e-6)


def test_few_groups_on_the_test_side_do_not_pass(tmp_path: Path) -> None:
    items = [replace(i, group=f"g{k % 9}") for k, i in enumerate(make_items(150, 50))]
    result = searched(tmp_path, GOOD, items).result
    assert result.test.groups < 5
    assert not result.verdict.passed
    assert result.verdict.reasons[0] == f"{result.test.groups} groups on the test side are too few for an interval"


class Seal(Sealed):
    """A test side that keeps what the ledger held whenever it was unsealed."""

    def __init__(self, items: Sequence[Item], ledger: Path) -> None:
        super().__init__(items)
        self.ledger, self.looks = ledger, list[int]()

    def unseal(self, look: int) -> tuple[Item, ...]:
        self.looks.append(len(read_lines(self.ledger)))
        return super().unseal(look)


def test_the_test_side_is_unsealed_once_and_after_the_look_is_entered(tmp_path: Path) -> None:
    plain = prepared(ITEMS)
    seal = Seal(plain.split.test.unseal(1), tmp_path / "ledger.jsonl")
    ready = replace(plain, split=replace(plain.split, test=seal))
    run = create_run(tmp_path, "test", {})
    first = calibrated(tmp_path, ready, run=run)
    assert seal.looks == [1]
    assert calibrated(tmp_path, ready, run=run).result == first.result
    assert seal.looks == [1], "a finished run does not look again"


def test_no_text_of_the_test_side_is_judged_before_it_is_unsealed(tmp_path: Path) -> None:
    plain = prepared(ITEMS)
    sealed = {i.key for i in plain.split.test.unseal(1)}
    doubles, early = Doubles(GOOD), list[bool]()

    class Watching(Seal):
        def unseal(self, look: int) -> tuple[Item, ...]:
            early.append(any(i.key in sealed for j in doubles.judges.values() for i in j.judged))
            return super().unseal(look)

    seal = Watching(plain.split.test.unseal(1), tmp_path / "ledger.jsonl")
    ready = replace(plain, split=replace(plain.split, test=seal))
    calibrated(tmp_path, ready, doubles.method, trials=2, rounds=0)
    assert early == [False]
    assert any(i.key in sealed for j in doubles.judges.values() for i in j.judged)


def test_a_method_that_is_not_fitted_has_no_curve(tmp_path: Path) -> None:
    assert searched(tmp_path, GOOD).result.curve == ()


def test_a_curve_has_the_labels_in_order_and_ends_with_all_of_them(tmp_path: Path) -> None:
    items = make_items(240, 80)
    result = calibrated(tmp_path, items).result
    known = result.split.train[0] + result.split.dev[0]
    assert [p.labels for p in result.curve] == [50, 100, known]
    assert all(p.figure.value is not None and p.figure.low is not None for p in result.curve)
    few = calibrated(tmp_path, make_items(60, 20)).result
    assert [p.labels for p in few.curve] == [few.split.train[0] + few.split.dev[0]]


def test_a_curve_is_fitted_to_known_items_only(tmp_path: Path) -> None:
    fitted: list[list[Item]] = []
    inner = embedded(ASPECT, "spearman")
    assert inner.fresh is not None
    fresh = inner.fresh

    def watched(items: Sequence[Item]) -> Any:
        fitted.append(list(items))
        return fresh(items)

    calibrated(tmp_path, ITEMS, replace(inner, fresh=watched))
    split = prepared(ITEMS).split
    known = {i.key for i in split.train + split.dev}
    assert [len(f) for f in fitted] == [50, 100, len(known)]
    assert all({i.key for i in f} <= known for f in fitted)


def test_moves_are_counted_with_what_they_gained_over_what_they_were_made_from() -> None:
    items = make_items(20)

    def line(name: str, value: float | None, origin: str, parent: str | None, stopped: float | None = None) -> Any:
        verdicts = tuple(Judgment(i.id, i.human or 0.0, "m") for i in items)
        made = make_candidate(name, named(name), verdicts, items, Aim(), origin, parent)
        return replace(made, value=value, stopped=None if stopped is None else Stopped(5, 0.0, stopped))

    lines = move_lines(
        [
            line("a", 0.5, "draft", None),
            line("b", 0.7, "add", "a"),
            line("c", None, "add", "a", stopped=0.4),
            line("d", None, "add", "a"),
            line("e", None, "drop", "a"),
            line("f", 0.6, "modify", "b"),
        ]
    )
    told = {m.move: (m.tried, m.better) for m in lines}
    assert told == {"add": (3, 1), "drop": (1, 0), "modify": (1, 0)}
    assert [m.mean_gain for m in lines] == [pytest.approx(0.05), None, pytest.approx(-0.1)]
    assert [m.best_gain for m in lines] == [pytest.approx(0.2), None, pytest.approx(-0.1)]


SHIPPED = sorted((Path(__file__).resolve().parents[2] / "rubrics" / "frozen").glob("*/*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_judges_load_and_score(path: Path) -> None:
    judge = load_judge(path)
    assert 1 <= judge.score(output="Night nurses are as kind as anyone.", source="People at night are rude.") <= 5


def test_a_file_from_before_there_was_a_verdict_or_a_product_still_loads(tmp_path: Path) -> None:
    """Neither entry is written where there is none, so that the hash of an older file still holds."""
    outcome = calibrated(tmp_path, ITEMS)
    assert outcome.frozen.verdict is not None
    steps = tuple(
        s.model_copy(update={"measures": tuple(m.model_copy(update={"times": None}) for m in s.measures)})
        for s in outcome.frozen.steps
    )
    old = outcome.frozen.model_copy(update={"verdict": None, "steps": steps}).hashed()
    old.save(tmp_path / "old.yaml")
    text = (tmp_path / "old.yaml").read_text(encoding="utf-8")
    assert "verdict:" not in text and "times:" not in text
    assert read_frozen(tmp_path / "old.yaml") == old
    assert isinstance(old, FrozenJudge) and load_judge(tmp_path / "old.yaml").score(output="A text.", source="x") >= 1
