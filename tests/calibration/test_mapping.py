"""The score map of a run: fitted without the test side and without a call more, frozen, loaded, and told."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.calibration.config import check_models, make_config
from calibrator.calibration.loop import Outcome, calibrate
from calibrator.calibration.mapping import find_map
from calibrator.calibration.method import LENGTH, embedded, with_model
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.purpose import purpose_of
from calibrator.errors import ConfigError
from calibrator.evaluation.agreement import scores_of
from calibrator.judges.base import Judge
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import read_frozen
from calibrator.models.base import ChatRequest, request_key
from calibrator.models.build import Access, Connections
from calibrator.models.scripted import ScriptedModel
from calibrator.records import Item
from calibrator.report.markdown import report
from calibrator.report.score_map import map_line
from calibrator.split import Sealed
from calibrator.stats.correlation import mae, spearman
from calibrator.stats.mapping import map_from_numbers
from calibrator.store import Ledger, create_run
from tests.calibration.making import ASPECT, Doubles, Rated, calibrated, prepared
from tests.conftest import make_items
from tests.doubles.server import reply_to

ITEMS = make_items(150, 50)
NAME = "scripted/m"


def doubled(
    folder: Path, quality: float, wanted: str = "linear", ready: Prepared | None = None, **settings: Any
) -> Any:
    """A run whose best rubric is a judge that sees `quality` of a rating, and is too low where that is little."""
    doubles = Doubles({"one": quality})
    outcome = calibrated(
        folder, ready or prepared(ITEMS), doubles.method, trials=1, rounds=0, map=wanted, keep=True, **settings
    )
    return outcome, doubles.judges["one"]


def test_a_judge_that_is_too_low_is_mended_and_frozen_with_its_map(tmp_path: Path) -> None:
    outcome, _ = doubled(tmp_path, 0.6)
    part = outcome.result.map
    assert part is not None and part.map is not None and part.test.after is not None
    assert (part.of, part.wanted, part.kind, part.reason) == ("calibrated", "linear", "linear", "")
    before, after = part.test.before, part.test.after
    assert before.mae is not None and after.mae is not None and before.error is not None and after.error is not None
    assert after.mae < before.mae - 0.5 and after.error < before.error - 0.5
    assert after.spearman == before.spearman
    # What is compared on the test side, and what is frozen, is the judge with its map.
    side = outcome.result.test.judges[0]
    assert side.figures["mae"].value == after.mae and side.mode == "said+linear"
    assert "|map:linear of calibrated|" in outcome.result.test.signature
    assert outcome.frozen.test.figures["mae"].value == after.mae
    assert outcome.frozen.map == part.map


def test_the_map_is_fitted_to_what_the_winner_scored_on_dev_and_asks_nothing_more(tmp_path: Path) -> None:
    ready = prepared(ITEMS)
    outcome, inner = doubled(tmp_path, 0.6, ready=ready)
    part = outcome.result.map
    assert part is not None and part.map is not None
    assert (part.fitted_to, part.items) == ("scores on dev", len(ready.split.dev))
    scores = scores_of(inner.judge(ready.split.dev))
    slope, base = np.polyfit(scores, [i.human or 0.0 for i in ready.split.dev], 1)
    assert (part.map.slope, part.map.base) == (pytest.approx(slope), pytest.approx(base))
    assert not {i.id for i in inner.judged} & {i.id for i in ready.split.train}


def test_the_ratings_of_the_test_side_do_not_touch_the_map(tmp_path: Path) -> None:
    ready = prepared(ITEMS)
    items = [replace(i, human=6 - (i.human or 0), ratings=(6 - i.ratings[0],)) for i in ready.split.test.unseal(1)]
    other = replace(ready, split=replace(ready.split, test=Sealed(items)))
    for number, judge in enumerate((None, Doubles({"one": 0.6}))):
        more = {} if judge is None else {"method": judge.method, "trials": 1, "rounds": 0, "keep": True}
        one, two = (
            calibrated(tmp_path / f"{number}{k}", r, map="isotonic", **more).result
            for k, r in enumerate((ready, other))
        )
        assert one.map is not None and two.map is not None
        assert one.map.map == two.map.map and one.map.tried == two.map.tried
        assert one.map.test != two.map.test


def test_without_a_map_nothing_says_so(tmp_path: Path) -> None:
    outcome = calibrated(tmp_path / "a", ITEMS)
    asked = calibrated(tmp_path / "b", ITEMS, map="identity")
    assert outcome.result.model_dump_json() == asked.result.model_dump_json()
    assert outcome.frozen == asked.frozen
    assert "map" not in json.loads(outcome.result.model_dump_json())
    assert "map" not in outcome.frozen.model_dump(mode="json")
    assert map_line(outcome.result) is None
    assert "Score map" not in report(outcome.result, 1, "x.yaml", {})


def test_the_frozen_judge_of_a_map_gives_the_mapped_scores(tmp_path: Path) -> None:
    outcome, plain = (calibrated(tmp_path / k, ITEMS, map=k).frozen for k in ("isotonic", "identity"))
    path, bare = tmp_path / "mapped.yaml", tmp_path / "bare.yaml"
    outcome.save(path)
    plain.save(bare)
    assert read_frozen(path) == outcome
    mapped, inner = load_judge(path), load_judge(bare)
    assert (mapped.id, mapped.mode) == (f"{inner.id}+isotonic", f"{inner.mode}+isotonic")
    assert outcome.map is not None
    expected = map_from_numbers(outcome.map.model_dump()).apply(scores_of(inner.judge(ITEMS)))
    assert scores_of(mapped.judge(ITEMS)).tolist() == expected.tolist()
    assert mapped.score(output=ITEMS[0].output, source=ITEMS[0].source) == expected[0]


def test_a_fit_is_repeated_without_the_items_whose_scores_the_map_is_fitted_to(tmp_path: Path) -> None:
    seen: list[tuple[set[str], set[str]]] = []

    def remade(items: Any) -> Judge:
        class Watched(Rated):
            def judge(self, judged: Any) -> Any:
                seen.append(({i.group for i in items}, {i.group for i in judged}))
                return super().judge(judged)

        return Watched("w", 0.9)

    found = find_map("calibrated", Rated("w", 0.9), remade, ITEMS, ASPECT.scale, "linear", 0, "rmse")
    assert len(seen) == 5
    assert all(not fitted & judged and fitted | judged == {i.group for i in ITEMS} for fitted, judged in seen)
    assert sorted(g for _, judged in seen for g in judged) == sorted({i.group for i in ITEMS})
    assert found.fitted_to == "scores on train and dev, each fold by a fit without it"
    assert found.choice.items == len(ITEMS)


def test_the_embedded_judge_is_mapped_by_train_and_dev(tmp_path: Path) -> None:
    part = calibrated(tmp_path, ITEMS, map="ordinal").result.map
    ready = prepared(ITEMS)
    assert part is not None
    assert part.items == len(ready.split.train) + len(ready.split.dev)
    assert part.fitted_to == "scores on train and dev, each fold by a fit without it"
    assert [t.kind for t in part.tried] == ["identity", "ordinal"]


def test_a_baseline_that_takes_the_rubrics_place_is_what_is_mapped(tmp_path: Path) -> None:
    doubles = Doubles({"one": 0.05})
    outcome = calibrated(tmp_path, ITEMS, doubles.method, trials=1, rounds=0, map="linear")
    part = outcome.result.map
    assert part is not None and part.map is not None and part.test.after is not None
    assert (outcome.result.verdict.handed_over, part.of) == (LENGTH, LENGTH)
    assert "each fold by a fit without it" in part.fitted_to
    judged = {j.name: j for j in outcome.result.test.judges}
    assert judged[LENGTH].mode == "criteria+linear" and judged["calibrated"].mode == "said"
    assert judged[LENGTH].figures["mae"].value == part.test.after.mae


@pytest.mark.parametrize("wanted", ["linear", "auto"])
def test_a_judge_that_runs_against_the_ratings_gets_no_map_and_that_is_told(tmp_path: Path, wanted: str) -> None:
    outcome, _ = doubled(tmp_path, -0.6, wanted)
    part = outcome.result.map
    assert part is not None and part.map is None and part.test.after is None
    assert part.kind == "identity" and "run against the ratings (slope -" in part.reason
    assert outcome.frozen.map is None
    told = report(outcome.result, 1, "x.yaml", {})
    assert f"Score map of 'calibrated': none ({wanted} was asked for; the scores run against the ratings" in told
    assert outcome.result.test.of("calibrated", "spearman").value < 0


def test_the_report_tells_the_map_and_the_curve(tmp_path: Path) -> None:
    outcome, _ = doubled(tmp_path, 0.6)
    part, told = outcome.result.map, report(outcome.result, 1, "x.yaml", {})
    assert part.test.after is not None
    line = f"Score map of 'calibrated': linear; mae {part.test.before.mae:.3f} → {part.test.after.mae:.3f}"
    assert line in told and (map_line(outcome.result) or "").startswith(line)
    assert f"| linear | {part.tried[1].mae:.3f} | {part.tried[1].rmse:.3f} | chosen |" in told
    for side, title in ((part.test.before, "without the map"), (part.test.after, "with the map")):
        assert f"Reliability curve on the test side, {title}:" in told
        assert sum(b.items for b in side.bins) == side.items == outcome.result.test.items
        for b in side.bins:
            assert f"| {b.items} | {b.score:.2f} | {b.human.value:.2f} [" in told


def test_one_seed_gives_the_same_map(tmp_path: Path) -> None:
    one, two = (calibrated(tmp_path / k, ITEMS, map="auto").result.model_dump_json() for k in "ab")
    assert one == two
    backwards = calibrated(tmp_path / "c", ITEMS[::-1], map="auto").result
    assert backwards.model_dump_json() == one


def test_the_papers_protocol_has_no_map_for_what_is_fitted() -> None:
    with pytest.raises(ConfigError, match=r"^--map: under the paper's protocol the embedded judge is fitted"):
        check_models(make_config(aspect="relevance", protocol="paper", map="linear"))
    check_models(make_config(aspect="relevance", protocol="paper", map="linear", model="http://localhost/v1#m"))


def test_a_map_that_there_is_not_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--map: "):
        make_config(aspect="relevance", map="cubic")


def _asked(folder: Path, monkeypatch: pytest.MonkeyPatch, items: list[Item], **settings: Any) -> tuple[Outcome, int]:
    """A run with a scripted model: what came of it, and how many requests it took."""
    opened: list[ScriptedModel] = []

    def usual(request: ChatRequest) -> str:
        return reply_to([asdict(m) for m in request.messages], request_key(NAME, request))

    def opening(name: str, width: int, arguments: object) -> ScriptedModel:
        opened.append(ScriptedModel(usual, name))
        return opened[-1]

    monkeypatch.setattr("calibrator.models.build.open_model", opening)
    small = {"aspect": "relevance", "shots": (2,), "trials": 2, "rounds": 0, "resamples": 100, "model": NAME}
    config = make_config(**(small | settings))
    run, ready = create_run(folder, "test", config.model_dump(mode="json")), prepared(items)
    journal = run.journal()
    with Connections(Access(width=4), journal) as connections:
        method = with_model(config, ASPECT, ready.roles, connections)
        outcome = calibrate(ready, config, method, purpose_of(config, ready), run, Ledger(folder), journal=journal)
        asked = sum(s.replies for s in connections.spent.values())
    outcome.frozen.save(folder / "frozen.yaml")
    return outcome, asked


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_the_map_of_a_model_costs_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str) -> None:
    plain, calls = _asked(tmp_path / "a", monkeypatch, ITEMS, protocol=protocol, keep=True)
    mapped, more = _asked(tmp_path / "b", monkeypatch, ITEMS, protocol=protocol, keep=True, map="auto")
    assert calls == more > 0
    assert plain.result.winner == mapped.result.winner
    part = mapped.result.map
    assert part is not None and part.items == mapped.result.dev.items
    with load_judge(tmp_path / "b" / "frozen.yaml", access=Access()) as judge:
        scores = scores_of(judge.judge(ITEMS))
    with load_judge(tmp_path / "a" / "frozen.yaml", access=Access()) as judge:
        before = scores_of(judge.judge(ITEMS))
    expected = before if part.map is None else part.map.map().apply(before)
    assert scores.tolist() == expected.tolist()


@pytest.mark.parametrize(("aspect", "judge"), [("coherence", "criteria")])
def test_on_real_ratings_a_map_keeps_the_order(real_data: Path, tmp_path: Path, aspect: str, judge: str) -> None:
    from calibrator.calibration.prepare import prepare

    config = make_config(data="cseval", aspect=aspect, data_dir=real_data, map="isotonic", trials=2, rounds=0)
    ready = prepare(config)
    run = create_run(tmp_path, "test", {})
    method = embedded(ready.aspect, config.objective)
    outcome = calibrate(ready, config, method, purpose_of(config, ready), run, Ledger(tmp_path))
    part = outcome.result.map
    assert part is not None and part.map is not None and part.test.after is not None
    assert part.test.after.spearman == pytest.approx(part.test.before.spearman, abs=0.002)
    inner = method.judge(outcome.frozen.rubric())
    items = ready.split.test.unseal(1)
    scores, human = scores_of(inner.judge(items)), np.array([i.human for i in items], dtype=float)
    assert part.test.before.mae == pytest.approx(float(mae(scores, human)), abs=1e-6)
    assert part.test.after.mae == pytest.approx(float(mae(part.map.map().apply(scores), human)), abs=1e-6)
    assert part.test.before.spearman == pytest.approx(float(spearman(scores, human)), abs=1e-6)
