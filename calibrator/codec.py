"""Records as JSON values and back; numbers come back as the very same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from calibrator.records import Factor, Failure, Judgment, Measure, NoRubric, Rubric, Step, Verdict, Written


def rubric_to_json(rubric: Rubric) -> dict[str, Any]:
    """Return a rubric as a JSON object."""
    return asdict(rubric)


def rubric_from_json(value: Mapping[str, Any]) -> Rubric:
    """Return the rubric of a JSON object."""
    steps = tuple(Step(s["text"], tuple(map(measure_from_json, s["measures"]))) for s in value["steps"])
    return Rubric(value["aspect"], steps, value["base"])


def measure_from_json(value: Mapping[str, Any]) -> Measure:
    """Return the measure of a JSON object; one that was written before there were products has no "times"."""
    times = value.get("times")
    return Measure(**{**value, "times": Factor(**times) if times else None})


def written_to_json(written: Written) -> dict[str, Any]:
    """Return what a drafter gave as a JSON object: a rubric, or {"failed": reason}."""
    return {"failed": written.reason} if isinstance(written, NoRubric) else rubric_to_json(written)


def written_from_json(value: Mapping[str, Any]) -> Written:
    """Return what a drafter gave."""
    return NoRubric(value["failed"]) if "failed" in value else rubric_from_json(value)


def verdicts_to_json(verdicts: Sequence[Verdict]) -> list[list[Any]]:
    """Return verdicts as JSON: [item, score, mode] for a judgment, [item, null, reason] for a failure."""
    return [[v.item, v.score, v.mode] if isinstance(v, Judgment) else [v.item, None, v.reason] for v in verdicts]


def verdicts_from_json(value: Sequence[Sequence[Any]]) -> tuple[Verdict, ...]:
    """Return the verdicts of a JSON list."""
    return tuple(Failure(i, why) if score is None else Judgment(i, score, why) for i, score, why in value)
