"""From names to clients: each model with its wrappers around it, all behind one portal."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from calibrator.errors import ConfigError
from calibrator.journal import Journal, Outlay, Tally
from calibrator.models.base import ChatReply, ChatRequest, Model
from calibrator.models.budget import Budget, Budgeted, Cap, parse_budget
from calibrator.models.cache import Cached
from calibrator.models.circuit import PATIENCE, Circuit
from calibrator.models.client import Client, Portal
from calibrator.models.limit import Limited, Timed
from calibrator.models.names import levels, open_model
from calibrator.models.prices import Price, parse_price, price_for
from calibrator.models.rate import Paced
from calibrator.models.recorded import Recorded, Spent
from calibrator.models.retry import FIRST, Retrying

DEADLINE = 600.0  # seconds for a request; a long queue at a small server takes its time
BATCHED = 50_000  # requests that may wait for a batch
GATHER = 1.0  # seconds without a request before a batch is sent: retries, too, come within them


@dataclass(frozen=True, slots=True)
class Access:
    """How models may be used.

    `width` is the most requests that may be in flight (None: what suits the model, found by trying), `cap` the budget
    (None: no cap), `cache` the folder of stored replies (None: no cache), `rpm` and `tpm` the requests and tokens that
    may be sent in a minute, `deadline` the seconds that a request may take. `price` is what the models cost, whatever a
    table says; `arguments` go to a model in this process (vllm-local/, transformers/); `batch` asks OpenAI's
    models through its Batch API.
    `first` is the first pause, in seconds, before a request is sent again; `patience` the seconds of nothing but
    faults after which a server is taken for gone.
    """

    width: int | None = None
    cap: Cap | None = None
    cache: Path | None = None
    rpm: float | None = None
    tpm: float | None = None
    deadline: float = DEADLINE
    price: Price | None = None
    arguments: Mapping[str, str] = field(default_factory=dict)
    batch: bool = False
    first: float = FIRST
    patience: float = PATIENCE

    def __post_init__(self) -> None:
        """Raise ConfigError, which names the option, for a number that would let nothing through."""
        given = {"--concurrency": self.width, "--rpm": self.rpm, "--tpm": self.tpm, "--timeout": self.deadline}
        for option, number in given.items():
            if number is not None and not (0 < number < math.inf):
                raise ConfigError(f"{option}: {number:g} is no number above 0")


def make_access(
    cache: Path | None,
    *,
    budget: str | None = None,
    concurrency: int | None = None,
    rpm: float | None = None,
    tpm: float | None = None,
    timeout: float | None = None,
    price: str | None = None,
    model_arg: Mapping[str, str] | None = None,
    batch: bool = False,
) -> Access:
    """Return how models may be used, from the options of these names. Raises ConfigError for one that is none."""
    return Access(
        width=concurrency,
        cap=parse_budget(budget) if budget is not None else None,
        cache=cache,
        rpm=rpm,
        tpm=tpm,
        deadline=DEADLINE if timeout is None else timeout,
        price=parse_price(price) if price is not None else None,
        arguments=model_arg or {},
        batch=batch,
    )


def check_price(name: str, access: Access) -> None:
    """Raise ConfigError if the budget is in dollars and the price of a model is not known."""
    if access.cap is not None and access.cap.kind == "usd" and price_for(name, access.price) is None:
        more = "give it, in dollars a million tokens of prompt/reply: --price 0.15/0.60"
        raise ConfigError(f"--budget: the price of {name} is not known; {more}; or cap tokens: --budget 500ktok")


class Connections:
    """The models of one piece of work; a context manager, at whose end servers and connections are closed.

    Around each model stand, from the outside in: the run's journal, the cache, retries, the limit on what is in flight,
    the limits by the minute, the budget, the deadline. So a stored reply costs no call, and a pause before another try
    holds nobody up.
    """

    def __init__(
        self,
        access: Access,
        journal: Journal | None = None,
        told: Callable[[str, Spent], None] | None = None,
        tally: Tally | None = None,
        news: Callable[[str], None] | None = None,
    ) -> None:
        """`told` hears, after each reply, which model gave it and what that model was used for so far.

        `news` hears in a line what becomes of batches. `tally` counts what calls took across the sittings of a run.
        Raises RunError if it is damaged.
        """
        self._access, self._journal, self._told, self._tally = access, journal, told, tally
        self._news = news
        self._budget = Budget(access.cap, tally)
        self._portal: Portal | None = None
        self._models: dict[str, Recorded] = {}
        self._clients: dict[str, Client] = {}

    def client(self, name: str) -> Client:
        """Return the client of a model, the same for the same name.

        Raises what `open_model` raises, and ConfigError if the budget is in dollars and the model's price not known.
        """
        if name not in self._clients:
            access, circuit = self._access, Circuit(self._access.patience)
            most, start = levels(name, access.width)
            if access.batch:
                most = start = BATCHED
            model = Recorded(self._wrapped(name, most, start, circuit), self._journal, self._tell(name))
            self._models[name] = model
            self._portal = self._portal or Portal()
            # Twice as many as are in flight: some wait for another try, and their places are not left empty.
            self._clients[name] = Client(model, self._portal, 2 * most, circuit)
        return self._clients[name]

    @property
    def spent(self) -> dict[str, Spent]:
        """What each model was used for so far."""
        return {name: recorded.spent for name, recorded in self._models.items()}

    @property
    def outlay(self) -> Outlay:
        """What calls took since the work began, at most; with a tally, earlier sittings included."""
        return self._budget.spent

    def close(self) -> None:
        """End servers and connections. May be called twice."""
        if self._portal is not None:
            portal, self._portal = self._portal, None
            with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:  # each, whatever befalls one
                stack.callback(portal.close)
                for client in self._clients.values():
                    stack.callback(client.close)
        if self._tally is not None:
            self._tally.close()
        self._clients = {}

    def __enter__(self) -> Connections:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wrapped(self, name: str, most: int, start: int, circuit: Circuit) -> Model:
        access = self._access
        check_price(name, access)
        price = price_for(name, access.price)
        model = open_model(name, most, access.arguments)
        if name.startswith("replay/"):
            return model  # nothing is sent, so nothing counts, waits or is kept again
        if access.batch:
            model = self._batched(name, circuit)
            price = price and price.halved()
        else:
            model = Timed(model, access.deadline)
        model = Budgeted(model, self._budget, price, circuit, said=access.price is not None)
        if access.rpm or access.tpm:
            model = Paced(model, access.rpm, access.tpm, circuit)
        model = Retrying(Limited(model, most, start, circuit), first=access.first, circuit=circuit)
        if access.cache is None:
            return model
        return Cached(model, access.cache, self._note(name) if self._journal is not None else None)

    def _batched(self, name: str, circuit: Circuit) -> Model:
        from calibrator.models.batch import BatchModel

        model = BatchModel(name, self._journal, gather=GATHER, told=self._news)
        circuit.on_halt(model.dismiss)
        return model

    def _note(self, name: str) -> Callable[[ChatRequest, ChatReply], None]:
        """Return what gives replies to the journal before the cache has them, which may take it a while."""

        def note(request: ChatRequest, reply: ChatReply) -> None:
            self._models[name].note(request, reply)

        return note

    def _tell(self, name: str) -> Callable[[Spent], None] | None:
        told = self._told
        return None if told is None else lambda spent: told(name, spent)
