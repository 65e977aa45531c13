"""The cap on what a run may ask for."""

from __future__ import annotations

import re

from calibrator.errors import BudgetSpent, ConfigError
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.store import Tally


def parse_budget(text: str) -> int:
    """Return the number of calls in "2000calls". Raises ConfigError if it is none."""
    match = re.fullmatch(r"\s*([0-9][0-9_,]{0,15})\s*calls?\s*", text)
    calls = int(re.sub("[_,]", "", match[1])) if match else 0
    if calls < 1:
        raise ConfigError(f"--budget: '{text}' is no number of calls like 2000calls")
    return calls


class Budget:
    """How many calls may be made, and how many were; one for all models of a run. None is no cap.

    With a `tally` calls of earlier sittings count too, also those that were under way when one was killed.
    """

    def __init__(self, calls: int | None, tally: Tally | None = None) -> None:
        self.calls, self._tally = calls, tally
        self.spent = tally.count() if tally is not None else 0

    def take(self) -> None:
        """Count one call before it is sent. Raises BudgetSpent if there is none left."""
        if self.calls is not None and self.spent >= self.calls:
            raise BudgetSpent(f"the budget of {self.calls:,} calls is spent")
        if self._tally is not None:
            self._tally.add()
        self.spent += 1


class Budgeted:
    """Takes a call from the budget for every request that is sent, repeated ones too."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self.id, self.identity = model.id, model.identity
        self._model, self._budget = model, budget

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the reply to one request. Raises BudgetSpent, and sends nothing, if no call is left."""
        self._budget.take()
        return await self._model.complete(request)

    async def close(self) -> None:
        """Close the model."""
        await self._model.close()
