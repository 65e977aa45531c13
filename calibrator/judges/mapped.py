"""A judge whose scores are put on the human scale by a score map (see `stats.mapping`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer, model_validator

from calibrator.judges.base import Judge
from calibrator.records import Item, Judgment, Verdict
from calibrator.stats.mapping import Kind, ScoreMap, map_from_numbers


class MappedJudge:
    """Gives the mapped scores of another judge; a failure of it stays one. A map to the identity changes no score.

    `inner` is the other judge. Id and mode are its own with the kind of the map.
    """

    def __init__(self, inner: Judge, score_map: ScoreMap) -> None:
        self.inner, self.map = inner, score_map

    @property
    def id(self) -> str:
        """What scores."""
        return f"{self.inner.id}+{self.map.kind}"

    @property
    def mode(self) -> str:
        """How a score is obtained."""
        return f"{self.inner.mode}+{self.map.kind}"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item, in their order."""
        return tuple(self._mapped(v) for v in self.inner.judge(items))

    def _mapped(self, verdict: Verdict) -> Verdict:
        if not isinstance(verdict, Judgment):
            return verdict
        score = float(self.map.apply(np.array([verdict.score]))[0])
        return replace(verdict, score=score, mode=f"{verdict.mode}+{self.map.kind}")


class MapFile(BaseModel):
    """A score map as it stands in a file: its kind and its numbers, which come back as the very same map."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    kind: Kind
    base: float | None = None
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    cuts: tuple[float, ...] | None = None
    points: tuple[float, ...] | None = None
    scores: tuple[float, ...] | None = None
    values: tuple[float, ...] | None = None

    @classmethod
    def of(cls, score_map: ScoreMap) -> MapFile:
        """Return the file form of a map."""
        return cls.model_validate(score_map.numbers())

    @model_validator(mode="after")
    def _a_map(self) -> MapFile:
        self.map()
        return self

    @model_serializer(mode="wrap")
    def _given(self, usual: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values: dict[str, Any] = usual(self)
        return {k: v for k, v in values.items() if v is not None}

    def map(self) -> ScoreMap:
        """Return the map. Raises ValueError if these are not the numbers of one of its kind."""
        return map_from_numbers(self.model_dump())
