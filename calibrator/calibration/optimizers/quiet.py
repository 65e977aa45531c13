"""DSPy prints items, draws bars and leaves threads; within these bounds it does not, and all is as before."""

from __future__ import annotations

import contextlib
import io
import logging
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from typing import IO, Any

LOGGERS = ("dspy", "gepa", "optuna")
POOL = "ThreadPoolExecutor"  # how the threads of pools are called
GRACE = 30.0  # seconds in which threads of the call may end


class _Mute(io.TextIOBase):
    """Swallows what is written to it; rich, which draws our own progress, is told where to write instead."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__()
        self.rich_proxied_file = getattr(stream, "rich_proxied_file", stream)
        self._stream = stream

    def write(self, text: str) -> int:
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Let nothing of DSPy's reach the terminal or a log: its messages hold texts of items."""
    import tqdm

    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    watched = tqdm.tqdm.monitor_interval
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(_Mute(sys.stdout)),
        contextlib.redirect_stderr(_Mute(sys.stderr)),
    ):
        warnings.simplefilter("ignore")
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        tqdm.tqdm.monitor_interval = 0  # else a thread of tqdm's lives on
        try:
            yield
        finally:
            tqdm.tqdm.monitor_interval = watched
            for name, level in levels.items():
                logging.getLogger(name).setLevel(level)


@contextlib.contextmanager
def no_threads_left() -> Iterator[None]:
    """Wait for the threads of pools that were begun meanwhile: DSPy shuts its pools down without waiting."""
    before = set(threading.enumerate())
    try:
        yield
    finally:
        until = time.monotonic() + GRACE
        for thread in set(threading.enumerate()) - before:
            if thread.name.startswith(POOL):
                thread.join(max(0.0, until - time.monotonic()))


@contextlib.contextmanager
def settled(**settings: Any) -> Iterator[None]:
    """Run DSPy with `settings`, without its history of all that was asked, which holds texts of items."""
    import dspy

    with dspy.context(disable_history=True, track_usage=False, **settings):
        yield
