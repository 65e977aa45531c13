"""The synchronous face of a model: order, errors, interruptions, and the end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from calibrator.errors import BudgetSpent, ModelError
from calibrator.journal import Journal, Outlay, Tally
from calibrator.models.base import ChatReply, ChatRequest
from calibrator.models.budget import Cap
from calibrator.models.build import Access, Connections
from calibrator.models.client import Client, Portal
from calibrator.models.recorded import Recorded
from calibrator.models.scripted import ScriptedModel
from tests.conftest import ROOT
from tests.doubles.models import Busy, well_behaved
from tests.doubles.server import serving
from tests.models.contract import asking

REQUESTS = [asking(str(n)) for n in range(25)]


@pytest.fixture
def portal() -> Iterator[Portal]:
    opened = Portal()
    yield opened
    opened.close()


@pytest.mark.parametrize("width", [1, 4, 100])
def test_replies_come_in_the_order_of_the_requests(portal: Portal, width: int) -> None:
    model = Busy(well_behaved)
    replies = Client(model, portal, width).ask(REQUESTS)
    assert replies == tuple(well_behaved(request) for request in REQUESTS)
    assert model.most == min(width, 25)
    assert width == 1 or model.asked != REQUESTS  # else they had come in this order anyway


def test_nothing_asked_nothing_answered(portal: Portal) -> None:
    assert Client(Busy(well_behaved), portal, 4).ask([]) == ()


def test_each_reply_is_told_once_as_it_arrives(portal: Portal) -> None:
    told: list[tuple[int, ChatReply]] = []
    model = Busy(well_behaved)
    Client(model, portal, 4).each(iter(REQUESTS), lambda place, reply: told.append((place, reply)))
    assert [REQUESTS[place] for place, _ in told] == model.asked
    assert dict(told) == dict(enumerate(map(well_behaved, REQUESTS))) and len(told) == 25


def test_requests_are_taken_when_there_is_room_for_them(portal: Portal) -> None:
    taken: list[int] = []
    open_: list[int] = []

    def requests() -> Iterator[ChatRequest]:
        for n, request in enumerate(REQUESTS):
            taken.append(n)
            open_.append(len(taken) - len(answered))
            yield request

    answered: list[int] = []
    Client(Busy(well_behaved), portal, 3).each(requests(), lambda place, _: answered.append(place))
    assert taken == list(range(25)) == sorted(answered)
    assert max(open_) == 3


def test_the_same_connection_serves_several_calls(portal: Portal) -> None:
    client = Client(Busy(well_behaved), portal, 4)
    assert client.ask(REQUESTS) == client.ask(REQUESTS)
    assert client.id == "scripted/double"


@pytest.mark.parametrize("error", [ModelError("no"), BudgetSpent("no"), AssertionError("no")], ids=repr)
def test_after_an_error_nothing_more_is_sent_and_what_is_under_way_is_kept(
    portal: Portal, tmp_path: Path, error: Exception
) -> None:
    """Four are sent at once; the last of them, which is answered first, fails."""
    model = Busy(lambda request: error if request == REQUESTS[3] else well_behaved(request))
    told: list[int] = []
    client = Client(Recorded(model, Journal(tmp_path / "journal")), portal, 4)
    with pytest.raises(type(error), match="no"):
        client.each(REQUESTS, lambda place, _: told.append(place))
    assert sorted(map(REQUESTS.index, model.asked)) == [0, 1, 2, 3]
    assert sorted(told) == [0, 1, 2]
    assert len(Journal(tmp_path / "journal")) == 3


def test_the_first_of_several_errors_is_raised(portal: Portal) -> None:
    model = Busy(lambda request: ModelError(request.messages[0].content))
    with pytest.raises(ModelError, match=r"^3$"):
        Client(model, portal, 4).ask(REQUESTS)


def test_it_works_where_a_loop_is_running_already() -> None:
    """As in a notebook."""

    async def cell() -> tuple[ChatReply, ...]:
        portal = Portal()
        try:
            return Client(Busy(well_behaved), portal, 4).ask(REQUESTS[:3])
        finally:
            portal.close()

    assert len(asyncio.run(cell())) == 3


def test_several_threads_may_ask_at_once(portal: Portal) -> None:
    client, heard = Client(Busy(well_behaved), portal, 4), []
    threads = [threading.Thread(target=lambda: heard.append(client.ask(REQUESTS))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert heard == [tuple(map(well_behaved, REQUESTS))] * 4


def test_a_portal_may_be_closed_twice_and_ends_its_thread() -> None:
    before = threading.active_count()
    portal = Portal()
    assert threading.active_count() == before + 1
    for _ in range(2):
        portal.close()
        assert threading.active_count() == before


def test_what_is_still_running_is_cancelled_at_the_end() -> None:
    portal, model, ended = Portal(), Busy(well_behaved), threading.Event()

    async def forever() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # tidying up may take turns of the loop
            ended.set()

    async def begin() -> None:
        model.task = asyncio.ensure_future(forever())
        await asyncio.sleep(0)

    portal.run(begin())
    portal.close()
    assert ended.is_set()


INTERRUPTED = r"""
import asyncio, os, sys, threading
from pathlib import Path
from calibrator.models.client import Client, Portal
from calibrator.models.recorded import Recorded
from calibrator.journal import Journal, Tally
from tests.doubles.models import Busy, well_behaved
from tests.models.test_client import REQUESTS

class Slow(Busy):
    async def complete(self, request):
        if request != REQUESTS[5]:
            return await super().complete(request)
        print("waiting", flush=True)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            os.write(1, b"cancelled\n")  # in one piece, whatever the other thread writes
            raise

portal = Portal()
client = Client(Recorded(Slow(well_behaved), Journal(Path(sys.argv[1]))), portal, 1)
try:
    client.ask(REQUESTS)
except KeyboardInterrupt:
    os.write(1, b"interrupted\n")
client.close()
portal.close()
print("closed", threading.active_count())
"""


def test_ctrl_c_cancels_what_is_under_way_and_keeps_what_has_come(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "journal")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        said, problems = process.communicate(timeout=30)
    assert (process.returncode, problems) == (0, "")
    assert sorted(said.splitlines()) == ["cancelled", "closed 1", "interrupted"]
    assert len(Journal(tmp_path / "journal")) == 5


# --- with all their wrappers -----------------------------------------------------------------------------------------


def test_ctrl_c_waits_a_little_for_what_is_paid_for(tmp_path: Path) -> None:
    """Replies that were under way are in the journal; nothing more is sent."""
    with serving(tmp_path / "log", "--delay", "1") as double:
        command = [sys.executable, "-c", STOPPED, f"{double.url}#double", str(tmp_path / "journal")]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while len(double.asked()) < 4:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            said, problems = process.communicate(timeout=30)
        assert (process.returncode, said, problems) == (0, "interrupted\n", "")
        assert len(double.asked()) == len(double.answered()) == 4
    assert len(Journal(tmp_path / "journal")) == 4


STOPPED = """
import sys
from pathlib import Path
from calibrator.journal import Journal
from calibrator.models.build import Access, Connections
from tests.models.test_client import REQUESTS

with Connections(Access(width=4), Journal(Path(sys.argv[2]))) as connections:
    try:
        connections.client(sys.argv[1]).ask(REQUESTS)
    except KeyboardInterrupt:
        print("interrupted")
"""


def test_a_run_that_is_taken_up_again_sends_what_is_missing_and_no_more(tmp_path: Path) -> None:
    journal, tally = tmp_path / "journal", Tally(tmp_path / "calls")
    with serving(tmp_path / "log", "--fail", "429:0.2") as double:
        name = f"{double.url}#double"
        with Connections(Access(width=4, cap=Cap("calls", 10), first=0.01), Journal(journal), tally=tally) as first:
            with pytest.raises(BudgetSpent):
                first.client(name).ask(REQUESTS)
            assert first.outlay.calls == 10
        with Connections(Access(width=4, cap=Cap("calls", 100), first=0.01), Journal(journal), tally=tally) as second:
            assert second.outlay.calls == 10 == len(double.asked())  # failed tries count, though no journal has them
            whole = second.client(name).ask(REQUESTS)
            assert second.client(name) is second.client(name)
        kept = len(double.asked())
        with Connections(Access(cap=Cap("calls", 1)), Journal(journal)) as third:
            assert third.client(name).ask(REQUESTS) == whole
        assert len(double.asked()) == kept
    assert sorted(double.answered()) == sorted(set(double.answered())) and len(double.answered()) == 25


def test_the_cache_serves_another_run(tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    with serving(tmp_path / "log") as double:
        name = f"{double.url}#double"
        for _ in range(2):
            told = lambda model, spent: heard.append((model, spent.replies, spent.calls))  # noqa: E731
            with Connections(Access(width=2, cache=tmp_path / "cache"), told=told) as connections:
                connections.client(name).ask(REQUESTS)
    assert heard[24] == (name, 25, 25) and heard[49] == (name, 25, 0)
    assert len(double.asked()) == 25


def test_connections_may_be_closed_twice_and_without_having_been_used() -> None:
    connections = Connections(Access())
    connections.close()
    connections.close()
    assert connections.outlay == Outlay()


def test_a_request_that_nobody_was_told_about_is_an_error(portal: Portal) -> None:
    def script(request: ChatRequest) -> None:
        return None

    with pytest.raises(AssertionError, match="nobody told the double"):
        Client(ScriptedModel(script), portal, 2).ask(REQUESTS)
