"""What the cache of replies holds, as lines for the terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from calibrator.models.replies import SIZE_VARIABLE, VARIABLE, Kept, ReplyStore
from calibrator.texts import visible


def about(store: ReplyStore) -> str:
    """Return where the store is, what it holds and how large it may become."""
    kept = store.kept()
    replies = f"{sum(k.replies for k in kept):,} replies of {len(kept)} model{'s' if len(kept) != 1 else ''}"
    size = f"{in_words(store.volume())} of at most {in_words(store.limit)}"
    return "\n".join(
        [
            f"folder    {store.folder} (${VARIABLE})",
            f"holds     {replies}",
            f"size      {size} (${SIZE_VARIABLE}); the oldest replies make room",
        ]
    )


def table(kept: Sequence[Kept]) -> Iterator[str]:
    """Yield a line for each model: how many replies, their size, from when to when they were stored."""
    if not kept:
        yield "the cache is empty"
        return
    yield f"{'replies':>10}  {'size':>9}  {'first':10}  {'last':10}  model"
    for k in kept:
        yield f"{k.replies:>10,}  {in_words(k.size):>9}  {_day(k.first)}  {_day(k.last)}  {visible(k.model)}"


def in_words(size: float) -> str:
    """Return a number of bytes in the largest unit that fits."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"
        size /= 1024
    return f"{size:,.1f} GiB"


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(seconds))
