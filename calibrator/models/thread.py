"""A thread that does one thing after another for an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")


class Thread:
    """Works off what it is given, in order, until it is closed.

    Not an executor of `concurrent.futures`: these take nothing more once the program ends, when replies are still to
    be written and stores to be closed.
    """

    def __init__(self, name: str) -> None:
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, or raise what it raises."""
        done: Future[T] = Future()
        self._work.put((done, work))
        return await asyncio.wrap_future(done)

    def close(self) -> None:
        """End when all is done that was given so far."""
        self._work.put(None)

    def _run(self) -> None:
        while (given := self._work.get()) is not None:
            done, work = given
            if not done.set_running_or_notify_cancel():
                continue
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)
