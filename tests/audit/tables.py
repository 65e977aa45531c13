"""Tables for the tests of the audit, made without files: mild texts, and ratings with what a test plants in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect, find_aspect
from calibrator.audit.findings import Finding
from calibrator.audit.rated import subject_of
from calibrator.audit.subject import Subject
from calibrator.columns import Wanted
from calibrator.tables import Table
from tests.conftest import make_items

Row = dict[str, object]


def rows_of(count: int = 60, groups: int = 20, seed: int = 0) -> list[Row]:
    """Rows with input, output and a plausible rating of relevance, 1 to 5."""
    items = make_items(count, groups, seed)
    return [{"input": i.source, "output": i.output, "relevance_score": i.human} for i in items]


def table_of(rows: Sequence[Row], name: str = "data.csv") -> Table:
    columns = tuple(dict.fromkeys(c for r in rows for c in r))
    return Table(Path(name), columns, tuple(rows), tuple(rows), tuple(range(2, len(rows) + 2)))


def subject(rows: Sequence[Row], name: str = "data.csv", aspect: Aspect | None = None, **wanted: object) -> Subject:
    return subject_of(name, table_of(rows, name), Wanted(**wanted), None, aspect, None)  # type: ignore[arg-type]


def relevance() -> Aspect:
    return find_aspect("neutral/relevance")[0]


def rated(scores: Sequence[object], column: str = "relevance_score") -> list[Row]:
    """Rows with these ratings."""
    rows = rows_of(len(scores))
    return [{"input": r["input"], "output": r["output"], column: s} for r, s in zip(rows, scores, strict=True)]


def annotated(ratings: NDArray[np.float64]) -> list[Row]:
    """Rows with a column for each annotator; `ratings` has shape (raters, items), nan for gaps."""
    rows = [{"input": r["input"], "output": r["output"]} for r in rows_of(ratings.shape[1])]
    for k, given in enumerate(ratings):
        for row, value in zip(rows, given, strict=True):
            row[f"relevance_a{k + 1}"] = "" if np.isnan(value) else f"{value:g}"
    return rows


def agreeing(raters: int = 3, items: int = 120, noise: float = 0.7, seed: int = 0) -> NDArray[np.float64]:
    """Ratings of annotators who see the same merit with some noise, 1 to 5, shape (raters, items)."""
    rng = np.random.default_rng(seed)
    merit = rng.uniform(0.5, 5.5, size=items)
    ratings: NDArray[np.float64] = np.clip(np.round(merit + noise * rng.normal(size=(raters, items))), 1, 5)
    return ratings


def severities(findings: Sequence[Finding]) -> list[str]:
    return [f.severity for f in findings]
