"""DSPy's search for a rubric with our judge, our models and our items."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any

from calibrator.aspects import Aspect
from calibrator.calibration.optimizers.base import Caps, Optimized, Way, Work, require_dspy
from calibrator.calibration.optimizers.gepa import Gepa
from calibrator.calibration.optimizers.metric import closeness, feedback
from calibrator.calibration.optimizers.mipro import Mipro
from calibrator.calibration.optimizers.quiet import no_threads_left, quiet, settled
from calibrator.drafting.guide import guide_rubric
from calibrator.errors import CalibratorError, ModelError
from calibrator.judges.base import Judge
from calibrator.models.client import Client
from calibrator.prompts import item_texts
from calibrator.records import Failure, Item, NoRubric, Rubric, Step, Verdict

WAYS: Mapping[str, Way] = {"dspy-gepa": Gepa(), "dspy-mipro": Mipro()}
TEMPERATURE = 1.0  # of proposals: what DSPy's optimizers are made for
SEEDS = 2**32  # numpy's generator, which Optuna uses, takes no larger seed
UNSENT = "not sent, since another request had failed"  # as `models.circuit` says it
SPENT = "the judgments of the search are spent"


@dataclass(frozen=True, slots=True)
class DspyOptimizer:
    """One of DSPy's optimizers at work for us.

    `judge` makes a rubric a judge, `client` proposes instructions in up to `draft_tokens`, `threads` is how many items
    are judged at a time.
    """

    name: str
    aspect: Aspect
    roles: tuple[str, ...]
    judge: Callable[[Rubric], Judge]
    client: Client
    draft_tokens: int
    threads: int

    @property
    def id(self) -> str:
        """Who drafts: the optimizer, and the model that writes for it."""
        return f"{self.name}@{self.client.id}"

    def settings(self, caps: Caps, train: int, dev: int) -> Mapping[str, int]:
        """See `Optimizer`."""
        return WAYS[self.name].settings(caps, train, dev)

    def optimize(self, caps: Caps, train: Sequence[Item], dev: Sequence[Item], seed: int) -> Optimized:
        """See `Optimizer`. Raises ConfigError if DSPy is not installed."""
        require_dspy()
        import dspy

        from calibrator.drafting.dspy_lm import BackendLM, Halted
        from calibrator.drafting.dspy_program import RubricProgram

        desk = _Desk(self.judge, self.aspect, [t for i in (*train, *dev) for t in item_texts(i).values()], caps)
        program = _stopping(RubricProgram, desk, Halted)(self.roles, start_of(self.aspect), desk.judge_of)
        lm = BackendLM(self.client, TEMPERATURE, self.draft_tokens, seed)
        work = self._work(lm, caps, program.names, train, dev, seed)
        with quiet(), settled(lm=lm, adapter=dspy.JSONAdapter()):
            try:
                with no_threads_left(), desk.closing():
                    chosen = WAYS[self.name].compile(program, work).predict.signature.instructions
            except Halted as stop:
                raise desk.cause(stop.error) from None
            except (CalibratorError, KeyboardInterrupt):
                raise
            except Exception as error:  # of its own: such as a proposal that it cannot read
                return desk.result(NoRubric(f"{self.name} gave up ({type(error).__name__})"), lm.calls)
        return desk.result(desk.rubric_of(chosen), lm.calls)

    def _work(
        self, lm: Any, caps: Caps, names: Mapping[str, str], train: Sequence[Item], dev: Sequence[Item], seed: int
    ) -> Work:
        import dspy

        scale = self.aspect.scale

        def score(example: Any, prediction: Any, trace: Any = None) -> float:
            return closeness(prediction.score, example.score, scale)

        def told(example: Any, prediction: Any, trace: Any = None, name: Any = None, its_trace: Any = None) -> Any:
            why = feedback(prediction.score, prediction.failure, example.score, scale)
            return dspy.Prediction(score=score(example, prediction), feedback=why)

        def example(item: Item) -> Any:
            texts = item_texts(item)
            values = {name: texts.get(role, "") for role, name in names.items()}
            return dspy.Example(**values, score=item.human).with_inputs(*names.values())

        return Work(
            train=[example(i) for i in train],
            dev=[example(i) for i in dev],
            lm=lm,
            caps=caps,
            settings=self.settings(caps, len(train), len(dev)),
            seed=seed % SEEDS,
            threads=self.threads,
            feedback=told,
            score=score,
        )


def start_of(aspect: Aspect) -> str:
    """Return the instruction that DSPy begins with: the quality and the scale, and no guide yet."""
    scale = aspect.scale
    ask = f"Judge the {aspect.called('output')} by one quality, {aspect.label}: {' '.join(aspect.definition.split())}"
    return f"{ask} Rate it from {scale.low:g} to {scale.high:g}; {aspect.better} is better."


@dataclass(slots=True)
class _Desk:
    """Where DSPy's program gets its judges, and where it is counted what they were asked."""

    judge: Callable[[Rubric], Judge]
    aspect: Aspect
    texts: Sequence[str]
    caps: Caps
    closed: bool = False
    errors: list[CalibratorError] = field(default_factory=list)
    _judges: dict[str, Judge | NoRubric] = field(default_factory=dict)
    _asked: set[tuple[str, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rubric_of(self, instruction: str) -> Rubric | NoRubric:
        """Return the rubric that an instruction makes, or why it makes none."""
        if instruction == start_of(self.aspect):
            return Rubric(self.aspect.ref, (Step(instruction),))  # it is ours; a definition may well quote the scale
        return guide_rubric(instruction, self.aspect, self.texts)

    def judge_of(self, instruction: str, lm: object) -> Judge | NoRubric:
        """Return the judge that follows an instruction; DSPy's language model is not asked."""
        with self._lock:
            if instruction not in self._judges:
                rubric = self.rubric_of(instruction)
                made = rubric if isinstance(rubric, NoRubric) else _Counted(instruction, self.judge(rubric), self)
                self._judges[instruction] = made
            return self._judges[instruction]

    def may_judge(self, instruction: str, item: Item) -> bool:
        """Whether an item may still be judged; what was judged before costs nothing again."""
        with self._lock:
            if len(self._asked) >= self.caps.judgments and (instruction, item.key) not in self._asked:
                return False
            self._asked.add((instruction, item.key))
            return True

    @contextlib.contextmanager
    def closing(self) -> Iterator[None]:
        """Ask nothing more afterwards, whatever threads are left."""
        try:
            yield
        finally:
            self.closed = True

    def stop(self, error: CalibratorError) -> CalibratorError:
        """Ask nothing more, because of an error; return it."""
        self.closed = True
        self.errors.append(error)
        return error

    def cause(self, error: CalibratorError) -> CalibratorError:
        """Return the error for which all was stopped: others that were in flight may have heard of it sooner."""
        return next((e for e in self.errors if UNSENT not in str(e)), error)

    def result(self, rubric: Rubric | NoRubric, proposals: int) -> Optimized:
        """Return the outcome with what was counted."""
        refused = Counter(j.reason for j in self._judges.values() if isinstance(j, NoRubric))
        return Optimized(rubric, len(self._asked), proposals, dict(sorted(refused.items())))


@dataclass(frozen=True, slots=True)
class _Counted:
    """A judge whose judgments are counted and, beyond the cap, not asked for."""

    instruction: str
    inner: Judge
    desk: _Desk

    @property
    def id(self) -> str:
        return self.inner.id

    @property
    def mode(self) -> str:
        return self.inner.mode

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return the verdicts of the judge."""
        return tuple(
            self.inner.judge([item])[0] if self.desk.may_judge(self.instruction, item) else Failure(item.id, SPENT)
            for item in items
        )


def _stopping(program: Any, desk: _Desk, halted: Any) -> Any:
    """Return the class of programs that end everything with the first error of a model.

    DSPy would score the example 0 and go on with the next.
    """

    class Stopping(program):  # type: ignore[misc]
        def forward(self, **texts: Any) -> Any:
            if desk.closed:
                raise halted(ModelError(UNSENT))
            try:
                return super().forward(**texts)
            except CalibratorError as error:
                raise halted(desk.stop(error)) from None
            except CancelledError:
                raise halted(ModelError("stopped")) from None

    return Stopping
