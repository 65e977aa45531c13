"""How effective are the answers of three generators, in six components, and what should be improved?

    python experiments/effectiveness.py --model local/smollm2 --limit 4 [--rubrics own|model|none] [--out assessed.csv]
    python experiments/effectiveness.py --scores scores.csv [--weights evidence=2,rebuttal=2] [--out assessed.csv]

The components of "Annotation Guidelines for Evaluating Effectiveness of Counter Speech", each on the scale it has there
(three to 3 points, two present or not), on the candidates of LLM-CN-Eval. --model scores them with any model, one
request for each text and component, with feedback; --limit is the number of messages, three texts each. --scores takes
a CSV with a column for each component instead (people's ratings, or what `calibrate score` wrote) and, if it has it, a
column `system`. The guideline wants an overall assessment that names what to improve and gives no formula: here the
overall is the mean of how far each component is on its own scale, 0 to 1, unless --weights says otherwise.

Prints a line for each text (--lines of them) and a table of the systems. --out has a row for each text with scores,
overall, and what to improve; the feedback is written beside it, to <out>.feedback.csv. No text of an item is written.
"""

from __future__ import annotations

import argparse
import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assessing import assessed, candidates, failures, scores_of, shown, suite, table, with_rubrics, write_feedback

from calibrator.aspects import Aspect
from calibrator.cells import missing, number
from calibrator.errors import DataError
from calibrator.models.build import Access, Connections
from calibrator.models.replies import cache_folder
from calibrator.studies.assessment import assess, best_of, summary
from calibrator.tables import read_table

SIX = ("clarity", "evidence", "emotional-appeal", "rebuttal", "audience-adaptation", "fairness")
EVERY = "all"


@dataclass(frozen=True, slots=True)
class Text:
    """A text's name, its system and its scores by component; nan where there is none."""

    name: str
    system: str
    scores: Mapping[str, float]


def from_model(
    model: str, aspects: Mapping[str, Aspect], limit: int | None, rubrics: str, out: Path | None, data_dir: Path | None
) -> list[Text]:
    items = candidates(data_dir, limit)
    with Connections(Access(cache=cache_folder())) as connections:
        client = connections.client(model)
        asked = with_rubrics(client, aspects, rubrics)
        given = assessed(client, asked, items)
    print(f"{model}, {len(items)} texts: {failures(given)}")
    if out is not None:
        write_feedback(out.with_name(f"{out.name}.feedback.csv"), items, given)
    scores = scores_of(given)
    return [Text(item.id, item.system or "", {n: float(scores[n][k]) for n in aspects}) for k, item in enumerate(items)]


def from_file(path: Path, aspects: Mapping[str, Aspect]) -> list[Text]:
    """Return the texts of a file of scores. Exits with a line where a component has no column or a cell no number."""
    if not path.is_file():
        raise SystemExit(f"--scores: there is no file {path}")
    try:
        table = read_table(path)
    except DataError as error:
        raise SystemExit(f"--scores: {error}") from None
    absent = [n for n in aspects if n not in table.columns]
    if absent:
        raise SystemExit(f"--scores: {path} has no column {', '.join(absent)}; a column for each component is needed")
    found = []
    for k, (row, at) in enumerate(zip(table.rows, table.row_numbers, strict=True)):
        scores = {n: _number(row.get(n), f"{path}, row {at}, {n}", aspects[n]) for n in aspects}
        name = row.get("item") or row.get("id") or k + 1
        found.append(Text(str(name), str(row.get("system") or EVERY), scores))
    return found


def _number(cell: Any, where: str, aspect: Aspect) -> float:
    """Return the score in a cell, nan for an empty one. Exits where it is no number of the scale."""
    if missing(cell):
        return math.nan
    value = number(cell)
    if value is None or not aspect.scale.holds(value):
        raise SystemExit(f"--scores: {where}: '{cell}' is not on the scale {aspect.scale}; leave it empty for no score")
    return value


def parse_weights(text: str | None, aspects: Mapping[str, Aspect]) -> dict[str, float]:
    """Return the weights in "evidence=2,rebuttal=0.5". Exits with a line for what is none."""
    found = {}
    for part in (text or "").split(",") if text else []:
        name, _, value = part.partition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            raise SystemExit(f"--weights: '{part}' is no weight; write evidence=2") from None
        if name.strip() not in aspects or not 0 <= found[name.strip()] < math.inf:
            raise SystemExit(f"--weights: '{part}'; a number from 0 up for one of {', '.join(aspects)}")
    if found and not any({n: found.get(n, 1.0) for n in aspects}.values()):
        raise SystemExit("--weights: one of them must be above 0")
    return found


def print_systems(texts: Sequence[Text], aspects: Mapping[str, Aspect], weights: Mapping[str, float]) -> None:
    lines = []
    for system in dict.fromkeys(t.system for t in texts):
        found = summary([t.scores for t in texts if t.system == system], aspects, weights)
        told = told_first(found.first, aspects)
        counts = f"{found.complete} of {found.texts}"
        lines.append([system, counts, *(shown(found.means[n]) for n in aspects), shown(found.overall), told])
    tops = [f"{a.label.lower()} ({a.scale.low:g}-{best_of(a):g})" for a in aspects.values()]
    table(["system", "all scores", *tops, "overall (0-1)", "first to improve"], lines)


def told_first(first: Mapping[tuple[str, ...], int], aspects: Mapping[str, Aspect], most: int = 2) -> str:
    """Return what came first to improve most often: "rebuttal in 4; clarity, evidence in 2", a tie of two in two texts.

    At most so many, and "…" behind them if one that is left out is as frequent as the last.
    """
    counted = Counter(first).most_common()
    told = []
    for names, count in counted[:most]:
        tied = "all alike" if 1 < len(names) == len(aspects) else ", ".join(aspects[n].label.lower() for n in names)
        told.append(f"{tied} in {count}")
    if len(counted) > most and counted[most][1] == counted[most - 1][1]:
        told.append("…")
    return "; ".join(told) or "nothing"


def print_texts(texts: Sequence[Text], aspects: Mapping[str, Aspect], weights: Mapping[str, float], most: int) -> None:
    for text in texts[:most]:
        found = assess(text.scores, aspects, weights)
        print(f"{text.name:14} overall {shown(found.overall)}; {found.in_words(3)}")


def write(path: Path, texts: Sequence[Text], aspects: Mapping[str, Aspect], weights: Mapping[str, float]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", *aspects, "overall", "improve"])
        for text in texts:
            found = assess(text.scores, aspects, weights)
            scores = ["" if math.isnan(found.shares[n]) else f"{text.scores[n]:g}" for n in aspects]
            overall = "" if math.isnan(found.overall) else f"{found.overall:.4f}"
            writer.writerow([text.name, text.system, *scores, overall, found.in_words()])
    print(f"\nwritten: {path}, {len(texts)} rows")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    whence = parser.add_mutually_exclusive_group(required=True)
    whence.add_argument("--model")
    whence.add_argument("--scores", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--rubrics", choices=("own", "model", "none"), default="own")
    parser.add_argument("--weights")
    parser.add_argument("--lines", type=int, default=6)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--data-dir", type=Path)
    arguments = parser.parse_args()
    aspects = suite("effectiveness", SIX)
    weights = parse_weights(arguments.weights, aspects)
    if arguments.scores is not None:
        texts = from_file(arguments.scores, aspects)
    else:
        limit, out = arguments.limit, arguments.out
        texts = from_model(arguments.model, aspects, limit, arguments.rubrics, out, arguments.data_dir)
    print_texts(texts, aspects, weights, arguments.lines)
    print_systems(texts, aspects, weights)
    if arguments.out is not None:
        write(arguments.out, texts, aspects, weights)


if __name__ == "__main__":
    main()
