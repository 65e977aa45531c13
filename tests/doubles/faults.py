"""The faults that the server double makes up, and which request meets which of them.

Some pass: another attempt may succeed. Others are answers, if unwelcome or odd ones; those that are odd say the same as
any other.

    429 429-seconds 429-date 429-bare   too many requests; Retry-After is 0, 0 or 1 second, such a date, or not there
    500 503                             the server is in trouble, or busy
    hang                                nothing comes, and after HANG seconds the connection is closed
    reset                               the connection breaks in the middle of the answer
    truncated html empty                a whole answer with half of its JSON, with a page of HTML, without any choice
    refusal length toolong              a reply without a score, one that is cut off, a prompt that is too long
    slow plain renamed                  an answer after SLOW seconds, as plain text, by a model of another name
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import formatdate

PASSING = (
    *("429", "429-seconds", "429-date", "429-bare", "500", "503"),
    *("hang", "reset", "truncated", "html", "empty"),
)
FINAL = ("refusal", "length", "toolong")  # answers, if unwelcome ones
ODD = ("slow", "plain", "renamed")  # answers, and good ones
HANG, SLOW = 60.0, 0.25
PAGE = b"<!doctype html><html><title>Please wait</title><p>One moment.</p></html>"
Rates = Sequence[tuple[str, float]]


def chance(*of: object) -> float:
    """Return a number from 0 up to 1 that looks drawn, and is always the same for the same things."""
    return int.from_bytes(hashlib.sha256(json.dumps(of).encode()).digest()[:8], "big") / 2**64


@dataclass(frozen=True, slots=True)
class Faults:
    """Which faults an attempt meets, by their rates.

    Those in `each` are drawn anew for every attempt. Those in `struck` are drawn once for each request, from the seed,
    its key and the kind alone; it meets those that pass one after the other, and is answered then.
    """

    each: Rates = ()
    struck: Rates = ()
    seed: int = 0

    def met(self, key: str, attempt: int) -> tuple[str, ...]:
        """Return one fault that passes, or all that the answer to this attempt (1, 2 …) has."""
        for kind, rate in self.each:
            if chance(key, attempt, kind) < rate:
                return (kind,)
        drawn = [kind for kind, rate in self.struck if chance(self.seed, key, kind) < rate]
        passing = [kind for kind in drawn if kind in PASSING]
        passing.sort(key=lambda kind: chance(self.seed, key, kind, "order"))
        return tuple(passing[attempt - 1 : attempt] or [kind for kind in drawn if kind not in PASSING])

    def retry_after(self, kind: str, key: str) -> dict[str, str]:
        """Return the header that comes with a fault: a wait of a second for a few of the requests, else of none."""
        wait = int(chance(self.seed, key, kind, "wait") < 0.1)
        headers = {
            "429": "0",
            "429-seconds": str(wait),
            "429-date": formatdate(time.time() + wait, usegmt=True),
        }
        return {"Retry-After": headers[kind]} if kind in headers else {}
