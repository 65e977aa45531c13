"""A server with every fault there is: what a retry can mend leaves no trace, and nothing is lost or asked twice.

The double draws from its seed, a request and a kind which requests are struck; each set of items has its own number in
its texts, so that one server stands for many seeds.
"""

from __future__ import annotations

import asyncio
import functools
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import pytest

from calibrator.aspects import find_aspect
from calibrator.errors import BudgetSpent, ModelError, ModelUnavailable, RunError
from calibrator.journal import Journal, Outlay, Tally
from calibrator.judges.llm import LLMJudge
from calibrator.models import build
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.budget import Budget, Budgeted, Cap
from calibrator.models.build import Access, Connections
from calibrator.models.circuit import Circuit
from calibrator.models.limit import Limited, Timed
from calibrator.models.names import START, open_model
from calibrator.models.recorded import Spent
from calibrator.models.retry import Retrying
from calibrator.models.scripted import ScriptedModel
from calibrator.models.wire import answer_of, request_body
from calibrator.prompts import score_prompt
from calibrator.records import Failure, Item, Judgment, Verdict
from tests.conftest import make_items
from tests.doubles.faults import FINAL, ODD, PASSING, Faults
from tests.doubles.models import Busy, until, well_behaved
from tests.doubles.server import RENAMED, Double, key_of, serving
from tests.models.contract import asking

T = TypeVar("T")
ASPECT = find_aspect("neutral/relevance")[0]
PROMPT = score_prompt(ASPECT, ("Look at the words.",), ("source", "output"))
RATE, SEEDS, ITEMS, TOGETHER = 0.2, 30, 40, 15
DEADLINE, HANGS = 0.6, 120.0  # seconds for a request, and for a test to be taken for one that hangs
REASONS = {"refusal": "states no score", "length": "cut off", "toolong": "too long"}


def in_time(work: Callable[[], T]) -> T:
    """Return what `work` returns; it may take its time, but not for ever."""
    done: Future[T] = Future()

    def whole() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=whole, daemon=True).start()
    return done.result(HANGS)


def items_of(number: int) -> list[Item]:
    return [replace(i, source=f"Set {number}: {i.source}") for i in make_items(ITEMS, ITEMS, seed=number)]


@dataclass(frozen=True, slots=True)
class Course:
    """What came of judging: the verdicts, what was laid out, and what the model was used for."""

    verdicts: tuple[Verdict, ...]
    outlay: Outlay
    spent: Spent


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run keeps its journal, its tally and its cache."""

    folder: Path

    @property
    def journal(self) -> Journal:
        return Journal(self.folder / "journal")

    @property
    def tally(self) -> Tally:
        return Tally(self.folder / "calls")

    def judge(
        self, name: str, items: Sequence[Item], access: Access, told: Callable[[Verdict], None] | None = None
    ) -> Course:
        """Judge items with all that stands around a model in a run."""
        access = replace(access, cache=self.folder / "cache")
        with Connections(access, self.journal, tally=self.tally) as connections:
            client = connections.client(name)
            verdicts = in_time(lambda: LLMJudge(client, PROMPT, ASPECT, told=told).judge(items))
            return Course(verdicts, connections.outlay, connections.spent[name])


QUICK = Access(width=8, deadline=DEADLINE, first=0.01)


def model_at(double: Double) -> str:
    return f"{double.url}#double"


def key_in_log(item: Item) -> str:
    """Return the key that the double has for what is asked about an item."""
    (request,) = LLMJudge(_Nobody(), PROMPT, ASPECT).requests(item)  # type: ignore[arg-type]
    return key_of(request_body(request, "double"))


class _Nobody:
    id = "nobody"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], tuple[Verdict, ...]]]:
    """Return the verdicts on a set of items by a server without faults."""
    folder = tmp_path_factory.mktemp("healthy")
    with serving(folder / "log") as double:

        @functools.cache
        def verdicts(number: int) -> tuple[Verdict, ...]:
            return Place(folder / f"{number}").judge(model_at(double), items_of(number), QUICK).verdicts

        yield verdicts


Healthy = Callable[[int], tuple[Verdict, ...]]


def assert_nothing_lost(double: Double, items: Iterable[Item], calls: int) -> None:
    """Say of the log of a server that has ended: each item is answered once, never asked after that, and counted."""
    keys = {key_in_log(item) for item in items}
    answered: set[str] = set()
    for event in double.events():
        assert event["key"] not in answered, event
        answered |= {event["key"]} if event["event"] == "answered" else set()
    assert answered == keys
    assert len(double.asked()) == calls


# --- what a retry can mend -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*PASSING, *ODD])
def test_a_fault_that_passes_leaves_the_healthy_verdicts(tmp_path: Path, healthy: Healthy, kind: str) -> None:
    numbers = [100, 101]
    items = [item for number in numbers for item in items_of(number)]
    with serving(tmp_path / "log", f"--strike={kind}:{RATE}") as double:
        course = Place(tmp_path).judge(model_at(double), items, QUICK)
    assert course.verdicts == tuple(v for number in numbers for v in healthy(number))
    assert_nothing_lost(double, items, course.outlay.calls)
    met = [Faults(struck=[(kind, RATE)]).met(key_in_log(item), 1) for item in items]
    struck = met.count((kind,))
    assert 0 < struck < len(items)
    assert Counter(e.get("fault") for e in double.events())[kind] == (struck if kind in PASSING else 0)
    assert course.spent.calls == course.outlay.calls == len(items) + (struck if kind in PASSING else 0)
    assert sorted(course.spent.served) == sorted({"double", RENAMED} if kind == "renamed" else {"double"})


def test_all_faults_together_leave_the_healthy_verdicts_over_thirty_seeds(tmp_path: Path, healthy: Healthy) -> None:
    everything = [f"--strike={kind}:{RATE}" for kind in (*PASSING, *ODD)]
    # On a busy machine an answer to one of so many requests may take longer than the short deadline: then it was given,
    # and is rightly asked for again.
    patient = replace(QUICK, deadline=5 * DEADLINE)
    with serving(tmp_path / "log", *everything) as double:

        def work(number: int) -> Course:
            return Place(tmp_path / f"{number}").judge(model_at(double), items_of(number), patient)

        with ThreadPoolExecutor(TOGETHER) as pool:
            courses = list(pool.map(work, range(SEEDS)))
    for number, course in enumerate(courses):
        assert course.verdicts == healthy(number)
        assert all(isinstance(verdict, Judgment) for verdict in course.verdicts)
        assert len(Place(tmp_path / f"{number}").journal) == ITEMS
        assert course.outlay.calls == course.spent.calls
    items = [item for number in range(SEEDS) for item in items_of(number)]
    assert_nothing_lost(double, items, sum(course.outlay.calls for course in courses))
    faults = Counter(e["fault"] for e in double.events() if e["event"] == "failed")
    assert set(faults) == set(PASSING) and min(faults.values()) > len(items) * RATE / 2


def test_what_no_retry_mends_is_a_failure_and_changes_nothing_else(tmp_path: Path, healthy: Healthy) -> None:
    struck = [(kind, RATE) for kind in (*FINAL, "429-bare", "500", "reset", "empty")]
    items = items_of(200)
    with serving(tmp_path / "log", *(f"--strike={kind}:{rate}" for kind, rate in struck)) as double:
        course = Place(tmp_path).judge(model_at(double), items, QUICK)
    assert_nothing_lost(double, items, course.outlay.calls)
    met = [Faults(struck=struck).met(key_in_log(item), 1 + len(PASSING)) for item in items]
    for verdict, sound, kinds in zip(course.verdicts, healthy(200), met, strict=True):
        if not kinds:
            assert verdict == sound
            continue
        assert isinstance(verdict, Failure) and verdict.item == sound.item
        assert REASONS["toolong" if "toolong" in kinds else kinds[0]] in verdict.reason
    assert {kind for kinds in met for kind in kinds} == set(FINAL)


def test_what_a_cut_off_run_has_is_not_asked_again(tmp_path: Path, healthy: Healthy) -> None:
    """Stopped by its budget of tokens, again and again, with many in flight near the end of each."""
    items, place, caps = items_of(201), Place(tmp_path), [6_000, 9_000, 15_000, 25_000, 10**9]
    strikes = [f"--strike={kind}:{RATE}" for kind in ("429-bare", "500", "hang", "truncated")]
    with serving(tmp_path / "log", *strikes, "--delay", "0.01") as double:
        for cap in caps:
            limited = replace(QUICK, cap=Cap("tokens", cap))
            try:
                course = place.judge(model_at(double), items, limited)
            except BudgetSpent:
                assert cap != caps[-1]
            total = place.tally.total()
            assert total.tokens <= cap and total.calls == len(double.asked())
    assert course.verdicts == healthy(201)
    assert_nothing_lost(double, items, course.outlay.calls)


# --- how much is sent ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["429", "503", "late"])
def test_the_level_falls_when_it_is_too_much_and_recovers(fault: str) -> None:
    ill = True

    class Ailing(Busy):
        async def complete(self, request: ChatRequest) -> ChatReply:
            if ill and fault == "late":
                await asyncio.Event().wait()
            if ill:
                answer_of(int(fault), {}, b"busy")
            return await super().complete(request)

    async def work() -> None:
        nonlocal ill
        limited = Limited(Timed(Ailing(well_behaved), 0.05 if ill else 60.0), 64, 16)
        assert limited.level == 16
        requests = [asking(str(n)) for n in range(64)]
        errors = await asyncio.gather(*map(limited.complete, requests), return_exceptions=True)
        assert all(isinstance(error, ModelUnavailable) and error.overload for error in errors)
        assert limited.level == 1 and limited.in_flight == 0
        ill = False
        for _ in range(12):
            await asyncio.gather(*map(limited.complete, requests))
        assert 16 < limited.level <= 64 and limited.in_flight == 0

    in_time(lambda: asyncio.run(work()))


def test_what_is_no_overload_leaves_the_level(tmp_path: Path) -> None:
    async def work() -> None:
        limited = Limited(ScriptedModel(lambda _: ModelUnavailable("HTTP 500")), 64, 16)
        await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(64)), return_exceptions=True)
        assert limited.level == 16

    asyncio.run(work())


def test_after_an_error_nothing_more_is_sent(tmp_path: Path) -> None:
    """A wrong key, say: those who wait for their turn are not sent, however many they are."""
    items = [item for number in range(4) for item in items_of(number)]
    wrong = pytest.raises(ModelError, match="HTTP 401: Incorrect API key")
    with serving(tmp_path / "log", "--require-key", "sk-mild") as double, wrong:
        Place(tmp_path).judge(model_at(double), items, Access())
    assert 0 < len(double.asked()) <= START


def test_a_server_that_asks_for_hours_ends_it_for_those_who_wait_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Busy(lambda _: ModelUnavailable("busy", 7200.0, overload=True), "http://host/v1#m")
    monkeypatch.setattr(build, "open_model", lambda *_: model)
    with pytest.raises(ModelError, match="the server asks to wait for 120 minutes"):
        Place(tmp_path).judge(model.id, items_of(0), QUICK)
    assert len(model.asked) == QUICK.width  # as many more wait for their turn


def test_who_is_sent_away_or_cancelled_leaves_no_place_taken() -> None:
    async def work() -> None:
        circuit, model = Circuit(), Busy(well_behaved)
        limited = Limited(model, 2, circuit=circuit)
        model.gate.clear()
        tasks = [asyncio.ensure_future(limited.complete(asking(str(n)))) for n in range(8)]
        await until(lambda: model.in_flight == 2)
        circuit.halt()
        for task in tasks[2:5]:
            task.cancel()  # in the same turn of the loop
        model.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert [isinstance(r, ChatReply) for r in results] == [True] * 2 + [False] * 6
        assert all("not sent" in str(r) for r in results[5:]) and limited.in_flight == 0
        circuit.begin()
        assert len(await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(8)))) == 8
        assert model.most == 2 and limited.in_flight == 0

    in_time(lambda: asyncio.run(work()))


# --- what has come ---------------------------------------------------------------------------------------------------


def test_a_server_that_goes_away_ends_the_run_and_what_came_is_kept(
    tmp_path: Path, healthy: Healthy, monkeypatch: pytest.MonkeyPatch
) -> None:
    items, place, came = items_of(202), Place(tmp_path), list[Verdict]()
    patient = replace(QUICK, patience=0.5)
    with serving(tmp_path / "first", "--delay", "0.01") as double:

        def told(verdict: Verdict) -> None:
            came.append(verdict)
            if len(came) == 15:
                double.process.kill()

        monkeypatch.setenv("VLLM_BASE_URL", double.url)  # so that its name is the same at another address
        with pytest.raises(ModelError, match=r"no reply for \d+ s \(\d+ requests\), so nothing more is sent$"):
            place.judge("vllm/double", items, patient, told)
    kept = len(place.journal)
    assert 15 <= kept == len(came) < ITEMS
    with serving(tmp_path / "second") as double:
        monkeypatch.setenv("VLLM_BASE_URL", double.url)
        course = place.judge("vllm/double", items, patient)
    assert course.verdicts == healthy(202)
    has_come = {verdict.item for verdict in came}
    assert_nothing_lost(double, [i for i in items if i.id not in has_come], ITEMS - kept)


def test_replies_are_used_while_another_process_holds_the_cache(tmp_path: Path) -> None:
    place, requests = Place(tmp_path), [asking(f"{n}") for n in range(5)]
    access = replace(QUICK, cache=tmp_path / "cache")
    with serving(tmp_path / "log") as double, Connections(access, place.journal) as connections:
        client = connections.client(model_at(double))
        client.ask(requests[:1])  # the cache is open
        with closing(sqlite3.connect(tmp_path / "cache" / "cache.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert len(client.ask(requests)) == 5
            assert len(place.journal) == 5
            other.execute("ROLLBACK")
    with Connections(access) as connections:  # nobody answers any more
        assert len(connections.client(model_at(double)).ask(requests)) == 5
    assert (tmp_path / "journal").read_bytes().count(b"\n") == 5


def test_a_reply_that_came_while_the_program_slept_is_not_asked_again(tmp_path: Path) -> None:
    """Its deadline is over when the loop wakes, but it lies there."""

    async def work(model: Model) -> list[ChatReply]:
        asyncio.get_running_loop().call_later(0.1, time.sleep, 1.5)
        try:
            return await asyncio.gather(*(model.complete(asking(f"{n}")) for n in range(8)))
        finally:
            await model.close()

    with serving(tmp_path / "log", "--delay", "0.5") as double:
        model = Retrying(Timed(open_model(model_at(double), 8), 1.0), first=0.01)
        replies = in_time(lambda: asyncio.run(work(model)))
    assert [reply.calls for reply in replies] == [1] * 8
    assert len(double.asked()) == len(double.answered()) == 8


def test_a_reply_that_lies_there_may_take_some_turns_of_the_loop() -> None:
    """As with an SDK, or one that is long."""

    class Layered(ScriptedModel):
        async def complete(self, request: ChatRequest) -> ChatReply:
            await asyncio.sleep(0.2)
            for _ in range(20):
                await asyncio.sleep(0)
            return await super().complete(request)

    async def work() -> ChatReply:
        asyncio.get_running_loop().call_later(0.05, time.sleep, 1.0)
        return await Timed(Layered(well_behaved), 0.5).complete(asking("x"))

    assert in_time(lambda: asyncio.run(work())) == well_behaved(asking("x"))


def test_waiting_for_a_turn_does_not_count_as_the_server_s_time(tmp_path: Path) -> None:
    """Neither for one under a limit by the minute nor for one in the budget: nothing would be sent, and it is late."""
    with serving(tmp_path / "log") as double:
        paced = replace(QUICK, rpm=1200.0, deadline=0.5)
        course = Place(tmp_path).judge(model_at(double), items_of(204), paced)
    assert_nothing_lost(double, items_of(204), course.outlay.calls)
    assert course.outlay.calls == ITEMS


def test_nobody_waits_for_ever_where_the_tally_cannot_be_written(tmp_path: Path) -> None:
    class Full(Tally):
        def settle(self, tokens: int, usd: float | None) -> None:
            raise RunError("No space left on device")

    async def work() -> list[ChatReply | BaseException]:
        budget = Budget(Cap("tokens", 600), Full(tmp_path / "calls"))  # room for one at a time
        model = Budgeted(Busy(well_behaved), budget)
        return await asyncio.gather(*(model.complete(asking("x", 100)) for _ in range(4)), return_exceptions=True)

    errors = in_time(lambda: asyncio.run(work()))
    assert [type(error) for error in errors] == [RunError] + [BudgetSpent] * 3
