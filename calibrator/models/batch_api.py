"""What OpenAI's Batch API is asked: to take a file of requests, how far it is, and for the replies.

Faults that may pass are waited out with growing pauses, for as long as it takes: a batch has a day.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from calibrator.errors import ModelError, ModelUnavailable
from calibrator.models.openai_client import KEY, OpenAIClient
from calibrator.models.wire import told

T = TypeVar("T")
ENDPOINT, MARK = "/v1/chat/completions", "calibrator"  # of the requests; the key of a batch's metadata
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
LONGEST, PATIENCE = 300.0, 1800.0  # seconds of a pause; and of nothing but faults, after which a run is stopped
SKEW = 86_400  # seconds by which clocks may differ, at most


class Gone(ModelError):  # noqa: N818 - says what is the matter
    """A batch or a file that the server does not know, or not any more."""


@dataclass(frozen=True, slots=True)
class State:
    """How far a batch is: its status, how many requests are done (`failed` among them), its files, what is wrong."""

    batch: str
    status: str
    done: int
    total: int
    files: tuple[str, ...]
    problem: str

    def __str__(self) -> str:
        return f"{self.batch}: {self.status}, {self.done:,} of {self.total:,} done"

    @property
    def crowded(self) -> bool:
        """Whether it was turned down only because too many tokens are waiting already."""
        return self.status == "failed" and "token_limit_exceeded" in self.problem


@dataclass(frozen=True, slots=True)
class Line:
    """The answer to one request of a batch; the status is 0 where there is an error instead of an answer."""

    status: int
    raw: bytes


class BatchApi:
    """The Batch API; `tell` hears when it does not answer. Everything raises ModelError for faults that stay."""

    def __init__(self, client: OpenAIClient, poll: float, tell: Callable[[str], None]) -> None:
        self._client, self._poll, self._tell = client, poll, tell
        self._silent: float | None = None  # since when there were nothing but faults

    async def submit(self, mark: str, lines: bytes, since: float) -> str:
        """Return the id of a new batch of these requests; `mark` is how it is found again, from `since` on."""
        upload = await self._patiently(lambda: self._upload(mark, lines))
        pause = self._poll
        while True:
            try:
                return str((await self._create(mark, upload))["id"])
            except ModelUnavailable as error:
                pause = await self._pause(error, pause)
            # It may have been made though no answer came.
            if (found := await self.find(mark, since)) is not None:
                return found

    async def find(self, mark: str, since: float) -> str | None:
        """Return the id of the batch with a mark that was made since then, None if there is none."""
        after: str | None = None
        while True:
            page = await self._patiently(lambda cursor=after: self._page(cursor))  # type: ignore[misc]
            batches = [b for b in page.get("data") or () if isinstance(b, dict)]
            for batch in batches:
                if (batch.get("metadata") or {}).get(MARK) == mark:
                    return str(batch["id"])
            if not batches or not page.get("has_more") or batches[-1].get("created_at", 0) < since - SKEW:
                return None
            after = str(batches[-1]["id"])

    async def state(self, batch: str) -> State:
        """Return how far a batch is."""
        found = await self._patiently(lambda: self._json(lambda c: c.batches.with_raw_response.retrieve(batch)))
        counts = found.get("request_counts") or {}
        errors = [e for e in (found.get("errors") or {}).get("data") or () if isinstance(e, dict)]
        files = (found.get("output_file_id"), found.get("error_file_id"))
        return State(
            batch,
            str(found.get("status")),
            int(counts.get("completed") or 0) + int(counts.get("failed") or 0),
            int(counts.get("total") or 0),
            tuple(str(file) for file in files if file),
            "; ".join(told(json.dumps({"error": e}).encode()) for e in errors[:3]) or "no explanation",
        )

    async def lines(self, state: State) -> dict[str, Line]:
        """Return the answers in the files of a batch by `custom_id`; their order means nothing."""
        found: dict[str, Line] = {}
        for file in state.files:
            raw = await self._patiently(lambda name=file: self._content(name))  # type: ignore[misc]
            for name, line in _lines_in(raw):
                if name not in found or line.status == 200:
                    found[name] = line
        return found

    async def _upload(self, mark: str, lines: bytes) -> str:
        file = (f"{MARK}-{mark}.jsonl", lines)
        made = await self._json(lambda c: c.files.with_raw_response.create(file=file, purpose="batch"))
        return str(made["id"])

    async def _create(self, mark: str, file: str) -> Mapping[str, Any]:
        return await self._json(
            lambda c: c.batches.with_raw_response.create(
                input_file_id=file, endpoint=ENDPOINT, completion_window="24h", metadata={MARK: mark}
            )
        )

    async def _page(self, after: str | None) -> Mapping[str, Any]:
        more = {"after": after} if after else {}
        return await self._json(lambda c: c.batches.with_raw_response.list(limit=100, **more), "data")

    async def _content(self, file: str) -> bytes:
        return await self._raw(lambda c: c.files.with_raw_response.content(file))

    async def _json(self, call: Callable[[Any], Awaitable[Any]], wanted: str = "id") -> Mapping[str, Any]:
        raw = await self._raw(call)
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or wanted not in found:
            raise ModelUnavailable(self._client.named("the answer about a batch is not to be understood"))
        return found

    async def _raw(self, call: Callable[[Any], Awaitable[Any]]) -> bytes:
        answer = await self._client.ask(call)
        if answer.status == 404:
            hint = f"batches are known only to the account that made them (${KEY})"
            raise Gone(self._client.named(f"HTTP 404: {told(answer.raw)}; {hint}"))
        if answer.status != 200:
            self._client.reply(answer)  # raises, but for what would be a refusal
            raise ModelError(self._client.named(f"HTTP {answer.status}: {told(answer.raw)}"))
        self._silent = None
        return answer.raw

    async def _patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        pause = self._poll
        while True:
            try:
                return await ask()
            except ModelUnavailable as error:
                pause = await self._pause(error, pause)

    async def _pause(self, error: ModelUnavailable, pause: float) -> float:
        """Wait, and return how long to wait the next time. Raises ModelError if that has been in vain for long."""
        now = asyncio.get_running_loop().time()
        self._silent = self._silent or now
        if now - self._silent > PATIENCE:
            minutes = f"no answer for {PATIENCE / 60:.0f} minutes"
            raise ModelError(f"{error}; {minutes}; what was sent goes on at the server, and is fetched by going on")
        wait = min(max(pause, error.retry_after or 0.0), LONGEST)
        self._tell(f"{error}; asked again in {wait:.0f} s")
        await asyncio.sleep(wait)
        return min(2 * pause, LONGEST)


def _lines_in(raw: bytes) -> Iterator[tuple[str, Line]]:
    """Yield each answer in a file with the `custom_id` it is to; what cannot be read counts as missing."""
    for text in raw.split(b"\n"):  # only there: other ends of lines may stand in a reply
        try:
            line = json.loads(text)
            name, response = line["custom_id"], line.get("response")
            if response:
                yield str(name), Line(int(response["status_code"]), json.dumps(response.get("body")).encode())
            else:
                yield str(name), Line(0, json.dumps({"error": line.get("error") or "no explanation"}).encode())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
