"""Parts that the experiments with several aspects share: pairs of a file, what a model says of them, files, tables."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrator.aspects import Aspect, find_aspect
from calibrator.catalog import data_folder
from calibrator.models.client import Client
from calibrator.records import Item, Judgment, NoRubric
from calibrator.studies.feedback import Feedback, FeedbackJudge, score_rubric
from calibrator.texts import normalise

Array = NDArray[np.float64]
ROLES = ("source", "output")
GENERATORS = {"dialoGPT": "DialoGPT", "chatGPT": "ChatGPT", "vicuna": "Vicuna"}  # column: name in the paper


def suite(name: str, aspects: Sequence[str]) -> dict[str, Aspect]:
    return {a: find_aspect(f"{name}/{a}")[0] for a in aspects}


def rows_of(name: str, data_dir: Path | None) -> list[dict[str, str]]:
    """Return the rows of a file of LLM-CN-Eval. Exits with a line where it is not there."""
    path = (data_dir or data_folder()) / "llm-cn-eval" / name
    if not path.is_file():
        raise SystemExit(f"{path} is not there; set CALIBRATOR_DATA to the folder with llm-cn-eval/")
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def candidates(data_dir: Path | None, limit: int | None) -> list[Item]:
    """Return the first candidate of each generator for each hateful message, for at most `limit` messages."""
    seen: dict[str, dict[str, str]] = {}
    for row in rows_of("candidates.csv", data_dir):
        seen.setdefault(normalise(row["HATE_SPEECH"]), row)
    chosen = list(seen.values())[:limit]
    return [
        Item(id=f"{k}-{column}", output=row[column], source=row["HATE_SPEECH"], group=str(k), system=name)
        for k, row in enumerate(chosen)
        for column, name in GENERATORS.items()
    ]


def with_rubrics(client: Client, aspects: Mapping[str, Aspect], whose: str) -> dict[str, Aspect]:
    """Return the aspects with the anchors that are wanted: "own" of their files, "model", or "none".

    What the model wrote is printed; an aspect for which it wrote none has no anchors.
    """
    from dataclasses import replace

    if whose == "own":
        return dict(aspects)
    bare = {name: replace(aspect, anchors={}) for name, aspect in aspects.items()}
    if whose == "none":
        return bare
    for name, aspect in bare.items():
        written = score_rubric(client, aspect, ROLES)
        if isinstance(written, NoRubric):
            print(f"{name}: no score rubric: {written.reason}")
        else:
            bare[name] = written
            print("\n".join([f"{name}:", *(f"  {p:g}  {text}" for p, text in written.anchors.items())]))
    return bare


def assessed(client: Client, aspects: Mapping[str, Aspect], items: Sequence[Item]) -> dict[str, tuple[Feedback, ...]]:
    """Return what a model says of every item, aspect by aspect."""
    return {name: FeedbackJudge(client, aspect, ROLES, 200).assess(items) for name, aspect in aspects.items()}


def scores_of(given: Mapping[str, Sequence[Feedback]]) -> dict[str, Array]:
    """Return the scores by aspect, nan for a failure."""
    return {
        name: np.array([f.verdict.score if isinstance(f.verdict, Judgment) else np.nan for f in found])
        for name, found in given.items()
    }


def write_feedback(path: Path, items: Sequence[Item], given: Mapping[str, Sequence[Feedback]]) -> None:
    """Write a row for each item and aspect: score or why there is none, and the feedback. No text of an item."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "group", "system", "aspect", "score", "failure", "feedback"])
        for name, found in given.items():
            for item, said in zip(items, found, strict=True):
                scored = isinstance(said.verdict, Judgment)
                score = f"{said.verdict.score:g}" if isinstance(said.verdict, Judgment) else ""
                reason = "" if scored else getattr(said.verdict, "reason", "")
                writer.writerow([item.id, item.group, item.system, name, score, reason, said.text])
    print(f"\nwritten: {path}, {len(items) * len(given)} rows")


def failures(given: Mapping[str, Sequence[Feedback]]) -> str:
    """Return in words how many verdicts are failures, and how many came without feedback."""
    every = [f for found in given.values() for f in found]
    failed = sum(not isinstance(f.verdict, Judgment) for f in every)
    return f"{len(every)} verdicts, {failed} failures, {sum(not f.text for f in every)} without feedback"


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def shown(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" if np.isfinite(value) else "–"
