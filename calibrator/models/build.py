"""From names to clients: each model with its wrappers around it, all behind one portal."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from calibrator.models.base import Model
from calibrator.models.budget import Budget, Budgeted
from calibrator.models.cache import Cached
from calibrator.models.client import Client, Portal
from calibrator.models.limit import Limited
from calibrator.models.names import default_width, open_model
from calibrator.models.recorded import Recorded, Spent
from calibrator.models.retry import Retrying
from calibrator.store import Journal, Tally


@dataclass(frozen=True, slots=True)
class Access:
    """How models may be used.

    `width` is how many requests may be in flight (None: what suits the model), `calls` the cap on calls (None: no
    cap), `cache` the folder of stored replies (None: no cache).
    """

    width: int | None = None
    calls: int | None = None
    cache: Path | None = None


class Connections:
    """The models of one piece of work; a context manager, at whose end servers and connections are closed.

    Around each model stand, from the outside in: the run's journal, the cache, retries, the limit on what is in flight,
    the budget. So a stored reply costs no call, and a pause before another try holds nobody up.
    """

    def __init__(
        self,
        access: Access,
        journal: Journal | None = None,
        told: Callable[[str, Spent], None] | None = None,
        tally: Tally | None = None,
    ) -> None:
        """`told` hears, after each reply, which model gave it and what that model was used for so far.

        `tally` counts calls across the sittings of a run.
        """
        self._access, self._journal, self._told = access, journal, told
        self._budget = Budget(access.calls, tally)
        self._portal: Portal | None = None
        self._models: dict[str, Recorded] = {}
        self._clients: dict[str, Client] = {}

    def client(self, name: str) -> Client:
        """Return the client of a model, the same for the same name. Raises what `open_model` raises."""
        if name not in self._clients:
            width = self._access.width or default_width(name)
            model = Recorded(self._wrapped(open_model(name, width), width), self._journal, self._tell(name))
            self._models[name] = model
            self._portal = self._portal or Portal()
            # Twice as many as are in flight: some wait for another try, and their places are not left empty.
            self._clients[name] = Client(model, self._portal, 2 * width)
        return self._clients[name]

    @property
    def spent(self) -> dict[str, Spent]:
        """What each model was used for so far."""
        return {name: recorded.spent for name, recorded in self._models.items()}

    @property
    def calls(self) -> int:
        """How many calls were made since the work began; with a tally, earlier sittings included."""
        return self._budget.spent

    def close(self) -> None:
        """End servers and connections. May be called twice."""
        if self._portal is not None:
            portal, self._portal = self._portal, None
            with contextlib.suppress(KeyboardInterrupt):
                for client in self._clients.values():
                    client.close()
            portal.close()
        self._clients = {}

    def __enter__(self) -> Connections:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _wrapped(self, model: Model, width: int) -> Model:
        model = Retrying(Limited(Budgeted(model, self._budget), width))
        return Cached(model, self._access.cache) if self._access.cache is not None else model

    def _tell(self, name: str) -> Callable[[Spent], None] | None:
        told = self._told
        return None if told is None else lambda spent: told(name, spent)
