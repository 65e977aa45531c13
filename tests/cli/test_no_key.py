"""A key is sent to the server it is for, and stands in no file and no message, whatever goes wrong.

Every file that the commands leave is searched, also where the server repeats the key in what it says, and where a
process was killed.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrator.errors import ModelError
from calibrator.models.names import open_model
from tests.cli.test_llm import PROGRAM, SEARCH, UNWANTED, newest_run, write_data
from tests.doubles.server import Double, serving
from tests.models.contract import asking

KEY, OTHER = "sk-river-0123456789-garden", "sk-window-9876543210-bridge"
MARKS = ("river-0123", "9876543210-bridge", "sk-river", "sk-window")  # parts of a key are too much, too
BACKENDS = {"http": "CALIBRATOR_API_KEY", "vllm": "VLLM_API_KEY", "openai": "OPENAI_API_KEY"}
STRANGE = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "VLLM_API_KEY", *UNWANTED)


def environment(folder: Path, backend: str, double: Double, key: str) -> dict[str, str]:
    place = {"VLLM_BASE_URL": double.url, "OPENAI_BASE_URL": double.url, "CALIBRATOR_CACHE": str(folder / "cache")}
    return {k: v for k, v in os.environ.items() if k not in STRANGE} | place | {BACKENDS[backend]: key}


def model_of(backend: str, double: Double) -> str:
    return f"{double.url}#double" if backend == "http" else f"{backend}/double"


class Desk:
    """A folder to work in, and all that was printed there."""

    def __init__(self, folder: Path, backend: str) -> None:
        self.folder, self.backend, self.printed = folder / "work", backend, ""
        self.rows = write_data(self.folder)

    def command(self, double: Double, key: str, *arguments: object) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=environment(self.folder, self.backend, double, key),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.printed += done.stdout + done.stderr
        return done

    def begin(self, double: Double, key: str, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAM, *map(str, arguments)],
            cwd=self.folder,
            env=environment(self.folder, self.backend, double, key),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def files(self) -> list[Path]:
        return [path for path in self.folder.rglob("*") if path.is_file()]

    def assert_clean(self) -> None:
        """Say that no part of a key was printed, is in a file, or in the name of one; and that nothing fell over."""
        for mark in MARKS:
            assert mark not in self.printed
            for path in self.files():
                assert mark.encode() not in path.read_bytes(), path
                assert mark not in str(path)
        assert "Traceback" not in self.printed


@pytest.fixture(params=BACKENDS)
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    if request.param == "openai" and importlib.util.find_spec("openai") is None:
        pytest.skip("the openai SDK is not installed")
    desk = Desk(tmp_path, request.param)
    yield desk
    desk.assert_clean()


def test_what_a_search_on_files_finds(tmp_path: Path) -> None:
    """Else the tests below would show nothing."""
    desk = Desk(tmp_path, "http")
    (desk.folder / "leak").write_bytes(b"\x00Bearer " + KEY.encode())
    with pytest.raises(AssertionError, match="leak"):
        desk.assert_clean()


def test_a_run_and_what_follows_leave_no_key(desk: Desk, tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--require-key", KEY, "--strike", "500:0.1", "--tell-key") as double:
        model = model_of(desk.backend, double)
        search = (*SEARCH, "--model", model, "--budget", "2000ktok")
        for arguments in (
            ("run", *search),
            ("resume", "last"),
            ("score", "data.csv", "-r", "relevance"),
            ("export", "relevance", "--to", "prompt"),
            ("cache", "ls"),
            ("cache", "export", "replies.jsonl"),
            ("runs",),
        ):
            done = desk.command(double, KEY, *arguments)
            assert done.returncode == 0, done.stderr
    assert len(double.answered()) > 100 and double.failed()
    kept = {path.name for path in desk.files()}
    assert kept >= {"cache.db", "journal.jsonl", "calls", "result.json", "report.md", "frozen.yaml", "replies.jsonl"}


def test_a_wrong_key_is_said_and_not_shown(desk: Desk, tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--require-key", KEY, "--tell-key") as double:
        done = desk.command(double, OTHER, "run", *SEARCH, "--model", model_of(desk.backend, double))
        again = desk.command(double, OTHER, "resume", "last")
    for one in (done, again):
        assert one.returncode == 1
        (line,) = one.stderr.splitlines()
        assert "HTTP 401: Incorrect API key provided: Bearer ***" in line
        assert f"the key is taken from ${BACKENDS[desk.backend]}" in line
    assert double.answered() == []


def test_a_server_that_goes_away_and_a_key_that_is_none(desk: Desk, tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--require-key", KEY) as double:
        model = model_of(desk.backend, double)
        odd = desk.command(double, f"{OTHER}\n{KEY}", "run", *SEARCH, "--model", model)
        assert (odd.returncode, len(odd.stderr.splitlines())) == (2, 1)
        assert f"what stands in ${BACKENDS[desk.backend]} is no key" in odd.stderr
    gone = desk.command(double, KEY, "run", *SEARCH, "--model", model)
    assert gone.returncode == 1
    assert "nothing answers at" in gone.stderr and len(gone.stderr.splitlines()) == 1


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill outright")
def test_a_killed_run_and_a_killed_score_leave_no_key(desk: Desk, tmp_path: Path) -> None:
    with serving(tmp_path / "log", "--require-key", KEY, "--delay", "0.02") as double:
        model = model_of(desk.backend, double)
        slow = ("--concurrency", "2")
        _kill_at(desk, double, "runs/*/journal.jsonl", "run", *SEARCH, "--model", model, *slow)
        desk.assert_clean()
        done = desk.command(double, KEY, "resume", "last")
        assert done.returncode == 0, done.stderr
        score = ("score", "data.csv", "-r", "relevance", "--no-cache", *slow)
        _kill_at(desk, double, "data.scored.csv.part/journal.jsonl", *score)
        assert (desk.folder / "data.scored.csv.part" / "calls").read_text()
    assert newest_run(desk.folder).is_dir()


def _kill_at(desk: Desk, double: Double, journal: str, *arguments: str) -> None:
    """Start a command and kill it when its journal has a few lines."""
    process = desk.begin(double, KEY, *arguments)
    until = time.monotonic() + 60
    while not any(path.read_bytes().count(b"\n") >= 8 for path in desk.folder.glob(journal)):
        assert time.monotonic() < until and process.poll() is None, process.communicate()[0]
        time.sleep(0.002)
    process.kill()
    desk.printed += process.communicate()[0]
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("backend", list(BACKENDS))
@pytest.mark.parametrize("key", [OTHER, OTHER + "-and-more" * 40], ids=["short", "longer than a message"])
@pytest.mark.parametrize("fault", ["500", "401"])
def test_no_part_of_a_key_is_in_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str, key: str, fault: str
) -> None:
    async def ask() -> None:
        model = open_model(model_of(backend, double), 1)
        try:
            await model.complete(asking("x"))
        finally:
            await model.close()

    required = key if fault == "500" else KEY
    with serving(tmp_path / "log", "--require-key", required, "--tell-key", "--fail", "500:1") as double:
        monkeypatch.setenv(BACKENDS[backend], key)
        for name in ("VLLM_BASE_URL", "OPENAI_BASE_URL"):
            monkeypatch.setenv(name, double.url)
        with pytest.raises(ModelError, match=rf"HTTP {fault}: .*: Bearer \*\*\*") as caught:
            asyncio.run(ask())
    assert not [mark for mark in (*MARKS, "-and-more") if mark in str(caught.value)]
