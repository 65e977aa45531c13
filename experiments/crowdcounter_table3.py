"""CrowdCounter's table 3 (Saha et al. 2024): which types a text is of, by several classifiers, beside its figures.

    python experiments/crowdcounter_table3.py [--transformer FOLDER] [--llm MODEL] [--resamples 2000] [--seed 0]

Prints Markdown, ready for LOG.md. Classifiers learn from `crowdcounter/Train.jsonl` and are reported on `Test.jsonl`,
with intervals by bootstrap over sources; beside them stand the types that GPT-4 was recorded to give
(`gpt4_types.json`) and the majority baselines. The paper's table is on other data (5,154 texts of two other sets: 4,136
to train and validate on, 1,018 to test), which is not at hand: it stands there for orientation. A second table leaves
out the test texts that stand in Train too. The last holds the two readings of "precision" and "recall" against the
paper's figures.

`--transformer` fine-tunes a checkpoint at the paper's settings (minutes on a GPU, hours without), `--llm` asks a model.
Needs the data sets in $CALIBRATOR_DATA, and `pip install 'calibrator[studies]'`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from calibrator.catalog import data_folder
from calibrator.judges.frozen_parts import Figure
from calibrator.models.build import Access, Connections
from calibrator.models.replies import cache_folder
from calibrator.report.lines import cell
from calibrator.studies.types.data import recurring
from calibrator.studies.types.llm import LLMClassifier
from calibrator.studies.types.majority import MajorityLearner
from calibrator.studies.types.reading_sides import read_sides
from calibrator.studies.types.recorded import recorded_file
from calibrator.studies.types.result import TypesResult
from calibrator.studies.types.study import Answered, Candidate, Sides, answer_all, compare
from calibrator.studies.types.tfidf import TfidfLearner
from calibrator.studies.types.transformer import TransformerLearner

MEASURES = ("hamming_loss", "accuracy", "precision", "recall", "f1")
HEADS = ("Hamming loss", "accuracy", "precision", "recall", "F1", "macro-F1")
GPT4 = "recorded GPT-4"
# Saha et al. 2024, table 3, as published.
PAPER = {
    "BERT": (0.25, 0.27, 0.31, 0.27, 0.29),
    "Flan-T5 (base)": (0.18, 0.47, 0.50, 0.47, 0.49),
    "GPT-4, zero-shot": (0.27, 0.37, 0.38, 0.66, 0.49),
}


def print_figures(result: TypesResult, title: str, *, paper: bool = False) -> None:
    """Print each classifier's figures, and the paper's below them."""
    print(f"\n{title}: {result.test} texts, {result.groups} sources\n")
    print(f"| classifier | texts | {' | '.join(HEADS)} |\n|---|---|{'---|' * len(HEADS)}")
    for row in result.rows:
        figures = " | ".join(cell(row.figures[m], digits=2) for m in (*MEASURES, "macro_f1"))
        print(f"| {row.name} | {row.items} | {figures} |")
    for name, published in PAPER.items() if paper else ():
        print(f"| *paper, other data:* {name} | 1018 | {' | '.join(f'{v:.2f}' for v in published)} | – |")


def print_gains(result: TypesResult) -> None:
    """Print how each classifier differs from the default one, and F1 by label."""
    print(f"\nDifference to {result.default}, paired\n")
    print(f"| classifier | {' | '.join(HEADS)} |\n|---|{'---|' * len(HEADS)}")
    for row in result.rows:
        if row.gains:
            gains = (cell(row.gains[m], signed=True, digits=2) for m in (*MEASURES, "macro_f1"))
            print(f"| {row.name} | {' | '.join(gains)} |")
    print("\nF1 by label\n")
    print(f"| label | test texts | {' | '.join(row.name for row in result.rows)} |")
    print(f"|---|---|{'---|' * len(result.rows)}")
    for label in result.labels:
        figures = " | ".join(cell(row.labels[label], digits=2) for row in result.rows)
        print(f"| {label} | {result.frequency[label]} | {figures} |")


def print_namings(result: TypesResult) -> None:
    """Print GPT-4's figures under both readings of the appendix beside those the paper has for it."""
    row = next(row for row in result.rows if row.name == GPT4)
    _, accuracy, precision, recall, _ = PAPER["GPT-4, zero-shot"]
    print("\nTwo readings of precision and recall, GPT-4\n")
    print("| | accuracy | precision | recall |\n|---|---|---|---|")
    print(f"| paper, other data | {accuracy:.2f} | {precision:.2f} | {recall:.2f} |")
    for name, names in (
        ("the formulas of the appendix (common use)", ("accuracy", "precision", "recall")),
        ("its sentences", ("accuracy", "precision_paper", "recall_paper")),
    ):
        print(f"| here, by {name} | {' | '.join(_two(row.figures[n]) for n in names)} |")


def _two(figure: Figure) -> str:
    return "–" if figure.value is None else f"{figure.value:.2f}"


def candidates(sides: Sides, place: str, given: argparse.Namespace, stack: ExitStack) -> list[Candidate]:
    """Return the classifiers to compare, the default first."""
    for_accuracy = TfidfLearner(seed=given.seed, objective="accuracy")
    made = [
        Candidate("tfidf", partial(TfidfLearner(seed=given.seed).fit, sides.train, sides.scheme)),
        Candidate("tfidf, for accuracy", partial(for_accuracy.fit, sides.train, sides.scheme)),
        Candidate(GPT4, lambda: recorded_file(place, sides.test, sides.scheme)),
        Candidate("majority label", lambda: MajorityLearner().fit(sides.train, sides.scheme)),
        Candidate("majority set", lambda: MajorityLearner("set").fit(sides.train, sides.scheme)),
    ]
    for name in given.transformer:
        learner = TransformerLearner(name, given.seed, tell=lambda line: print(f"<!-- {line} -->"))
        made.append(Candidate(name, partial(learner.fit, sides.train, sides.scheme)))
    if given.llm:
        connections = stack.enter_context(Connections(Access(cache=cache_folder())))
        made.append(Candidate(given.llm, lambda: LLMClassifier(connections.client(given.llm), sides.scheme)))
    return made


def without(sides: Sides, answered: Sequence[Answered]) -> tuple[Sides, list[Answered]]:
    """Return the test side, and the answers, without the texts that stand in what was learnt from."""
    kept = [k for k, there in enumerate(recurring(sides.train, sides.test)) if not there]
    fewer = replace(sides, test=tuple(sides.test[k] for k in kept))
    return fewer, [replace(a, answers=tuple(a.answers[k] for k in kept)) for a in answered]


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transformer", action="append", default=[])
    parser.add_argument("--llm")
    parser.add_argument("--resamples", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    folder = data_folder(None) / "crowdcounter"
    sides = read_sides(folder / "Train.jsonl", folder / "Test.jsonl", {}, "crowdcounter").sides
    with ExitStack() as stack:
        answered = answer_all(sides, candidates(sides, f"{folder / 'gpt4_types.json'}#gpt4-types", given, stack))
    result = compare(sides, answered, "tfidf", given.seed, given.resamples)
    print_figures(result, "All", paper=True)
    print_gains(result)
    fewer, again = without(sides, answered)
    print_figures(compare(fewer, again, "tfidf", given.seed, given.resamples), "Without texts that stand in Train too")
    print_namings(result)
    print()
    made = [f"{row.name}: {row.notes or row.failures}" for row in result.rows if row.notes or row.failures]
    for line in (*result.warnings, *made, result.signature):
        print(f"- {line}")


if __name__ == "__main__":
    main()
