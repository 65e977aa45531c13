"""What a result says of the score map of the judge that is handed over."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from calibrator.judges.frozen_parts import Figure
from calibrator.judges.mapped import MapFile


def without_no_map(values: dict[str, Any]) -> dict[str, Any]:
    """Return a result's values, the map left out where there is none: so they are what they were before maps."""
    return {k: v for k, v in values.items() if k != "map" or v is not None}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TriedLine(_Part):
    """A kind of map with its errors on groups left out of its fit; see `evaluation.mapping.Tried`."""

    kind: str
    mae: float | None
    rmse: float | None
    reason: str


class BinLine(_Part):
    """A bin of the reliability curve; see `stats.reliability.Bin`."""

    low: float
    high: float
    items: int
    score: float
    human: Figure


class CalibrationPart(_Part):
    """What scores are worth as numbers: errors in points of the scale, Spearman, and the reliability curve.

    `error` is the expected calibration error, `by_chance` what a judge with the right mean in every bin would show on
    so few items; see `stats.reliability`.
    """

    mae: float | None
    rmse: float | None
    spearman: float | None
    error: float | None
    by_chance: float | None
    items: int
    bins: tuple[BinLine, ...]


class MapTest(_Part):
    """The judge on the test side without its map and with it; `after` is None where there is none."""

    before: CalibrationPart
    after: CalibrationPart | None


class MapPart(_Part):
    """The score map of the judge `of` a name that is handed over, and what it does on the test side.

    `wanted` is what was asked for, `kind` what was made of it, `reason` why (see `evaluation.mapping.MapChoice`);
    `fitted_to` says in words to what scores, of so many `items` in `groups`. `map` is the map itself, None for none.
    """

    of: str
    wanted: str
    kind: str
    reason: str
    fitted_to: str
    items: int
    groups: int
    tried: tuple[TriedLine, ...]
    map: MapFile | None
    test: MapTest
