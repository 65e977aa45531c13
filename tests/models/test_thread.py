"""A thread that works for an event loop: order, errors, and the end of the program."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from calibrator.models.thread import Thread


def test_one_thing_after_another_in_a_thread_of_its_own() -> None:
    done: list[tuple[int, str]] = []

    async def work() -> list[int]:
        thread = Thread("worker")

        def note(number: int) -> int:
            done.append((number, threading.current_thread().name))
            return 2 * number

        try:
            return list(await asyncio.gather(*(thread.do(lambda n=n: note(n)) for n in range(20))))  # type: ignore[misc]
        finally:
            thread.close()

    assert asyncio.run(work()) == [2 * n for n in range(20)]
    assert done == [(n, "worker") for n in range(20)]


def test_what_it_raises_is_raised_and_it_goes_on() -> None:
    async def work() -> str:
        thread = Thread("worker")
        with pytest.raises(ZeroDivisionError):
            await thread.do(lambda: 1 / 0)
        return await thread.do(lambda: "on")

    assert asyncio.run(work()) == "on"


def test_it_still_works_when_the_program_ends() -> None:
    """When executors of the standard library take nothing more."""
    program = """
import asyncio, atexit
from calibrator.models.thread import Thread
thread = Thread("worker")
atexit.register(lambda: asyncio.run(thread.do(lambda: print("done"))))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")
