"""A frozen judge: the one file that a run hands over, readable by people, refused when it was changed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from calibrator.aspects import AspectFile
from calibrator.codec import measure_from_json
from calibrator.errors import RubricError
from calibrator.files import write_whole
from calibrator.judges.base import Judge
from calibrator.judges.llm import LLMJudge
from calibrator.prompts import Part, Prompt
from calibrator.records import Rubric, Step
from calibrator.resources import folder
from calibrator.texts import digest
from calibrator.validation import checked, load_yaml

FORMAT: Literal[1] = 1
HEAD = "# A frozen judge of calibrator."


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Figure(_Part):
    """A figure with its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


class Figures(_Part):
    """Spearman, Kendall, Pearson and mean absolute error on one side of the split, and what they stand for."""

    figures: dict[str, Figure]
    signature: str


class FactorFile(_Part):
    """A standardised criterion; see `records.Factor`."""

    criterion: str
    center: float
    spread: float = Field(gt=0)


class MeasureFile(_Part):
    """How much a criterion counts, alone or times another; see `records.Measure`."""

    criterion: str
    weight: float
    center: float
    spread: float = Field(gt=0)
    times: FactorFile | None = None

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if k != "times" or v is not None}


class StepFile(_Part):
    """A step; see `records.Step`."""

    text: str
    measures: tuple[MeasureFile, ...] = ()

    def step(self) -> Step:
        """Return the record."""
        return Step(self.text, tuple(measure_from_json(m.model_dump()) for m in self.measures))


class PartFile(_Part):
    """A piece of a message: either words, or the role of the item's text that stands, quoted, in this place."""

    text: str | None = None
    item: str | None = None

    @model_validator(mode="after")
    def _one(self) -> PartFile:
        if (self.text is None) == (self.item is None):
            raise ValueError("give either text or item")
        return self

    @model_serializer
    def _given(self) -> dict[str, str]:
        return {"item": self.item} if self.item is not None else {"text": self.text or ""}


class MessageFile(_Part):
    """A message to the model, exactly as it is sent."""

    role: str
    parts: tuple[PartFile, ...]


class SamplingFile(_Part):
    """How the model's reply is drawn; see `models.base.Sampling`."""

    temperature: float
    max_tokens: int
    seed: int | None = None


class AskedFile(_Part):
    """What an LLM judge asks, and whom."""

    model: str
    sampling: SamplingFile
    messages: tuple[MessageFile, ...]


class JudgeFile(_Part):
    """How the steps are turned into a score.

    `texts` are those that the judge was calibrated with; `asked` is there for LLM judges.
    """

    method: str
    id: str
    score_mode: str
    texts: tuple[str, ...] = ("source", "output")
    asked: AskedFile | None = None

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if k != "asked" or v is not None}


class Origin(_Part):
    """What the judge was calibrated on and how."""

    data: str
    data_digest: str
    items: int
    groups: int
    split_digest: str
    test_digest: str
    seed: int
    protocol: str
    objective: str
    drafter: str
    winner: str


class VerdictFile(_Part):
    """How the judge came to be handed over, and whether it passed the gate (see `evaluation.gate`).

    `handed_over` is "calibrated", or the name of the baseline that took the place of a rubric which did not beat it on
    dev. `gain` is that of the calibrated judge over the baseline `over` on the test side, in the run's objective.
    """

    handed_over: str
    over: str
    gain: Figure
    passed: bool
    reasons: tuple[str, ...] = ()


class FrozenJudge(_Part):
    """The whole artefact. `content_hash` is the SHA-256 of everything else in it."""

    format: Literal[1] = FORMAT
    calibrator: str
    aspect: AspectFile
    judge: JudgeFile
    base: float
    steps: tuple[StepFile, ...]
    origin: Origin
    dev: Figures
    test: Figures
    verdict: VerdictFile | None = None
    content_hash: str = ""

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if k != "verdict" or v is not None}

    def hashed(self) -> FrozenJudge:
        """Return the same with its content hash filled in."""
        return self.model_copy(update={"content_hash": self._hash()})

    def _hash(self) -> str:
        return digest(self.model_dump(mode="json", exclude={"content_hash"}))

    def rubric(self) -> Rubric:
        """Return the rubric record."""
        return Rubric(f"{self.aspect.suite}/{self.aspect.name}", tuple(s.step() for s in self.steps), self.base)

    def prompt(self) -> Prompt:
        """Return what an LLM judge asks. Raises RubricError if this is none, or is more than one message."""
        asked = self.judge.asked
        if asked is None or len(asked.messages) != 1:
            raise RubricError("an LLM judge of this version has one message, and this file has none or several")
        message = asked.messages[0]
        return Prompt(tuple(Part(p.text or "", p.item or "") for p in message.parts), message.role)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(path, f"{HEAD} Do not edit: a changed file is refused.\n" + dump(self.model_dump(mode="json")))


def dump(value: Any) -> str:
    """Return a JSON value as YAML that a person can read; numbers come back as the very same numbers."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """Line ends other than the line feed come back as they are only where they are escaped, between double quotes."""
    style = '"' if set(text) & set("\r\x85\u2028\u2029") else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def judge_file(method: str, judge: Judge, texts: Sequence[str]) -> JudgeFile:
    """Return the file form of a judge; that of an LLM judge holds the very message and sampling."""
    asked = None
    if isinstance(judge, LLMJudge):
        parts = tuple(PartFile(item=p.slot) if p.slot else PartFile(text=p.text) for p in judge.prompt.parts)
        asked = AskedFile(
            model=judge.model,
            sampling=SamplingFile(**asdict(judge.sampling)),
            messages=(MessageFile(role=judge.prompt.role, parts=parts),),
        )
    return JudgeFile(method=method, id=judge.id, score_mode=judge.mode, texts=tuple(texts), asked=asked)


def step_files(rubric: Rubric) -> tuple[StepFile, ...]:
    """Return the steps of a rubric in their file form."""
    return tuple(
        StepFile(text=s.text, measures=tuple(MeasureFile(**asdict(m)) for m in s.measures)) for s in rubric.steps
    )


def read_frozen(path: Path) -> FrozenJudge:
    """Return the frozen judge in a file.

    Raises RubricError if the file is missing, is none, is of another format, or was changed after freezing.
    """
    loaded = load_yaml(path, RubricError)
    frozen = checked(FrozenJudge, loaded, path, RubricError, "not a frozen judge of this version: ")
    if frozen.content_hash != frozen._hash():
        problem = "was changed after it was frozen (its content does not match its content_hash)"
        raise RubricError(f"{path}: {problem}; calibrate again, or restore the file")
    return frozen


def check_place(path: Path) -> str | None:
    """Return what a frozen judge written to `path` would replace, None if there is nothing.

    Raises RubricError if `path` is no YAML file, is a file of another kind, or cannot be written to: better before the
    work than after it.
    """
    if path.suffix not in (".yaml", ".yml"):
        raise RubricError(f"--out: {path} does not end in .yaml")
    folder_there = next(p for p in path.absolute().parents if p.exists())
    if not folder_there.is_dir() or not os.access(folder_there, os.W_OK) or (path.exists() and not path.is_file()):
        raise RubricError(f"--out: {path} cannot be written; name another place")
    if not path.exists():
        return None
    if not path.read_bytes().startswith(HEAD.encode()):
        raise RubricError(f"--out: {path} is there already and is no frozen judge; name another file")
    try:
        origin = read_frozen(path).origin
    except RubricError:
        return "a judge that was changed or is of another version"
    return f"the judge calibrated on {origin.data} (seed {origin.seed})"


def find_frozen(name: str, working: Path | None = None) -> Path:
    """Return the file that `name` means: a path, or the name of a frozen judge.

    A name is looked for in `rubrics/frozen/` of the working folder first, then among those that are shipped; there a
    bare aspect stands for the only suite that has it. Raises RubricError with the names there are.
    """
    if name.endswith((".yaml", ".yml")) or Path(name).is_absolute() or Path(name).is_file():
        return Path(name)
    own = (working or Path.cwd()) / "rubrics" / "frozen"
    shipped = folder("rubrics") / "frozen"
    if os.path.lexists(own / f"{name}.yaml"):
        return own / f"{name}.yaml"
    for root in (own, shipped):
        below = [p for p in sorted(root.glob("*/*.yaml")) if name in (p.stem, f"{p.parent.name}/{p.stem}")]
        if len(below) == 1:
            return below[0]
        if below:
            named = ", ".join(f"{p.parent.name}/{p.stem}" for p in below)
            raise RubricError(f"'{name}' is frozen for several suites; name one of {named}")
    files = [(own, p) for p in own.rglob("*.yaml")] + [(shipped, p) for p in shipped.glob("*/*.yaml")]
    known = sorted({p.relative_to(root).with_suffix("").as_posix() for root, p in files})
    raise RubricError(f"there is no frozen judge '{name}'; those there are: {', '.join(known) or 'none'}")
