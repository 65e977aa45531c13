"""What a study of classifiers comes to, as it stands in a file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from calibrator.judges.frozen_parts import Figure


class Part(BaseModel):
    """A part of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ClassifierRow(Part):
    """One classifier on the test side.

    `figures` are by the names of `stats.multilabel.MEASURES` and `labels` the F1 of each label, both on the `items`
    that it classified; `failures` counts the others by their reason. `gains` are its figures less those of the
    default classifier on the `common` items that both classified, paired in every resample; empty for the default
    itself. `notes` say how it was made.
    """

    name: str
    id: str
    items: int
    failures: dict[str, int] = {}
    figures: dict[str, Figure]
    labels: dict[str, Figure]
    gains: dict[str, Figure] = {}
    common: int = 0
    notes: dict[str, Any] = {}


class TypesResult(Part):
    """A study: classifiers beside each other on one test side, with 95 % intervals by bootstrap over its groups.

    `labels` are those of the scheme and, behind them, the ones that occur in test only and nobody can give.
    `mean_labels` is how many a test text bears on average. `repeated_texts` and `repeated_sources` count the test
    rows whose text or source stands in train too. `train` is 0 for a classifier that was kept. `look` says which look
    at this test side it was, as the ledger has it; None if none was entered. Figures of a single group have no
    interval.
    """

    scheme: str
    labels: tuple[str, ...]
    empty: bool
    train: int
    test: int
    groups: int
    mean_labels: float
    frequency: dict[str, int]
    repeated_texts: int
    repeated_sources: int
    default: str
    rows: tuple[ClassifierRow, ...]
    warnings: tuple[str, ...] = ()
    signature: str
    look: int | None = None
