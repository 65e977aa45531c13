"""A frozen judge that is ready to score."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType

from calibrator.aspects import Aspect
from calibrator.errors import InputError, ScoringFailed
from calibrator.judges.base import Judge
from calibrator.judges.frozen import FrozenJudge
from calibrator.models.build import Connections
from calibrator.models.recorded import Spent
from calibrator.records import Failure, Item, Verdict
from calibrator.texts import digest


class LoadedJudge:
    """A frozen judge, ready to score. One that asks a model holds connections: close it, or use it in a `with`."""

    def __init__(self, frozen: FrozenJudge, judge: Judge, connections: Connections | None = None) -> None:
        self.frozen, self._judge, self._connections = frozen, judge, connections
        if connections is not None:
            weakref.finalize(self, connections.close)  # also at the end of the program

    @property
    def spent(self) -> dict[str, Spent]:
        """What models were used for so far, by their names; empty for a judge that asks none."""
        return self._connections.spent if self._connections is not None else {}

    def close(self) -> None:
        """Let go of connections and processes; the end of the program does so too."""
        if self._connections is not None:
            self._connections.close()

    def __enter__(self) -> LoadedJudge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def aspect(self) -> Aspect:
        """The aspect it scores."""
        return self.frozen.aspect.aspect()

    @property
    def id(self) -> str:
        """What scores."""
        return self._judge.id

    @property
    def mode(self) -> str:
        """How a score is obtained."""
        return self._judge.mode

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item, in their order."""
        return self._judge.judge(items)

    def score(self, *, output: str, source: str | None = None, inputs: Mapping[str, str] | None = None) -> float:
        """Return the score of one text on the aspect's scale.

        `source` is what the text answers or sums up, `inputs` whatever else it was written from, by name. Raises
        ScoringFailed, with the reason, if there is no score, and InputError if a text is missing that the judge was
        calibrated with, or is no text.
        """
        given = {"output": output, "source": source, **(inputs or {})}
        for name, text in given.items():
            if text is not None and not isinstance(text, str):
                raise InputError(f"{name} must be a text, not {type(text).__name__} ({text!r})")
        if self.frozen.recorded:
            recorded = ", ".join(self.frozen.recorded)
            raise InputError(f"this panel takes recorded scores ({recorded}), which one text has not; judge a file")
        missing = [name for name in self.frozen.judge.texts if given.get(name) is None]
        if missing:
            problem = f"this judge was calibrated with {', '.join(self.frozen.judge.texts)}"
            raise InputError(f"{problem}; give {', '.join(missing)} too (an empty text if there is none)")
        item = Item(id="", output=output, source=source or "", inputs=dict(inputs or {}), key=digest(given))
        verdict = self.judge([item])[0]
        if isinstance(verdict, Failure):
            raise ScoringFailed(verdict.reason)
        return verdict.score

    def __repr__(self) -> str:
        origin = self.frozen.origin
        return f"{self.aspect.ref} ({self.id}), scale {self.aspect.scale}, calibrated on {origin.data}"
