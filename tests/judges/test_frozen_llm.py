"""Frozen LLM judges: the file holds the very message, and what is loaded from it asks just that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from calibrator.aspects import AspectFile, find_aspect
from calibrator.errors import CalibratorError, InputError, ModelError, RubricError, ScoringFailed
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import FrozenJudge, dump, judge_file, read_frozen, step_files
from calibrator.judges.llm import SAMPLING, LLMJudge
from calibrator.judges.wording import in_words
from calibrator.models.base import ChatReply, Sampling
from calibrator.models.build import Access
from calibrator.models.client import Client, Portal
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.prompts import Part, Prompt, score_prompt
from calibrator.records import Judgment, Rubric, Step, Verdict
from calibrator.resources import folder
from tests.conftest import make_items

SHIPPED = sorted((folder("rubrics") / "frozen").rglob("*.yaml"))
ASPECT = find_aspect("cseval/relevance")[0]
ROLES = ("source", "output")
NAME = "openai/some-model"
GOOD = '{"score": 4}'
RUBRIC = Rubric(ASPECT.ref, (Step("Look: 'at' \"the\" #words."), Step("- 4"), Step("Wäge den Ton 🙂 {{ ab }}.")))
NOBODY = Access()  # no cache: nothing of a test stays behind


@pytest.fixture(scope="module")
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


def judging(portal: Portal, prompt: Prompt, sampling: Sampling = SAMPLING) -> tuple[LLMJudge, ScriptedModel]:
    model = ScriptedModel(lambda r: GOOD, NAME)
    return LLMJudge(Client(model, portal, 1), prompt, ASPECT, sampling), model


def frozen_with(judge: LLMJudge, rubric: Rubric = RUBRIC, /, **changes: object) -> FrozenJudge:
    """Return the judge frozen, with the figures of a shipped one: they do not matter here."""
    there = read_frozen(SHIPPED[0])
    parts = {
        "aspect": AspectFile.of(ASPECT),
        "judge": judge_file("llm", judge, ROLES),
        "base": 0.0,
        "steps": step_files(rubric),
    }
    return there.model_copy(update=parts | changes).hashed()


@pytest.fixture
def prompt() -> Prompt:
    return score_prompt(ASPECT, in_words(RUBRIC), ROLES)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[ScriptedModel]:
    """Models that are opened answer with a good score, and are kept here."""
    return opening(monkeypatch, lambda r: GOOD)


def opening(monkeypatch: pytest.MonkeyPatch, script: Script) -> list[ScriptedModel]:
    models: list[ScriptedModel] = []

    def scripted(name: str, width: int, arguments: object) -> ScriptedModel:
        models.append(ScriptedModel(script, name))
        return models[-1]

    monkeypatch.setattr("calibrator.models.build.open_model", scripted)
    return models


@pytest.fixture
def file(tmp_path: Path, portal: Portal, prompt: Prompt) -> Path:
    path = tmp_path / "judge.yaml"
    frozen_with(judging(portal, prompt)[0]).save(path)
    return path


def test_the_file_keeps_message_sampling_steps_and_model(tmp_path: Path, portal: Portal, prompt: Prompt) -> None:
    sampling = Sampling(0.25, 77, 3)
    frozen = frozen_with(judging(portal, prompt, sampling)[0])
    frozen.save(tmp_path / "judge.yaml")
    again = read_frozen(tmp_path / "judge.yaml")
    assert again == frozen
    assert again.prompt() == prompt
    assert again.rubric() == RUBRIC
    asked = again.judge.asked
    assert asked is not None
    assert (asked.model, Sampling(**asked.sampling.model_dump())) == (NAME, sampling)
    assert (again.judge.method, again.judge.id, again.judge.score_mode) == ("llm", f"llm@{NAME}", "text")


def test_people_can_read_the_message_in_the_file(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert "1. Look: 'at' \"the\" #words.\n" in text
    assert "3. Wäge den Ton 🙂 {{ ab }}.\n" in text
    assert "- item: source\n" in text
    assert "- item: output\n" in text


def test_what_the_loaded_judge_asks_is_what_the_calibrating_one_asked(
    portal: Portal, prompt: Prompt, tmp_path: Path, opened: list[ScriptedModel]
) -> None:
    judge, before = judging(portal, prompt, Sampling(0.1, 33, 5))
    frozen_with(judge).save(tmp_path / "judge.yaml")
    odd = ["two\nlines\r\nthree\u2028four", 'ANSWER\n> {"score": 5}', "<|im_end|>\0output\0", "Ä 中文 🙂 \u202e", " x "]
    items = make_items(6) + [replace(i, output=o, source=o) for i, o in zip(make_items(5, seed=1), odd, strict=True)]
    verdicts = judge.judge(items)
    told: list[Verdict] = []
    with load_judge(tmp_path / "judge.yaml", access=Access(width=1), told=told.append) as loaded:
        assert loaded.judge(items) == verdicts == tuple(told)
        assert (loaded.id, loaded.mode, loaded.aspect) == (judge.id, judge.mode, ASPECT)
    (after,) = opened
    # Two may be under way at a time, which need not keep their order.
    assert sorted(map(repr, after.asked)) == sorted(map(repr, before.asked))
    assert set(after.asked) == set(before.asked)


def test_one_text_is_scored(file: Path, opened: list[ScriptedModel]) -> None:
    with load_judge(file, access=NOBODY) as loaded:
        assert loaded.score(output="A reply.", source="A post.") == 4.0
        with pytest.raises(ScoringFailed, match="empty text"):
            loaded.score(output="", source="A post.")
        with pytest.raises(InputError, match="source"):
            loaded.score(output="A reply.")
    assert len(opened[0].asked) == 1


def test_a_reply_without_a_score_is_no_number(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opening(monkeypatch, lambda r: ChatReply("", "refused", "the prompt is too long for the model's context"))
    with load_judge(file, access=NOBODY) as loaded, pytest.raises(ScoringFailed, match="too long"):
        loaded.score(output="A reply.", source="A post.")


def test_another_model_can_be_named(file: Path, opened: list[ScriptedModel]) -> None:
    with load_judge(file, access=NOBODY) as usual, load_judge(file, model="vllm/other", access=NOBODY) as other:
        assert usual.id == f"llm@{NAME}"
        assert other.id == "llm@vllm/other"
        assert other.judge(make_items(2)) == (Judgment("i0", 4.0, "text"), Judgment("i1", 4.0, "text"))
    assert [m.id for m in opened] == [NAME, "vllm/other"]
    assert [len(m.asked) for m in opened] == [0, 2]


def test_loading_asks_nothing(portal: Portal, prompt: Prompt, tmp_path: Path) -> None:
    frozen_with(judging(portal, prompt)[0]).save(tmp_path / "judge.yaml")
    with load_judge(tmp_path / "judge.yaml", model="http://127.0.0.1:9/v1#m", access=NOBODY) as loaded:
        assert loaded.id == "llm@http://127.0.0.1:9/v1#m"
        with pytest.raises(ModelError, match="nothing answers"):
            loaded.judge(make_items(1))


def test_a_name_that_is_no_model_is_refused(file: Path) -> None:
    with pytest.raises(CalibratorError, match="'gpt4' is no model"):
        load_judge(file, model="gpt4", access=NOBODY)


def test_a_model_is_refused_for_a_judge_that_asks_none() -> None:
    with pytest.raises(InputError, match="asks no model; leave --model out"):
        load_judge(SHIPPED[0], model=NAME)


@pytest.mark.parametrize(
    "old, new",
    [
        ("You rate one text", "You praise one text"),
        ("- item: source", "- item: output"),
        ("temperature: 0.0", "temperature: 1.0"),
        ("max_tokens: 256", "max_tokens: 255"),
        (f"model: {NAME}", "model: openai/another"),
        ("score_mode: text", "score_mode: other"),
        ("role: user", "role: system"),
        ("Look: ", "Look  : "),
    ],
)
def test_a_changed_file_is_refused(file: Path, opened: list[ScriptedModel], old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RubricError, match="was changed after it was frozen"):
        load_judge(file, access=NOBODY)
    assert not opened


@pytest.mark.parametrize(
    "change, problem",
    [
        ({"score_mode": "weighted"}, "score mode is 'weighted'.*does not know; upgrade"),
        ({"asked": None}, "holds no message to ask; calibrate again"),
        ({"method": "oracle"}, "method is 'oracle'.*does not know; upgrade"),
    ],
)
def test_a_judge_of_a_later_version_is_refused(
    portal: Portal, prompt: Prompt, tmp_path: Path, opened: list[ScriptedModel], change: dict[str, object], problem: str
) -> None:
    frozen = frozen_with(judging(portal, prompt)[0])
    frozen_with(judging(portal, prompt)[0], judge=frozen.judge.model_copy(update=change)).save(tmp_path / "later.yaml")
    with pytest.raises(RubricError, match=problem) as caught:
        load_judge(tmp_path / "later.yaml", access=NOBODY)
    assert "later.yaml" in str(caught.value)
    assert not opened


@pytest.mark.parametrize("count", [0, 2])
def test_a_judge_with_no_message_or_several_is_refused(
    portal: Portal, prompt: Prompt, tmp_path: Path, opened: list[ScriptedModel], count: int
) -> None:
    judge = judge_file("llm", judging(portal, prompt)[0], ROLES)
    assert judge.asked is not None
    asked = judge.asked.model_copy(update={"messages": judge.asked.messages * count})
    frozen = frozen_with(judging(portal, prompt)[0], judge=judge.model_copy(update={"asked": asked}))
    frozen.save(tmp_path / "several.yaml")
    with pytest.raises(RubricError, match="one message"):
        load_judge(tmp_path / "several.yaml", access=NOBODY)
    assert not opened


@pytest.mark.parametrize("part", ["{}", "{text: a, item: output}", "{words: a}"])
def test_a_part_is_either_words_or_an_item(file: Path, part: str) -> None:
    loaded = yaml.safe_load(file.read_text(encoding="utf-8"))
    loaded["judge"]["asked"]["messages"][0]["parts"][0] = yaml.safe_load(part)
    file.write_text(yaml.safe_dump(loaded), encoding="utf-8")
    with pytest.raises(RubricError, match=r"not a frozen judge of this version: judge\.asked\.messages\.0\.parts\.0"):
        read_frozen(file)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda p: p.stem)
def test_shipped_judges_keep_their_hash_and_know_nothing_of_models(path: Path) -> None:
    frozen = read_frozen(path)
    assert frozen.hashed() == frozen
    assert frozen.judge.asked is None
    assert "asked" not in frozen.model_dump(mode="json")["judge"]
    with pytest.raises(RubricError, match="this file has none"):
        frozen.prompt()


PIECES = ["\r\n", *"\n\r\x85\u2028\ufeff\t\0 |>'\"é🙂", "# ", "- ", ": ", "---"]
ODD = st.text(st.characters(exclude_categories=["Cs"])) | st.lists(st.sampled_from(PIECES)).map("".join)


@given(ODD)
def test_any_text_comes_back_from_a_file_as_it_was(text: str) -> None:
    assert yaml.safe_load(dump({"text": text, "parts": [{"text": text}]})) == {"text": text, "parts": [{"text": text}]}


@given(st.lists(ODD.filter(bool), min_size=1, max_size=4), ODD.filter(str.strip))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
def test_any_message_comes_back_from_its_file(portal: Portal, tmp_path: Path, words: list[str], step: str) -> None:
    prompt = Prompt((*map(Part, words), Part(slot="output")))
    frozen = frozen_with(judging(portal, prompt)[0], Rubric(ASPECT.ref, (Step(step),)))
    frozen.save(tmp_path / "odd.yaml")
    assert read_frozen(tmp_path / "odd.yaml").prompt() == prompt
    assert read_frozen(tmp_path / "odd.yaml").steps[0].text == step
