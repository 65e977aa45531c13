"""No more in flight than the server bears, no fewer than there could be, and none for longer than its deadline."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.errors import ModelError, ModelUnavailable
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.circuit import Circuit
from calibrator.models.limit import Limited, Timed
from calibrator.models.scripted import ScriptedModel
from tests.doubles.models import Busy, until, well_behaved
from tests.models.contract import asking
from tests.models.test_rate import PatientLoop, at_once


@pytest.mark.parametrize(("width", "most"), [(1, 1), (3, 3), (16, 16), (100, 30)])
def test_no_more_than_the_width_and_no_fewer(width: int, most: int) -> None:
    async def work() -> int:
        model = Busy(well_behaved)
        limited = Limited(model, width)
        replies = await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(30)))
        assert len(replies) == len(model.asked) == 30
        return model.most

    assert asyncio.run(work()) == most


def test_an_error_or_a_cancelled_request_gives_its_place_back() -> None:
    async def work() -> None:
        broken = Limited(Busy(lambda _: ModelError("no")), 2)
        for _ in range(5):
            with pytest.raises(ModelError):
                await broken.complete(asking("x"))

        model = Busy(well_behaved)
        limited = Limited(model, 2)
        model.gate.clear()
        held = [asyncio.ensure_future(limited.complete(asking(str(n)))) for n in range(6)]
        await until(lambda: model.in_flight == 2)
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        model.gate.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(6)))
        assert model.most == 2

    asyncio.run(work())


class Hand:
    """A model whose replies the test gives by hand; `sent` are those under way, by number."""

    id = identity = "scripted/double"

    def __init__(self) -> None:
        self.sent: dict[int, asyncio.Future[ChatReply]] = {}
        self.asked: list[int] = []
        self.told: Callable[[], None] = lambda: None

    async def complete(self, request: ChatRequest) -> ChatReply:
        number = int(request.messages[0].content)
        self.asked.append(number)
        self.sent[number] = answer = asyncio.get_running_loop().create_future()
        self.told()
        try:
            return await answer
        finally:
            del self.sent[number]

    async def close(self) -> None:
        pass

    def answer(self, number: int) -> None:
        self.sent[number].set_result(ChatReply(str(number)))

    def fail(self, number: int, error: Exception) -> None:
        self.sent[number].set_exception(error)


async def quiet() -> None:
    """Let all that can happen now happen."""
    for _ in range(8):
        await asyncio.sleep(0)


class Crowd:
    """Requests to a Limited, numbered from 0, and what became of them."""

    def __init__(self, most: int, start: int | None = None, circuit: Circuit | None = None) -> None:
        self.model = Hand()
        self.limited = Limited(self.model, most, start, circuit)
        self.tasks: list[asyncio.Task[ChatReply]] = []

    async def come(self, count: int) -> None:
        for _ in range(count):
            request = asking(str(len(self.tasks)))
            self.tasks.append(task := asyncio.ensure_future(self.limited.complete(request)))
            task.add_done_callback(lambda task: task.cancelled() or task.exception())  # some tests do not ask for it
        await quiet()

    async def round(self) -> int:
        """Answer all that are under way; return how many those were."""
        under_way = [number for number, answer in self.model.sent.items() if not answer.done()]
        for number in under_way:
            self.model.answer(number)
        await quiet()
        return len(under_way)

    async def outcomes(self) -> list[ChatReply | BaseException]:
        return await asyncio.gather(*self.tasks, return_exceptions=True)


def overload(pause: float | None = None) -> ModelUnavailable:
    return ModelUnavailable("HTTP 429: slow down", pause, overload=True)


def test_it_doubles_while_all_places_are_taken_up_to_the_most() -> None:
    async def work() -> None:
        crowd = Crowd(50, 3)
        await crowd.come(500)
        assert [await crowd.round() for _ in range(7)] == [3, 6, 12, 24, 48, 50, 50]
        assert crowd.limited.level == 50

    at_once(work())


def test_it_stays_where_it_is_while_places_are_free() -> None:
    async def work() -> None:
        crowd = Crowd(50, 8)
        for _ in range(20):
            await crowd.come(7)
            assert await crowd.round() == 7
        assert crowd.limited.level == 8

    at_once(work())


def test_one_overload_halves_it_once_and_then_it_grows_by_one_a_round() -> None:
    async def work() -> None:
        crowd = Crowd(64, 32)
        await crowd.come(1000)
        for number in list(crowd.model.sent)[:20]:  # they were under way together: that is one overload
            crowd.model.fail(number, overload())
        await quiet()
        assert crowd.limited.level == 16
        assert await crowd.round() == 16  # twelve that were left of them, and four that came in their place
        before = crowd.limited.level
        assert 16 <= before < 17
        for _ in range(5):
            await asyncio.sleep(1)
            await crowd.round()
        assert crowd.limited.level == pytest.approx(before + 5, abs=0.5)
        await asyncio.sleep(1)
        crowd.model.fail(next(iter(crowd.model.sent)), overload())  # it was sent since: another overload
        await quiet()
        assert crowd.limited.level == pytest.approx((before + 5) / 2, abs=0.5)

    at_once(work())


def test_it_never_falls_below_one() -> None:
    async def work() -> None:
        crowd = Crowd(4)
        await crowd.come(20)
        for _ in range(15):
            await asyncio.sleep(1)
            crowd.model.fail(next(iter(crowd.model.sent)), overload())
            await quiet()
            assert crowd.limited.level >= 1 and crowd.model.sent
        assert crowd.limited.level == 1

    at_once(work())


def test_a_fault_that_is_no_overload_changes_nothing() -> None:
    async def work() -> None:
        crowd = Crowd(8)
        await crowd.come(20)
        crowd.model.fail(0, ModelUnavailable("HTTP 500"))
        crowd.model.fail(1, ModelError("no"))
        await quiet()
        assert crowd.limited.level == 8 == len(crowd.model.sent)

    at_once(work())


def test_a_pause_that_the_server_asks_for_holds_those_who_wait_and_not_those_under_way() -> None:
    async def work() -> None:
        loop, crowd = asyncio.get_running_loop(), Crowd(4)
        await crowd.come(10)
        begun = loop.time()
        crowd.model.fail(0, overload(30.0))
        await quiet()
        await crowd.come(2)
        assert list(crowd.model.sent) == [1, 2, 3]
        await asyncio.sleep(10)
        crowd.model.fail(1, overload(40.0))  # longer than the first, from now on
        assert await crowd.round() == 2
        assert crowd.tasks[2].done() and crowd.tasks[3].done()
        await asyncio.sleep(39)
        assert not crowd.model.sent
        await asyncio.sleep(2)
        assert list(crowd.model.sent) == [4, 5]  # two, as the level was halved once
        assert loop.time() - begun == pytest.approx(51)
        while await crowd.round():
            pass
        assert all(task.done() for task in crowd.tasks)

    at_once(work())


def test_those_who_wait_are_sent_away_when_nothing_more_is_wanted() -> None:
    async def work() -> None:
        loop, circuit = asyncio.get_running_loop(), Circuit()
        crowd = Crowd(2, circuit=circuit)
        await crowd.come(6)
        crowd.model.fail(0, overload(500.0))
        await quiet()
        begun = loop.time()
        circuit.halt()
        await crowd.come(1)
        crowd.model.answer(1)
        _, reply, *others = await crowd.outcomes()
        assert isinstance(reply, ChatReply) and crowd.model.asked == [0, 1]
        assert {(type(o), str(o)) for o in others} == {
            (ModelError, "scripted/double: not sent, since another request had failed")
        }
        assert crowd.limited.in_flight == 0 and loop.time() - begun < 1
        circuit.begin()
        await crowd.come(1)
        assert await crowd.round() == 1

    at_once(work())


@pytest.mark.parametrize("order", ["woken, then cancelled", "cancelled, then woken"])
def test_whoever_is_cancelled_at_the_moment_of_its_turn_gives_it_to_the_next(order: str) -> None:
    async def work() -> None:
        crowd = Crowd(1)
        await crowd.come(3)
        if order.startswith("woken"):
            crowd.model.answer(0)
            while crowd.limited.in_flight == 1 and not crowd.tasks[0].done():  # until the place is given to the next
                await asyncio.sleep(0)
            crowd.tasks[1].cancel()
        else:
            crowd.tasks[1].cancel()
            crowd.model.answer(0)
        await quiet()
        assert crowd.tasks[1].cancelled() and list(crowd.model.sent) == [2]
        assert await crowd.round() == 1
        assert crowd.limited.in_flight == 0

    at_once(work())


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["come", "come", "reply", "reply", "overload", "pause", "fault", "cancel", "both", "wait"]),
        st.integers(0, 10**6),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(STEPS, st.integers(1, 6), st.integers(1, 6))
def test_no_place_is_ever_lost_or_given_twice(steps: list[tuple[str, int]], most: int, start: int) -> None:
    """Whatever comes, replies, fails and gives up in whatever order."""

    async def work() -> None:
        crowd = Crowd(most, start)
        limited, model = crowd.limited, crowd.model
        failed: set[int] = set()
        level = limited.level  # at the last moment of quiet, or more

        def sent() -> None:
            assert limited.in_flight <= int(max(level, limited.level))

        model.told = sent
        for kind, choice in steps:
            level = limited.level
            under_way = [n for n, answer in model.sent.items() if not answer.done()]
            left = [task for task in crowd.tasks if not task.done()]
            if kind == "come":
                await crowd.come(choice % 4 + 1)
            elif kind == "wait":
                await asyncio.sleep(choice % 3)
            elif kind == "cancel" and left:
                left[choice % len(left)].cancel()
            elif kind in ("reply", "both") and under_way:
                model.answer(under_way[choice % len(under_way)])
                for _ in range(choice % 4 if kind == "both" else 0):  # cancel just when places are given
                    await asyncio.sleep(0)
                if kind == "both":
                    left[(choice // 7) % len(left)].cancel()
            elif kind in ("overload", "pause", "fault") and under_way:
                number = under_way[choice % len(under_way)]
                errors = {"overload": overload(), "pause": overload(choice % 50 + 1.0), "fault": ModelError("no")}
                model.fail(number, errors[kind])
                failed.add(number)
            await quiet()
            assert 1 <= limited.level <= most
            assert limited.in_flight == len(model.sent)
        level = limited.level
        for _ in range(len(crowd.tasks) + 1):
            await crowd.round()
            await asyncio.sleep(60)  # no pause is longer
        assert limited.in_flight == 0 and all(task.done() for task in crowd.tasks)
        for number, outcome in enumerate(await crowd.outcomes()):
            if isinstance(outcome, ChatReply):
                assert outcome.text == str(number)
            else:
                assert isinstance(outcome, asyncio.CancelledError) or number in failed

    at_once(work())


# --- deadlines -------------------------------------------------------------------------------------------------------


def test_a_request_without_a_reply_is_broken_off() -> None:
    async def work() -> None:
        loop, model = asyncio.get_running_loop(), Hand()
        begun = loop.time()
        with pytest.raises(ModelUnavailable, match=r"^scripted/double: no reply within 2.5 s$") as caught:
            await Timed(model, 2.5).complete(asking("0"))
        assert loop.time() - begun == pytest.approx(2.5, abs=0.01)
        assert caught.value.overload and caught.value.charged and caught.value.retry_after is None
        assert not model.sent

    at_once(work())


def test_one_that_has_its_reply_in_time_is_not() -> None:
    async def work() -> None:
        loop, model = asyncio.get_running_loop(), Hand()
        asked = asyncio.ensure_future(Timed(model, 2.5).complete(asking("0")))
        await asyncio.sleep(2.4)
        model.answer(0)
        assert (await asked).text == "0"
        await asyncio.sleep(10)  # and its alarm wakes nobody
        assert loop.time() > 10

    at_once(work())


def test_time_that_the_process_slept_through_does_not_count() -> None:
    """It was stopped, or busy: the reply, if there is one, is read before the deadline breaks it off."""

    async def work() -> None:
        loop, model = asyncio.get_running_loop(), Hand()
        assert isinstance(loop, PatientLoop)
        asked = asyncio.ensure_future(Timed(model, 2.5).complete(asking("0")))
        await quiet()
        loop.passed += 3600
        loop.call_later(0.2, model.answer, 0)
        assert (await asked).text == "0"

    at_once(work())


def test_a_timeout_of_the_models_own_is_not_taken_for_the_deadline() -> None:
    with pytest.raises(TimeoutError, match="its own"):
        at_once(Timed(ScriptedModel(lambda _: TimeoutError("its own")), 5).complete(asking("x")))


def test_who_is_cancelled_stays_so() -> None:
    async def work() -> None:
        asked = asyncio.ensure_future(Timed(Hand(), 5).complete(asking("0")))
        await quiet()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked

    at_once(work())


def test_deadlines_make_fewer_requests_at_a_time() -> None:
    async def work() -> None:
        model = Hand()
        limited = Limited(Timed(model, 10), 8)
        asked = [asyncio.ensure_future(limited.complete(asking(str(n)))) for n in range(8)]
        await asyncio.gather(*asked, return_exceptions=True)
        assert limited.level == 4 and limited.in_flight == 0

    at_once(work())
