"""When a server is taken for gone: by a clock that the test sets."""

from __future__ import annotations

import asyncio
import re

import pytest

from calibrator.errors import ModelError, ModelUnavailable
from calibrator.models.circuit import Circuit
from tests.models.test_rate import at_once

BUSY = ModelUnavailable("m: HTTP 503: busy")


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def circuit(clock: Clock) -> Circuit:
    return Circuit(patience=90, faults=8, now=clock)


def opens(circuit: Circuit, clock: Clock, *after: float, error: ModelUnavailable = BUSY) -> int | None:
    """Let faults happen so many seconds apart; return after how many it opened, None if it did not."""
    for number, seconds in enumerate(after, 1):
        clock.now += seconds
        try:
            circuit.fault(error)
        except ModelError as gone:
            assert not gone.retryable
            return number
    return None


def test_both_the_time_and_the_number_must_be_reached(circuit: Circuit, clock: Clock) -> None:
    assert opens(circuit, clock, *[0.1] * 800) is None  # many, in 80 seconds
    circuit.answered()
    assert opens(circuit, clock, *[1000.0] * 7) is None  # few, in hours
    assert opens(circuit, clock, 0.0) == 1


def test_the_time_counts_from_the_first_fault(circuit: Circuit, clock: Clock) -> None:
    assert opens(circuit, clock, *[10.0] * 20) == 10  # the tenth is 90 seconds after the first


def test_it_says_for_how_long_nothing_came(circuit: Circuit, clock: Clock) -> None:
    opens(circuit, clock, *[20.0] * 7)
    told = "m: HTTP 503: busy; no reply for 120 s (8 requests), so nothing more is sent"
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        circuit.fault(BUSY)


def test_one_reply_is_enough_to_go_on(circuit: Circuit, clock: Clock) -> None:
    for _ in range(20):
        assert opens(circuit, clock, *[12.0] * 8) is None
        circuit.answered()


def test_what_the_server_asked_to_wait_for_comes_on_top(circuit: Circuit, clock: Clock) -> None:
    asked = ModelUnavailable("m: HTTP 429: later", 60.0)
    assert opens(circuit, clock, 0.0, error=asked) is None  # the last that is asked for is over after 60 seconds
    assert opens(circuit, clock, *[10.0] * 14) is None
    assert opens(circuit, clock, 10.0) == 1
    circuit.answered()
    assert opens(circuit, clock, *[10.0] * 10) == 10  # asked in another row of faults


def test_a_new_piece_of_work_begins_anew(circuit: Circuit, clock: Clock) -> None:
    assert opens(circuit, clock, *[20.0] * 7) is None
    circuit.halt()
    circuit.begin()
    assert opens(circuit, clock, *[20.0] * 7) is None
    assert opens(circuit, clock, 20.0) == 1


def test_a_pause_lasts_as_long_as_it_was_wanted_to(circuit: Circuit) -> None:
    async def work() -> tuple[bool, float]:
        begun = asyncio.get_running_loop().time()
        return await circuit.pause(30.0), asyncio.get_running_loop().time() - begun

    assert at_once(work()) == (True, pytest.approx(30))


def test_all_pauses_end_when_nothing_more_is_wanted(circuit: Circuit) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        pauses = [asyncio.ensure_future(circuit.pause(1000.0 + n)) for n in range(5)]
        await asyncio.sleep(1)
        circuit.halt()
        assert await asyncio.gather(*pauses) == [False] * 5
        assert await circuit.pause(1000.0) is False  # and nobody begins one
        assert loop.time() - begun < 2
        circuit.begin()
        assert await circuit.pause(5.0) is True

    at_once(work())


def test_whoever_wants_to_know_is_told_each_time(circuit: Circuit) -> None:
    heard: list[bool] = []
    circuit.on_halt(lambda: heard.append(circuit.halted))
    for _ in range(2):
        assert not circuit.halted
        circuit.halt()
        circuit.begin()
    assert heard == [True, True]


def test_when_nothing_more_is_wanted_whoever_asks_is_told_why(circuit: Circuit) -> None:
    circuit.require_wanted("vllm/m")
    circuit.halt()
    with pytest.raises(ModelError, match=r"^vllm/m: not sent, since another request had failed$"):
        circuit.require_wanted("vllm/m")
    circuit.begin()
    circuit.require_wanted("vllm/m")
