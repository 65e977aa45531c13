"""Limits by the minute: no minute has more than was allowed, in a time that only passes when all wait."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.errors import ModelError
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.circuit import Circuit
from calibrator.models.rate import LETTERS_A_TOKEN, MINUTE, Paced
from calibrator.records import Usage
from tests.models.contract import asking

T = TypeVar("T")
TINY = 1e-6  # seconds by which sums of parts may be off


class PatientLoop(asyncio.SelectorEventLoop):
    """A loop whose time jumps to the next thing to do; it says so if there is none and somebody still waits."""

    def __init__(self) -> None:
        self.passed = 1000.0
        super().__init__(_PatientSelector(self))

    def time(self) -> float:
        return self.passed


class _PatientSelector(selectors.SelectSelector):
    def __init__(self, loop: PatientLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        if not ready and timeout is None:
            raise AssertionError("all wait, and nothing is left to happen")
        if not ready:
            self._loop.passed += timeout or 0.0
        return ready


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a time that only passes when all wait."""
    with asyncio.Runner(loop_factory=PatientLoop) as runner:
        return runner.run(work)


@dataclass(frozen=True, slots=True)
class Ask:
    """A request: seconds after the one before, letters, tokens of the reply at most, all in truth, and how long."""

    after: float
    letters: int
    room: int
    took: int
    lasts: float

    def request(self) -> ChatRequest:
        return asking("x" * self.letters, self.room)

    @property
    def reckoned(self) -> float:
        return self.letters / LETTERS_A_TOKEN + self.room


class Noting:
    """Notes when it was asked what, and answers as the requests of a plan say."""

    id = identity = "scripted/double"

    def __init__(self, plan: Sequence[Ask]) -> None:
        self._plan = {ask.request(): ask for ask in plan}
        self.sent: list[tuple[float, Ask]] = []

    async def complete(self, request: ChatRequest) -> ChatReply:
        ask = self._plan[request]
        self.sent.append((asyncio.get_running_loop().time(), ask))
        await asyncio.sleep(ask.lasts)
        return ChatReply("4", usage=Usage(0, ask.took))

    async def close(self) -> None:
        pass


def sent(plan: Sequence[Ask], rpm: float | None, tpm: float | None) -> list[tuple[float, Ask]]:
    """Ask everything as planned and return when each request was sent."""

    async def work() -> list[tuple[float, Ask]]:
        model = Noting(plan)
        paced, asked = Paced(model, rpm, tpm), []
        for ask in plan:
            await asyncio.sleep(ask.after)
            asked.append(asyncio.ensure_future(paced.complete(ask.request())))
        assert len(await asyncio.gather(*asked)) == len(plan)
        return model.sent

    return at_once(work())


@st.composite
def plans(draw: st.DrawFn) -> list[Ask]:
    """Requests that are told apart by their letters, and take at most what they are reckoned with."""
    plan = []
    for letters in draw(st.lists(st.integers(0, 4000), min_size=1, max_size=40, unique=True)):
        room = draw(st.sampled_from([1, 10, 256]))
        most = int(letters / LETTERS_A_TOKEN + room)
        took = draw(st.one_of(st.just(0), st.just(most), st.integers(0, most)))
        after = draw(st.sampled_from([0.0, 0.0, 0.3, 7.0, 100.0]))
        plan.append(Ask(after, letters, room, took, draw(st.sampled_from([0.0, 0.2, 5.0, 90.0]))))
    return plan


@settings(max_examples=150, deadline=None)
@given(plans(), st.sampled_from([1.0, 7.0, 13.5, 60.0, 1000.0]))
def test_no_minute_has_more_requests(plan: list[Ask], rpm: float) -> None:
    times = [when for when, _ in sent(plan, rpm, None)]
    for first in times:
        assert sum(first <= when < first + MINUTE - TINY for when in times) <= -(-rpm // 1)


@settings(max_examples=300, deadline=None)
@given(plans(), st.sampled_from([None, 30.0]), st.sampled_from([300.0, 2000.0, 50_000.0]))
def test_no_minute_has_more_tokens(plan: list[Ask], rpm: float | None, tpm: float) -> None:
    """One request that has more than the minute's for itself goes alone."""
    rows = sent(plan, rpm, tpm)
    assert [ask for _, ask in rows] == plan  # in the order in which they came
    for first, _ in rows:
        tokens = [ask.took or ask.reckoned for when, ask in rows if first <= when < first + MINUTE - TINY]
        assert sum(tokens) <= tpm + TINY or len(tokens) == 1


def test_they_go_evenly() -> None:
    plan = [Ask(0.0, n, 1, 1, 0.0) for n in range(10)]
    start = sent(plan, 30, None)[0][0]
    assert [when - start for when, _ in sent(plan, 30, None)] == pytest.approx([2.0 * n for n in range(10)])
    assert {when for when, _ in sent(plan, None, None)} == {start}  # no limit, no waiting


def test_what_a_reply_took_less_lets_the_next_go_sooner_and_what_it_took_more_later() -> None:
    def third(took: int) -> float:
        rows = sent([Ask(0.0, n, 100, took, 0.5) for n in range(3)], None, 600)
        return rows[2][0] - rows[0][0]

    assert third(100) == pytest.approx(20, abs=0.5)
    assert third(10) < 3
    assert third(200) == pytest.approx(40, abs=0.5)
    assert third(0) == pytest.approx(20, abs=0.5)  # not said: as it was reckoned


def test_after_a_quiet_hour_there_is_no_rush() -> None:
    plan = [Ask(3600.0 if n == 3 else 0.0, n, 100, 5, 0.1) for n in range(9)]
    times = [when for when, _ in sent(plan, 60, None)]
    assert [b - a for a, b in pairwise(times[3:])] == pytest.approx([1.0] * 5)


def test_whoever_gives_up_takes_no_turn() -> None:
    plan = [Ask(0.0, n, 1, 1, 0.0) for n in range(40)]

    async def work() -> list[float]:
        model = Noting(plan)
        paced = Paced(model, rpm=60)
        asked = [asyncio.ensure_future(paced.complete(ask.request())) for ask in plan]
        await asyncio.sleep(0.5)
        for one in asked[1:30]:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        return [when - model.sent[0][0] for when, _ in model.sent]

    assert at_once(work()) == pytest.approx([float(n) for n in range(11)], abs=0.5)


def test_those_who_wait_are_sent_away_when_nothing_more_is_wanted() -> None:
    plan = [Ask(0.0, n, 1, 1, 0.0) for n in range(10)]

    async def work() -> None:
        loop, model, circuit = asyncio.get_running_loop(), Noting(plan), Circuit()
        paced, begun = Paced(model, rpm=1, circuit=circuit), loop.time()
        asked = [asyncio.ensure_future(paced.complete(ask.request())) for ask in plan]
        await asyncio.sleep(0.5)
        circuit.halt()
        first, *others = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(first, ChatReply) and len(model.sent) == 1
        assert {(type(o), str(o)) for o in others} == {
            (ModelError, "scripted/double: not sent, since another request had failed")
        }
        assert loop.time() - begun < 1
        circuit.begin()
        await paced.complete(plan[1].request())  # and it can be used again
        assert loop.time() - begun >= MINUTE - 1

    at_once(work())


def test_in_real_time() -> None:
    plan = [Ask(0.0, n, 1, 1, 0.0) for n in range(20)]

    async def work() -> list[tuple[float, Ask]]:
        model = Noting(plan)
        paced = Paced(model, rpm=6000, tpm=6e6)
        async with asyncio.timeout(30):
            await asyncio.gather(*(paced.complete(ask.request()) for ask in plan))
        return model.sent

    begun = time.monotonic()
    assert len(asyncio.run(work())) == 20
    assert time.monotonic() - begun > 0.15  # 19 pauses of a hundredth
