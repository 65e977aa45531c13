"""The cap on what a run may ask for: so many calls, tokens or US dollars, and never more.

Before a call is sent the most that it may take is set aside: its prompt by an upper bound, and the longest reply it
may have. What it took less comes back when the reply is there. Where nothing is left to set aside but calls are under
way, the next one waits for what these give back; only then the budget is spent.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from calibrator.errors import BudgetSpent, ConfigError, ModelError, ModelUnavailable
from calibrator.journal import Outlay, Tally
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.circuit import Circuit
from calibrator.models.prices import Price
from calibrator.records import Usage

Kind = Literal["calls", "tokens", "usd"]
# Tokens that a chat template adds at most: around each message, and once (some have a system prompt of their own).
EACH_MESSAGE, TEMPLATE = 16, 256
NOTHING = Outlay(1, 0, 0.0)  # a call that was not worked on
_FORM = re.compile(
    r"\s*(?P<n>[0-9][0-9_,]{0,15}(?:\.[0-9]+)?)\s*(?P<times>k|m)?\s*(?P<kind>calls?|tok(?:en)?s?|usd)\s*", re.I
)


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be laid out, in calls, tokens (prompts and replies) or US dollars."""

    kind: Kind
    most: float

    def __str__(self) -> str:
        return f"{self.most:,g} US dollars" if self.kind == "usd" else f"{self.most:,.0f} {self.kind}"


def parse_budget(text: str) -> Cap:
    """Return the cap in "2000calls", "100ktok" or "5usd". Raises ConfigError if it is none."""
    match = _FORM.fullmatch(re.sub(r"^\s*\$([0-9.]+)\s*$", r"\1usd", text))
    if match:
        kinds: dict[str, Kind] = {"c": "calls", "t": "tokens", "u": "usd"}
        kind = kinds[match["kind"][0].lower()]
        most = float(re.sub("[_,]", "", match["n"])) * {"k": 1e3, "m": 1e6}.get((match["times"] or "").lower(), 1)
        if most > 0 and (kind == "usd" or most == int(most)):
            return Cap(kind, most)
    raise ConfigError(f"--budget: '{text}' is no cap like 2000calls, 100ktok or 5usd")


def left_of(cap: Cap, spent: Outlay) -> str | None:
    """Return what is left of a cap, in the form that `parse_budget` reads; None if that is nothing."""
    used = {"calls": spent.calls, "tokens": spent.tokens, "usd": spent.usd}[cap.kind]
    left = 0.0 if used is None else cap.most - used
    if left <= 1e-9:
        return None
    return f"{left:.9f}usd" if cap.kind == "usd" else f"{left:.0f}{'calls' if cap.kind == 'calls' else 'tok'}"


def most_tokens(request: ChatRequest) -> Usage:
    """Return the most tokens that a request may take.

    No tokeniser makes more than one token of a byte; a reply has no more than it is given room for.
    """
    prompt = sum(len(m.content.encode("utf-8", "replace")) + EACH_MESSAGE for m in request.messages)
    return Usage(prompt + TEMPLATE, request.sampling.max_tokens)


class Budget:
    """What may be laid out, and what was; one for all models of a run. None is no cap.

    With a `tally` calls of earlier sittings count too; those under way when one was killed count with the most that
    they may have taken.
    """

    def __init__(self, cap: Cap | None, tally: Tally | None = None) -> None:
        self.cap, self._tally = cap, tally
        self.spent = tally.total() if tally is not None else Outlay()
        self._under_way = 0
        self._given_back: asyncio.Event | None = None

    async def take(self, most: Outlay, wanted: Callable[[], None] = lambda: None) -> None:
        """Set aside the most that one call may take, before it is sent. Raises BudgetSpent if it is not left.

        `wanted` is called after each wait and may raise what ends the waiting.
        """
        while not self._left(most):
            if self._under_way == 0:
                raise BudgetSpent(self._told(most))
            self._given_back = self._given_back or asyncio.Event()
            await self._given_back.wait()
            wanted()
        if self._tally is not None:
            self._tally.call(most.tokens, most.usd)
        self._under_way += 1
        self.spent = _sum(self.spent, most)

    def settle(self, most: Outlay, took: Outlay) -> None:
        """Enter what a call took, for which `most` had been set aside."""
        self._under_way -= 1
        if self._given_back is not None:  # whatever becomes of the entry: whoever waits must not wait for ever
            self._given_back.set()
            self._given_back = None
        tokens, usd = took.tokens - most.tokens, _less(took.usd, most.usd)
        if tokens or usd or usd is None:
            if self._tally is not None:
                self._tally.settle(tokens, usd)
            self.spent = _sum(self.spent, Outlay(0, tokens, usd))

    def _left(self, most: Outlay) -> bool:
        if self.cap is None:
            return True
        after = _sum(self.spent, most)
        reached = {"calls": after.calls, "tokens": after.tokens, "usd": after.usd}[self.cap.kind]
        return reached is not None and reached <= self.cap.most * (1 + 1e-12)  # sums of prices are not exact

    def _told(self, most: Outlay) -> str:
        assert self.cap is not None
        if self.cap.kind == "calls":
            return f"the budget of {self.cap} is spent"
        if self.cap.kind == "usd" and self.spent.usd is None:
            return f"the budget of {self.cap}: what earlier calls cost is not known; cap tokens: --budget 500ktok"
        spent, wanted = (
            (f"{self.spent.usd or 0:.4f}", f"{most.usd or 0:.4f}")
            if self.cap.kind == "usd"
            else (f"{self.spent.tokens:,}", f"{most.tokens:,}")
        )
        return f"the budget of {self.cap} is spent: {spent} used, and the next call may take {wanted}"


class Budgeted:
    """Sets aside what every request that is sent may take, repeated ones too; `price` is None where it is unknown.

    A reply whose server counted no tokens, and a request that may have been worked on though no reply came, count with
    the most; such a reply's cost is unknown. A price that the user `said` stands above what the model reckons. When
    `circuit` says that nothing more is wanted, those who wait are sent away.
    """

    def __init__(
        self,
        model: Model,
        budget: Budget,
        price: Price | None = None,
        circuit: Circuit | None = None,
        *,
        said: bool = False,
    ) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._budget, self._price = model, budget, price
        self._circuit, self._said = circuit or Circuit(), said

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. Raises BudgetSpent, and sends nothing, if what it may take is not left."""
        usage = most_tokens(request)
        most = Outlay(1, usage.prompt + usage.completion, self._price.cost(usage) if self._price else 0.0)
        await self._budget.take(most, lambda: self._circuit.require_wanted(self.id))
        took = worst = most if self._price else replace(most, usd=None)
        try:
            reply = await self._model.complete(request)
            if self._price is not None and (reply.cost is None or self._said) and _counted(reply, self._price):
                reply = replace(reply, cost=self._price.cost(reply.usage))
            took = self._took(reply, worst)
            return reply
        except ModelError as error:
            if not (isinstance(error, ModelUnavailable) and error.charged):
                took = NOTHING
            raise
        finally:
            self._budget.settle(most, took)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()

    @staticmethod
    def _took(reply: ChatReply, worst: Outlay) -> Outlay:
        counted = reply.usage.prompt + reply.usage.completion
        if reply.finish == "refused" and not counted:
            return NOTHING
        if not counted:
            return worst
        return Outlay(1, counted, reply.cost)


def _counted(reply: ChatReply, price: Price) -> bool:
    """Whether the cost of a reply is known: its tokens were counted, or none were sent, or all are free."""
    free = price.prompt == price.completion == 0
    return free or reply.finish == "refused" or reply.usage.prompt + reply.usage.completion > 0


def _sum(one: Outlay, other: Outlay) -> Outlay:
    usd = None if one.usd is None or other.usd is None else one.usd + other.usd
    return Outlay(one.calls + other.calls, one.tokens + other.tokens, usd)


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other
