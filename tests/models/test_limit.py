"""No more in flight than was allowed, and no fewer than there could be."""

from __future__ import annotations

import asyncio

import pytest

from calibrator.errors import ModelError
from calibrator.models.limit import Limited
from tests.doubles.models import Busy, until, well_behaved
from tests.models.contract import asking


@pytest.mark.parametrize(("width", "most"), [(1, 1), (3, 3), (16, 16), (100, 30)])
def test_no_more_than_the_width_and_no_fewer(width: int, most: int) -> None:
    async def work() -> int:
        model = Busy(well_behaved)
        limited = Limited(model, width)
        replies = await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(30)))
        assert len(replies) == len(model.asked) == 30
        return model.most

    assert asyncio.run(work()) == most


def test_an_error_or_a_cancelled_request_gives_its_place_back() -> None:
    async def work() -> None:
        broken = Limited(Busy(lambda _: ModelError("no")), 2)
        for _ in range(5):
            with pytest.raises(ModelError):
                await broken.complete(asking("x"))

        model = Busy(well_behaved)
        limited = Limited(model, 2)
        model.gate.clear()
        held = [asyncio.ensure_future(limited.complete(asking(str(n)))) for n in range(6)]
        await until(lambda: model.in_flight == 2)
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)
        model.gate.set()
        async with asyncio.timeout(10):
            await asyncio.gather(*(limited.complete(asking(str(n))) for n in range(6)))
        assert model.most == 2

    asyncio.run(work())
