"""Aspects: one quality with a definition, a scale and a direction, read from `rubrics/aspects/<suite>/<name>.yaml`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator, model_validator

from calibrator.errors import AspectError
from calibrator.resources import folder
from calibrator.validation import checked, load_yaml

NEUTRAL = "neutral"


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers a rating may be: from `low` to `high`; `step` is the distance of two points a rater can choose."""

    low: float
    high: float
    step: float = 1.0

    def holds(self, value: float) -> bool:
        """Whether `value` lies on the scale (means of several raters lie between its points)."""
        return math.isfinite(value) and self.low <= value <= self.high

    def __str__(self) -> str:
        return f"{self.low:g}-{self.high:g}"


@dataclass(frozen=True, slots=True)
class Aspect:
    """One quality of a text.

    `better` is "higher" or "lower"; `anchors` says what points of the scale mean; `fields` is what the texts are
    called in prompts and reports ("source", "output", …).
    """

    suite: str
    name: str
    label: str
    definition: str
    scale: Scale
    better: Literal["higher", "lower"] = "higher"
    anchors: Mapping[float, str] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)
    basis: str = ""

    @property
    def ref(self) -> str:
        """`suite/name`."""
        return f"{self.suite}/{self.name}"

    def called(self, role: str) -> str:
        """What the text in a role is called, the role itself where the aspect does not say."""
        return self.fields.get(role, role)


class ScaleFile(BaseModel):
    """The scale as it stands in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    min: float
    max: float
    step: float = Field(default=1.0, gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> ScaleFile:
        if not self.min < self.max:
            raise ValueError("min must be below max")
        return self


class AspectFile(BaseModel):
    """An aspect as it stands in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)
    suite: str = Field(default="custom", pattern=r"^[a-z0-9][a-z0-9-]*$")
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    label: str = ""
    definition: str = Field(min_length=1)
    scale: ScaleFile
    direction: Literal["higher", "lower"] = "higher"
    anchors: dict[float, str] = {}
    fields: dict[str, str] = {}
    basis: str = ""

    @field_validator("anchors")
    @classmethod
    def _on_scale(cls, anchors: dict[float, str], info: ValidationInfo) -> dict[float, str]:
        scale = info.data.get("scale")
        off = [point for point in anchors if scale and not scale.min <= point <= scale.max]
        if off:
            raise ValueError(f"{off[0]:g} is not on the scale")
        return anchors

    def aspect(self) -> Aspect:
        """Return the record."""
        scale = Scale(self.scale.min, self.scale.max, self.scale.step)
        definition = " ".join(self.definition.split())
        label = self.label or self.name.replace("-", " ").capitalize()
        return Aspect(
            self.suite, self.name, label, definition, scale, self.direction, self.anchors, self.fields, self.basis
        )

    @classmethod
    def of(cls, aspect: Aspect) -> AspectFile:
        """Return the file form of a record."""
        scale = ScaleFile(min=aspect.scale.low, max=aspect.scale.high, step=aspect.scale.step)
        return cls(
            suite=aspect.suite,
            name=aspect.name,
            label=aspect.label,
            definition=aspect.definition,
            scale=scale,
            direction=aspect.better,
            anchors=dict(aspect.anchors),
            fields=dict(aspect.fields),
            basis=aspect.basis,
        )


def read_aspect(path: Path) -> Aspect:
    """Return the aspect in a YAML file.

    Raises AspectError, which names the file and the entry, if it cannot be read or is malformed.
    """
    loaded = load_yaml(path, AspectError, "there is no such aspect file")
    return checked(AspectFile, loaded, path, AspectError).aspect()


def shipped_aspects() -> dict[str, Path]:
    """Return the files of all shipped aspects by `suite/name`, in order."""
    paths = sorted((folder("rubrics") / "aspects").glob("*/*.yaml"))
    return {f"{p.parent.name}/{p.stem}": p for p in paths}


def find_aspect(ref: str, suite: str | None = None) -> tuple[Aspect, str]:
    """Return the aspect that `ref` means, and in words why it is that one.

    `suite/name` names it. A bare name is taken from `suite` (the data set's own) if that has it, else from the only
    suite that has it, else from the suite `neutral`. Raises AspectError with the list of those that exist.
    """
    shipped = shipped_aspects()
    if "/" in ref:
        if ref.lower() in shipped:
            return read_aspect(shipped[ref.lower()]), "named in full"
        raise AspectError(_unknown(ref, shipped))
    name = ref.lower().replace("_", "-").replace(" ", "-")
    having = [r for r in shipped if r.endswith(f"/{name}")]
    own, neutral = f"{suite}/{name}", f"{NEUTRAL}/{name}"
    if own in having:
        return read_aspect(shipped[own]), "the data set's own suite"
    if len(having) == 1:
        return read_aspect(shipped[having[0]]), "the only suite that has it"
    if neutral in having:
        others = ", ".join(r for r in having if r != neutral)
        return read_aspect(shipped[neutral]), f"the suite for any domain; also there: {others}"
    if having:
        raise AspectError(f"'{ref}' is in several suites; name one of {', '.join(having)}")
    raise AspectError(_unknown(ref, shipped))


def _unknown(ref: str, shipped: Mapping[str, Path]) -> str:
    suites: dict[str, list[str]] = {}
    for known in shipped:
        suite, name = known.split("/")
        suites.setdefault(suite, []).append(name)
    listed = "; ".join(f"{suite}: {', '.join(names)}" for suite, names in suites.items())
    return f"there is no aspect '{ref}'. Those that exist are {listed}. Your own: --aspect-file mine.yaml"


def parse_scale(text: str) -> Scale:
    """Return the scale in "1-5", "0..100", "-1:1" or "1-5/0.5" (a step after a slash).

    Raises AspectError if it is none.
    """
    number = r"(-?\d+(?:\.\d+)?)"
    match = re.fullmatch(rf"\s*{number}\s*(?:-|:|\.\.|to)\s*{number}\s*(?:/\s*{number})?\s*", text)
    if not match:
        raise AspectError(f"'{text}' is no scale; write it as 1-5, 0..100 or 1-5/0.5")
    low, high, step = float(match[1]), float(match[2]), float(match[3] or 1)
    if not low < high or step <= 0:
        raise AspectError(f"'{text}' is no scale: the first number must be below the second, the step above 0")
    return Scale(low, high, step)
