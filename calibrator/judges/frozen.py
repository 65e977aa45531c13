"""A frozen judge: the one file that a run hands over, readable by people, refused when it was changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import SerializerFunctionWrapHandler, model_serializer

from calibrator.aspects import AspectFile
from calibrator.errors import RubricError
from calibrator.files import write_whole
from calibrator.judges.base import Judge
from calibrator.judges.frozen_parts import (
    AskedFile,
    Figures,
    FilePart,
    JudgeFile,
    MeasureFile,
    MessageFile,
    Origin,
    PanelFile,
    PartFile,
    SamplingFile,
    StepFile,
    VerdictFile,
)
from calibrator.judges.llm import LLMJudge
from calibrator.judges.mapped import MapFile
from calibrator.judges.metric import MetricJudge
from calibrator.prompts import Part, Prompt
from calibrator.records import Rubric
from calibrator.texts import digest
from calibrator.validation import checked, load_yaml

FORMAT: Literal[1] = 1
HEAD = "# A frozen judge of calibrator."


class FrozenJudge(FilePart):
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
    panel: PanelFile | None = None
    map: MapFile | None = None
    content_hash: str = ""

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the parts that came later where they are empty, so that a file keeps its hash."""
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if k not in ("verdict", "panel", "map") or v is not None}

    @property
    def judges(self) -> tuple[JudgeFile, ...]:
        """The judges whose scores it takes: itself, and the members of a panel."""
        return (self.judge, *(m.judge for m in (self.panel.members if self.panel else ())))

    @property
    def asked(self) -> tuple[AskedFile, ...]:
        """What is asked of models about an item, by the judge or by members of a panel."""
        return tuple(j.asked for j in self.judges if j.asked is not None)

    @property
    def recorded(self) -> tuple[str, ...]:
        """The judges whose scores must stand in the data."""
        return tuple(j.id.removeprefix("recorded:") for j in self.judges if j.method == "recorded")

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics on a panel, as `metrics.named` has their names."""
        return tuple(j.id.removeprefix("metric:") for j in self.judges if j.method == "metric")

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
        return prompt_of(self.judge.asked)

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        write_whole(path, f"{HEAD} Do not edit: a changed file is refused.\n" + dump(self.model_dump(mode="json")))


def prompt_of(asked: AskedFile | None) -> Prompt:
    """Return what is asked as a prompt. Raises RubricError if it is not one message."""
    if asked is None or len(asked.messages) != 1:
        raise RubricError("an LLM judge of this version has one message, and this file has none or several")
    message = asked.messages[0]
    return Prompt(tuple(Part(p.text or "", p.item or "") for p in message.parts), message.role)


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
    weights = judge.weights or None if isinstance(judge, MetricJudge) else None
    mode = judge.mode
    return JudgeFile(method=method, id=judge.id, score_mode=mode, texts=tuple(texts), asked=asked, weights=weights)


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
