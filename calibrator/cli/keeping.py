"""What lies beside a file while a model works on it, and what was used for it; for `score` and `generate`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from calibrator.models.recorded import Spent
from calibrator.store import Run

KEPT = "nothing is lost: the same command goes on with the replies that came"


@contextmanager
def kept_until_done(part: Run) -> Iterator[Run]:
    """Hold the folder of a file that is being scored; what it was made for is removed when that is done.

    After an error it stays, if there is a reply in it.
    """
    files = [part.journal().path, part.folder / "calls"]
    try:
        with part.held():
            yield part
            for path in files:
                path.unlink(missing_ok=True)
    finally:
        if not any(path.exists() and path.stat().st_size for path in files):
            with suppress(OSError):  # something else lies in it, and is not ours
                files[0].unlink(missing_ok=True)
                part.folder.rmdir()


def told_spent(spent: Spent) -> str:
    """Return what a model was used for, in words."""
    cost = "price not known" if spent.cost is None else f"{spent.cost:.4f} US dollars"
    tokens = f"{spent.prompt:,} prompt tokens, {spent.completion:,} written"
    return f"{spent.replies:,} replies, {spent.calls:,} calls made; {tokens}; {cost}"
