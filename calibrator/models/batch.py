"""OpenAI's Batch API behind the protocol of all models: half the price, replies within a day.

Requests are collected until none has come for a while and sent together. The journal says what was sent, so that a
process which is killed at any moment and started again waits for the same batches and pays for nothing twice:

    batch/<mark>/intent    before a batch is made: the model, the endpoint, and the digests of its requests
    batch/<mark>/created   its id
    batch/<mark>/done      how it ended, and which requests it has no reply to

An intent without an id is looked for among the server's batches. A request that stands in a batch, even in one that is
done, is answered from there: its reply may not have reached whoever asked before the process ended.
"""

from __future__ import annotations

import asyncio
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrator.errors import ConfigError, ModelError, ModelUnavailable
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, request_key
from calibrator.models.batch_api import ENDED, ENDPOINT, BatchApi, Gone, Line, State
from calibrator.models.openai_client import Answer, OpenAIClient
from calibrator.models.openai_sdk import Dialect, identity_of, priced
from calibrator.models.prices import price_of
from calibrator.models.wire import told as problem_in

MOST, SIZE = 50_000, 200_000_000  # requests of a batch, and bytes of its file: OpenAI's limits
CROWDED = 60.0  # seconds to wait where too many tokens are waiting at the server
PREFIX = "batch/"


@dataclass(slots=True)
class _Waiting:
    """Somebody who waits for a reply; `joined` where an earlier process sent the request."""

    request: ChatRequest
    body: dict[str, Any]
    reply: asyncio.Future[ChatReply]
    joined: bool = False


@dataclass(slots=True, eq=False)
class _Job:
    """One batch, from the intent on; `lines` are its answers that nobody has taken yet, None while it runs."""

    mark: str
    ids: tuple[str, ...]
    since: float
    batch: str | None = None
    done: bool = False
    lines: dict[str, Line] | None = None
    waiting: dict[str, list[_Waiting]] = field(default_factory=dict)
    task: asyncio.Task[None] | None = None


class BatchModel:
    """A model of OpenAI's, asked in batches; `name` is `openai/<model>`.

    `poll` is how many seconds lie between two looks at a batch, `gather` for how long no request may have come before
    those that came are sent, `most` and `size` how many requests and bytes a batch may have. `told` hears, in a line,
    of batches and their progress. Raises what `OpenAIModel` raises, and ConfigError for a model of another kind.
    """

    def __init__(
        self,
        name: str,
        journal: Journal | None,
        *,
        poll: float = 15.0,
        gather: float = 0.25,
        most: int = MOST,
        size: int = SIZE,
        told: Callable[[str], None] | None = None,
    ) -> None:
        if not name.startswith("openai/"):
            raise ConfigError(f"--batch is for openai/<model>; {name} knows no batches")
        self._client = OpenAIClient(name)
        self._dialect = Dialect(name, self._client)
        self.id, self.identity = name, identity_of(name, self._client)
        price = price_of(name)
        self._price = price.halved() if price is not None else None
        self._told = told or (lambda line: None)
        self._api = BatchApi(self._client, poll, self._told)
        self._journal, self._poll, self._gather, self._most, self._size = journal, poll, gather, most, size
        self._timer: asyncio.TimerHandle | None = None
        self._pending: dict[str, list[_Waiting]] = {}
        self._jobs: dict[str, _Job] = dict(self._journalled())  # by the digest of each request in them

    def check(self) -> None:
        """Raise ModelMissing if there is no key."""
        self._client.check()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request, whenever its batch is done. See `Model`."""
        key = request_key(self.id, request)
        reply: asyncio.Future[ChatReply] = asyncio.get_running_loop().create_future()
        job = self._jobs.get(key)
        if job is None:
            self._collect(key, _Waiting(request, self._dialect.body(request), reply))
        else:
            self._join(job, key, _Waiting(request, self._dialect.body(request, learnt=False), reply, joined=True))
        return await reply

    def dismiss(self) -> None:
        """Have nobody wait any longer: nothing more is wanted."""
        for waiting in [self._pending, *(job.waiting for job in set(self._jobs.values()))]:
            for one in (w for several in waiting.values() for w in several):
                if not one.reply.done():
                    one.reply.set_exception(ModelError(f"{self.id}: not waited for; the batch goes on at the server"))
            waiting.clear()

    async def close(self) -> None:
        """Close all connections. Batches go on at the server, and are waited for when they are asked for again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        jobs = set(self._jobs.values())
        tasks = [job.task for job in jobs if job.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for waiting in [self._pending, *(job.waiting for job in jobs)]:
            for one in (w for several in waiting.values() for w in several):
                one.reply.cancel()
            waiting.clear()
        await self._client.close()

    # --- requests that come ---

    def _collect(self, key: str, waiting: _Waiting) -> None:
        self._pending.setdefault(key, []).append(waiting)
        if self._timer is not None:
            self._timer.cancel()
        pause = self._gather if len(self._pending) < self._most else 0.0
        self._timer = asyncio.get_running_loop().call_later(pause, self._flush)

    def _flush(self) -> None:
        """Send what came, in as many batches as it takes."""
        self._timer = None
        pending, self._pending = self._pending, {}
        for lines in self._batches(pending):
            job = _Job(uuid.uuid4().hex, tuple(lines), time.time(), waiting={key: pending[key] for key in lines})
            self._jobs |= dict.fromkeys(lines, job)
            job.task = asyncio.create_task(self._carried(job, self._submitted(job, b"".join(lines.values()))))

    def _batches(self, pending: Mapping[str, list[_Waiting]]) -> Iterator[dict[str, bytes]]:
        """Yield the lines of each batch by their `custom_id`."""
        lines: dict[str, bytes] = {}
        size = 0
        for key, waiting in pending.items():
            body = max(waiting, key=lambda one: one.request.logprobs).body  # which has no part in the digest
            line = json.dumps({"custom_id": key, "method": "POST", "url": ENDPOINT, "body": body}).encode() + b"\n"
            if lines and (len(lines) == self._most or size + len(line) > self._size):
                yield lines
                lines, size = {}, 0
            lines[key] = line
            size += len(line)
        if lines:
            yield lines

    def _join(self, job: _Job, key: str, waiting: _Waiting) -> None:
        job.waiting.setdefault(key, []).append(waiting)
        if job.lines is not None:
            self._deliver(job, key)
        elif job.task is None or job.task.done():
            job.task = asyncio.create_task(self._carried(job, self._resumed(job)))

    # --- a batch ---

    async def _carried(self, job: _Job, work: Any) -> None:
        """Do the work of a batch; whatever it raises is raised to all who wait for it."""
        try:
            await work
        except Exception as error:
            waiting, job.waiting = job.waiting, {}
            for one in (w for several in waiting.values() for w in several):
                if not one.reply.done():
                    one.reply.set_exception(error)

    async def _submitted(self, job: _Job, lines: bytes) -> None:
        intent = {"model": self.id, "endpoint": self._client.endpoint, "since": job.since, "ids": list(job.ids)}
        self._put(job, "intent", intent)
        job.batch = await self._api.submit(job.mark, lines, job.since)
        self._put(job, "created", {"id": job.batch})
        self._told(f"{job.batch}: submitted, {len(job.ids):,} requests")
        await self._followed(job)

    async def _resumed(self, job: _Job) -> None:
        """Take up a batch that another process may have made, or send its requests anew."""
        if job.batch is None:
            job.batch = await self._api.find(job.mark, job.since)
            if job.batch is None:
                self._send_anew(job)
                return
            self._put(job, "created", {"id": job.batch})
        try:
            await self._followed(job)
        except Gone:
            if not job.done:
                raise
            self._send_anew(job)  # the server keeps the replies of a batch for a while only

    async def _followed(self, job: _Job) -> None:
        """Wait for the end of a batch and hand its replies over."""
        assert job.batch is not None
        before = None
        while (state := await self._api.state(job.batch)).status not in ENDED:
            if state != before:
                self._told(str(state))
                before = state
            await asyncio.sleep(self._poll)
        lines = await self._api.lines(state)
        if not job.done:
            self._told(str(state))
            missing = [key for key in job.ids if key not in lines or lines[key].status != 200]
            self._put(job, "done", {"status": state.status, "missing": missing})
            job.done = True
        if state.status == "failed":
            self._forget(job)
            raise self._turned_down(job, state)
        job.lines = {key: lines[key] for key in job.ids if key in lines}
        for key in job.ids:
            if key in job.waiting:
                self._deliver(job, key)
            elif key not in job.lines:
                self._forget(job, key)

    def _turned_down(self, job: _Job, state: State) -> ModelError:
        problem = self._client.named(f"{state.batch} was turned down: {state.problem}")
        if not state.crowded:
            return ModelError(problem)
        self._most = max(1, len(job.ids) // 2)  # else one that is too large for the account would never get through
        return ModelUnavailable(problem, CROWDED, charged=False)

    # --- replies ---

    def _deliver(self, job: _Job, key: str) -> None:
        """Hand the answer to a request over to all who wait for it; asked again, it is sent anew."""
        line = (job.lines or {}).pop(key, None)
        self._forget(job, key)
        for waiting in job.waiting.pop(key, ()):
            if waiting.reply.done():
                continue
            try:
                waiting.reply.set_result(self._reply(job, waiting, line))
            except ModelError as error:
                waiting.reply.set_exception(error)

    def _reply(self, job: _Job, waiting: _Waiting, line: Line | None) -> ChatReply:
        """Return the reply in a line of a batch; raises, as other models do, for what is none."""
        if line is None or line.status == 0:
            problem = problem_in(line.raw) if line is not None else "no answer to this request is in it"
            raise ModelUnavailable(self._client.named(f"{job.batch}: {problem}"), 0.0, charged=False)
        try:
            reply = self._dialect.reply(waiting.request, waiting.body, Answer(line.status, {}, line.raw))
        except ModelUnavailable as error:
            # No pause, so that all that are asked again are in one batch; and their number is no load.
            raise ModelUnavailable(str(error), 0.0, charged=line.status == 200) from None
        if waiting.joined and not reply.answers(waiting.request):
            problem = f"{job.batch}: asked without log-probabilities, which are wanted now"
            raise ModelUnavailable(self._client.named(problem), 0.0)
        return priced(reply, self._price)

    # --- what is known of batches ---

    def _journalled(self) -> Iterator[tuple[str, _Job]]:
        """Yield the digest of each request that stands in a batch of this model in the journal, with the batch."""
        found: dict[str, dict[str, Any]] = {}
        for key, value in self._journal.items() if self._journal is not None else ():
            if key.startswith(PREFIX):
                _, mark, what = key.split("/")
                found.setdefault(mark, {})[what] = value
        for mark, said in found.items():
            intent, done = said.get("intent"), said.get("done")
            if intent is None or (intent["model"], intent["endpoint"]) != (self.id, self._client.endpoint):
                continue
            batch = said["created"]["id"] if "created" in said else None
            missing = set(done["missing"] if done else ())
            ids = tuple(key for key in intent["ids"] if key not in missing)
            job = _Job(mark, ids, intent["since"], batch, done=done is not None)
            yield from ((key, job) for key in ids)

    def _put(self, job: _Job, what: str, value: Mapping[str, Any]) -> None:
        if self._journal is not None:
            self._journal.put(f"{PREFIX}{job.mark}/{what}", value)

    def _send_anew(self, job: _Job) -> None:
        """Send the requests of a batch from which nothing can be had."""
        self._put(job, "done", {"status": "not there", "missing": list(job.ids)})
        self._forget(job)
        waiting, job.waiting = job.waiting, {}
        for key, several in waiting.items():
            for one in several:
                one.joined = False
                self._collect(key, one)

    def _forget(self, job: _Job, *keys: str) -> None:
        for key in keys or job.ids:
            if self._jobs.get(key) is job:
                del self._jobs[key]
