"""The cap on calls: how it is written, and that it holds."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from calibrator.errors import BudgetSpent, ConfigError, ModelUnavailable
from calibrator.journal import Outlay, Tally
from calibrator.models.budget import Budget, Budgeted, Cap, parse_budget
from calibrator.models.cache import Cached
from calibrator.models.limit import Limited
from calibrator.models.retry import Retrying
from calibrator.models.scripted import ScriptedModel
from tests.doubles.models import Busy, well_behaved
from tests.models.contract import asking


@pytest.mark.parametrize(
    ("text", "cap"),
    [
        ("2000calls", Cap("calls", 2000)),
        ("1call", Cap("calls", 1)),
        ("1calls", Cap("calls", 1)),
        ("2,000 calls", Cap("calls", 2000)),
        ("2_000calls", Cap("calls", 2000)),
        (" 7 Calls ", Cap("calls", 7)),
        ("007calls", Cap("calls", 7)),
        ("2kcalls", Cap("calls", 2000)),
        ("100ktok", Cap("tokens", 100_000)),
        ("1.5Mtokens", Cap("tokens", 1_500_000)),
        ("300 tok", Cap("tokens", 300)),
        ("5usd", Cap("usd", 5)),
        ("0.25 USD", Cap("usd", 0.25)),
        ("$5", Cap("usd", 5)),
    ],
)
def test_a_cap(text: str, cap: Cap) -> None:
    assert parse_budget(text) == cap


@pytest.mark.parametrize(
    "text",
    ",calls,0calls,00 calls,-5calls,+5calls,5,0usd,$,5.5calls,1e3calls,_5calls,5 calls please,5call s,5 Calls!,٥calls,"
    "calls5,nan calls,5 eur,1.0000001ktok,$5 usd,usd".split(","),
)
def test_what_is_no_cap(text: str) -> None:
    with pytest.raises(ConfigError, match=r"^--budget: '.*' is no cap like 2000calls, 100ktok or 5usd$") as caught:
        parse_budget(text)
    assert f"'{text}'" in str(caught.value)


def test_exactly_so_many_are_sent() -> None:
    model, budget = ScriptedModel(well_behaved), Budget(Cap("calls", 1234))

    async def work() -> None:
        budgeted = Budgeted(model, budget)
        for n in range(1234):
            await budgeted.complete(asking(str(n)))
        for _ in range(2):
            with pytest.raises(BudgetSpent, match=r"^the budget of 1,234 calls is spent") as caught:
                await budgeted.complete(asking("one more"))
            assert not caught.value.retryable and caught.value.exit_code == 3

    asyncio.run(work())
    assert len(model.asked) == budget.spent.calls == 1234


def test_many_at_once_do_not_exceed_it() -> None:
    model, budget = Busy(well_behaved), Budget(Cap("calls", 10))

    async def work() -> list[object]:
        limited = Limited(Budgeted(model, budget), 4)
        return list(
            await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(25)), return_exceptions=True)
        )

    results = asyncio.run(work())
    assert sum(isinstance(result, BudgetSpent) for result in results) == 15
    assert len(model.asked) == budget.spent.calls == 10


def test_a_call_that_failed_is_a_call() -> None:
    model, budget = ScriptedModel(lambda _: ModelUnavailable("busy")), Budget(Cap("calls", 5))
    with pytest.raises(BudgetSpent):
        asyncio.run(Retrying(Budgeted(model, budget), first=0.001).complete(asking("x")))
    assert len(model.asked) == budget.spent.calls == 5


def test_what_was_in_store_is_no_call(tmp_path: Path) -> None:
    model, budget = ScriptedModel(well_behaved), Budget(Cap("calls", 1))

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
    earlier = Budget(Cap("calls", 10), Tally(tmp_path / "calls"))

    async def before() -> None:
        for _ in range(7):
            await earlier.take(Outlay(1, 10, None))

    asyncio.run(before())
    models, budget = [ScriptedModel(well_behaved) for _ in range(2)], Budget(Cap("calls", 10), Tally(tmp_path / "calls"))

    async def work() -> None:
        for n in range(3):
            await Budgeted(models[n % 2], budget).complete(asking(str(n)))
        for model in models:
            with pytest.raises(BudgetSpent):
                await Budgeted(model, budget).complete(asking("x"))

    asyncio.run(work())
    assert [len(model.asked) for model in models] == [2, 1]


def test_no_cap_still_counts() -> None:
    model, budget = ScriptedModel(well_behaved), Budget(None)

    async def work() -> None:
        for n in range(1000):
            await Budgeted(model, budget).complete(asking(str(n)))

    asyncio.run(work())
    assert budget.spent.calls == 1000
    assert budget.spent.tokens == sum(u.prompt + u.completion for u in (well_behaved(r).usage for r in model.asked))
    assert budget.spent.usd == pytest.approx(1.0)
