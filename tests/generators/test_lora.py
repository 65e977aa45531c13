"""The experiment that fine-tunes with LoRA, tried on random models: the loss falls, and the adapter can be used."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from calibrator.models.transformers_local import TransformersModel
from tests.conftest import ROOT
from tests.models.contract import asking

pytest.importorskip("peft")


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("lora")
    command = [sys.executable, str(ROOT / "experiments" / "lora.py"), "--tiny", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=out)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return out, done.stdout


@pytest.mark.parametrize("name", ["tiny-gpt2", "tiny-t5"])
def test_the_loss_falls_and_the_adapter_changes_the_model(tuned: tuple[Path, str], name: str) -> None:
    out, said = tuned
    figures = json.loads((out / f"{name}-adapter" / "figures.json").read_text())
    assert figures["model"] == name and len(figures["train"]) == len(figures["dev"]) == 5
    assert figures["train"][-1] < figures["train"][0]
    assert figures["dev"][-1] < figures["before"]
    assert f"| 5 | {figures['train'][-1]:.4f} | {figures['dev'][-1]:.4f} |" in said
    assert (out / f"{name}-adapter" / "adapter_model.safetensors").exists()
    plain = TransformersModel(f"transformers/{out / name}")
    adapted = TransformersModel(f"transformers/{out / name}", {"adapter": str(out / f"{name}-adapter")})
    request = asking("The river is dull, number 3.", max_tokens=12)

    async def said_by(model: TransformersModel) -> str:
        reply = await model.complete(request)
        await model.close()
        return reply.text

    assert asyncio.run(said_by(plain)) != asyncio.run(said_by(adapted))
