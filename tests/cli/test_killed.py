"""Killed at any moment while its server is ailing, a command goes on where it was, within its budget of tokens.

The double answers with every fault that passes. What the journal holds when a process ends must not be asked again: so
all that is asked afterwards is what is missing, and as many different requests as that.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from calibrator.journal import Tally
from tests.cli.test_resume_llm import PROGRAM, SETTINGS, journal_keys, outcome, run_in, write_data
from tests.doubles.faults import PASSING
from tests.doubles.server import Double, serving

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill outright")

MODEL = "vllm/double"  # the same name at every address
AILING = ("--delay", "0.02", *(f"--strike={kind}:0.05" for kind in PASSING))
ACCESS = ("--no-cache", "--concurrency", "8", "--timeout", "1", "-q")
RUN = ("run", *SETTINGS, "--keep", "--model", MODEL, *ACCESS)
SCORE = ("score", "texts.csv", "--rubric", "judge.yaml", *ACCESS)
KILLS, WAIT = 6, 240.0  # and seconds for a command to be taken for one that hangs


@dataclass(frozen=True, slots=True)
class Sound:
    """What an undisturbed run and an undisturbed score with a server in order come to."""

    result: bytes
    frozen: bytes
    scored: bytes
    replies: int
    tokens: int


def begin(folder: Path, double: Double, *arguments: str) -> subprocess.Popen[str]:
    environment = {k: v for k, v in os.environ.items() if k not in ("CALIBRATOR_DATA", "VLLM_API_KEY")}
    return subprocess.Popen(
        [PROGRAM, *arguments],
        cwd=folder,
        env=environment | {"VLLM_BASE_URL": double.url},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(folder: Path, double: Double, *arguments: str) -> None:
    process = begin(folder, double, *arguments)
    _, errors = process.communicate(timeout=WAIT)
    assert process.returncode == 0, errors


def write_texts(folder: Path, frozen: bytes) -> None:
    (folder / "judge.yaml").write_bytes(frozen)
    rows = [f"Is it calm number {n}?,{'a calm word ' * (n % 9)}and so on {n}" for n in range(60)]
    (folder / "texts.csv").write_text("\n".join(["input,output", *rows, ""]), encoding="utf-8")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sound]:
    folder = tmp_path_factory.mktemp("sound")
    write_data(folder)
    with serving(folder / "log.jsonl") as double:
        finish(folder, double, *RUN)
        result, frozen = outcome(run_in(folder))
        write_texts(folder, frozen)
        finish(folder, double, *SCORE)
    keys = [key for key in journal_keys(run_in(folder)) if key.startswith("reply/")]
    scored = (folder / "texts.scored.csv").read_bytes()
    return Sound(result, frozen, scored, len(keys), Tally(run_in(folder) / "calls").total().tokens)


def replies_in(folder: Path, journal: str) -> int:
    """Return how many replies a journal has, which need not be there yet."""
    lines = [line for path in folder.glob(journal) for line in path.read_bytes().split(b"\n")[:-1]]
    return sum(json.loads(line)["key"].startswith("reply/") for line in lines)


def at_work_with(folder: Path, journal: str, replies: int, process: subprocess.Popen[str]) -> bool:
    """Wait until a journal has so many replies; return False if the process has ended before."""
    until = time.monotonic() + WAIT
    while replies_in(folder, journal) < replies:
        assert time.monotonic() < until, "nothing comes any more"
        if process.poll() is not None:
            return False
        time.sleep(0.005)
    return process.poll() is None


def killed(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_a_killed_run_with_an_ailing_server_ends_in_the_same_bytes(sound: Sound, tmp_path: Path) -> None:
    """Its first budget is spent on the way, too."""
    journal, draw = "runs/*/journal.jsonl", random.Random(5)
    moments = sorted(draw.sample(range(4, sound.replies - 4), KILLS))
    caps = [int(sound.tokens * 0.9), sound.tokens * 20]
    sittings: list[tuple[int, int]] = []  # how long the log was, and how many replies there were
    write_data(tmp_path)
    with serving(tmp_path / "log.jsonl", *AILING, "--seed", "5") as double:

        def budget() -> tuple[str, str]:
            return "--budget", f"{caps[0]}tok"

        def check() -> None:
            total = Tally(run_in(tmp_path) / "calls").total()
            assert total.tokens <= caps[0] and total.calls >= len(double.asked())

        def goes_on_if_spent(process: subprocess.Popen[str]) -> subprocess.Popen[str]:
            _, errors = process.communicate(timeout=WAIT)
            assert process.returncode == 3 and "is spent" in errors, errors
            check()
            sittings.append((len(double.asked()), replies_in(tmp_path, journal)))
            caps.pop(0)
            return begin(tmp_path, double, "resume", "last", "-q", *budget())

        process = begin(tmp_path, double, *RUN, *budget())
        for moment in moments:
            if not at_work_with(tmp_path, journal, moment, process):
                process = goes_on_if_spent(process)
                assert at_work_with(tmp_path, journal, moment, process)
            time.sleep(draw.uniform(0, 0.1))
            killed(process)
            sittings.append((len(double.asked()), replies_in(tmp_path, journal)))
            check()
            process = begin(tmp_path, double, "resume", "last", "-q", *budget())
        if len(caps) > 1:
            process = goes_on_if_spent(process)
        _, errors = process.communicate(timeout=WAIT)
        assert process.returncode == 0, errors
        check()

    assert outcome(run_in(tmp_path)) == (sound.result, sound.frozen)
    keys = journal_keys(run_in(tmp_path))
    assert len(keys) == len(set(keys)) and replies_in(tmp_path, journal) == sound.replies
    assert len(sittings) == KILLS + 1
    assert_only_what_was_missing(double, sittings, sound.replies)
    assert len(double.failed()) > sound.replies / 4


def test_a_killed_score_goes_on_with_the_same_command(sound: Sound, tmp_path: Path) -> None:
    journal, draw = "texts.scored.csv.part/journal.jsonl", random.Random(6)
    sittings: list[tuple[int, int]] = []
    write_texts(tmp_path, sound.frozen)
    with serving(tmp_path / "log.jsonl", *AILING, "--seed", "6") as double:
        for moment in sorted(draw.sample(range(1, 50), 3)):
            process = begin(tmp_path, double, *SCORE)
            assert at_work_with(tmp_path, journal, moment, process)
            time.sleep(draw.uniform(0, 0.05))
            killed(process)
            sittings.append((len(double.asked()), replies_in(tmp_path, journal)))
            assert not (tmp_path / "texts.scored.csv").exists()
            assert Tally(tmp_path / "texts.scored.csv.part" / "calls").total().calls >= len(double.asked())
        finish(tmp_path, double, *SCORE)
    assert (tmp_path / "texts.scored.csv").read_bytes() == sound.scored
    assert {path.name for path in tmp_path.iterdir()} == {"judge.yaml", "texts.csv", "texts.scored.csv", "log.jsonl"}
    assert_only_what_was_missing(double, sittings, 60)


def assert_only_what_was_missing(double: Double, sittings: list[tuple[int, int]], replies: int) -> None:
    """Say that after each end of a process only what the journal lacked was asked."""
    asked = double.asked()
    assert len(set(asked)) == replies
    for place, there in sittings:
        assert len(set(asked[place:])) == replies - there
