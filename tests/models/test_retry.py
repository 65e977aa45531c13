"""Asking again: when, how often, how soon, and never for what has come."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from calibrator.errors import BudgetSpent, CacheError, ModelError, ModelMissing, ModelUnavailable
from calibrator.models import retry
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.circuit import Circuit
from calibrator.models.names import open_model
from calibrator.models.retry import LONGEST, TRIES, Retrying
from calibrator.models.scripted import Script, ScriptedModel
from tests.doubles.models import until
from tests.doubles.server import serving
from tests.models.contract import asking

BUSY = ModelUnavailable("m: HTTP 429: slow down")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let no time pass, and note how much would have."""
    slept: list[float] = []

    async def pause(self: Circuit, seconds: float) -> bool:
        slept.append(seconds)
        await asyncio.sleep(0)
        return True

    monkeypatch.setattr(Circuit, "pause", pause)
    return slept


def then(*answers: str | ChatReply | Exception) -> Script:
    """Answer each request with these, one after the other; each request has its own row of them."""
    asked: Counter[ChatRequest] = Counter()

    def script(request: ChatRequest) -> str | ChatReply | Exception:
        asked[request] += 1
        return answers[asked[request] - 1]

    return script


def ask(script: Script, **settings: int) -> tuple[ChatReply, int]:
    model = ScriptedModel(script)
    reply = asyncio.run(Retrying(model, **settings).complete(asking("x")))
    return reply, len(model.asked)


def test_what_may_pass_is_asked_again_and_counted(pauses: list[float]) -> None:
    assert ask(then("4")) == (ChatReply("4", calls=1), 1)
    assert pauses == []
    assert ask(then(BUSY, BUSY, "4")) == (ChatReply("4", calls=3), 3)
    assert len(pauses) == 2


@pytest.mark.parametrize(
    "error",
    [ModelError("no"), ModelMissing("no"), BudgetSpent("no"), CacheError("no"), AssertionError("no"), OSError("no")],
    ids=repr,
)
def test_what_will_not_pass_is_not_asked_again(error: Exception, pauses: list[float]) -> None:
    model = ScriptedModel(then(BUSY, error, "4"))
    with pytest.raises(type(error)) as caught:
        asyncio.run(Retrying(model).complete(asking("x")))
    assert caught.value is error
    assert len(model.asked) == 2


@pytest.mark.parametrize(
    "reply",
    [
        ChatReply("I would rather not."),
        ChatReply(""),
        ChatReply('{"sco', "length"),
        ChatReply("", "refused", "the prompt is too long"),
    ],
    ids=["no score", "empty", "cut off", "refused"],
)
def test_a_reply_that_arrived_is_not_asked_for_again(reply: ChatReply, pauses: list[float]) -> None:
    assert ask(then(reply, "4")) == (reply, 1)


@pytest.mark.parametrize("tries", [1, 3, TRIES])
def test_it_gives_up(tries: int, pauses: list[float]) -> None:
    model = ScriptedModel(lambda _: ModelUnavailable("m: HTTP 503: busy", 2.5))
    with pytest.raises(ModelUnavailable, match=rf"^m: HTTP 503: busy \(given up after {tries} tr(y|ies)\)$") as caught:
        asyncio.run(Retrying(model, tries=tries).complete(asking("x")))
    assert caught.value.retry_after == 2.5
    assert (len(model.asked), len(pauses)) == (tries, tries - 1)


def test_pauses_grow_and_end(pauses: list[float]) -> None:
    ask(then(*[BUSY] * 9, "4"), tries=10, first=1)
    for number, pause in enumerate(pauses):
        assert 0.5 * min(2**number, LONGEST) <= pause <= 1.5 * min(2**number, LONGEST)
    assert len(pauses) == 9


def test_pauses_differ(pauses: list[float]) -> None:
    """Else all that met the same overload would come back at the same time."""
    model = Retrying(ScriptedModel(then(BUSY, "4")))

    async def work() -> None:
        await asyncio.gather(*(model.complete(asking(str(n))) for n in range(20)))

    asyncio.run(work())
    assert len({round(pause, 4) for pause in pauses}) > 10


@pytest.mark.parametrize("said", [0.0, 7.5, 600.0])
def test_a_server_that_says_how_long_is_heard(said: float, pauses: list[float]) -> None:
    ask(then(ModelUnavailable("busy", said), ModelUnavailable("busy", said), "4"))
    assert len(pauses) == 2 and all(said <= pause <= 1 + 1.25 * said for pause in pauses)


def test_a_server_that_asks_to_wait_for_hours_ends_it(pauses: list[float]) -> None:
    with pytest.raises(ModelError, match="busy; the server asks to wait for 60 minutes") as caught:
        ask(then(ModelUnavailable("busy", 3600.0), "4"))
    assert not caught.value.retryable and pauses == []


def test_pauses_end_when_nothing_more_is_wanted() -> None:
    async def work() -> None:
        circuit = Circuit()
        model = ScriptedModel(lambda _: ModelUnavailable("m: HTTP 503: busy"))
        asking_ = [asyncio.ensure_future(Retrying(model, first=1e6, circuit=circuit).complete(asking("x")))]
        await until(lambda: bool(model.asked))
        await asyncio.sleep(0.01)
        circuit.halt()
        (error,) = await asyncio.wait_for(asyncio.gather(*asking_, return_exceptions=True), 10)
        assert str(error) == "m: HTTP 503: busy" and len(model.asked) == 1

    asyncio.run(work())


def test_the_tries_of_several_are_their_own(pauses: list[float]) -> None:
    model = ScriptedModel(then(BUSY, BUSY, "4"))

    async def work() -> list[ChatReply]:
        retrying = Retrying(model, tries=3)
        return await asyncio.gather(*(retrying.complete(asking(str(n))) for n in range(10)))

    assert [reply.calls for reply in asyncio.run(work())] == [3] * 10
    assert len(model.asked) == 30


def test_the_pauses_are_short_enough_to_be_waited_for() -> None:
    """All tries together: two minutes or so, unless the server asks for more."""
    assert sum(min(retry.FIRST * 2**n, LONGEST) for n in range(TRIES - 1)) < 130


def test_an_ailing_server_gives_the_replies_of_a_healthy_one(tmp_path: Path) -> None:
    requests = [asking(f"rubric {n}\n\n> some words") for n in range(40)]

    async def ask_all(url: str) -> list[ChatReply]:
        model = Retrying(open_model(f"{url}#double", 8), tries=40, first=0.001)
        try:
            return await asyncio.gather(*map(model.complete, requests))
        finally:
            await model.close()

    with serving(tmp_path / "healthy") as double:
        healthy = asyncio.run(ask_all(double.url))
    faults = [f"--fail={fault}" for fault in ("429:0.3", "500:0.2", "reset:0.2")]
    with serving(tmp_path / "ailing", *faults) as double:
        ailing = asyncio.run(ask_all(double.url))
    assert [reply.text for reply in ailing] == [reply.text for reply in healthy]
    assert set(Counter(double.answered()).values()) == {1} and len(double.answered()) == 40
    assert sum(reply.calls for reply in ailing) == len(double.asked()) == 40 + len(double.failed()) > 60
