"""A comparison for other programs: CSV, a row for each judge and aspect, and JSON, the whole of it."""

from __future__ import annotations

import csv
import io
import json

from calibrator.comparison.result import AspectTable, ComparisonResult, JudgeRow
from calibrator.judges.frozen_parts import Figure
from calibrator.stats.correlation import MEASURES

MEASURED = (*MEASURES, "one")
COLUMNS = (
    *("suite", "aspect", "data", "measure", "test_size", "common_items", "groups", "annotators"),
    *("judge", "family", "mode", "model", "partial", "items", "coverage"),
    *(f"{name}{end}" for name in MEASURED for end in ("", "_low", "_high")),
    *(
        "better_than",
        "replacement_omega",
        "replacement_omega_given",
        "replacement_advantage",
        "replacement_z",
        "replacement_passed",
    ),
    *("failures", "failure_reasons", "judgments", "known", "cost_usd", "seconds", "beside", "notes", "signature"),
)


def to_csv(result: ComparisonResult) -> str:
    """Return one row for each judge and aspect, humans and judges of a part included, under these columns:

    - suite, aspect, data: what was compared on which data; measure: what pairs of judges were tested in
    - test_size: items of the test side; common_items, groups: those all full judges scored; annotators: how many
    - judge, family, mode, model: who; partial (true, false): whether it scored only a part, on which its figures are
    - items: how many its figures are on; coverage: share of the test side that it scored, 0 to 1
    - spearman, kendall, pearson, mae: its figures against the mean of the annotators (for humans: what their name
      says); one: spearman against one annotator; each with …_low and …_high, the ends of its 95 % interval
    - better_than: JSON list of the judges that it significantly exceeds
    - replacement_omega, …_omega_given, …_advantage, …_z, …_passed (true, false): whether it may stand in for a human,
      its scores at the points of the scale (…_omega_given: as they are)
    - failures: how many; failure_reasons: JSON object of how many of each reason
    - judgments: on the test side; known: on train and dev; cost_usd and seconds: for all of them
    - beside: JSON object, for a judge of a part the figures of the full judges on that part; notes: JSON list
    - signature: what the figures stand for

    What is not defined or not known is an empty cell, as are empty lists and objects. Figures have all their digits.
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for table in result.tables:
        writer.writerows(_record(table, row) for row in table.rows)
    return text.getvalue()


def to_json(result: ComparisonResult) -> str:
    """Return the whole comparison as JSON, which `ComparisonResult.model_validate_json` reads again."""
    return result.model_dump_json(indent=1) + "\n"


def _record(table: AspectTable, row: JudgeRow) -> dict[str, object]:
    part = row.replacement
    return {
        "suite": table.aspect.suite,
        "aspect": table.aspect.name,
        "data": table.data,
        "measure": table.measure,
        "test_size": table.size,
        "common_items": table.items,
        "groups": table.groups,
        "annotators": table.annotators,
        "judge": row.name,
        "family": row.family,
        "mode": row.mode,
        "model": row.model,
        "partial": _truth(row.partial),
        "items": row.items,
        "coverage": row.coverage,
        **_figures(row),
        "better_than": _packed(row.better_than),
        "replacement_omega": part and part.omega,
        "replacement_omega_given": part and part.omega_given,
        "replacement_advantage": part and part.advantage,
        "replacement_z": part and part.z,
        "replacement_passed": _truth(part.passed) if part else None,
        "failures": sum(row.failures.values()),
        "failure_reasons": _packed(row.failures),
        "judgments": row.judgments,
        "known": row.known,
        "cost_usd": row.cost,
        "seconds": row.seconds,
        "beside": _packed({name: figure.model_dump() for name, figure in row.beside.items()}),
        "notes": _packed(row.notes),
        "signature": table.signature,
    }


def _figures(row: JudgeRow) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in MEASURED:
        figure = (row.one if name == "one" else row.figures.get(name)) or Figure(value=None)
        found |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    return found


def _truth(value: bool | None) -> str | None:
    return None if value is None else str(value).lower()


def _packed(value: object) -> str | None:
    """Return a list or object as JSON, None if it is empty."""
    return json.dumps(value, ensure_ascii=False) if value else None
