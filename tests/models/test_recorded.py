"""Replies in the journal: written before they are used, never asked for twice, and added up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calibrator.errors import ModelError, RunError
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, request_key
from calibrator.models.recorded import Recorded, Spent, spent_in
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.records import Usage
from tests.doubles.models import Busy, until, well_behaved
from tests.models.contract import asking

FULL = ChatReply('{"score": 4}', "length", "cut", Usage(120, 7, 64), 0.25, calls=3)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "journal.jsonl")


def unasked(request: ChatRequest) -> None:
    """Tell the double nothing, so that it fails when it is asked."""


def again(journal: Journal) -> Journal:
    return Journal(journal.path)


def ask(
    journal: Journal | None, script: Script, *texts: str, told: Callable[[Spent], None] | None = None
) -> tuple[list[ChatReply], Spent]:
    async def work() -> tuple[list[ChatReply], Spent]:
        recorded = Recorded(ScriptedModel(script), journal, told)
        return [await recorded.complete(asking(text)) for text in texts], recorded.spent

    return asyncio.run(work())


def test_what_is_in_the_journal_is_not_asked(journal: Journal) -> None:
    first = ask(journal, lambda _: FULL, "x")
    assert first == ask(journal, unasked, "x") == ask(again(journal), unasked, "x")
    assert first[0] == [FULL]
    refused = ChatReply("", "refused", "too long")  # a run that is taken up again gives what it gave
    assert ask(journal, lambda _: refused, "y")[0] == ask(again(journal), unasked, "y")[0] == [refused]


def test_another_request_is_another_entry_and_another_address_is_not(journal: Journal) -> None:
    ask(journal, lambda _: "first", "x")
    assert ask(journal, lambda _: "second", "y")[0] == [ChatReply("second")]
    elsewhere = ScriptedModel(lambda _: "third")
    elsewhere.identity = "http://elsewhere/v1#m"
    # A run may go on with its server at another address: what was answered is not asked again.
    assert asyncio.run(Recorded(elsewhere, journal).complete(asking("x"))) == ChatReply("first")
    other = ScriptedModel(lambda _: "fourth", "scripted/other")
    assert asyncio.run(Recorded(other, journal).complete(asking("x"))) == ChatReply("fourth")


def test_it_is_in_the_journal_before_it_is_used(journal: Journal) -> None:
    key = f"reply/{request_key('scripted/double', asking('x'))}"
    seen: list[object] = []

    def told(_: Spent) -> None:
        seen.append(again(journal).get(key))

    replies, _ = ask(journal, lambda _: FULL, "x", told=told)
    assert seen == [again(journal).get(key)] and replies == [FULL]
    assert json.loads(journal.path.read_text())["value"]["reply"]["text"] == FULL.text


def test_a_reply_that_cannot_be_written_down_is_not_used(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    (tmp_path / "journal").mkdir()
    with pytest.raises(RunError, match="cannot be written"):
        ask(journal, lambda _: FULL, "x")


def test_an_error_is_not_written_down(journal: Journal) -> None:
    with pytest.raises(ModelError):
        ask(journal, lambda _: ModelError("no"), "x")
    assert len(again(journal)) == 0
    assert ask(journal, lambda _: "now", "x")[0] == [ChatReply("now")]


@pytest.mark.parametrize("kept", [True, False])
def test_the_same_at_once_is_asked_once(journal: Journal, kept: bool) -> None:
    async def work() -> None:
        model = Busy(well_behaved)
        recorded = Recorded(model, journal if kept else None)
        replies = await asyncio.gather(*(recorded.complete(asking(f"{n % 3}")) for n in range(30)))
        assert len({reply.text for reply in replies}) == len(model.asked) == recorded.spent.replies == 3
        assert [reply.text for reply in replies[:3]] == [well_behaved(asking(f"{n}")).text for n in range(3)]

    asyncio.run(work())
    assert len(again(journal)) == (3 if kept else 0)


def test_the_same_at_once_fails_for_all_and_can_be_asked_again(journal: Journal) -> None:
    answers: list[str | Exception] = [ModelError("no"), "4"]

    async def work() -> None:
        model = Busy(lambda _: answers.pop(0))
        recorded = Recorded(model, journal)
        failed = await asyncio.gather(*(recorded.complete(asking("x")) for _ in range(5)), return_exceptions=True)
        assert [str(error) for error in failed] == ["no"] * 5
        assert len(model.asked) == 1
        assert (await recorded.complete(asking("x"))).text == "4"

    asyncio.run(work())


def test_who_waits_for_the_same_may_give_up_alone(journal: Journal) -> None:
    async def work() -> None:
        model = Busy(well_behaved)
        model.gate.clear()
        recorded = Recorded(model, journal)
        first, second = (asyncio.ensure_future(recorded.complete(asking("x"))) for _ in range(2))
        await until(lambda: model.in_flight == 1)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)
        model.gate.set()
        assert (await first).text and second.cancelled()

    asyncio.run(work())


def test_what_was_spent_is_added_up(journal: Journal) -> None:
    heard: list[Spent] = []
    _, spent = ask(journal, lambda _: FULL, "x", "y", "x", told=heard.append)
    assert spent == Spent(2, 240, 14, 6, 0.5)
    assert heard == [Spent(1, 120, 7, 3, 0.25), spent]
    assert ask(again(journal), unasked, "y")[1] == spent
    assert spent_in(again(journal)) == {"scripted/double": spent}


def test_what_was_spent_in_an_earlier_sitting_counts(journal: Journal) -> None:
    ask(journal, lambda _: FULL, "x")
    assert ask(again(journal), lambda _: FULL, "y")[1] == Spent(2, 240, 14, 6, 0.5)


def test_one_price_that_is_not_known_makes_the_sum_unknown() -> None:
    assert Spent().cost == 0.0
    assert Spent().plus(FULL).plus(ChatReply("4")).plus(FULL).cost is None
    assert Spent().plus(ChatReply("4", cost=0.0, calls=0)) == Spent(1, 0, 0, 0, 0.0)


def test_each_model_has_its_own_sum(journal: Journal) -> None:
    journal.put("judgment/1", {"score": 3})  # a journal holds other things too
    for name in ("a/b", "c/d", "a/b"):
        asyncio.run(Recorded(ScriptedModel(lambda _: FULL, name), journal).complete(asking(name + str(len(journal)))))
    assert spent_in(journal) == {"a/b": Spent(2, 240, 14, 6, 0.5), "c/d": Spent(1, 120, 7, 3, 0.25)}


def test_without_a_journal_it_counts() -> None:
    assert ask(None, lambda _: FULL, "x")[1] == Spent(1, 120, 7, 3, 0.25)
