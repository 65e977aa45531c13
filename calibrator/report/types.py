"""A study of classifiers for people: a table at the terminal and in Markdown, and every answer as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from rich.console import Console

from calibrator.report.console import say
from calibrator.report.lines import cell
from calibrator.report.sheet import Column, Sheet, escaped, markdown_sheet, show_sheet
from calibrator.studies.labels import quoted
from calibrator.studies.types.base import Assigned
from calibrator.studies.types.result import ClassifierRow, TypesResult
from calibrator.studies.types.study import Answered, Sides

MAIN = {
    "hamming_loss": "Hamming loss (less is better)",
    "accuracy": "accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "macro_f1": "macro-F1",
}
FURTHER = {
    "precision_paper": "precision (paper)",
    "recall_paper": "recall (paper)",
    "hamming_score": "Hamming score",
    "exact_match": "exact match",
    "sample_f1": "F1 by text",
}
NOTES = (
    "Accuracy is |true and said| / |true or said|, precision |true and said| / |said|, recall |true and said| / ",
    "|true|, each the mean over texts; F1 is the harmonic mean of the two means; the Hamming loss is the part of all ",
    "decisions that is wrong; macro-F1 is the mean over labels.",
)
PAPER = (
    "Precision (paper) and recall (paper) are called so in the sentences of CrowdCounter's appendix F.2, and the ",
    "other way round in its formulas and everywhere else.",
)


def sheets(result: TypesResult) -> list[Sheet]:
    """Return the tables of a study: the figures, the differences to the default classifier, and F1 by label."""
    made = [
        _sheet("Classifiers on the test side", result, MAIN, notes=("".join(NOTES),)),
        _sheet("Further figures", result, FURTHER, notes=("".join(PAPER),)),
    ]
    others = [row for row in result.rows if row.gains]
    if others:
        heads = tuple(Column(head) for head in MAIN.values())
        rows = tuple((row.name, str(row.common), *(cell(row.gains[m], signed=True) for m in MAIN)) for row in others)
        title = f"Difference to {result.default}, on the texts that both classified"
        made.append(Sheet(title, (Column("classifier", right=False), Column("texts"), *heads), rows))
    rows = tuple(
        (label, str(result.frequency[label]), *(cell(row.labels[label]) for row in result.rows))
        for label in result.labels
    )
    columns = (Column("label", right=False), Column("test texts"), *(Column(row.name) for row in result.rows))
    return [*made, Sheet("F1 by label", columns, rows)]


def _sheet(title: str, result: TypesResult, measures: dict[str, str], notes: tuple[str, ...] = ()) -> Sheet:
    rows = tuple(
        (row.name, str(row.items), str(sum(row.failures.values())), *(cell(row.figures[m]) for m in measures))
        for row in result.rows
    )
    heads = (Column("classifier", right=False), Column("texts"), Column("failures"))
    return Sheet(title, (*heads, *(Column(head) for head in measures.values())), rows, notes=notes)


def outcome_lines(result: TypesResult) -> list[str]:
    """Return the main figures of each classifier, a line each."""
    shown = {m: MAIN[m] for m in ("accuracy", "f1", "hamming_loss")}
    return [
        f"{row.name}: {', '.join(f'{head} {cell(row.figures[m])}' for m, head in shown.items())}"
        f"{f'; {sum(row.failures.values())} failures' if row.failures else ''}"
        for row in result.rows
    ]


def lines(result: TypesResult) -> list[str]:
    """Return what the figures stand for, what failed and what was chosen, a line each."""
    kind = f"scheme {result.scheme}" if result.scheme else "labels of the data"
    learnt = f"{result.train} texts to learn from" if result.train else "learnt elsewhere"
    told = [
        f"{learnt}, {result.test} to report on ({result.groups} groups); {kind}: "
        f"{len(result.labels)} labels, {result.mean_labels:.2f} a text"
    ]
    for row in result.rows:
        told += [f"{row.name}: {n} × {reason}" for reason, n in row.failures.items()]
        told += [f"{row.name}: {_notes(row)}"] if row.notes else []
    look = "" if result.look is None else f" · look {result.look} at this test side"
    return [*told, f"{result.signature}{look}"]


def _notes(row: ClassifierRow) -> str:
    return "; ".join(
        f"{k} {', '.join(quoted(str(e)) for e in v) if isinstance(v, list) else v}"
        for k, v in row.notes.items()
        if v != []
    )


def show_types(console: Console, result: TypesResult) -> None:
    """Print the tables, and what they stand for."""
    for sheet in sheets(result):
        show_sheet(console, sheet)
    say(console, "")
    for line in lines(result):
        say(console, line, "dim")


def types_markdown(result: TypesResult) -> str:
    """Return the study as Markdown; no text of an example is in it."""
    parts = ["# Classifiers", ""]
    parts += [f"- {escaped(line)}" for line in lines(result)]
    parts += [f"- **warning:** {escaped(line)}" for line in result.warnings]
    parts.append("")
    for sheet in sheets(result):
        parts += markdown_sheet(sheet, 2)
    return "\n".join(parts)


def answers_csv(sides: Sides, answered: Sequence[Answered]) -> str:
    """Return every answer: a row for each test example (its row in the file, no text), a column for each classifier.

    Labels are joined by "|"; a failure is an empty cell with the reason in the column behind it.
    """
    text = io.StringIO()
    names = [name for a in answered for name in (a.name, f"{a.name}_failure")]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["row", "labels", *names])
    for k, example in enumerate(sides.test):
        cells: list[object] = [example.row, "|".join(sorted(example.labels or ()))]
        for a in answered:
            answer = a.answers[k]
            given = isinstance(answer, Assigned)
            cells += ["|".join(sorted(answer.labels)), ""] if given else ["", answer.reason]  # type: ignore[union-attr]
        writer.writerow(cells)
    return text.getvalue()
