"""Selection: candidates are raced on blocks of dev, and what is stopped, counted and replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.calibration.config import make_config
from calibrator.calibration.draft import distinct, measured_alike
from calibrator.calibration.loop import Outcome
from calibrator.calibration.prepare import plan
from calibrator.calibration.races.blocks import block_order
from calibrator.calibration.races.driver import Wanted
from calibrator.calibration.result import CandidateLine
from calibrator.calibration.score import make_candidate
from calibrator.calibration.select import course_over, raced, top_k
from calibrator.codec import rubric_from_json, verdicts_from_json
from calibrator.evaluation.agreement import MOST_FAILURES
from calibrator.evaluation.aim import Aim
from calibrator.records import Candidate, Item, Verdict
from calibrator.store import Run, create_run
from tests.calibration.making import QUICK, Doubles, Rated, calibrated, named, prepared, with_systems
from tests.conftest import make_items

ITEMS = make_items(400, 100)  # 120 of them on dev: blocks of 30, 30 and 60
DEV = prepared(ITEMS).split.dev
QUALITIES = {f"judge-{k}": 0.1 + 0.07 * k for k in range(10)}


def search(folder: Path, doubles: Doubles, items: Sequence[Item] = ITEMS, **settings: Any) -> tuple[Outcome, Run]:
    given = {"trials": doubles.trials, "rounds": 0, "top_k": 2} | settings
    run = create_run(folder, "test", {})
    return calibrated(folder, items, doubles.method, run, **given), run


def by_name(outcome: Outcome) -> dict[str, CandidateLine]:
    return {c.name: c for c in outcome.result.candidates}


def test_a_race_and_the_full_search_end_in_the_same_winner_at_the_same_value(tmp_path: Path) -> None:
    race, full = (search(tmp_path, Doubles(QUALITIES), select=s)[0].result for s in ("race", "full"))
    assert (race.select, full.select) == ("race", "full")
    assert race.winner == full.winner == "d10"
    assert race.history == full.history
    assert race.judgments < 0.6 * full.judgments


def test_of_nearly_equal_candidates_a_race_loses_little(tmp_path: Path) -> None:
    """Over many sets of candidates that are hard to tell apart the race costs less than 0.02 of the objective."""
    lost = []
    for seed in range(5):
        doubles = [Doubles({f"s{seed}-{k}": 0.4 + 0.01 * k for k in range(12)}) for _ in range(2)]
        race, full = (search(tmp_path, d, select=s)[0].result for d, s in zip(doubles, ("race", "full"), strict=True))
        assert race.judgments < full.judgments
        assert race.history[-1] <= full.history[-1]
        lost.append(full.history[-1] - race.history[-1])
    assert np.mean(lost) < 0.02


def test_the_embedded_search_raced_is_as_good_as_in_full(tmp_path: Path) -> None:
    race, full = (calibrated(tmp_path, ITEMS, select=s, trials=6).result for s in ("race", "full"))
    assert any(c.stopped for c in race.candidates) and not any(c.stopped for c in full.candidates)
    assert race.history[-1] == pytest.approx(full.history[-1], abs=0.01)
    assert race.judgments < race.judgments_full == len(race.candidates) * len(DEV)


def test_what_was_stopped_says_when_with_what_chance_and_at_what_value(tmp_path: Path) -> None:
    outcome, run = search(tmp_path, Doubles(QUALITIES))
    ends = {30, 60}
    stopped = [c for c in outcome.result.candidates if c.stopped]
    assert len(stopped) >= 5
    blocks = [set(b) for b in block_order(DEV, 0)]
    assert [len(b) for b in blocks] == [30, 30, 60]
    for line in stopped:
        assert line.stopped is not None and line.value is None
        assert line.stopped.after == line.judged and line.judged in ends
        assert 0 <= line.stopped.chance < 1
        assert line.stopped.value is not None and -1 <= line.stopped.value <= 1
        journal = run.journal()
        assert journal.get(f"verdicts/{line.name}/0") is not None
        assert (journal.get(f"verdicts/{line.name}/1") is not None) is (line.judged == 60)
        assert journal.get(f"verdicts/{line.name}/2") is None


def test_judgments_are_counted_as_they_were_made(tmp_path: Path) -> None:
    doubles = Doubles(QUALITIES)
    outcome, run = search(tmp_path, doubles)
    result = outcome.result
    in_journal = [len(v) for k, v in run.journal().items() if k.startswith("verdicts/")]
    assert result.judgments == sum(in_journal) == sum(c.judged for c in result.candidates)
    assert result.judgments_full == 10 * len(DEV)
    # The judges were asked about these and, those that go on, about the comparisons of the winner.
    sealed = len(prepared(ITEMS).split.test)
    asked = sum(len(j.judged) for j in doubles.judges.values())
    assert asked == result.judgments + len(DEV) + 2 * sealed


@pytest.mark.parametrize("settings", [{"select": "full"}, {"protocol": "paper"}])
def test_without_a_race_every_candidate_scores_everything(tmp_path: Path, settings: dict[str, Any]) -> None:
    outcome, run = search(tmp_path, Doubles(QUALITIES), **settings)
    size = outcome.result.dev.items
    assert size == len(DEV) + (len(prepared(ITEMS).split.train) if "protocol" in settings else 0)
    assert outcome.result.select == "full"
    assert all(c.judged == size and c.stopped is None and c.value is not None for c in outcome.result.candidates)
    assert outcome.result.judgments == outcome.result.judgments_full == 10 * size
    assert {k.split("/")[2] for k, _ in run.journal().items() if k.startswith("verdicts/")} == {"0"}


def test_a_small_dev_is_one_block_and_nobody_stops(tmp_path: Path) -> None:
    items = make_items(120, 40)
    assert len(prepared(items).split.dev) < 42
    outcome, _ = search(tmp_path, Doubles(QUALITIES), items)
    assert all(c.stopped is None and c.value is not None for c in outcome.result.candidates)
    assert outcome.result.judgments == outcome.result.judgments_full


@pytest.mark.parametrize("select", ["race", "full"])
def test_a_candidate_that_fails_on_more_than_five_per_cent_never_wins(tmp_path: Path, select: str) -> None:
    """The best by far, but for its failures: six of 120 are let pass, seven are not."""
    order = [i for block in block_order(DEV, 0) for i in block]
    six, seven = (frozenset(DEV[k].id for k in order[-n:]) for n in (6, 7))
    qualities = {f"judge-{k}": 0.3 + 0.01 * k for k in range(6)} | {"best": 0.95}
    passed, _ = search(tmp_path, Doubles(qualities, {"best": six}), select=select)
    assert passed.result.winner == "d07" and by_name(passed)["d07"].failures == 6
    outcome, _ = search(tmp_path, Doubles(qualities, {"best": seven}), select=select)
    line = by_name(outcome)["d07"]
    assert outcome.result.winner != "d07"
    assert (line.failures, line.value, line.judged) == (7, None, 120)


def test_a_candidate_that_fails_from_the_start_is_stopped_after_a_block_without_a_value(tmp_path: Path) -> None:
    everything = frozenset(i.id for i in DEV)
    outcome, _ = search(tmp_path, Doubles(QUALITIES | {"silent": 0.9}, {"silent": everything}))
    line = by_name(outcome)["d11"]
    assert (line.judged, line.failures, line.value) == (30, 30, None)
    assert line.stopped is not None
    assert (line.stopped.after, line.stopped.chance, line.stopped.value) == (30, 0.0, None)


@pytest.mark.parametrize("seed", range(4))
def test_the_winner_and_the_top_k_are_always_scored_on_all_of_dev(tmp_path: Path, seed: int) -> None:
    doubles = Doubles({f"t{seed}-{k}": 0.3 + 0.02 * (k % 4) for k in range(9)})
    outcome, _ = search(tmp_path, doubles, top_k=3)
    lines = by_name(outcome)
    whole = [c for c in lines.values() if c.judged == len(DEV)]
    assert len(whole) >= 3
    assert lines[outcome.result.winner] in whole
    assert lines[outcome.result.winner].value == max(c.value for c in whole if c.value is not None)


def test_refinements_race_against_what_is_there_and_cost_it_nothing(tmp_path: Path) -> None:
    doubles = Doubles({"one": 0.9, "two": 0.8, "one more": 0.1, "two more": 0.15}, moves=("modify",))
    outcome, run = search(tmp_path, doubles, rounds=1, refinements=1)
    refined = [c for c in outcome.result.candidates if c.parent]
    assert len(refined) == 2
    assert all(c.stopped is not None and c.judged == 30 for c in refined), "hopeless against those already scored"
    keys = [k for k, _ in run.journal().items() if k.startswith("verdicts/d01/")]
    assert keys == ["verdicts/d01/0", "verdicts/d01/1", "verdicts/d01/2"]
    assert outcome.result.winner == "d01"


def test_verdicts_stand_in_the_journal_by_candidate_and_block(tmp_path: Path) -> None:
    outcome, run = search(tmp_path, Doubles(QUALITIES))
    for line in outcome.result.candidates:
        parts = [run.journal().get(f"verdicts/{line.name}/{b}") for b in range(3)]
        given = [verdicts_from_json(p) for p in parts if p is not None]
        assert [len(g) for g in given] == [30, 30, 60][: len(given)]
        assert len({v.item for g in given for v in g}) == line.judged


def lines_of(journal: Path) -> list[str]:
    return journal.read_text(encoding="utf-8").splitlines(keepends=True)


def test_a_run_that_was_killed_at_any_line_ends_in_the_identical_result(tmp_path: Path) -> None:
    items = make_items(240, 60)
    whole = create_run(tmp_path / "whole", "test", {})
    undisturbed = calibrated(tmp_path / "whole", items, run=whole)
    assert any(c.stopped for c in undisturbed.result.candidates), "nothing was raced"
    lines = lines_of(whole.folder / "journal.jsonl")
    for kept in (0, 1, 9, 10, len(lines) // 2, len(lines) - 2, len(lines) - 1, len(lines)):
        for torn in (False, True):
            folder = tmp_path / f"{kept}-{torn}"
            run = create_run(folder, "test", {})
            rest = "".join(lines[kept : kept + 1])[:-9] if torn else ""
            (run.folder / "journal.jsonl").write_text("".join(lines[:kept]) + rest, encoding="utf-8")
            again = calibrated(folder, items, run=run)
            assert again.result == undisturbed.result
            assert again.frozen == undisturbed.frozen
            assert lines_of(run.folder / "journal.jsonl") == lines


def test_a_replay_asks_no_judge_for_what_the_journal_holds(tmp_path: Path) -> None:
    first = Doubles(QUALITIES)
    outcome, run = search(tmp_path, first)
    again = Doubles(QUALITIES)
    config = {"trials": again.trials, "rounds": 0, "top_k": 2}
    replayed = calibrated(tmp_path, ITEMS, again.method, run, **config)
    assert replayed.result == outcome.result
    asked = {name: len(judge.judged) for name, judge in again.judges.items() if judge.judged}
    assert asked == {"judge-9": len(DEV)}  # the winner beside the baselines, which no journal holds


def candidate(name: str, quality: float, failing: frozenset[str] = frozenset()) -> Candidate:
    return make_candidate(name, named(name), Rated(name, quality, failing).judge(DEV), DEV, Aim())


def test_those_known_take_part_and_are_asked_nothing() -> None:
    asked: list[Wanted] = []
    judges = {name: Rated(name, 0.1) for name in ("x", "y")}
    course = course_over(DEV, Aim(), 2, 7, whole=False, most_failures=MOST_FAILURES)

    def score(wanted: Sequence[Wanted]) -> list[tuple[Verdict, ...]]:
        asked.extend(wanted)
        return [judges[n].judge([DEV[k] for k in course.blocks[b]]) for n, b in wanted]

    known = [candidate("good", 0.9), candidate("better", 0.95), candidate("failing", 0.9, frozenset(i.id for i in DEV))]
    done = raced(judges, known, course, score)
    assert asked == [("x", 0), ("y", 0)]
    assert {s.name for s in done.stops} == {"x", "y"}
    assert {s.name for s in done.standings} == {"x", "y", "good", "better"}


def test_the_whole_of_dev_may_be_one_block() -> None:
    course = course_over(DEV, Aim(), 2, 7, whole=True, most_failures=MOST_FAILURES)
    assert course.blocks == (tuple(range(len(DEV))),)
    assert len(course_over(DEV, Aim(), 2, 7, whole=False, most_failures=MOST_FAILURES).blocks) == 3


def test_a_course_races_for_the_aim() -> None:
    """With the systems' means taken off, who only knows the systems apart has nothing to show."""
    items = [replace(i, human=(i.human or 0) % 2 + 3 * (i.system == "a")) for i in with_systems(120, 30, "ab")]
    knows_systems = np.array([[float(i.system == "a") for i in items]])
    places, once = np.arange(len(items)), np.ones((1, len(items)))
    for share, low, high in ((0.0, 0.7, 1.0), (1.0, -1.0, 0.1)):
        course = course_over(items, Aim(share=share), 1, 0, whole=True, most_failures=MOST_FAILURES)
        value = float(course.draws(knows_systems, places, once)[0, 0])
        assert np.isnan(value) or low <= value <= high


def test_a_stopped_candidate_is_none_of_the_best() -> None:
    whole, stopped = candidate("a", 0.2), replace(candidate("b", 0.9), value=None)
    assert [c.name for c in top_k([whole, stopped], DEV, Aim(), 2)] == ["a"]


def test_near_duplicates_are_not_raced(tmp_path: Path) -> None:
    run = create_run(tmp_path, "test", {})
    result = calibrated(tmp_path, make_items(120, 40), run=run, trials=8).result
    written = {k.split("/")[1]: v for k, v in run.journal().items() if k.startswith("rubric/")}
    drafted = [(n, rubric_from_json(v)) for n, v in written.items() if "." not in n]
    kept = [n for n, _ in distinct(drafted, measured_alike)]
    assert [c.name for c in result.candidates if c.parent is None] == kept
    assert result.near_duplicates == len(written) - len(result.candidates)


@pytest.mark.parametrize("seed", range(4))
def test_the_plan_is_the_most_that_a_race_takes(tmp_path: Path, seed: int) -> None:
    doubles = Doubles({f"p{seed}-{k}": 0.5 for k in range(11)})
    outcome, _ = search(tmp_path, doubles, top_k=3)
    planned = plan(
        make_config(**(QUICK | {"trials": 11, "shots": 12, "rounds": 0, "top_k": 3})), prepared(ITEMS), doubles.method
    )
    look = len(DEV) + 2 * len(prepared(ITEMS).split.test)
    assert outcome.result.judgments <= planned.judgments - look < 11 * len(DEV)
