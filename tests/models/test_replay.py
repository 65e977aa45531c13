"""Recorded replies and nothing else: a journal in place of the models that it was written with."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from calibrator.errors import ModelError, ModelMissing, RunError
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, Model, Sampling, Token
from calibrator.models.budget import Cap
from calibrator.models.build import Access, Connections
from calibrator.models.names import open_model
from calibrator.models.recorded import Recorded
from calibrator.models.scripted import Script, ScriptedModel
from calibrator.records import Message, Usage
from tests.cli.test_llm import SEARCH, command, newest_run, replies_of, result_of, write_data
from tests.doubles.models import well_behaved
from tests.doubles.server import serving
from tests.models.contract import KEY, ModelContract, asking

TOKENS = (Token("4", -0.1, (("4", -0.1),)),)
FULL = ChatReply("4", "stop", "", Usage(120, 7, 64), 0.25, 3, TOKENS, "m")


def record(folder: Path, script: Script, *requests: ChatRequest, name: str = "vllm/m") -> Path:
    """Have a model answer requests, write its replies to the journal of a run in `folder`, and return where that is."""
    journal = Journal(folder / "journal.jsonl")

    async def work() -> None:
        recorded = Recorded(ScriptedModel(script, name), journal)
        for request in requests:
            await recorded.complete(request)

    asyncio.run(work())
    journal.close()
    return journal.path


def ask(name: str | Path, *requests: ChatRequest) -> list[ChatReply]:
    async def work() -> list[ChatReply]:
        model = open_model(f"replay/{name}", 8)
        try:
            return [await model.complete(request) for request in requests]
        finally:
            await model.close()

    return asyncio.run(work())


class TestReplay(ModelContract):
    """Where it differs: what is replayed takes no call."""

    folder: Path

    @pytest.fixture(autouse=True)
    def _recorded(self, tmp_path: Path) -> None:
        texts = ("ü 語 🙂 \u202e", "a\x00b\r\nc", "half a pair: \ud83d", "\udc00", "")
        requests = [self.numbered(n) for n in range(self.together)] + [asking(t, max_tokens=4) for t in texts]
        requests.append(asking("Say what you think of rivers, at length.", max_tokens=2))
        requests.append(asking("word " * 9000))
        record(tmp_path, well_behaved, *requests)
        self.folder = tmp_path

    @property
    def name(self) -> str:
        return f"replay/{self.folder}"

    @contextmanager
    def model(self) -> Iterator[Model]:
        yield open_model(self.name, 8)

    def test_a_reply_is_whole(self) -> None:
        reply, before = self.reply(self.numbered(1)), well_behaved(self.numbered(1))
        assert (reply.text, reply.finish, reply.usage) == (before.text, "stop", before.usage)
        assert (reply.cost, reply.calls) == (0.0, 0)

    def test_a_prompt_that_is_too_long_is_refused(self) -> None:
        reply = self.reply(asking("word " * 9000))
        assert (reply.text, reply.finish, reply.calls) == ("", "refused", 0)
        assert "too long" in reply.detail


def test_a_reply_is_what_it_was_but_takes_no_call_and_costs_nothing(tmp_path: Path) -> None:
    path = record(tmp_path, lambda _: FULL, asking("x"))
    before = path.read_bytes()
    free = ChatReply("4", "stop", "", Usage(120, 7, 64), 0.0, 0, TOKENS, "m")
    assert ask(tmp_path, asking("x")) == ask(path, asking("x")) == [free]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "request_",
    [
        asking("y"),
        asking("x", max_tokens=255),
        ChatRequest((Message("system", "x"),)),
        ChatRequest((Message("user", "x"),), Sampling(temperature=0.1)),
        ChatRequest((Message("user", "x"),), sample=1),
        asking("x", schema="{}"),
    ],
)
def test_anything_else_fails_in_one_line(tmp_path: Path, request_: ChatRequest) -> None:
    record(tmp_path, lambda _: "4", asking("x"))
    assert ask(tmp_path, asking("x"))
    with pytest.raises(ModelError) as caught:
        ask(tmp_path, request_)
    told = "the journal has no reply to this request (another prompt, item or sampling)"
    assert str(caught.value) == f"replay/{tmp_path}: {told}"
    assert not caught.value.retryable


def test_log_probabilities_that_were_not_recorded_are_not_made_up(tmp_path: Path) -> None:
    plain, wanted = asking("x"), ChatRequest(asking("x").messages, asking("x").sampling, logprobs=5)
    record(tmp_path, lambda _: "4", plain)
    with pytest.raises(ModelError, match=r": the recorded reply has no log-probabilities, which are wanted now$"):
        ask(tmp_path, wanted)
    record(tmp_path, lambda _: FULL, wanted, name="vllm/another")
    assert ask(tmp_path, wanted)[0].tokens == TOKENS  # another model of the run gave them


def test_several_models_in_one_journal(tmp_path: Path) -> None:
    record(tmp_path, lambda r: f"judge: {r.messages[0].content}", asking("a"), asking("b"), name="vllm/judge")
    record(tmp_path, lambda r: f"drafter: {r.messages[0].content}", asking("c"), name="openai/drafter")
    texts = [reply.text for reply in ask(tmp_path, *map(asking, "cab"))]
    assert texts == ["drafter: c", "judge: a", "judge: b"]


def test_other_things_in_a_journal_are_no_replies(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.put("rubric/a", {"model": "vllm/m"})
    with pytest.raises(ModelMissing, match=r"replay/.*: no reply of a model is in .*journal\.jsonl$"):
        ask(tmp_path, asking("x"))
    record(tmp_path, lambda _: "4", asking("x"))
    assert ask(tmp_path, asking("x"))[0].text == "4"


@pytest.mark.parametrize("place", ["none", "none.jsonl", "."])
def test_no_journal(tmp_path: Path, place: str) -> None:
    with pytest.raises(ModelMissing, match=r"there is no journal at .*; name a run's folder, e\.g\. replay/runs/<id>$"):
        ask(tmp_path / place, asking("x"))


def test_a_damaged_journal_is_one_clear_error(tmp_path: Path) -> None:
    path = record(tmp_path, lambda _: "4", asking("x"))
    path.write_text("not a journal\n" + path.read_text())
    with pytest.raises(RunError, match=r"line 1: damaged"):
        ask(tmp_path, asking("x"))


def test_a_journal_that_another_process_is_writing_is_left_as_it_is(tmp_path: Path) -> None:
    path = record(tmp_path, lambda _: "4", asking("x"))
    with path.open("a") as file:
        file.write('{"key": "reply/half of a')
    before = path.read_bytes()
    assert ask(tmp_path, asking("x"))[0].text == "4"
    assert path.read_bytes() == before


def test_two_journals_with_other_replies_are_told_apart_by_the_cache(tmp_path: Path) -> None:
    """At a temperature the same request may have had another reply in another run."""
    answers = []
    for name in ("one", "two"):
        record(tmp_path / name, lambda _, name=name: f"from {name}", asking("x"))
        with Connections(Access(cache=tmp_path / "cache")) as connections:
            answers.append(connections.client(f"replay/{tmp_path / name}").ask([asking("x")])[0].text)
    assert answers == ["from one", "from two"]


def test_its_identity_follows_from_what_is_recorded_and_not_from_where(tmp_path: Path) -> None:
    for name in ("here", "there"):
        path = record(tmp_path / name, lambda _: "4", asking("x"))
    here, there = (open_model(f"replay/{tmp_path / name}", 8) for name in ("here", "there"))
    assert here.identity == there.identity and str(tmp_path) not in here.identity and KEY not in path.read_text()
    assert here.id != there.id


def test_a_budget_in_dollars_has_nothing_to_pay_for(tmp_path: Path) -> None:
    record(tmp_path / "run", lambda _: FULL, asking("x"))
    with Connections(Access(cap=Cap("usd", 0.01))) as connections:
        client = connections.client(f"replay/{tmp_path / 'run'}")
        client.ask([asking("x")])
        (spent,) = connections.spent.values()
        assert (spent.replies, spent.calls, spent.cost) == (1, 0, 0.0)
        assert connections.outlay.usd == 0.0


def test_what_is_written_down_of_it_can_be_replayed_again(tmp_path: Path) -> None:
    record(tmp_path / "run", lambda _: FULL, asking("x"))
    journal = Journal(tmp_path / "again" / "journal.jsonl")
    with Connections(Access(), journal) as connections:
        connections.client(f"replay/{tmp_path / 'run'}").ask([asking("x")])
    assert [json.loads(line)["value"]["model"] for line in journal.path.read_text().splitlines()] == [
        f"replay/{tmp_path / 'run'}"
    ]
    journal.close()
    assert ask(tmp_path / "again", asking("x"))[0].text == "4"


def test_a_finished_run_is_replayed_with_no_server_running(tmp_path: Path) -> None:
    write_data(tmp_path)
    with serving(tmp_path / "log") as double:
        done = command(tmp_path, "run", *SEARCH, "--model", f"{double.url}#double")
        assert done.returncode == 0, done.stderr
    first = newest_run(tmp_path)
    replay = ("--model", f"replay/{first.relative_to(tmp_path)}", "--no-cache")

    done = command(tmp_path, "run", *SEARCH, *replay, "--runs-dir", "again", "--out", "again.yaml")
    assert done.returncode == 0, done.stderr
    (again,) = (path.parent for path in (tmp_path / "again").glob("*/result.json"))
    one, other = result_of(first), result_of(again)
    assert one["winner"] == other["winner"]
    assert one["rubric"] == other["rubric"]
    values = [{c["name"]: c["value"] for c in result["candidates"]} for result in (one, other)]
    assert values[0] == values[1]
    (cost,) = re.findall(r"^\| replay/.* \| (\S+) \|$", (again / "report.md").read_text(), re.M)
    assert cost == "0.0000"
    assert {r["text"] for r in replies_of(again)} == {r["text"] for r in replies_of(first)}

    done = command(tmp_path, "run", *SEARCH, *replay, "--seed", "1", "--runs-dir", "other")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert "the journal has no reply to this request (another prompt, item or sampling)" in line
