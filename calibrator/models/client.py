"""The synchronous face of a model, for judges and drafters: ask many things at once and wait for all replies."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from calibrator.errors import ModelError, ModelUnfit
from calibrator.models.base import NEED_LOGPROBS, ChatReply, ChatRequest, Model, Sampling
from calibrator.models.circuit import Circuit
from calibrator.records import Message

T = TypeVar("T")
Told = Callable[[int, ChatReply], None]
GRACE = 5.0  # seconds after Ctrl-C in which replies that are under way, and paid for, may still come
BREATH = 32  # requests after which a worker lets the others run
PROBED = 16  # tokens of the reply to a probe
PROBE = (Message("user", "Reply with one number from 1 to 5 and nothing else."),)


class Portal:
    """An event loop in a thread of its own, so that plain code can wait for models.

    Not `asyncio.run`: in a notebook a loop is running already, and connections should outlive a call.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calibrator-models", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T], stop: Callable[[], None] | None = None) -> T:
        """Return what `work` returns; whatever interrupts the waiting (Ctrl-C) cancels it.

        With `stop`, which asks the work to come to its end, it is given `GRACE` seconds for that; a second Ctrl-C does
        not wait for them.
        """
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException as error:
            if stop is not None and isinstance(error, KeyboardInterrupt):
                self._loop.call_soon_threadsafe(stop)
                with contextlib.suppress(Exception, KeyboardInterrupt):
                    future.result(GRACE)
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what is still running and end the thread. May be called twice."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


class Client:
    """Asks one model through a portal, at most `width` requests at a time; `circuit` is that of the model's retries."""

    def __init__(self, model: Model, portal: Portal, width: int, circuit: Circuit | None = None) -> None:
        self.model, self._portal, self._width = model, portal, width
        self._circuit = circuit
        self._probed: set[int] = set()

    @property
    def id(self) -> str:
        """The model's name."""
        return self.model.id

    def ask(self, requests: Sequence[ChatRequest]) -> tuple[ChatReply, ...]:
        """Return the replies in the order of the requests. See `each`."""
        replies: dict[int, ChatReply] = {}
        self.each(requests, replies.__setitem__)
        return tuple(replies[place] for place in range(len(requests)))

    def each(self, requests: Iterable[ChatRequest], told: Told) -> None:
        """Ask everything; `told` hears of each reply, with the place of its request, as it arrives.

        Requests are taken from the iterable when there is room for them, so that thousands need not lie ready. After
        an error nothing more is sent, what is under way is waited for (it is paid for), and the error is raised; after
        Ctrl-C it is waited for a few seconds.
        """
        errors: list[Exception] = []

        def stop() -> None:
            errors.append(ModelError(f"{self.id}: stopped"))
            if self._circuit is not None:
                self._circuit.halt()

        self._portal.run(self._each(iter(requests), told, errors), stop)

    def require_logprobs(self, alternatives: int) -> None:
        """Ask for one word and see that its log-probabilities come too; once, before anything else is spent.

        Raises ModelUnfit if they do not: some servers refuse them, others leave them out without a word.
        """
        if alternatives in self._probed:
            return
        reply = self.ask([ChatRequest(PROBE, Sampling(max_tokens=PROBED), logprobs=alternatives)])[0]
        if not any(len(token.top) > 1 for token in reply.tokens):
            given = "no alternatives to its tokens" if reply.tokens else "no log-probabilities"
            given = given if reply.text else "an empty reply and no log-probabilities"
            raise ModelUnfit(f"{self.id}: the server gives {given}, as one request shows; {NEED_LOGPROBS}")
        self._probed.add(alternatives)

    def close(self) -> None:
        """Close the model."""
        self._portal.run(self.model.close())

    async def _each(self, requests: Iterator[ChatRequest], told: Told, errors: list[Exception]) -> None:
        waiting, workers = enumerate(requests), 1
        if self._circuit is not None:
            self._circuit.begin()

        async def work() -> None:
            nonlocal workers
            begun = False
            try:
                for place, request in waiting:
                    if errors:
                        return
                    if not begun:
                        begun = True  # so that there are not many more workers than requests
                        more = min(2, self._width - workers)
                        workers += more
                        for _ in range(more):
                            group.create_task(work())
                    told(place, await self.model.complete(request))
                    if place % BREATH == 0:
                        await asyncio.sleep(0)  # replies from a store come without waiting: let others run
            except Exception as error:
                errors.append(error)
                if self._circuit is not None:
                    self._circuit.halt()

        async with asyncio.TaskGroup() as group:
            group.create_task(work())
        if errors:
            raise errors[0]
