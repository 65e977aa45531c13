"""Making: each name makes the judge that it says, fitted to train and dev where it is fitted to anything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrator.aspects import AspectFile, Scale
from calibrator.calibration.config import make_config
from calibrator.calibration.method import CONSTANT, LENGTH, UNCALIBRATED, embedded
from calibrator.calibration.prepare import Prepared
from calibrator.calibration.progress import Silent
from calibrator.comparison.making import LeftOut, Made, Maker, family_of
from calibrator.comparison.names import parse_judge
from calibrator.errors import ConfigError, RubricError
from calibrator.judges.expected import ExpectedMode
from calibrator.judges.frozen import FrozenJudge, judge_file, step_files
from calibrator.judges.llm import LLMJudge
from calibrator.judges.recorded import RecordedJudge
from calibrator.judges.wording import in_words
from calibrator.models.base import ChatReply, ChatRequest, Sampling, Token
from calibrator.models.build import Access, Connections
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.prompts import score_prompt
from calibrator.records import Item, Judgment, Rubric
from calibrator.split import split_items
from tests.calibration.making import ASPECT, QUICK, calibrated, prepared
from tests.conftest import make_items
from tests.doubles.server import serving

MODEL = "scripted/double"
GUIDE = '{"steps": ["Look at the words.", "Weigh the tone.", "Ask who could act on it."]}'
SCORE = '{"score": 4}'


class Scripted(Connections):
    """Connections to one model that answers as it was told."""

    def __init__(self, script: Script) -> None:
        super().__init__(Access())
        self.portal, self.model = Portal(), ScriptedModel(script, MODEL)
        self._one = Client(self.model, self.portal, 4)

    def client(self, name: str) -> Client:
        """Return the one client."""
        assert name == MODEL
        return self._one

    def close(self) -> None:
        """End the portal."""
        self.portal.close()


def answers(request: ChatRequest) -> str | ChatReply:
    """Steps where they are asked for, else a score; log-probabilities are left out, as some servers do."""
    return GUIDE if '"steps"' in request.messages[-1].content else SCORE


def with_probabilities(request: ChatRequest) -> str | ChatReply:
    """As `answers`, and of 4 and 5 the latter with a quarter of the weight."""
    if not request.logprobs:
        return answers(request)
    top = (("4", math.log(0.75)), ("5", math.log(0.25)))
    return ChatReply("4", tokens=(Token("4", top[0][1], top),))


ITEMS = make_items(90, 45)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)  # no frozen judge of a working folder stands before the shipped one
    return tmp_path


Make = Callable[..., Any]


@pytest.fixture
def make(folder: Path) -> Iterator[Make]:
    """Return what makes the judges of a name: one, or a list of them for `top:k`."""
    opened: list[Connections] = []

    def made(name: str, ready: Prepared | None = None, script: Script = answers, **settings: Any) -> Any:
        opened.append(Scripted(script))
        config = make_config(**(QUICK | settings))
        maker = Maker(ready or prepared(ITEMS), config, opened[-1], folder, Silent())
        found = maker.made(parse_judge(name))
        return list(found) if name.startswith("top") else found[0]

    yield made
    for connections in opened:
        connections.close()


def known_of(ready: Prepared) -> tuple[Item, ...]:
    return ready.split.train + ready.split.dev


def same(judge: Any, other: Any, items: Sequence[Item] = ITEMS) -> bool:
    return bool(judge.judge(items) == other.judge(items))


# -- without a model ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "which"), [("constant", CONSTANT), ("length", LENGTH), ("uncalibrated", UNCALIBRATED)]
)
def test_a_baseline_is_that_of_a_run_fitted_to_train_and_dev(make: Make, name: str, which: str) -> None:
    ready, method = prepared(ITEMS), embedded(ASPECT, "spearman")
    made = make(name, ready)
    expected = method.baselines(known_of(ready))[which]
    assert (made.name, made.family, made.kind, made.model) == (name, "baseline", "criteria", None)
    assert made.rubric == expected.rubric
    assert same(made.judge, expected.judge)
    assert same(made.fit(ITEMS[:30]), method.baselines(ITEMS[:30])[which].judge)


def test_criteria_are_the_embedded_fit_to_train_and_dev(make: Make) -> None:
    ready, method = prepared(ITEMS), embedded(ASPECT, "spearman")
    assert method.fresh is not None
    made = make("criteria", ready)
    assert (made.name, made.family, made.kind) == ("criteria", "criteria", "criteria")
    assert made.rubric == method.fresh(known_of(ready))
    assert same(made.judge, method.judge(made.rubric))
    assert same(made.fit(ITEMS[:40]), method.judge(method.fresh(ITEMS[:40])))
    assert not same(made.fit(ITEMS[:40]), made.judge)


@pytest.mark.parametrize("name", ["criteria", "constant", "length", "uncalibrated", "calibrated", "top:2"])
def test_what_is_made_does_not_depend_on_the_test_side(make: Make, folder: Path, name: str) -> None:
    ready = prepared(ITEMS)
    unseen = tuple(
        replace(i, human=6 - (i.human or 0), output=f"{i.output} and more") for i in ready.split.test.unseal(1)
    )
    spoilt = replace(ready, split=split_items(known_of(ready), 0, unseen))
    spoilt = replace(spoilt, split=replace(spoilt.split, train=ready.split.train, dev=ready.split.dev))
    first = make(name, ready)
    for journal in folder.rglob("journal.jsonl"):
        journal.unlink()
    other = make(name, spoilt)
    pairs = zip(first, other, strict=True) if name.startswith("top") else [(first, other)]
    assert all(a.rubric == b.rubric and same(a.judge, b.judge) for a, b in pairs)


def test_a_recorded_judge_on_the_scale_fails_off_it(make: Make) -> None:
    items = [replace(i, recorded={"P": 6 - (i.human or 0)}) for i in ITEMS]
    made = make("recorded:P", prepared(items))
    assert (made.name, made.family, made.kind, made.on_scale, made.notes) == (
        "recorded:P",
        "recorded",
        "recorded",
        True,
        (),
    )
    assert made.fit is None
    assert isinstance(made.judge, RecordedJudge)
    assert made.judge.scale == ASPECT.scale


def test_a_recorded_judge_that_is_the_ratings_says_so(make: Make) -> None:
    made = make("recorded:P", prepared([replace(i, recorded={"P": i.human}) for i in ITEMS]))
    assert len(made.notes) == 1 and "one of the two is copied" in made.notes[0]


def test_a_recorded_judge_without_a_score_says_so(make: Make) -> None:
    made = make("recorded:P", prepared([replace(i, recorded={"P": None}) for i in ITEMS]))
    assert made.notes == ("no item of train and dev has a score of it",)


def test_a_recorded_judge_on_a_scale_of_its_own_says_so(make: Make) -> None:
    items = [replace(i, recorded={"metric/P": 20 * (i.human or 0)}) for i in ITEMS]
    made = make("recorded:metric/P", prepared(items))
    assert (made.family, made.on_scale) == ("metric", False)
    assert made.notes == ("its scores are not on the scale 1-5",)
    assert all(isinstance(v, Judgment) for v in made.judge.judge(items))


def test_whether_a_recorded_judge_goes_by_the_scale_is_told_from_train_and_dev(make: Make) -> None:
    ready = prepared(ITEMS)
    keys = {i.key for i in known_of(ready)}
    items = [replace(i, recorded={"P": 3.0 if i.key in keys else 70.0}) for i in ITEMS]
    assert make("recorded:P", prepared(items)).on_scale


@pytest.mark.parametrize(
    ("column", "family"),
    [
        ("gpt-4/zero-shot", "zero-shot"),
        ("gpt-4/Zero_Shot", "zero-shot"),
        ("gpt-4/g-eval", "g-eval"),
        ("gpt-3.5-turbo/geval_no_auto_cot", "g-eval"),
        ("metric/bleu (a, b)", "metric"),
        ("gpt-4/auto-cseval", "recorded"),
        ("gptscore", "recorded"),
    ],
)
def test_the_family_of_a_recorded_judge(column: str, family: str) -> None:
    assert family_of(column) == family


def test_calibrated_is_what_a_run_hands_over(make: Make, folder: Path) -> None:
    items = make_items(120, 60)
    outcome = calibrated(folder / "runs", items, keep=True)
    made = make("calibrated", prepared(items), keep=True)
    assert (made.name, made.family, made.kind, made.model) == ("calibrated", "calibrated", "criteria", None)
    assert made.rubric == outcome.frozen.rubric()
    assert made.notes == ()
    assert made.fit is not None


def test_calibrated_that_does_not_beat_a_baseline_says_so(make: Make) -> None:
    by_length = [replace(i, human=min(5.0, 1 + len(i.output.split()) / 7), ratings=()) for i in ITEMS]
    made = make("calibrated", prepared(by_length))
    (note,) = made.notes
    assert note == "it did not beat 'length only' on dev"


def test_top_k_are_the_best_rubrics_of_the_search_by_rank(make: Make) -> None:
    three, two = make("top:3", top_k=3), make("top:2", top_k=3)
    assert [m.name for m in three] == ["top:1", "top:2", "top:3"]
    assert {m.family for m in three} == {"calibrated"}
    assert len({str(m.rubric) for m in three}) == 3
    assert [m.rubric for m in two] == [m.rubric for m in three[:2]]
    assert len(make("top:50", top_k=3)) <= 50  # as many as the search has


def test_one_search_serves_calibrated_and_top_k_also_in_another_sitting(make: Make, folder: Path) -> None:
    first = make("top:2")
    (journal,) = folder.rglob("journal.jsonl")
    size = journal.stat().st_size
    assert [m.rubric for m in make("top:2")] == [m.rubric for m in first]
    make("calibrated")
    assert journal.stat().st_size == size


# -- with a model ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argument", "settings", "mode", "sampling", "draws"),
    [
        ("", {}, "text", 0.0, 1),
        ("", {"max_tokens": 33}, "text", 0.0, 1),
        (":t0.7", {}, "text", 0.7, 1),
        (":sample:3", {}, "sample:3", 1.0, 3),
        ("", {"score_mode": "sample:2", "model": MODEL}, "sample:2", 1.0, 2),
        (":text", {"score_mode": "sample:2", "model": MODEL}, "text", 0.0, 1),
    ],
)
def test_zero_shot_asks_with_the_definition_alone(
    make: Make, argument: str, settings: dict[str, Any], mode: str, sampling: float, draws: int
) -> None:
    made = make(f"zero-shot{argument}@{MODEL}", **settings)
    assert (made.family, made.kind, made.model, made.fit) == ("zero-shot", "llm", MODEL, None)
    assert made.rubric == Rubric(ASPECT.ref, ())
    assert isinstance(made.judge, LLMJudge)
    assert made.judge.prompt == score_prompt(ASPECT, (), ("source", "output"))
    assert made.judge.mode == mode
    assert made.judge.sampling == Sampling(sampling, settings.get("max_tokens", made.judge.sampling.max_tokens))
    requests = made.judge.requests(ITEMS[0])
    assert len(requests) == draws
    assert {r.sampling.temperature for r in requests} == {sampling}
    assert made.judge.judge(ITEMS[:3]) == tuple(Judgment(i.id, 4.0, mode) for i in ITEMS[:3])


STEPS = ("Look at the words.", "Weigh the tone.", "Ask who could act on it.")


def test_g_eval_as_published_takes_expected_scores_of_its_own_steps(make: Make) -> None:
    made = make(f"g-eval@{MODEL}", script=with_probabilities)
    assert (made.family, made.kind, made.model, made.notes) == ("g-eval", "llm", MODEL, ())
    assert tuple(s.text for s in made.rubric.steps) == STEPS
    assert made.judge.prompt == score_prompt(ASPECT, in_words(made.rubric), ("source", "output"))
    assert (made.judge.mode, made.judge.sampling.temperature) == (ExpectedMode.name, 0.0)
    (verdict,) = made.judge.judge(ITEMS[:1])
    assert verdict == Judgment(ITEMS[0].id, pytest.approx(4.25), "expected")


def test_where_there_are_no_log_probabilities_g_eval_takes_20_samples_and_says_so(make: Make) -> None:
    made = make(f"g-eval@{MODEL}")
    assert made.notes == (f"no log-probabilities of {MODEL}: the mean of 20 samples instead",)
    assert (made.judge.mode, made.judge.sampling.temperature) == ("sample:20", 1.0)
    assert len(made.judge.requests(ITEMS[0])) == 20
    assert made.judge.judge(ITEMS[:2]) == tuple(Judgment(i.id, 4.0, "sample:20") for i in ITEMS[:2])


@pytest.mark.parametrize(
    ("argument", "mode", "temperature"), [("text", "text", 0.0), ("sample:3", "sample:3", 1.0), ("t0.5", "text", 0.5)]
)
def test_g_eval_in_another_mode_is_what_the_name_says_and_no_fall_back(
    make: Make, argument: str, mode: str, temperature: float
) -> None:
    made = make(f"g-eval:{argument}@{MODEL}")
    assert (made.judge.mode, made.judge.sampling.temperature, made.notes) == (mode, temperature, ())
    assert made.rubric.steps


def test_g_eval_without_steps_is_left_out_with_the_reason(make: Make) -> None:
    left = make(f"g-eval:text@{MODEL}", script=lambda r: "I would rather not.")
    assert isinstance(left, LeftOut)
    assert (left.name, left.family) == (f"g-eval:text@{MODEL}", "g-eval")
    assert left.reason.startswith(f"{MODEL} wrote no evaluation steps: ")


def test_a_model_is_calibrated_as_a_run_does_it(folder: Path) -> None:
    ready, roles = prepared(make_items(60, 30)), ("source", "output")
    with serving(folder / "log") as double, Connections(Access()) as connections:
        model = f"{double.url}#double"
        config = make_config(**(QUICK | {"trials": 1, "rounds": 1, "refinements": 1, "shots": (3,)}))
        maker = Maker(ready, config, connections, folder, Silent())
        (made,) = maker.made(parse_judge(f"calibrated@{model}"))
        top = maker.made(parse_judge(f"top:2@{model}"))
    assert isinstance(made, Made)
    assert (made.family, made.kind, made.model, made.fit) == ("calibrated", "llm", model, None)
    assert isinstance(made.judge, LLMJudge)
    assert made.judge.prompt == score_prompt(ASPECT, in_words(made.rubric), roles)
    assert made.rubric.steps and not any(s.measures for s in made.rubric.steps)
    assert [m.name for m in top] == [f"top:{k}@{model}" for k in range(1, len(top) + 1)]
    assert 1 <= len(top) <= 2
    assert {m.model for m in top if isinstance(m, Made)} == {model}


# -- frozen judges -----------------------------------------------------------------------------------------------------


@pytest.fixture
def frozen(folder: Path) -> FrozenJudge:
    return calibrated(folder / "runs", ITEMS, keep=True).frozen


def test_a_frozen_judge_of_this_very_split_needs_no_caution(make: Make, folder: Path, frozen: FrozenJudge) -> None:
    frozen.save(folder / "mine.yaml")
    made = make("calibrated:mine.yaml")
    assert (made.name, made.family, made.kind, made.fit) == ("calibrated:mine.yaml", "calibrated", "criteria", None)
    assert made.rubric == frozen.rubric()
    assert made.notes == ()
    assert same(made.judge, embedded(ASPECT, "spearman").judge(frozen.rubric()))


def test_a_frozen_judge_of_another_split_of_the_data_has_seen_items_of_the_test_side(
    make: Make, folder: Path, frozen: FrozenJudge
) -> None:
    frozen.save(folder / "mine.yaml")
    made = make("calibrated:mine.yaml", prepared(ITEMS, seed=1))
    assert made.notes == ("it was calibrated on another split of this data, and has seen items of this test side",)


def test_what_a_frozen_judge_of_other_data_has_seen_is_not_known(make: Make, folder: Path, frozen: FrozenJudge) -> None:
    other = frozen.origin.model_copy(update={"data": "other.csv", "data_digest": "x", "test_digest": "y"})
    frozen.model_copy(update={"origin": other}).hashed().save(folder / "mine.yaml")
    made = make("calibrated:mine.yaml")
    assert made.notes == ("it was calibrated on other.csv: whether it has seen items of this test side is not known",)


def test_a_frozen_judge_of_another_scale_is_refused(make: Make, folder: Path, frozen: FrozenJudge) -> None:
    other = AspectFile.of(replace(ASPECT, scale=Scale(0, 100), anchors={}))
    frozen.model_copy(update={"aspect": other}).hashed().save(folder / "mine.yaml")
    with pytest.raises(ConfigError) as caught:
        make("calibrated:mine.yaml")
    assert str(caught.value) == (
        "--judges: calibrated:mine.yaml: it scores neutral/relevance on 0-100, and neutral/relevance is on 1-5"
    )


def test_a_frozen_judge_that_is_not_there_is_refused(make: Make) -> None:
    with pytest.raises(RubricError, match="there is no frozen judge 'nobody'"):
        make("calibrated:nobody")


def test_a_frozen_judge_by_words_asks_its_own_model_unless_another_is_named(
    make: Make, folder: Path, frozen: FrozenJudge
) -> None:
    portal = Portal()
    rubric = Rubric(ASPECT.ref, ())
    judge = LLMJudge(
        Client(ScriptedModel(answers, "scripted/another"), portal, 1),
        score_prompt(ASPECT, (), ("source", "output")),
        ASPECT,
    )
    update = {"judge": judge_file("llm", judge, ("source", "output")), "base": 0.0, "steps": step_files(rubric)}
    frozen.model_copy(update=update).hashed().save(folder / "mine.yaml")
    portal.close()
    made = make(f"calibrated:mine.yaml@{MODEL}")
    assert (made.model, made.kind) == (MODEL, "llm")
    assert made.judge.judge(ITEMS[:2]) == tuple(Judgment(i.id, 4.0, "text") for i in ITEMS[:2])
