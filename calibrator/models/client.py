"""The synchronous face of a model, for judges and drafters: ask many things at once and wait for all replies."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from calibrator.models.base import ChatReply, ChatRequest, Model

T = TypeVar("T")
Told = Callable[[int, ChatReply], None]


class Portal:
    """An event loop in a thread of its own, so that plain code can wait for models.

    Not `asyncio.run`: in a notebook a loop is running already, and connections should outlive a call.
    """

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="calibrator-models", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns; whatever interrupts the waiting (Ctrl-C) cancels it."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
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
    """Asks one model through a portal, at most `width` requests at a time."""

    def __init__(self, model: Model, portal: Portal, width: int) -> None:
        self.model, self._portal, self._width = model, portal, width

    @property
    def id(self) -> str:
        """The model's name."""
        return self.model.id

    def ask(self, requests: Sequence[ChatRequest], told: Told | None = None) -> tuple[ChatReply, ...]:
        """Return the replies in the order of the requests; `told` hears of each as it arrives.

        After an error nothing more is sent, what is under way is waited for (it is paid for), and the error is raised.
        """
        return self._portal.run(_ask_all(self.model, requests, self._width, told))

    def close(self) -> None:
        """Close the model."""
        self._portal.run(self.model.close())


async def _ask_all(
    model: Model, requests: Sequence[ChatRequest], width: int, told: Told | None
) -> tuple[ChatReply, ...]:
    replies: list[ChatReply | None] = [None] * len(requests)
    waiting = iter(enumerate(requests))
    errors: list[Exception] = []

    async def work() -> None:
        for place, request in waiting:
            if errors:
                return
            try:
                replies[place] = reply = await model.complete(request)
            except Exception as error:
                errors.append(error)
                return
            if told is not None:
                told(place, reply)

    await asyncio.gather(*(work() for _ in range(min(width, len(requests)))))
    if errors:
        raise errors[0]
    return tuple(reply for reply in replies if reply is not None)
