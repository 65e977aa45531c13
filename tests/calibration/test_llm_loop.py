"""The whole loop with a model that judges and drafts: a server double, or a scripted model in its place."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from calibrator.aspects import find_aspect
from calibrator.calibration.config import make_config
from calibrator.calibration.loop import Outcome, calibrate
from calibrator.calibration.method import with_model
from calibrator.calibration.prepare import Prepared, plan
from calibrator.calibration.purpose import purpose_of
from calibrator.codec import rubric_from_json
from calibrator.columns import Mapped
from calibrator.dataset import Dataset
from calibrator.errors import CalibrationError, ModelError
from calibrator.files import read_lines
from calibrator.journal import Journal
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import step_files
from calibrator.judges.wording import in_words
from calibrator.models.base import ChatReply, ChatRequest, request_key
from calibrator.models.build import Access, Connections
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.prompts import MARK, quoted, score_prompt
from calibrator.records import Item
from calibrator.report.markdown import report
from calibrator.split import split_items
from calibrator.store import Ledger, Run, create_run
from tests.conftest import make_items
from tests.doubles.server import STEPS, reply_to, serving

ASPECT = find_aspect("neutral/relevance")[0]
ROLES = ("source", "output")
NAME = "scripted/m"
ITEMS = tuple(make_items(60, 24))
SMALL: dict[str, Any] = {
    "aspect": "relevance", "shots": (2, 4), "trials": 2, "top_k": 2, "rounds": 1, "refinements": 4, "resamples": 100,
}  # fmt: skip


def prepared(items: Sequence[Item] = ITEMS, seed: int = 0) -> Prepared:
    dataset = Dataset("made", Path("made.csv"), tuple(items), Mapped("output", source="source"), (), "digest")
    return Prepared(ASPECT, "by the test", dataset, None, split_items(items, seed))


@dataclass(frozen=True)
class Done:
    """A calibration that came to its end, and where everything is."""

    outcome: Outcome
    run: Run

    @property
    def journal(self) -> Journal:
        return self.run.journal()

    @property
    def bytes(self) -> tuple[str, str]:
        """What would stand in result.json and in the frozen judge."""
        return self.outcome.result.model_dump_json(indent=1), self.outcome.frozen.model_dump_json()


def calibrated(folder: Path, model: str = NAME, run: Run | None = None, width: int = 8, **settings: Any) -> Done:
    config = make_config(**(SMALL | {"model": model} | settings))
    run = run or create_run(folder, "test", config.model_dump(mode="json"))
    journal, ready = run.journal(), prepared(seed=config.seed)
    with Connections(Access(width=width), journal) as connections:
        method = with_model(config, ASPECT, ready.roles, connections)
        purpose = purpose_of(config, ready)
        return Done(calibrate(ready, config, method, purpose, run, Ledger(folder), journal=journal), run)


def usual(request: ChatRequest) -> str:
    """Answer as the server double does."""
    return reply_to([asdict(m) for m in request.messages], request_key(NAME, request))


def drafts(request: ChatRequest) -> bool:
    return '"steps"' in request.messages[-1].content


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], list[ScriptedModel]]:
    """Have every model that is opened answer by a script; they are kept in the list."""

    def answering(script: Script) -> list[ScriptedModel]:
        opened: list[ScriptedModel] = []

        def opening(name: str, width: int, arguments: object) -> ScriptedModel:
            opened.append(ScriptedModel(script, name))
            return opened[-1]

        monkeypatch.setattr("calibrator.models.build.open_model", opening)
        return opened

    return answering


Scripted = Callable[[Script], list[ScriptedModel]]


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_a_calibration_on_a_server_says_what_it_did(tmp_path: Path, protocol: str) -> None:
    with serving(tmp_path / "log") as server:
        name = f"{server.url}#double"
        done = calibrated(tmp_path, name, protocol=protocol, keep=True)
        result, frozen = done.outcome.result, done.outcome.frozen
        assert (result.method, result.judge, result.drafter) == ("llm", f"llm@{name}", f"llm@{name}")
        assert (result.protocol, result.no_rubric, done.outcome.look) == (protocol, {}, 1)
        # Everything that was asked was asked once, answered, and is counted.
        assert list(result.spent) == [name]
        assert result.spent[name].replies == len(server.asked()) == len(set(server.asked())) == len(server.answered())
        assert result.spent[name].prompt_tokens > 1000 and result.spent[name].completion_tokens > 100
        # Candidates: drafts, then refinements of the best by the four moves.
        refined = 2 * (2 if protocol == "paper" else 4)
        assert len(result.candidates) + result.near_duplicates == 4 + refined
        assert {c.by for c in result.candidates} == {f"llm@{name}"}
        moves = {"modify", "paraphrase"} if protocol == "paper" else {"modify", "paraphrase", "add", "calibrate"}
        assert {c.origin for c in result.candidates} <= {"draft"} | moves
        for side in (result.dev, result.test):
            assert side.judges[0].name == "calibrated" and side.judges[0].mode == "text"
            assert "zero-shot" in [j.name for j in side.judges]
            assert "zero-shot" in side.gains
        assert [j.name for j in result.test.judges] == ["calibrated", "zero-shot", "length only", "constant"]
        known = result.split.train[0] + result.split.dev[0]
        assert result.dev.items == (known if protocol == "paper" else result.split.dev[0])
        assert result.judgments == len(result.candidates) * result.dev.items
        assert (frozen.judge.method, frozen.origin.protocol, frozen.base) == ("llm", protocol, 0.0)
        assert frozen.judge.texts == ROLES
        before = len(server.asked())
        frozen.save(tmp_path / "frozen.yaml")
        with load_judge(tmp_path / "frozen.yaml", access=Access()) as judge:
            judge.judge(prepared().split.dev)
        # The loaded judge asks what the winner was asked: the very same requests.
        assert len(server.asked()) - before == result.split.dev[0]
        assert set(server.asked()[before:]) <= set(server.asked()[:before])


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_two_runs_give_the_same_bytes_whatever_is_in_flight(tmp_path: Path, scripted: Scripted, protocol: str) -> None:
    scripted(usual)
    one = calibrated(tmp_path / "a", protocol=protocol, width=1)
    two = calibrated(tmp_path / "b", protocol=protocol, width=16)
    assert one.bytes == two.bytes
    assert calibrated(tmp_path / "c", protocol=protocol, seed=1).bytes != one.bytes


def test_faults_that_pass_change_nothing_of_the_result(tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--fail", "429:0.1") as server:
        name = f"{server.url}#double"
        shaky = calibrated(tmp_path / "a", name)
        assert server.failed()
        assert shaky.outcome.result.spent[name].replies == len(set(server.asked()))


def test_a_finished_run_is_replayed_without_asking(tmp_path: Path, scripted: Scripted) -> None:
    scripted(usual)
    first = calibrated(tmp_path)
    again = scripted(lambda r: None)
    assert calibrated(tmp_path, run=first.run).bytes == first.bytes
    assert not any(m.asked for m in again)


def test_a_run_that_broke_off_goes_on_to_the_same_result(tmp_path: Path, scripted: Scripted) -> None:
    scripted(usual)
    whole = calibrated(tmp_path / "whole")
    total = whole.outcome.result.spent[NAME].replies
    run = create_run(tmp_path / "parts", "test", {})
    asked = 0
    for _ in range(50):
        left = iter(range(total // 6))

        def breaking(request: ChatRequest) -> str | Exception:
            return usual(request) if next(left, None) is not None else ModelError("HTTP 401")  # noqa: B023

        models = scripted(breaking)
        try:
            done = calibrated(tmp_path / "parts", run=run)
            break
        except ModelError:
            asked += total // 6
        finally:
            assert len(models) == 1
    assert asked >= total // 2
    assert done.bytes == whole.bytes
    assert done.outcome.look == 1


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_the_winner_is_handed_over_as_it_was_scored(tmp_path: Path, scripted: Scripted, protocol: str) -> None:
    scripted(usual)
    done = calibrated(tmp_path, protocol=protocol, keep=True)
    result, frozen = done.outcome.result, done.outcome.frozen
    winner = rubric_from_json(done.journal.get(f"rubric/{result.winner}"))
    assert frozen.rubric() == winner
    assert (result.rubric.steps, result.rejected) == (step_files(winner), None)
    assert frozen.prompt() == score_prompt(ASPECT, in_words(winner), ROLES)
    value = next(c.value for c in result.candidates if c.name == result.winner)
    assert value == max(c.value for c in result.candidates if c.value is not None)
    assert result.dev.judges[0].figures["spearman"].value == pytest.approx(value, abs=1e-6)
    assert list(result.history) == sorted(result.history)


@pytest.mark.parametrize("protocol", ["default", "paper"])
def test_no_text_of_the_test_side_is_asked_about_before_the_look(
    tmp_path: Path, scripted: Scripted, protocol: str
) -> None:
    split = prepared().split
    sealed, shown = (
        {quoted(i.output) for i in split.test.unseal(1)},
        {quoted(i.output) for i in split.train + split.dev},
    )
    assert not sealed & shown
    early: list[str] = []
    late: list[str] = []

    def watching(request: ChatRequest) -> str:
        looked = (tmp_path / "ledger.jsonl").exists()
        (late if looked else early).extend(x for x in request.messages[0].content.splitlines() if x.startswith(MARK))
        return usual(request)

    scripted(watching)
    done = calibrated(tmp_path, protocol=protocol)
    assert set(early) & shown
    assert not set(early) & sealed
    assert sealed <= set(late)
    assert [e["test"] for e in read_lines(tmp_path / "ledger.jsonl")] == [done.outcome.result.split.test_digest]


def test_a_drafter_is_shown_train_and_what_was_judged_worst_on_dev(tmp_path: Path, scripted: Scripted) -> None:
    (models,) = [scripted(usual)]
    calibrated(tmp_path)
    split = prepared().split
    train, dev = ({quoted(i.output) for i in side} for side in (split.train, split.dev))
    asked = [r for r in models[0].asked if drafts(r)]
    shown = [(set(r.messages[0].content.splitlines()) & (train | dev), r) for r in asked]
    first = [(texts, r) for texts, r in shown if "WHAT TO DO" not in r.messages[0].content]
    refining = [(texts, r) for texts, r in shown if "WHAT TO DO" in r.messages[0].content]
    assert sorted(len(texts) for texts, _ in first) == [2, 2, 4, 4]
    assert all(texts <= train for texts, _ in first)
    assert refining and all(texts <= dev and len(texts) == 3 for texts, _ in refining)
    assert len({r.sampling.seed for r in asked}) == len(asked)


def test_the_zero_shot_judge_has_no_guide_and_is_asked_about_every_test_text(
    tmp_path: Path, scripted: Scripted
) -> None:
    (models,) = [scripted(usual)]
    result = calibrated(tmp_path).outcome.result
    zero_shot = [r for r in models[0].asked if not drafts(r) and "STEPS\n" not in r.messages[0].content]
    assert len(zero_shot) == result.split.dev[0] + result.split.test[0]


def test_drafts_that_say_nearly_the_same_are_scored_once(tmp_path: Path, scripted: Scripted) -> None:
    said = json.dumps({"steps": STEPS[:4]})

    def same(request: ChatRequest) -> str:
        if not drafts(request):
            return usual(request)
        return said.upper().replace('"STEPS"', '"steps"') if (request.sampling.seed or 0) % 2 else said

    scripted(same)
    result = calibrated(tmp_path).outcome.result
    assert [c.name for c in result.candidates] == ["d01"]
    assert result.near_duplicates == 3 + 4
    assert (result.winner, result.no_rubric) == ("d01", {})


def test_replies_that_are_no_rubric_are_counted_and_the_run_goes_on(tmp_path: Path, scripted: Scripted) -> None:
    def sometimes(request: ChatRequest) -> str | ChatReply:
        if not drafts(request):
            return usual(request)
        if "WHAT TO DO" in request.messages[0].content:
            return ChatReply('{"steps": ["Look', "length")
        return "I would rather not." if "Example 3" in request.messages[0].content else usual(request)

    scripted(sometimes)
    result = calibrated(tmp_path).outcome.result
    cut_off, none = "the reply was cut off before its end", "the reply holds no steps"
    kept = len(result.candidates) + result.near_duplicates
    assert result.no_rubric == {cut_off: result.no_rubric[cut_off], none: 2}
    assert kept == 2
    assert result.no_rubric[cut_off] == 4 * len(result.candidates)
    assert {c.origin for c in result.candidates} == {"draft"}


@pytest.mark.parametrize(
    "reply, reason",
    [
        ("I would rather not.", "4 × the reply holds no steps"),
        (ChatReply("", "refused", "the prompt is too long"), "4 × the prompt is too long"),
        (ChatReply('{"steps": ["Lo', "length"), "4 × the reply was cut off"),
    ],
)
def test_where_no_draft_is_a_rubric_the_reasons_are_told(
    tmp_path: Path, scripted: Scripted, reply: str | ChatReply, reason: str
) -> None:
    models = scripted(lambda r: reply if drafts(r) else usual(r))
    with pytest.raises(CalibrationError, match=reason):
        calibrated(tmp_path)
    assert not (tmp_path / "ledger.jsonl").exists()
    assert len(models[0].asked) == 4


def test_a_rubric_whose_judgments_fail_too_often_is_not_eligible(tmp_path: Path, scripted: Scripted) -> None:
    dev = prepared().split.dev
    bad = [quoted(i.output) for i in dev[: len(dev) // 10 + 1]]

    def failing(request: ChatRequest) -> str:
        content = request.messages[0].content
        if not drafts(request):
            return "Hm." if "1. Note what" in content and any(b in content for b in bad) else usual(request)
        first = "Note what the text says." if (request.sampling.seed or 0) % 2 else "Ask what the text leaves out."
        others = sorted(STEPS[1:], key=lambda s: request_key(s, request))
        return json.dumps({"steps": [first, *others[:4]]})

    scripted(failing)
    done = calibrated(tmp_path, trials=4)
    lines = {c.name: c for c in done.outcome.result.candidates}
    noting = {n for n in lines if done.journal.get(f"rubric/{n}")["steps"][0]["text"].startswith("Note")}
    assert noting and noting != set(lines)
    for name, line in lines.items():
        assert line.failures == (len(bad) if name in noting else 0)
        assert (line.value is None) is (name in noting)
    assert done.outcome.result.winner not in noting
    assert not any(line.parent in noting for line in lines.values())


def test_if_every_rubric_fails_too_often_nothing_is_handed_over(tmp_path: Path, scripted: Scripted) -> None:
    scripted(lambda r: usual(r) if drafts(r) else "Hm.")
    with pytest.raises(CalibrationError, match=r"more than 5 % .*\d+ × the reply states no score clearly"):
        calibrated(tmp_path)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_zero_shot_judge_that_fails_ends_no_run(tmp_path: Path, scripted: Scripted) -> None:
    scripted(lambda r: usual(r) if drafts(r) or "STEPS\n" in r.messages[0].content else "Hm.")
    result = calibrated(tmp_path).outcome.result
    assert list(result.left_out) == ["zero-shot"]
    assert sum(result.left_out["zero-shot"].values()) == result.split.dev[0]
    names = [j.name for j in result.test.judges]
    assert "zero-shot" not in names and result.best_baseline in names
    assert result.test.items == result.split.test[0]  # its failures leave the others' figures whole
    assert result.test.judges[0].figures["spearman"].value is not None
    assert "'zero-shot' was left out" in report(result, 1, "judge.yaml", {})


def test_model_and_criteria_draft_side_by_side(tmp_path: Path, scripted: Scripted) -> None:
    scripted(usual)
    done = calibrated(tmp_path, drafter=f"criteria,{NAME}", shots=(0.5, 3))
    result = done.outcome.result
    assert result.drafter == f"{result.candidates[0].by} + llm@{NAME}"
    first = [c for c in result.candidates if c.origin == "draft"]
    assert {c.by for c in first} == {result.candidates[0].by, f"llm@{NAME}"}
    assert {c.by for c in result.candidates if c.origin != "draft"} <= {f"llm@{NAME}"}
    assert all(c.failures == 0 for c in result.candidates)


def test_another_model_may_draft_than_judges(tmp_path: Path, scripted: Scripted) -> None:
    models = scripted(usual)
    result = calibrated(tmp_path, drafter="scripted/other").outcome.result
    asked = {m.id: m.asked for m in models}
    assert set(asked) == {NAME, "scripted/other"} == set(result.spent)
    assert all(map(drafts, asked["scripted/other"])) and not any(map(drafts, asked[NAME]))
    assert {name: spent.replies for name, spent in result.spent.items()} == {n: len(a) for n, a in asked.items()}
    assert (result.judge, result.drafter) == (f"llm@{NAME}", "llm@scripted/other")


@pytest.mark.parametrize(
    "settings", [{}, {"protocol": "paper"}, {"rounds": 0}, {"drafter": "criteria", "shots": (0.5,)}]
)
def test_the_plan_is_the_most_that_is_asked(tmp_path: Path, scripted: Scripted, settings: dict[str, Any]) -> None:
    models = scripted(usual)
    config = make_config(**(SMALL | {"model": NAME} | settings))
    with Connections(Access()) as connections:
        method = with_model(config, ASPECT, ROLES, connections)
        planned = plan(config, prepared(), method)
    calibrated(tmp_path, **settings)
    asked = models[-1].asked
    judged = sum(not drafts(r) for r in asked)
    assert 0 < judged <= planned.judgments
    assert sum(map(drafts, asked)) <= planned.drafts + planned.refinements
    assert planned.tokens is not None
    letters = sum(len(r.messages[0].content) for r in asked)
    assert letters / 4 < 1.5 * planned.tokens
