"""Transformers in this process: real models, small and built here, that were taught a few answers."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import math
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnfit
from calibrator.models.base import ChatReply, ChatRequest, Model, Sampling
from calibrator.models.names import anchored_name, check_arguments, check_ready, levels, open_model
from calibrator.models.transformers_loading import is_chat
from calibrator.models.transformers_local import TransformersModel
from calibrator.models.wire import TOO_LONG
from calibrator.records import Message
from tests.models import tiny
from tests.models.contract import ModelContract, asking


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.gpt2(tmp_path_factory.mktemp("causal"))


@pytest.fixture(scope="module")
def encoding(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.t5(tmp_path_factory.mktemp("encoding"))


def ask(model: Model, *requests: ChatRequest) -> list[ChatReply]:
    async def all_of_them() -> list[ChatReply]:
        try:
            return [await model.complete(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(all_of_them())


def drawing(seed: int | None, temperature: float = 2.0, text: str = "people") -> ChatRequest:
    return ChatRequest((Message("user", text),), Sampling(temperature, 12, seed))


class _Folder(ModelContract):
    folder: Path

    def model(self) -> AbstractContextManager[Model]:
        return nullcontext(TransformersModel(self.name))


class TestCausal(_Folder):
    @pytest.fixture(autouse=True)
    def _there(self, causal: Path) -> None:
        self.name = f"transformers/{causal}"


class TestEncoding(_Folder):
    @pytest.fixture(autouse=True)
    def _there(self, encoding: Path) -> None:
        self.name = f"transformers/{encoding}"


@pytest.mark.parametrize("kind", ["causal", "encoding"])
def test_it_says_what_the_model_was_taught(kind: str, request: pytest.FixtureRequest) -> None:
    model = TransformersModel(f"transformers/{request.getfixturevalue(kind)}")
    replies = ask(model, *(asking(question) for question, _ in tiny.PAIRS))
    assert [reply.text.strip() for reply in replies] == [answer for _, answer in tiny.PAIRS]
    assert {(r.finish, r.cost, r.calls) for r in replies} == {("stop", 0.0, 1)}


def test_tokens_are_counted(causal: Path, encoding: Path) -> None:
    question, answer = tiny.PAIRS[3]
    for folder, ends in ((causal, 0), (encoding, 1)):  # an encoder's prompt has an end of its own
        words = len(ask(TransformersModel(f"transformers/{folder}"), asking(question))[0].text.split())
        usage = ask(TransformersModel(f"transformers/{folder}"), asking(question))[0].usage
        assert words == len(answer.split())
        assert usage.completion == words + 1  # one for the end
        assert usage.prompt == 4 + ends  # "S", "ay", a number and the full stop, as the tokenizer was trained


def test_a_seed_says_which_reply_is_drawn(causal: Path) -> None:
    model = TransformersModel(f"transformers/{causal}")
    seeds = [1, 2, 3, 1, 2, 3]
    texts = [reply.text for reply in ask(model, *(drawing(seed) for seed in seeds))]
    assert texts[:3] == texts[3:]
    assert len(set(texts)) == 3
    alone = ask(TransformersModel(f"transformers/{causal}"), drawing(3))[0].text
    assert alone == texts[2]  # whatever was drawn before


def test_drawing_leaves_the_chances_of_others_alone(causal: Path) -> None:
    import torch

    torch.manual_seed(5)
    untouched = torch.rand(3)
    torch.manual_seed(5)
    ask(TransformersModel(f"transformers/{causal}"), drawing(1))
    assert torch.equal(torch.rand(3), untouched)


def test_without_a_seed_draws_differ(causal: Path) -> None:
    texts = {r.text for r in ask(TransformersModel(f"transformers/{causal}"), *[drawing(None)] * 6)}
    assert len(texts) > 1


def test_a_narrow_nucleus_is_the_likeliest_reply(causal: Path) -> None:
    greedy = ask(TransformersModel(f"transformers/{causal}"), drawing(1, temperature=0.0))[0].text
    for arguments in ({"top_p": "0.000001"}, {"top-k": "1"}):
        model = TransformersModel(f"transformers/{causal}", arguments)
        assert {r.text for r in ask(model, *(drawing(seed) for seed in range(3)))} == {greedy}


def test_tokens_are_drawn_from_the_whole_distribution(causal: Path) -> None:
    """Not from the 50 likeliest, as transformers does unless told otherwise: their share is that of the model."""
    import torch
    import transformers

    hot, draws = 8.0, 400
    prompt = transformers.AutoTokenizer.from_pretrained(causal)("people")["input_ids"]
    with torch.inference_mode():
        logits = transformers.AutoModelForCausalLM.from_pretrained(causal).eval()(torch.tensor([prompt])).logits[0, -1]
    bound = float(logits.log_softmax(-1).topk(50).values[-1])
    tail = 1 - float((logits / hot).softmax(-1)[logits.topk(50).indices].sum())
    assert 0.2 < tail < 0.95
    asked = [ChatRequest((Message("user", "people"),), Sampling(hot, 1, seed), logprobs=1) for seed in range(draws)]
    replies = ask(TransformersModel(f"transformers/{causal}"), *asked)
    share = sum(token.logprob < bound - 1e-4 for reply in replies for token in reply.tokens) / draws
    assert abs(share - tail) < 4 * math.sqrt(tail * (1 - tail) / draws)


@pytest.mark.parametrize("kind", ["causal", "encoding"])
def test_log_probabilities_are_those_of_the_model(kind: str, request: pytest.FixtureRequest) -> None:
    """Against the model run by hand over the prompt and the reply that it gave."""
    import torch
    import transformers

    folder = request.getfixturevalue(kind)
    asked = ChatRequest((Message("user", "the old bridge"),), Sampling(1.5, 6, 4), logprobs=4)
    reply = ask(TransformersModel(f"transformers/{folder}"), asked)[0]
    words = transformers.AutoTokenizer.from_pretrained(folder)
    prompt = words("the old bridge")["input_ids"]
    written = words(reply.text, add_special_tokens=False)["input_ids"]
    assert "".join(t.text for t in reply.tokens) == reply.text
    if len(written) != len(reply.tokens):
        pytest.fail("the reply is read as other tokens than were written; take another seed")
    with torch.inference_mode():
        if kind == "encoding":
            model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
            begin = [model.config.decoder_start_token_id]
            logits = model(torch.tensor([prompt]), decoder_input_ids=torch.tensor([begin + written[:-1]])).logits[0]
        else:
            model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
            logits = model(torch.tensor([prompt + written])).logits[0][len(prompt) - 1 : -1]
    chances = logits.log_softmax(-1)
    for k, (token, own) in enumerate(zip(reply.tokens, written, strict=True)):
        assert token.logprob == pytest.approx(float(chances[k][own]), abs=1e-4)
        assert max(p for _, p in token.top) == pytest.approx(float(chances[k].max()), abs=1e-4)


def test_a_chat_template_is_used_where_there_is_one(causal: Path, tmp_path: Path) -> None:
    import transformers

    folder = tiny.gpt2(tmp_path / "chat", template=tiny.TURNS)
    assert is_chat(f"transformers/{folder}", {})
    assert not is_chat(f"transformers/{causal}", {})
    assert not is_chat("transformers/nobody/has-this-model", {})
    shown = transformers.AutoTokenizer.from_pretrained(folder)("user : walk assistant : ")["input_ids"]
    request = asking("walk", max_tokens=2)
    assert ask(TransformersModel(f"transformers/{folder}"), request)[0].usage.prompt == len(shown)
    plain = TransformersModel(f"transformers/{folder}", {"template": "plain"})
    assert ask(plain, request)[0].usage.prompt < len(shown)
    with pytest.raises(ConfigError, match=r"template=chat: .* has no chat template"):
        ask(TransformersModel(f"transformers/{causal}", {"template": "chat"}), request)


@pytest.mark.parametrize(("template", "chat"), [("chat", True), ("turns", False), ("plain", False)])
def test_what_is_said_of_the_template_decides(causal: Path, template: str, chat: bool) -> None:
    for name in (f"transformers/{causal}", "transformers/nobody/has-this-model"):
        assert is_chat(name, {"template": template}) == chat
    with pytest.raises(ConfigError, match="template"):
        is_chat(f"transformers/{causal}", {"template": "free"})


def test_weights_are_fetched_before_their_template_is_looked_for(
    causal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a hub that has them, in place of the network."""
    import huggingface_hub

    chat = tiny.gpt2(tmp_path / "chat", template=tiny.TURNS)
    fetched: list[str] = []

    def snapshot(name: str, *, local_files_only: bool = False, **_: object) -> str:
        if local_files_only and name not in fetched:
            raise FileNotFoundError(name)
        fetched.append(name)
        return str(chat)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda _: ["model.safetensors"])
    name = "transformers/some/model"
    assert not is_chat(name, {})
    assert not is_chat(name, {"download": "yes"}, fetch=False)
    assert not is_chat(name, {"download": "yes", "template": "plain"})
    assert (fetched, capsys.readouterr().err) == ([], "")
    assert is_chat(name, {"download": "yes"})
    assert fetched == ["some/model"]
    assert capsys.readouterr().err == "fetching some/model from the Hugging Face hub\n"


@pytest.mark.parametrize("kind", ["causal", "encoding"])
def test_a_model_without_the_files_of_its_tokenizer_answers_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """Transformers makes up an empty one."""
    folder = tmp_path / "bare"
    shutil.copytree(
        request.getfixturevalue(kind), folder, ignore=shutil.ignore_patterns("*token*", "vocab*", "*.jinja")
    )
    with pytest.raises(ModelError) as told:
        ask(TransformersModel(f"transformers/{folder}"), asking("Say 3."))
    assert "\n" not in str(told.value)
    assert isinstance(told.value, ModelUnfit) and "its tokenizer has no vocabulary" in str(told.value)


def test_a_model_that_lacks_weights_writes_nothing(causal: Path, tmp_path: Path) -> None:
    """Transformers would draw those that are missing at random, and say no more than a warning."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "part"
    shutil.copytree(causal, folder)
    weights = load_file(folder / "model.safetensors")
    save_file(dict(list(weights.items())[:-3]), folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnfit, match="it has no weights for "):
        asyncio.run(TransformersModel(f"transformers/{folder}").complete(asking("hello")))


def test_a_tokenizer_that_makes_nothing_of_a_text_is_an_error(causal: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deaf"
    shutil.copytree(causal, folder)
    path = folder / "tokenizer.json"
    tokenizer = json.loads(path.read_text())
    tokenizer["normalizer"] = {"type": "Replace", "pattern": {"Regex": "[\\s\\S]"}, "content": ""}
    path.write_text(json.dumps(tokenizer))
    model = TransformersModel(f"transformers/{folder}")
    with pytest.raises(ModelUnfit, match="makes no token of the messages"):
        ask(model, asking("Say 3."))
    assert ask(model, asking("", max_tokens=2))[0].usage.prompt == 1  # nothing was asked: it begins by itself


def test_the_room_for_the_reply_is_named_where_it_is_too_much(causal: Path) -> None:
    fits, little, much, long = ask(
        TransformersModel(f"transformers/{causal}"),
        asking("Say 3.", max_tokens=8),
        asking("Say 3.", max_tokens=510),
        asking("Say 3.", max_tokens=4096),
        asking("a " * 600, max_tokens=8),
    )
    assert fits.finish == "stop"
    assert (little.finish, much.finish, long.finish) == ("refused",) * 3
    assert much.detail == f"{TOO_LONG}, of 512 tokens, with --max-tokens 4096"
    assert little.detail.endswith("with --max-tokens 510") and long.detail == TOO_LONG


def test_a_model_of_turns_is_given_an_end_behind_each(causal: Path, tmp_path: Path) -> None:
    """As DialoGPT was trained; its configuration tells."""
    folder = tiny.gpt2(tmp_path / "turns", turns=True)
    request = ChatRequest((Message("system", "short"), Message("user", "walk")), Sampling(0, 2))
    turns = ask(TransformersModel(f"transformers/{folder}"), request)[0].usage.prompt
    assert ask(TransformersModel(f"transformers/{causal}", {"template": "turns"}), request)[0].usage.prompt == turns
    once = asking("walk", max_tokens=2)
    plain, ended = (ask(TransformersModel(f"transformers/{f}"), once)[0].usage.prompt for f in (causal, folder))
    assert ended == plain + 1


def test_what_is_given_up_ends_with_its_next_token(causal: Path) -> None:
    async def work() -> float:
        model = TransformersModel(f"transformers/{causal}")
        await model.complete(asking("Say 1.", max_tokens=1))  # it is loaded now
        task = asyncio.create_task(model.complete(drawing(1, text="a")))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        began = time.monotonic()
        reply = await model.complete(asking("Say 1."))
        await model.close()
        assert reply.finish == "stop"
        return time.monotonic() - began

    assert asyncio.run(work()) < 20


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")  # peft's, for now
def test_an_adapter_changes_what_is_said_and_who_says_it(causal: Path, tmp_path: Path) -> None:
    import peft
    import torch
    import transformers

    base = transformers.AutoModelForCausalLM.from_pretrained(causal)
    adapted = peft.get_peft_model(base, peft.LoraConfig(r=4, task_type="CAUSAL_LM", fan_in_fan_out=True))
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weight in adapted.named_parameters():
            if "lora_" in name:
                weight.normal_(0.0, 1.0)
    adapted.save_pretrained(tmp_path / "adapter")
    plain = TransformersModel(f"transformers/{causal}")
    other = TransformersModel(f"transformers/{causal}", {"adapter": str(tmp_path / "adapter")})
    assert plain.identity != other.identity
    other.check()
    question = asking("Say 3.", max_tokens=8)
    assert ask(plain, question)[0].text != ask(other, question)[0].text
    with pytest.raises(ModelMissing, match="cannot be read"):
        TransformersModel(f"transformers/{causal}", {"adapter": str(tmp_path / "none")})


# --- names, arguments, what is absent ---------------------------------------------------------------------------------


def test_the_identity_holds_what_changes_replies(causal: Path, tmp_path: Path) -> None:
    def identity(**arguments: str) -> str:
        return TransformersModel(f"transformers/{causal}", arguments).identity

    assert identity() == identity(device="cpu", download="yes", top_p="1")
    assert len({identity(), identity(top_p="0.9"), identity(dtype="bfloat16"), identity(template="turns")}) == 4
    assert TransformersModel("transformers/some/model").identity == "transformers/some/model"
    other = tiny.gpt2(tmp_path / "other", seed=1)
    assert TransformersModel(f"transformers/{other}").identity.partition("#")[2] != identity().partition("#")[2]


@pytest.mark.parametrize(
    ("key", "text", "problem"),
    [
        ("top_q", "1", "--model-arg top_q: transformers/ models have no such argument; did you mean top_"),
        ("xyzzy", "1", "there are download, device, "),
        ("top_p", "2", "--model-arg top_p: '2' does not fit: "),
        ("top_k", "-1", "--model-arg top_k: '-1' does not fit"),
        ("dtype", "int4", "--model-arg dtype: 'int4' does not fit"),
        ("download", "perhaps", "--model-arg download: 'perhaps' does not fit"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(key: str, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        open_model("transformers/some/model", 1, {key: text})


def test_its_place_among_the_names(causal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_model("transformers/some/model", 1), TransformersModel)
    assert levels("transformers/m") == (1, 1)
    check_arguments(["transformers/m"], {"top_p": "0.9"})
    monkeypatch.chdir(causal.parent)
    assert anchored_name(f"transformers/{causal.name}") == f"transformers/{causal}"
    check_ready(f"transformers/{causal}")


def test_nothing_is_fetched_unless_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelMissing, match=r"not on this machine; .*--model-arg download=yes$"):
        check_ready("transformers/nobody/has-this-model")
    with pytest.raises(ModelMissing, match="download=yes"):
        ask(TransformersModel("transformers/nobody/has-this-model"), asking("?"))
    check_ready("transformers/nobody/has-this-model", {"download": "yes"})  # it will be tried when it is asked


@pytest.mark.parametrize("module", ["torch", "transformers", "peft"])
def test_without_a_package_the_command_that_brings_it_is_named(
    module: str, causal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == module else find(name, *rest))
    arguments = {"adapter": str(causal)} if module == "peft" else {}
    extra = "lora" if module == "peft" else "neural"
    with pytest.raises(ModelMissing, match=rf"{module}, which is not installed; .*pip install 'calibrator\[{extra}\]'"):
        check_ready(f"transformers/{causal}", arguments)


def test_a_damaged_checkpoint_is_said_in_one_line(causal: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text((causal / "config.json").read_text())
    with pytest.raises(ModelError, match="cannot be loaded") as told:
        ask(TransformersModel(f"transformers/{tmp_path}"), asking("?"))
    assert "\n" not in str(told.value)


def test_neither_the_name_nor_the_check_imports_torch(causal: Path) -> None:
    code = f"""
        import sys
        from calibrator.models.names import check_ready
        check_ready("transformers/{causal}")
        assert not {{"torch", "transformers", "peft"}} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=60)
