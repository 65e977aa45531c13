"""vLLM in this process: what can be said of it without vLLM, by a double of its modules, and on a real engine."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import time
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest, Model, Sampling
from calibrator.models.client import Portal
from calibrator.models.names import open_model
from calibrator.models.vllm_engine import converted, engine_arguments, engine_processes, kept_log
from calibrator.models.vllm_local import VllmModel
from calibrator.records import Message
from tests.models.contract import ModelContract, asking

T = TypeVar("T")
HAS_VLLM = importlib.util.find_spec("vllm") is not None


# --- without vLLM ----------------------------------------------------------------------------------------------------


# As vLLM's class: the types stand at the fields, one of them as a text that cannot be looked up.
FIELDS: dict[str, Any] = {
    "model": str,
    "max_model_len": int | None,
    "gpu_memory_utilization": float,
    "enable_prefix_caching": bool | None,
    "dtype": Literal["auto", "bfloat16"],
    "quantization": str | None,
    "hf_overrides": dict[str, Any] | None,
    "ignore_patterns": str | list[str],
    "quantization_config": "dict[str, Any] | Elsewhere | None",
    "_rank": int,
}
Arguments = dataclasses.make_dataclass(
    "Arguments", [(name, kind, dataclasses.field(default=None)) for name, kind in FIELDS.items()]
)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("max_model_len", "4096", 4096),
        ("max_model_len", "none", None),
        ("gpu_memory_utilization", "0.5", 0.5),
        ("enable_prefix_caching", "false", False),
        ("dtype", "bfloat16", "bfloat16"),
        ("quantization", "fp8", "fp8"),
        ("hf_overrides", '{"rope": {"factor": 2.0}}', {"rope": {"factor": 2.0}}),
        ("ignore_patterns", "*.pth", "*.pth"),
        ("ignore_patterns", '["*.pth", "*.bin"]', ["*.pth", "*.bin"]),
        ("quantization_config", '{"a": 1}', {"a": 1}),
    ],
)
def test_arguments_are_converted_to_the_types_of_their_fields(key: str, text: str, value: object) -> None:
    assert engine_arguments(Arguments, {key: text})[key] == value


def test_prefixes_are_cached_unless_the_user_says_otherwise() -> None:
    assert engine_arguments(Arguments, {}) == {"enable_prefix_caching": True}
    assert engine_arguments(Arguments, {"enable_prefix_caching": "false"}) == {"enable_prefix_caching": False}


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("max_len", "1", "--model-arg max_len: vLLM has no engine argument of this name; did you mean max_model_len"),
        ("xyzzy", "1", "--model-arg xyzzy: vLLM has no engine argument of this name$"),
        ("_rank", "1", "no engine argument"),
        ("max_model_len", "long", "--model-arg max_model_len: 'long' does not fit: Input should be a valid integer"),
        ("enable_prefix_caching", "perhaps", "'perhaps' does not fit"),
        ("dtype", "int4", "does not fit: Input should be 'auto' or 'bfloat16'"),
        ("hf_overrides", '{"a":', "does not fit: not JSON"),
    ],
)
def test_what_does_not_fit_is_named(key: str, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        engine_arguments(Arguments, {key: text})


def test_a_class_may_stand_among_the_types() -> None:
    assert converted("mp", str | type[Portal] | None) == "mp"
    assert converted("module:Name", str | Portal | None) == "module:Name"


def test_without_vllm_the_command_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    model = open_model("vllm-local/some/model", 16, {"tensor_parallel_size": "2"})
    with pytest.raises(ModelMissing, match=r"^vllm-local/some/model: .*pip install 'vllm>=0\.11'$"):
        model.check()  # type: ignore[attr-defined]
    with pytest.raises(ModelMissing, match="pip install"):
        asyncio.run(model.complete(asking("?")))
    asyncio.run(model.close())


def test_neither_the_name_nor_the_check_imports_vllm() -> None:
    code = """
        import contextlib, sys
        from calibrator.errors import ModelMissing
        from calibrator.models.names import open_model
        with contextlib.suppress(ModelMissing):
            open_model("vllm-local/some/model", 16).check()
        assert not {"vllm", "torch", "transformers"} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)


@pytest.mark.parametrize("name", ["/nowhere/at/all", "./nowhere", "~nobody-of-this-name/model"])
def test_a_path_that_leads_nowhere_is_missing(name: str) -> None:
    with pytest.raises(ModelMissing, match="there is no such folder"):
        VllmModel(f"vllm-local/{name}", {})


def test_some_arguments_are_not_for_vllm(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="model is named behind vllm-local/"):
        VllmModel("vllm-local/m", {"model": "another"})
    with pytest.raises(ConfigError, match=r"chat_template: .*cannot be read"):
        VllmModel("vllm-local/m", {"chat-template": str(tmp_path / "none.jinja")})


def test_the_identity_holds_what_changes_replies_and_nothing_else(tmp_path: Path) -> None:
    def identity(**arguments: str) -> str:
        return VllmModel("vllm-local/some/model", arguments).identity

    assert identity() == identity(gpu_memory_utilization="0.5", max_num_seqs="8", hf_token="hf-secret")
    assert identity() == "vllm-local/some/model"
    assert len({identity(), identity(quantization="fp8"), identity(max_model_len="100"), identity(dtype="half")}) == 4
    assert identity(**{"max-model-len": "100"}) == identity(max_model_len="100")
    files = [tmp_path / name for name in ("one.jinja", "two.jinja", "same.jinja")]
    for file, text in zip(files, ("a", "b", "a"), strict=True):
        file.write_text(text)
    one, two, same = (identity(chat_template=str(file)) for file in files)
    assert one == same != two


def test_the_identity_of_a_folder_follows_its_files(tmp_path: Path) -> None:
    for name, text in {"config.json": "{}", "model.safetensors": "weights", "notes.md": "mine"}.items():
        (tmp_path / name).write_text(text)

    def identity() -> str:
        return VllmModel(f"vllm-local/{tmp_path}", {}).identity

    first = identity()
    (tmp_path / "notes.md").write_text("changed")
    assert identity() == first
    (tmp_path / "model.safetensors").write_text("weightz")
    assert identity() != first


# --- on a double of its modules --------------------------------------------------------------------------------------


class Logprob:
    def __init__(self, text: str, logprob: float) -> None:
        self.decoded_token, self.logprob = text, logprob


class Tokenizer:
    chat_template: str | None = "{{ messages }}"
    all_special_ids = (0,)

    def apply_chat_template(self, messages: list[dict[str, str]], **given: Any) -> list[int]:
        if messages[0]["role"] == "system":
            raise ValueError("only user and assistant roles are supported")
        return list(messages[0]["content"].encode())


class Engine:
    """What the model sees of an engine; `fails` is raised by `generate`, `reason` is how a reply ends."""

    started = 0
    fails: Exception | None = None
    start_fails: Exception | None = None
    reason = "stop"

    def __init__(self) -> None:
        config = types.SimpleNamespace(max_model_len=400, max_logprobs=3)
        self.vllm_config = types.SimpleNamespace(model_config=config)
        self.errored, self.asked, self.tokenizer = False, [], Tokenizer()

    @classmethod
    def from_engine_args(cls, arguments: Any) -> Engine:
        time.sleep(0.05)  # long enough for others to come by
        cls.started += 1
        if cls.start_fails is not None:
            raise cls.start_fails
        return cls()

    def get_tokenizer(self) -> Tokenizer:
        return self.tokenizer

    async def generate(self, prompt: dict[str, Any], parameters: Any, number: str) -> AsyncIterator[Any]:
        self.asked.append(parameters)
        if self.fails is not None:
            raise self.fails
        ids = [52, 0] if self.reason == "stop" else [52]
        place = {52: Logprob("4", -0.5), 53: Logprob("5", -math.inf)}
        output = types.SimpleNamespace(
            text="4", token_ids=ids, logprobs=[place, {0: Logprob("</s>", -0.1)}], finish_reason=self.reason
        )
        yield types.SimpleNamespace(outputs=[output], prompt_token_ids=prompt["prompt_token_ids"], num_cached_tokens=16)

    def shutdown(self) -> None:
        self.errored = True


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> type[Engine]:
    fresh = type("Engine", (Engine,), {})
    kinds = {
        "vllm": {},
        "vllm.engine": {},
        "vllm.engine.arg_utils": {"AsyncEngineArgs": Arguments},
        "vllm.sampling_params": {
            "SamplingParams": types.SimpleNamespace,
            "StructuredOutputsParams": types.SimpleNamespace,
            "RequestOutputKind": types.SimpleNamespace(FINAL_ONLY=2),
        },
        "vllm.v1": {},
        "vllm.v1.engine": {},
        "vllm.v1.engine.async_llm": {"AsyncLLM": fresh},
    }
    for name, content in kinds.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr("calibrator.models.vllm_local.prepare", lambda: None)
    return fresh


def model(**arguments: str) -> VllmModel:
    return VllmModel("vllm-local/some/model", arguments)


def complete(request: ChatRequest, **arguments: str) -> ChatReply:
    return asyncio.run(model(**arguments).complete(request))


def test_a_reply_holds_what_vllm_gave(engine: type[Engine]) -> None:
    reply = complete(ChatRequest((Message("user", "Rate"),), Sampling(0.7, 5, seed=2**31 + 3), logprobs=2))
    assert (reply.text, reply.finish, reply.cost, reply.calls) == ("4", "stop", 0.0, 1)
    assert (reply.usage.prompt, reply.usage.completion, reply.usage.cached) == (4, 2, 16)
    (token,) = reply.tokens  # what ends a reply is no part of it
    assert (token.text, token.logprob, token.top) == ("4", -0.5, (("4", -0.5), ("5", -9999.0)))


def test_the_engine_is_told_what_was_asked(engine: type[Engine]) -> None:
    async def work() -> Any:
        asked = model()
        await asked.complete(ChatRequest((Message("user", "?"),), Sampling(0.7, 5, seed=2**31 + 3), logprobs=20))
        await asked.complete(asking("?", schema='{"type": "object"}'))
        return asked._engine.asked

    first, second = asyncio.run(work())
    assert (first.temperature, first.max_tokens, first.seed) == (0.7, 5, 3)
    assert (first.logprobs, first.structured_outputs) == (3, None)  # no more than the engine gives
    assert (second.seed, second.logprobs, second.structured_outputs.json) == (None, None, '{"type": "object"}')


def test_a_prompt_and_its_reply_must_fit_the_context(engine: type[Engine]) -> None:
    assert complete(asking("a" * 390, max_tokens=10)).finish == "stop"
    reply = complete(asking("a" * 391, max_tokens=10))
    assert (reply.finish, reply.text) == ("refused", "")


def test_all_who_wait_share_one_start(engine: type[Engine]) -> None:
    async def work() -> list[ChatReply]:
        shared = model()
        return list(await asyncio.gather(*(shared.complete(asking("?")) for _ in range(5))))

    assert len(asyncio.run(work())) == 5
    assert engine.started == 1


def test_whoever_gives_up_waiting_does_not_stop_the_start(engine: type[Engine]) -> None:
    async def work() -> ChatReply:
        shared = model()
        first = asyncio.create_task(shared.complete(asking("?")))
        await asyncio.sleep(0.01)
        first.cancel()
        return await shared.complete(asking("?"))

    assert asyncio.run(work()).text == "4"
    assert engine.started == 1


def test_a_start_that_failed_is_told_to_all_who_wait_and_may_be_tried_again(engine: type[Engine]) -> None:
    engine.start_fails = ValueError("no such model\non the hub")

    async def work() -> tuple[list[Any], ChatReply]:
        shared = model()
        errors = await asyncio.gather(*(shared.complete(asking("?")) for _ in range(3)), return_exceptions=True)
        engine.start_fails = None
        return errors, await shared.complete(asking("?"))

    errors, reply = asyncio.run(work())
    said = "vllm-local/some/model: vLLM could not start (no such model on the hub)"
    assert [(type(error), str(error)) for error in errors] == [(ModelError, said)] * 3
    assert (engine.started, reply.text) == (2, "4")


def test_an_unknown_argument_is_said_at_the_start(engine: type[Engine]) -> None:
    with pytest.raises(ConfigError, match="did you mean max_model_len"):
        complete(asking("?"), max_len="100")


def test_a_model_without_a_chat_template_says_what_to_do(
    engine: type[Engine], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Tokenizer, "chat_template", None)
    with pytest.raises(ModelMissing, match="--model-arg chat_template=<file>"):
        complete(asking("?"))
    (tmp_path / "own.jinja").write_text("{{ messages }}")
    assert complete(asking("?"), chat_template=str(tmp_path / "own.jinja")).text == "4"


def test_messages_that_a_template_does_not_take_are_an_error(engine: type[Engine]) -> None:
    with pytest.raises(ModelError, match="chat template does not take the messages"):
        complete(ChatRequest((Message("system", "Be kind."),)))


def test_what_the_engine_does_not_take_is_an_error(engine: type[Engine]) -> None:
    engine.fails = ValueError("The JSON schema is nested too deeply")
    with pytest.raises(ModelError, match=r"vLLM does not take the request \(The JSON schema is nested"):
        complete(asking("?", schema="{}"))


def test_a_reply_that_the_engine_broke_off_may_be_asked_for_again(engine: type[Engine]) -> None:
    engine.reason = "abort"
    with pytest.raises(ModelUnavailable):
        complete(asking("?"))


def test_an_engine_that_died_says_so(engine: type[Engine]) -> None:
    class EngineDeadError(Exception):
        pass

    engine.fails = EngineDeadError("See stack trace (above) for the root cause.")
    with pytest.raises(ModelError, match=r"vLLM's engine died .*; replies so far are kept"):
        complete(asking("?"))


# --- on a real engine, with a model that is made here ----------------------------------------------------------------

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)
COMPACT = '{"backend": "xgrammar", "disable_any_whitespace": true}'  # a model at random would never end its spaces
ON_CPU = {
    "max_model_len": "1024",
    "enforce_eager": "true",
    "dtype": "float32",
    "gpu_memory_utilization": "0.3",
    "kv_cache_memory_bytes": str(2**26),
    "structured_outputs_config": COMPACT,
}
# What vLLM and its parts warn about when they are imported is not ours.
real = [
    pytest.mark.skipif(not HAS_VLLM, reason="not installed: vllm"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.xdist_group("vllm"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Llama of two layers with weights at random, and a tokenizer of a few words."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet)
    made.train_from_iterator(["Say what you think of rivers, at length, and rate the word."], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>")
    tokenizer.chat_template = TEMPLATE
    where = str(tmp_path_factory.mktemp("tiny-llama"))
    tokenizer.save_pretrained(where)
    torch.manual_seed(0)
    shape = dict.fromkeys(("num_hidden_layers", "num_attention_heads", "num_key_value_heads"), 2)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        max_position_embeddings=2048,
        initializer_range=0.2,
        bos_token_id=0,
        eos_token_id=1,
        **shape,
    )
    network = LlamaForCausalLM(config)
    with torch.no_grad():  # halves of letters are never the likeliest
        for token in range(len(tokenizer)):
            if not tokenizer.decode([token]).isascii():
                network.lm_head.weight[token] = 0
    network.save_pretrained(where)
    yield where
    if (log := kept_log()) is not None:  # by the tests of what goes wrong
        (log.parent / "keep").unlink()


@pytest.fixture(scope="module")
def shared(folder: str) -> Iterator[tuple[Portal, VllmModel]]:
    """One engine for all: each takes a quarter of a minute to start."""
    portal, opened = Portal(), VllmModel(f"vllm-local/{folder}", ON_CPU)
    yield portal, opened
    portal.run(opened.close())
    portal.close()
    assert not engine_processes()
    gc.collect()


class OnAnEngine:
    portal: Portal
    opened: VllmModel

    @pytest.fixture(autouse=True)
    def _surroundings(self, shared: tuple[Portal, VllmModel]) -> None:
        self.portal, self.opened = shared

    def does(self, work: Callable[[Any], Awaitable[T]]) -> T:
        async def whole() -> T:
            return await work(self.opened)

        return self.portal.run(whole())


class TestVllmLocal(OnAnEngine, ModelContract):
    pytestmark = real

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.opened.id

    @contextmanager
    def model(self) -> Iterator[Model]:
        yield self.opened

    def numbered(self, number: int) -> ChatRequest:
        held = {"type": "object", "properties": {"n": {"const": number}}, "required": ["n"]}
        return asking(f"Say {number}.", max_tokens=24, schema=json.dumps(held))


class TestEngine(OnAnEngine):
    pytestmark = real

    def test_a_schema_is_followed(self) -> None:
        held = {
            "type": "object",
            "properties": {"score": {"enum": [1, 2, 3, 4, 5]}, "sure": {"type": "boolean"}},
            "required": ["score", "sure"],
            "additionalProperties": False,
        }
        for temperature in (0.0, 1.5):
            request = ChatRequest(
                (Message("user", "Rate the river."),), Sampling(temperature, 40, 1), schema=json.dumps(held), logprobs=5
            )
            reply = self.does(lambda model, request=request: model.complete(request))
            told = json.loads(reply.text)
            assert set(told) == {"score", "sure"} and told["score"] in range(1, 6) and isinstance(told["sure"], bool)
            assert "".join(token.text for token in reply.tokens) == reply.text
            assert reply.tokens[0].logprob == 0.0  # of what may begin the reply there is only one
            digits = next(token for token in reply.tokens if token.text in set("12345"))
            assert {text for text, logprob in digits.top if logprob > -9999} == set("12345")
            assert math.isclose(sum(math.exp(logprob) for _, logprob in digits.top), 1, abs_tol=1e-3)

    def test_log_probabilities_are_those_of_the_model(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        request = ChatRequest((Message("user", "Rate the word 4."),), Sampling(1.7, 6, seed=3), logprobs=20)
        reply = self.does(lambda model: model.complete(request))
        tokenizer, network = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder)
        prompt = tokenizer.apply_chat_template(
            [{"role": "user", "content": "Rate the word 4."}], add_generation_prompt=True, return_dict=False
        )
        assert reply.usage.prompt == len(prompt)
        with torch.no_grad():
            expected = torch.log_softmax(network(torch.tensor([prompt])).logits[0, -1], -1)
        first = reply.tokens[0]
        own = [k for k in range(len(tokenizer)) if tokenizer.decode([k]) == first.text]  # several for half a letter
        assert any(math.isclose(first.logprob, float(expected[k]), abs_tol=1e-3) for k in own)
        assert len(reply.tokens) == reply.usage.completion

    def test_a_seed_gives_the_same_reply_and_another_seed_another(self) -> None:
        async def drawn(model: Model, seed: int) -> str:
            request = ChatRequest((Message("user", "Say what you think."),), Sampling(1.5, 30, seed))
            return (await model.complete(request)).text

        async def work(model: Model) -> list[str]:
            return [await drawn(model, seed) for seed in (1, 1, 2)]

        first, again, other = self.does(work)
        assert first == again != other

    def test_a_prefix_seen_before_is_not_computed_again(self) -> None:
        long = "The river runs past the garden and the bridge. " * 8

        async def work(model: Model) -> list[int]:
            replies = [await model.complete(asking(long + end, max_tokens=2)) for end in ("One.", "Two.")]
            return [reply.usage.cached for reply in replies]

        first, second = self.does(work)
        assert first < 64 <= second

    def test_a_request_that_is_given_up_leaves_the_engine(self) -> None:
        async def work(model: VllmModel) -> int:
            engine = await model._started()
            asked = asyncio.create_task(model.complete(asking("Say what you think.", max_tokens=800)))
            while not engine.output_processor.has_unfinished_requests():
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            assert not asked.done()
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
            assert (await model.complete(asking("Say.", max_tokens=2))).finish == "length"
            return int(engine.output_processor.get_num_unfinished_requests())

        assert self.does(work) == 0

    def test_an_engine_that_died_says_so_and_can_be_closed_and_used_again(self) -> None:
        async def work(model: VllmModel) -> ChatReply:
            await model.complete(asking("Say.", max_tokens=2))
            asked = asyncio.create_task(model.complete(asking("Say what you think.", max_tokens=800)))
            await asyncio.sleep(0.2)
            for process in engine_processes():
                os.kill(process, signal.SIGKILL)
            with pytest.raises(ModelError, match="vLLM's engine died"):
                await asked
            with pytest.raises(ModelError, match="vLLM's engine died"):
                await model.complete(asking("Say.", max_tokens=2))
            await model.close()
            assert not engine_processes()
            return await model.complete(asking("Say.", max_tokens=2))

        assert self.does(work).text


class TestStart:
    pytestmark = real

    @pytest.fixture(autouse=True)
    def _surroundings(self) -> Iterator[None]:
        yield
        gc.collect()  # a start that failed leaves sockets to the collector, which would warn after the tests

    def error(self, folder: str, **arguments: str) -> ModelError:
        async def work() -> None:
            model = VllmModel(f"vllm-local/{folder}", ON_CPU | arguments)
            try:
                await model.complete(asking("Say."))
            finally:
                await model.close()

        with pytest.raises((ModelError, ConfigError)) as caught:
            asyncio.run(work())
        return caught.value  # type: ignore[return-value]

    def test_too_little_memory_names_the_arguments(self, folder: str) -> None:
        error = str(self.error(folder, kv_cache_memory_bytes="100000"))
        assert "\n" not in error and "vLLM could not start" in error
        assert "--model-arg max_model_len" in error and "--model-arg gpu_memory_utilization" in error
        assert Path(error.rpartition("log: ")[2]).stat().st_size > 0

    def test_what_vllm_refuses_is_one_line(self, folder: str) -> None:
        error = str(self.error(folder, max_model_len="100000"))
        assert "\n" not in error and "vLLM could not start" in error and "max_model_len" in error
        assert "did you mean tensor_parallel_size" in str(self.error(folder, tensor_parallel="2"))

    def test_an_engine_that_is_starting_can_be_closed(self, folder: str) -> None:
        async def work() -> float:
            model = VllmModel(f"vllm-local/{folder}", ON_CPU)
            asked = asyncio.create_task(model.complete(asking("Say.")))
            while engine_processes() == others:
                await asyncio.sleep(0.1)
            await asyncio.sleep(3)
            asked.cancel()
            begin = time.perf_counter()
            await model.close()
            return time.perf_counter() - begin

        others = engine_processes()
        assert asyncio.run(work()) < 10
        assert engine_processes() == others

    def test_no_process_outlives_us_and_none_writes_to_our_output(self, folder: str, tmp_path: Path) -> None:
        program = tmp_path / "program.py"
        program.write_text(
            textwrap.dedent(f"""
            import os, psutil
            from calibrator.models.base import ChatRequest, Sampling
            from calibrator.models.client import Portal
            from calibrator.models.vllm_local import VllmModel
            from calibrator.records import Message

            if __name__ == "__main__":
                model = VllmModel("vllm-local/{folder}", {ON_CPU!r})
                Portal().run(model.complete(ChatRequest((Message("user", "Say."),), Sampling(max_tokens=2))))
                print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)
                os.kill(os.getpid(), 9)
            """)
        )
        done = subprocess.run(
            [sys.executable, str(program)],
            env=os.environ | {"TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        children = [int(pid) for pid in done.stdout.split()]  # nothing else was printed
        assert len(children) >= 2
        waited = time.monotonic() + 20
        while (left := [pid for pid in children if Path(f"/proc/{pid}").exists()]) and time.monotonic() < waited:
            time.sleep(0.2)
        assert not left
