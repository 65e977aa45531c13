"""The cap on calls: how it is written, and that it holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from calibrator.errors import BudgetSpent, ConfigError, ModelUnavailable
from calibrator.models.budget import Budget, Budgeted, parse_budget
from calibrator.models.cache import Cached
from calibrator.models.limit import Limited
from calibrator.models.retry import Retrying
from calibrator.models.scripted import ScriptedModel
from calibrator.store import Tally
from tests.doubles.models import Busy, well_behaved
from tests.models.contract import asking


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("2000calls", 2000),
        ("1call", 1),
        ("1calls", 1),
        ("2,000 calls", 2000),
        ("2_000calls", 2000),
        (" 7 calls ", 7),
        ("007calls", 7),
    ],
)
def test_a_number_of_calls(text: str, calls: int) -> None:
    assert parse_budget(text) == calls


@pytest.mark.parametrize(
    "text",
    ",calls,0calls,00 calls,-5calls,+5calls,5,5usd,$5,5.5calls,1e3calls,_5calls,5 calls please,5call s,5 Calls!,٥calls,"
    "calls5,nan calls".split(","),
)
def test_what_is_no_number_of_calls(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--budget: '.*' is no number of calls like 2000calls$") as caught:
        parse_budget(text)
    assert f"'{text}'" in str(caught.value)


def test_exactly_so_many_are_sent() -> None:
    model, budget = ScriptedModel(well_behaved), Budget(1234)

    async def work() -> None:
        budgeted = Budgeted(model, budget)
        for n in range(1234):
            await budgeted.complete(asking(str(n)))
        for _ in range(2):
            with pytest.raises(BudgetSpent, match=r"^the budget of 1,234 calls is spent") as caught:
                await budgeted.complete(asking("one more"))
            assert not caught.value.retryable and caught.value.exit_code == 3

    asyncio.run(work())
    assert len(model.asked) == budget.spent == 1234


def test_many_at_once_do_not_exceed_it() -> None:
    model, budget = Busy(well_behaved), Budget(10)

    async def work() -> list[object]:
        limited = Limited(Budgeted(model, budget), 4)
        return list(
            await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(25)), return_exceptions=True)
        )

    results = asyncio.run(work())
    assert sum(isinstance(result, BudgetSpent) for result in results) == 15
    assert len(model.asked) == budget.spent == 10


def test_a_call_that_failed_is_a_call() -> None:
    model, budget = ScriptedModel(lambda _: ModelUnavailable("busy", 0.0)), Budget(5)
    with pytest.raises(BudgetSpent):
        asyncio.run(Retrying(Budgeted(model, budget)).complete(asking("x")))
    assert len(model.asked) == budget.spent == 5


def test_what_was_in_store_is_no_call(tmp_path: Path) -> None:
    model, budget = ScriptedModel(well_behaved), Budget(1)

    async def work() -> None:
        cached = Cached(Budgeted(model, budget), tmp_path)
        for _ in range(5):
            await cached.complete(asking("x"))
        with pytest.raises(BudgetSpent):
            await cached.complete(asking("y"))
        await cached.close()

    asyncio.run(work())
    assert len(model.asked) == 1


def test_one_budget_is_for_all_models_and_for_what_was_spent_before(tmp_path: Path) -> None:
    earlier = Budget(10, Tally(tmp_path / "calls"))
    for _ in range(7):
        earlier.take()
    models, budget = [ScriptedModel(well_behaved) for _ in range(2)], Budget(10, Tally(tmp_path / "calls"))

    async def work() -> None:
        for n in range(3):
            await Budgeted(models[n % 2], budget).complete(asking(str(n)))
        for model in models:
            with pytest.raises(BudgetSpent):
                await Budgeted(model, budget).complete(asking("x"))

    asyncio.run(work())
    assert [len(model.asked) for model in models] == [2, 1]


def test_no_cap_still_counts() -> None:
    budget = Budget(None)
    for _ in range(1000):
        budget.take()
    assert budget.spent == 1000
