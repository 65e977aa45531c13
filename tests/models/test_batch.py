"""OpenAI's Batch API: who gets which reply, what is asked again, and that a killed process pays for nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnavailable
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, Model, request_key
from calibrator.models.batch import BatchModel
from calibrator.models.prices import Price
from calibrator.models.recorded import Recorded
from calibrator.models.retry import Retrying
from calibrator.records import Usage
from tests.doubles.batches import Batches, serving_batches
from tests.doubles.server import ROOT
from tests.models.contract import KEY, ModelContract, asking

pytest.importorskip("openai")

T = TypeVar("T")
NAME = "openai/double"
SCHEMA = '{"type": "object", "properties": {"score": {"type": "integer"}}}'
Serve = Callable[..., Batches]
Reopen = Callable[[], Journal]


def asked(count: int = 6) -> list[ChatRequest]:
    return [asking(f"Say {n}.") for n in range(count)]


def ids(requests: Sequence[ChatRequest]) -> list[str]:
    return [request_key(NAME, request) for request in requests]


def model_of(journal: Journal | None = None, name: str = NAME, **more: Any) -> BatchModel:
    return BatchModel(name, journal, **({"poll": 0.01, "gather": 0.03} | more))


async def closing(model: Model, work: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(30):  # instead of hanging
            return await work
    finally:
        await model.close()


def ask(model: Model, requests: Sequence[ChatRequest]) -> list[Any]:
    """Return the reply to each request, or its error."""

    async def all_at_once() -> list[Any]:
        return await asyncio.gather(*map(model.complete, requests), return_exceptions=True)

    return asyncio.run(closing(model, all_at_once()))


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Reopen]:
    """Open the journal of the test, as another process would."""
    opened = []

    def reopen() -> Journal:
        opened.append(Journal(tmp_path / "journal.jsonl"))
        return opened[-1]

    yield reopen
    for one in opened:
        one.close()


def retrying(model: Model) -> Model:
    """Ask again after pauses that are short beside the time for which requests are gathered."""
    return Retrying(model, first=0.001)


def right(request: ChatRequest, reply: object) -> bool:
    """Whether the double's echo is of the request."""
    assert isinstance(reply, ChatReply), reply
    return bool(json.loads(reply.text)["messages"][0]["content"] == request.messages[0].content)


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start the double, once a test, and have the environment name it."""
    running = []

    def start(*arguments: str) -> Batches:
        context = serving_batches(tmp_path / "log", *arguments)
        double = context.__enter__()
        running.append(context)
        monkeypatch.setenv("OPENAI_BASE_URL", double.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        return double

    yield start
    for context in running:
        context.__exit__(None, None, None)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Batches]:
    with serving_batches(tmp_path_factory.mktemp("double") / "log", "--require-key", KEY) as double:
        yield double


class TestBatch(ModelContract):
    name = NAME

    @pytest.fixture(autouse=True)
    def _surroundings(self, shared: Batches, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_BASE_URL", shared.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)

    @contextmanager
    def model(self) -> Iterator[Model]:
        yield model_of()


class TestBatchWithJournal(TestBatch):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path

    @contextmanager
    def model(self) -> Iterator[Model]:
        journal = Journal(self.folder / "journal.jsonl")
        yield model_of(journal)
        journal.close()


# --- what is sent, and who gets what ---------------------------------------------------------------------------------


def test_what_comes_together_is_sent_together(serve: Serve) -> None:
    double, heard, requests = serve(), [], asked(40)
    replies = ask(model_of(told=heard.append), requests)
    assert all(map(right, requests, replies))  # though the lines are in no order
    assert double.seen("asked") == ids(requests)
    assert (len(double.seen("uploaded")), len(double.seen("created"))) == (1, 1)
    assert heard[0] == "batch_0: submitted, 40 requests"
    assert heard[1:] == [
        "batch_0: validating, 0 of 40 done",
        "batch_0: in_progress, 0 of 40 done",
        "batch_0: finalizing, 0 of 40 done",
        "batch_0: completed, 40 of 40 done",
    ]


@pytest.mark.parametrize(("limits", "sizes"), [({"most": 4}, [4, 4, 2]), ({"size": 700}, [2, 2, 2, 2, 2])])
def test_a_batch_has_its_limits(serve: Serve, limits: dict[str, int], sizes: list[int]) -> None:
    double, heard, requests = serve(), [], asked(10)
    assert all(map(right, requests, ask(model_of(told=heard.append, **limits), requests)))
    assert Counter(double.seen("asked")) == Counter(ids(requests))
    said = sorted((line for line in heard if "submitted" in line), key=lambda line: line.split()[2], reverse=True)
    assert [int(line.split()[2]) for line in said] == sizes


def test_a_request_is_put_as_it_would_be_alone(serve: Serve) -> None:
    serve()
    request = replace(asking("Wie geht's? 🙂", max_tokens=400, schema=SCHEMA), logprobs=5)
    sent = json.loads(ask(model_of(), [request])[0].text)
    form = {"name": "reply", "strict": True, "schema": json.loads(SCHEMA)}
    assert sent == {
        "model": "double",
        "messages": [{"role": "user", "content": "Wie geht's? 🙂"}],
        "temperature": 0.0,
        "max_tokens": 400,
        "logprobs": True,
        "top_logprobs": 5,
        "response_format": {"type": "json_schema", "json_schema": form},
    }


def test_the_same_twice_is_one_line(serve: Serve) -> None:
    double, request = serve(), asking("x")
    first, second = ask(model_of(), [request, replace(request, logprobs=3)])
    assert first == second and json.loads(first.text)["top_logprobs"] == 3
    assert double.seen("asked") == ids([request])


def test_it_costs_half(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve()
    monkeypatch.setattr("calibrator.models.batch.price_of", lambda name: Price(2.0, 4.0))
    (reply,) = ask(model_of(), [asking("x")])
    assert reply.usage != Usage() and reply.cost == reply.usage.prompt + 2 * reply.usage.completion > 0


def test_it_is_only_for_openai() -> None:
    for name in ("vllm/m", "anthropic/m", "http://host/v1#m"):
        with pytest.raises(ConfigError, match="--batch is for openai/"):
            model_of(name=name)


# --- what has no reply -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["429", "500", "error", "missing"])
def test_what_has_no_reply_may_be_asked_again(serve: Serve, kind: str) -> None:
    double, requests = serve("--fail", f"{kind}:0.5"), asked(20)
    replies = ask(model_of(), requests)
    failed = double.failed()
    assert 0 < len(failed) < 20
    for key, request, reply in zip(ids(requests), requests, replies, strict=True):
        if key in failed:
            assert isinstance(reply, ModelUnavailable) and not reply.charged and not reply.overload
            assert str(reply).startswith(f"{NAME}: ") and ("batch_0" in str(reply) or f"HTTP {kind}" in str(reply))
        else:
            assert right(request, reply)


def test_what_is_asked_again_is_in_another_batch(serve: Serve) -> None:
    double, requests = serve("--fail", "500:0.5", "--fail", "missing:0.5"), asked(20)
    replies = ask(retrying(model_of(gather=0.2)), requests)
    assert all(map(right, requests, replies))
    assert {reply.calls for reply in replies} == {1, 2}
    assert len(double.seen("created")) == 2
    assert Counter(double.seen("asked")) == Counter(ids(requests) + double.failed())


def test_what_expires_is_asked_again(serve: Serve) -> None:
    double, requests = serve("--once", "expire"), asked(10)
    errors = [reply for reply in ask(model_of(), requests) if isinstance(reply, ModelUnavailable)]
    assert len(errors) == 5 and all("completion window" in str(error) for error in errors)
    assert len(double.seen("created")) == 1
    assert all(map(right, requests, ask(retrying(model_of()), requests)))


def test_a_batch_that_is_turned_down_is_no_fault_that_passes(serve: Serve) -> None:
    double = serve("--once", "invalid")
    for error in ask(retrying(model_of()), asked(3)):
        assert isinstance(error, ModelError) and not error.retryable
        assert str(error).startswith(f"{NAME}: batch_0 was turned down: This line is not parseable")
    assert len(double.seen("created")) == 1


def test_where_too_many_tokens_wait_fewer_are_sent_later(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    double, requests, heard = serve("--once", "crowded"), asked(10), []
    monkeypatch.setattr("calibrator.models.batch.CROWDED", 0.0)
    assert all(map(right, requests, ask(retrying(model_of(told=heard.append)), requests)))
    sizes = [int(line.split()[2]) for line in heard if "submitted" in line]
    assert sizes[0] == 10 and max(sizes[1:]) <= 5 and sum(sizes) == 20
    assert Counter(double.seen("asked")) == Counter(ids(requests) * 2)


def test_a_key_that_is_wrong_or_missing_is_said(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve("--require-key", "sk-another")
    for error in ask(model_of(), asked(2)):
        assert isinstance(error, ModelError) and not error.retryable and KEY not in str(error)
        assert str(error).endswith("the key is taken from $OPENAI_API_KEY")
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelMissing, match="export OPENAI_API_KEY="):
        model_of().check()
    assert isinstance(ask(model_of(), asked(1))[0], ModelMissing)


def test_faults_about_batches_are_waited_out(serve: Serve) -> None:
    double, requests, heard = serve("--stumble"), asked(), []
    assert all(map(right, requests, ask(model_of(told=heard.append), requests)))
    assert Counter(double.seen("asked")) == Counter(ids(requests))  # once each
    assert sum("asked again in" in line for line in heard) == len(double.failed()) > 6


def test_a_batch_whose_making_was_not_answered_is_found(serve: Serve) -> None:
    double, requests = serve("--once", "unsaid"), asked()
    assert all(map(right, requests, ask(model_of(), requests)))
    assert double.seen("asked") == ids(requests) and double.seen("listed")


# --- and a process that ends -----------------------------------------------------------------------------------------

POINTS = [
    *(("before", f"/{what}") for what in ("intent", "created", "done")),
    *(("after", what) for what in ("/intent", "/created", "/done", "reply/")),
]


class Fatal(Journal):
    """A journal that has its process killed just before, or just after, something is written down."""

    def __init__(self, path: Path, when: str, what: str) -> None:
        super().__init__(path)
        self.when, self.what = when, what

    def put(self, key: str, value: Any) -> None:
        if self.what not in key:
            super().put(key, value)
            return
        if self.when == "after":
            super().put(key, value)
        os.kill(os.getpid(), signal.SIGKILL)


def whole_job(journal: Journal, name: str) -> list[Any]:
    return ask(Recorded(Retrying(model_of(journal, name)), journal), asked())


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system cannot kill outright")
def test_a_process_that_is_killed_pays_for_nothing_twice(serve: Serve, tmp_path: Path) -> None:
    """At every point; each process has a model of its own, so that they can be told apart, and all run at once."""
    double = serve()
    code = (
        "import sys; from pathlib import Path; from tests.models.test_batch import Fatal, whole_job\n"
        "name, path, when, what = sys.argv[1:]; whole_job(Fatal(Path(path), when, what), name)"
    )
    names = [f"openai/model-{number}" for number in range(len(POINTS))]
    paths = [tmp_path / f"{number}.jsonl" for number in range(len(POINTS))]
    children = [
        subprocess.Popen([sys.executable, "-c", code, name, str(path), *point], cwd=ROOT)
        for name, path, point in zip(names, paths, POINTS, strict=True)
    ]
    assert [child.wait(timeout=120) for child in children] == [-signal.SIGKILL] * len(POINTS)
    for name, path, point in zip(names, paths, POINTS, strict=True):
        journal = Journal(path)
        replies = whole_job(journal, name)
        journal.close()
        keys = [request_key(name, request) for request in asked()]
        assert all(map(right, asked(), replies)), point
        assert [key for key in double.seen("asked") if key in keys] == keys, point
    assert len(double.seen("created")) == len(POINTS)


def test_what_failed_before_the_end_is_asked_again_after_it(serve: Serve, journal: Reopen) -> None:
    double, requests = serve("--fail", "500:0.5"), asked()
    first = ask(model_of(journal()), requests)
    failed = double.failed()
    assert 0 < len(failed) < 6 and sum(isinstance(r, ModelUnavailable) for r in first) == len(failed)
    assert all(map(right, requests, ask(model_of(journal()), requests)))
    assert Counter(double.seen("asked")) == Counter(ids(requests) + failed)


def test_only_some_may_be_asked_for_again(serve: Serve, journal: Reopen) -> None:
    double, requests = serve(), asked()
    ask(model_of(journal()), requests)
    more = [*requests[2:4], asking("Say something else.")]

    async def one_after_the_other(model: Model) -> list[ChatReply]:
        return [await model.complete(request) for request in more]

    model = model_of(journal())
    assert all(map(right, more, asyncio.run(closing(model, one_after_the_other(model)))))
    assert double.seen("asked") == ids([*requests, more[-1]])
    assert len(double.seen("fetched")) == 3  # the file of the first batch is read once for both


def test_replies_that_lack_what_is_wanted_now_are_asked_for_again(serve: Serve, journal: Reopen) -> None:
    double, request = serve(), asking("x")
    ask(model_of(journal()), [request])
    wanted = replace(request, logprobs=5)
    (reply,) = ask(retrying(model_of(journal())), [wanted])
    assert json.loads(reply.text)["top_logprobs"] == 5
    assert double.seen("asked") == ids([request, request])


def test_batches_of_others_are_not_joined(serve: Serve, journal: Reopen, monkeypatch: pytest.MonkeyPatch) -> None:
    double = serve()
    ask(model_of(journal()), asked(2))
    ask(model_of(journal(), "openai/other"), asked(2))
    assert len(set(double.seen("asked"))) == 4
    monkeypatch.setenv("OPENAI_BASE_URL", double.url.replace("127.0.0.1", "localhost"))
    ask(model_of(journal()), asked(2))
    assert len(double.seen("asked")) == 6


def test_a_batch_that_the_server_does_not_know_is_said(serve: Serve, journal: Reopen) -> None:
    double, kept = serve(), journal()
    endpoint = model_of()._client.endpoint
    intent = {"model": NAME, "endpoint": endpoint, "since": 0.0, "ids": ids(asked(1))}
    kept.put("batch/m/intent", intent)
    kept.put("batch/m/created", {"id": "batch_9"})
    (error,) = ask(model_of(kept), asked(1))
    assert isinstance(error, ModelError) and not error.retryable and "only to the account" in str(error)
    assert double.seen("created") == []
    kept.put("batch/m/done", {"status": "completed", "missing": []})  # but one that was done may be long gone
    assert right(asked(1)[0], ask(model_of(kept), asked(1))[0])


def test_closing_leaves_the_batch_alone(serve: Serve) -> None:
    double, request = serve(), asking("x")

    async def work(model: BatchModel) -> ChatReply:
        waiting = asyncio.ensure_future(model.complete(request))
        while not double.seen("retrieved"):
            await asyncio.sleep(0.005)
        await model.close()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return await model.complete(request)  # is joined

    model = model_of()
    assert right(request, asyncio.run(closing(model, work(model))))
    assert double.seen("asked") == ids([request]) and not double.seen("cancelled")
