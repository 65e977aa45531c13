"""A judge from its frozen form or its name."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

from calibrator.aspects import Aspect
from calibrator.criteria import VERSION
from calibrator.errors import ConfigError, InputError, RubricError, ScoringFailed
from calibrator.judges.base import Judge
from calibrator.judges.criteria import ID, CriteriaJudge
from calibrator.judges.frozen import FrozenJudge, read_frozen
from calibrator.judges.llm import METHOD, LLMJudge
from calibrator.judges.modes import parse_mode
from calibrator.judges.places import find_frozen
from calibrator.models.base import Sampling
from calibrator.models.build import Access, Connections
from calibrator.models.names import check_arguments
from calibrator.models.recorded import Spent
from calibrator.models.replies import cache_folder
from calibrator.records import Failure, Item, Verdict
from calibrator.store import Run
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


def load_judge(
    name: str | Path,
    *,
    model: str | None = None,
    access: Access | None = None,
    told: Callable[[Verdict], None] | None = None,
    part: Run | None = None,
    news: Callable[[str], None] | None = None,
) -> LoadedJudge:
    """Return the frozen judge in a file, or of a name (see `find_frozen`).

    For an LLM judge, `model` names another model to ask, for example the same one at another address: the figures in
    the file were measured with the model it names. `access` says how the model may be used (with the cache of replies
    unless it says otherwise), `told` hears of each verdict as it comes. In the folder of `part` replies are written
    down as they come, and found again, and what calls took; `news` hears what becomes of batches. Raises RubricError if
    there is no such judge, if it was changed after freezing, or if it needs another version; InputError if `model` is
    given for a judge that asks none; ModelError if the model cannot be asked.
    """
    path = find_frozen(str(name))
    frozen = read_frozen(path)
    if frozen.judge.method == METHOD:
        access = access or Access(cache=cache_folder())
        check_arguments([model or (frozen.judge.asked.model if frozen.judge.asked else "")], access.arguments)
        connections = _connections(access, part, news)
        return _llm(path, frozen, model, connections, told)
    if model is not None:
        raise InputError(f"{path} is a {frozen.judge.method} judge and asks no model; leave --model out")
    if frozen.judge.method != "criteria":
        problem = f"its method is '{frozen.judge.method}'"
        raise RubricError(f"{path}: {problem}, which this version of calibrator does not know; upgrade calibrator")
    if frozen.judge.id != ID:
        problem = f"it was frozen with {frozen.judge.id}, and this version measures as criteria/{VERSION}"
        raise RubricError(f"{path}: {problem}; its weights would not fit: calibrate again")
    return LoadedJudge(frozen, CriteriaJudge(frozen.rubric(), frozen.aspect.aspect().scale))


def _connections(access: Access, part: Run | None, news: Callable[[str], None] | None) -> Connections:
    if part is None:
        return Connections(access, news=news)
    return Connections(access, part.journal(), tally=part.calls(), news=news)


def _llm(
    path: Path, frozen: FrozenJudge, model: str | None, connections: Connections, told: Callable[[Verdict], None] | None
) -> LoadedJudge:
    asked = frozen.judge.asked
    if asked is None:
        raise RubricError(f"{path}: an LLM judge that holds no message to ask; calibrate again")
    try:
        mode = parse_mode(frozen.judge.score_mode)
    except ConfigError:
        problem = f"its score mode is '{frozen.judge.score_mode}'"
        raise RubricError(
            f"{path}: {problem}, which this version of calibrator does not know; upgrade calibrator"
        ) from None
    prompt, sampling = frozen.prompt(), Sampling(**asked.sampling.model_dump())
    client = connections.client(model or asked.model)
    return LoadedJudge(frozen, LLMJudge(client, prompt, frozen.aspect.aspect(), sampling, told, mode), connections)
