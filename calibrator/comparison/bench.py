"""What judges gave, each asked once: their verdicts on a side, what these took, and what was paid."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from calibrator.codec import verdicts_from_json, verdicts_to_json
from calibrator.journal import Journal
from calibrator.judges.base import Judge
from calibrator.judges.identity import identity
from calibrator.models.build import Connections
from calibrator.records import Item, Verdict
from calibrator.texts import digest

Made = TypeVar("Made")

KNOWN, TEST = "known", "test"
BOOKED = "booked"  # the key of what all entries of a journal are booked, whatever bench made them


@dataclass(frozen=True, slots=True)
class Outcome:
    """Verdicts in the order of the items, what models cost for them in US dollars (None: not known), and seconds."""

    verdicts: tuple[Verdict, ...]
    cost: float | None
    seconds: float


@dataclass(slots=True)
class Bench:
    """Asks judges and writes down, in the journal, what they gave; a comparison that is taken up again asks no twice.

    What a model cost is booked to the judge that was at work: judges take their turns. `about` tells entries of one
    aspect from those of others in the same journal.
    """

    journal: Journal
    connections: Connections
    about: str = ""
    _outcomes: dict[str, Outcome] = field(default_factory=dict)

    def judged(self, name: str, judge: Judge, side: str, items: Sequence[Item]) -> Outcome:
        """Return what a judge gives on the items of a side, from the journal where it stands there.

        An entry is kept by the name, the judge and the items. Raises what its model raises.
        """
        asked = digest([identity(judge), [[i.id, i.key, i.reference, sorted(i.recorded.items())] for i in items]])
        key = f"judged/{self.about}/{name}/{side}/{asked[:16]}"
        if key not in self._outcomes:
            value = self._entered(key, lambda: verdicts_to_json(judge.judge(items)))
            verdicts = verdicts_from_json(value["given"])
            self._outcomes[key] = Outcome(verdicts, value["cost"], value["seconds"])
        return self._outcomes[key]

    def made(self, name: str, make: Callable[[], Made]) -> tuple[Made, float | None]:
        """Return what `make` gives and what models cost on the way, in US dollars; None where that is not known."""
        made: list[Made] = [make()]  # always made anew: its replies stand in the journal, what it cost beside them
        return made[0], self._entered(f"made/{self.about}/{name}", lambda: None)["cost"]

    def _entered(self, key: str, work: Callable[[], object]) -> dict[str, Any]:
        """Return what `work` gives, what models cost since the last entry, and the seconds it took."""

        def entry() -> object:
            began = time.monotonic()
            given = work()
            booked = self._booked()
            now = {model: (s.replies, s.cost) for model, s in self.connections.spent.items()}
            new = {model: sums for model, sums in now.items() if sums[0] > booked.get(model, (0, 0.0))[0]}
            costs = [_more(cost, booked.get(model, (0, 0.0))[1]) for model, (_, cost) in new.items()]
            return {
                "given": given,
                "cost": total_cost(costs),
                "seconds": round(time.monotonic() - began, 3),
                "booked": {model: list(sums) for model, sums in now.items()},
            }

        value: dict[str, Any] = self.journal.once(key, entry)
        self._book(value["booked"])
        return value

    def _booked(self) -> dict[str, tuple[int, float | None]]:
        """Return the replies of each model, and their cost, that are booked to somebody."""
        return {model: (replies, cost) for model, (replies, cost) in (self.journal.get(BOOKED) or {}).items()}

    def _book(self, sums: Mapping[str, tuple[int, float | None]]) -> None:
        """Write down what each model was used for when an entry was made, where that is more than is booked."""
        booked = self._booked()
        more = {model: entry for model, entry in sums.items() if entry[0] > booked.get(model, (0, 0.0))[0]}
        if more:
            self.journal.put(BOOKED, booked | more)


def _more(now: float | None, before: float | None) -> float | None:
    return None if now is None or before is None else max(0.0, now - before)


def total_cost(costs: Sequence[float | None]) -> float | None:
    """Return the sum in US dollars, None where one is not known."""
    known = [c for c in costs if c is not None]
    return sum(known) if len(known) == len(costs) else None
