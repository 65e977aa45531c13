"""Our overlap metrics beside the `metric/` columns that stand recorded with CSEval (Hengle et al. 2025).

    python experiments/metrics_recorded.py [--nltk-data FOLDER]

Prints Markdown, ready for LOG.md, on the rows of `cseval/recorded_judges.csv` that have the columns:

1. each recorded column beside our metric of that name as it is by default, and beside the call that gives back the
   recorded numbers. These calls were found by trying; each is written out here, and the table says how many of the
   recorded numbers it gives to six places;
2. what that means for agreement with the human ratings;
3. the columns that no metric of ours corresponds to.

METEOR needs WordNet (`calibrate data get wordnet`). Needs the data sets in $CALIBRATOR_DATA.
"""

from __future__ import annotations

import argparse
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cseval_parts import Array, on_scale, table
from cseval_published import ASPECTS

from calibrator.aspects import find_aspect
from calibrator.audit.subject import numbers_of
from calibrator.catalog import data_folder
from calibrator.metrics import meteor, overlap
from calibrator.metrics.base import ItemScorer, Settings
from calibrator.metrics.wordnet import open_wordnet
from calibrator.records import Item
from calibrator.stats.correlation import kendall, spearman
from calibrator.tables import read_table

SAME = 1e-6
Pair = Callable[[str, str], float]  # output and other text to a figure
Texts = Mapping[str, list[str]]
Ours = Mapping[str, Array]
Humans = Mapping[str, Array]


@dataclass(frozen=True, slots=True)
class Column:
    """A recorded column, our metric of that name if there is one, and the call that gives the recorded numbers."""

    recorded: str
    ours: str
    how: str
    made: Pair
    other: str = "counterspeech"  # the column of the text that the output is compared with


# What the recorded numbers were made from: texts without signs other than . , ? ! + -, such as apostrophes.
def bare(text: str) -> str:
    return re.sub(r"[^\w\s.,?!+-]", "", text)


@cache
def _nltk() -> tuple[Any, Any, Any]:
    from nltk.tokenize import NLTKWordTokenizer
    from nltk.tokenize.punkt import PunktSentenceTokenizer
    from nltk.translate import bleu_score

    return bleu_score, PunktSentenceTokenizer(), NLTKWordTokenizer()


def nltk_words(text: str) -> list[str]:
    _, sentences, words = _nltk()
    return [token for sentence in sentences.tokenize(text) for token in words.tokenize(sentence)]


def bleu_1(output: str, reference: str) -> float:
    """The reference's words given as the list of references: each word is a reference whose tokens are its letters."""
    score: float = _nltk()[0].sentence_bleu(reference.lower().split(), output.lower().split(), weights=(1,))
    return score


def bleu_of_strings(*weights: float) -> Pair:
    """Strings given for lists: tokens are letters, and each letter of the reference is a reference of its own."""

    def figure(output: str, reference: str) -> float:
        bleu = _nltk()[0]
        smooth = bleu.SmoothingFunction().method4
        score: float = bleu.sentence_bleu(
            reference.lower(),
            output.lower(),
            weights=(*weights, *[0.0] * (4 - len(weights))),
            smoothing_function=smooth,
        )
        return score

    return figure


def _f1(common: int, words: int, reference: int) -> float:
    precision, recall = common / max(words, 1), common / max(reference, 1)
    return 2 * precision * recall / (precision + recall + 1e-8)


def _sentences(text: str) -> list[list[str]]:
    return [" ".join(part.split()).split(" ") for part in bare(text).lower().split(".") if part]


def rouge_n(n: int) -> Pair:
    """ROUGE-N of the package `rouge` 1: words by white space, each different n-gram once."""

    def different(text: str) -> set[tuple[str, ...]]:
        words = [w for sentence in _sentences(text) for w in sentence]
        return {tuple(words[k : k + n]) for k in range(len(words) - n + 1)}

    def figure(output: str, reference: str) -> float:
        ours, theirs = different(output), different(reference)
        return _f1(len(ours & theirs), len(ours), len(theirs))

    return figure


def rouge_l(output: str, reference: str) -> float:
    """ROUGE-L of the package `rouge` 1: the different words of all common subsequences of a sentence each."""
    ours, theirs = _sentences(output), _sentences(reference)
    union = {word for r in theirs for o in ours for word in _subsequence(r, o)}
    return _f1(len(union), len({w for s in ours for w in s}), len({w for s in theirs for w in s}))


def _subsequence(x: Sequence[str], y: Sequence[str]) -> Iterator[str]:
    length = np.zeros((len(x) + 1, len(y) + 1), dtype=int)
    for i, j in np.ndindex(len(x), len(y)):
        same = x[i] == y[j]
        length[i + 1, j + 1] = length[i, j] + 1 if same else max(length[i, j + 1], length[i + 1, j])
    i, j = len(x), len(y)
    while i and j:
        if x[i - 1] == y[j - 1]:
            yield x[i - 1]
            i, j = i - 1, j - 1
        elif length[i - 1, j] > length[i, j - 1]:
            i -= 1
        else:
            j -= 1


def bm25(output: str, other: str) -> float:
    """Okapi BM25 as the package `rank_bm25` has it: the output as query to two documents, the other text and itself.

    A word of one document has idf log(1.5 / 1.5) = 0, one of both log(0.5 / 2.5), which is replaced by a quarter of the
    mean idf of all words: never above 0, and the lower the more words are shared.
    """
    query, document = nltk_words(bare(output).lower()), nltk_words(bare(other).lower())
    counts, both = Counter(document), set(query) & set(document)
    idf = 0.25 * len(both) * math.log(0.2) / len(set(query) | set(document))
    norm = 1.5 * (0.25 + 0.75 * len(document) / ((len(query) + len(document)) / 2))
    return sum(idf * counts[w] * 2.5 / (counts[w] + norm) for w in query if w in both)


def meteor_of_bare(nltk_data: Path | None) -> Pair:
    from nltk.translate.meteor_score import single_meteor_score

    wordnet = open_wordnet(nltk_data, "METEOR")

    def figure(output: str, reference: str) -> float:
        words = nltk_words(bare(output))
        return float(single_meteor_score(nltk_words(bare(reference)), words, wordnet=wordnet))

    return figure


def columns(nltk_data: Path | None) -> tuple[Column, ...]:
    to = "_(pred_cs, cs)"
    letters = "strings for lists of tokens, so letters are compared; smoothing 4, weights"
    package = "package `rouge`: different n-grams counted once, split at white space, small letters, bare text"
    okapi = "package `rank_bm25`: output as query to two documents, the other text and itself; bare text"
    return (
        Column(f"bleu_1{to}", "bleu-1", "reference's words given as many references: letters against words", bleu_1),
        Column(f"bleu_2{to}", "bleu-2", f"{letters} ½, ½", bleu_of_strings(0.5, 0.5)),
        Column(f"bleu_3{to}", "bleu-3", f"{letters} 0, 0, 1", bleu_of_strings(0, 0, 1)),
        Column(f"bleu_4{to}", "bleu-4", f"{letters} 0, 0, 0, 1", bleu_of_strings(0, 0, 0, 1)),
        Column(f"rouge_1{to}", "rouge-1", package, rouge_n(1)),
        Column(f"rouge_2{to}", "rouge-2", package, rouge_n(2)),
        Column(f"rouge_l{to}", "rouge-l", f"{package}; subsequences sentence by sentence", rouge_l),
        Column(f"meteor_score{to}", "meteor", "ours, on bare text", meteor_of_bare(nltk_data)),
        Column(f"bm25_score{to}", "", okapi, bm25),
        Column("bm25_score_(hs, pred_cs)", "", okapi, bm25, "hatespeech"),
    )


def beside(values: Array, recorded: Array) -> list[str]:
    """Return how near the values come to the recorded ones: rho, tau, mean absolute difference, share alike."""
    apart = np.abs(values - recorded)
    figures = [float(spearman(values, recorded)), float(kendall(values, recorded)), float(apart.mean())]
    return [*(f"{f:.3f}" for f in figures), f"{100 * (apart < SAME).mean():.1f}"]


def ours_on(items: Sequence[Item], settings: Settings) -> dict[str, Array]:
    """Return the values of all our overlap metrics by name, shape (items,); none of these items is without one."""
    found: dict[str, Array] = {}
    for make in dict.fromkeys(m.make for m in (*overlap.METRICS, *meteor.METRICS)):
        scorer: ItemScorer = make(settings)  # type: ignore[assignment]
        found |= {name: np.array(values, dtype=float) for name, values in scorer(items, lambda _: None).items()}
    return found


def print_columns(every: Sequence[Column], texts: Texts, recorded: Mapping[str, Array], ours: Ours) -> None:
    lines, how = [], []
    for column in every:
        there = recorded[column.recorded]
        made = np.array([column.made(o, t) for o, t in zip(texts["output"], texts[column.other], strict=True)])
        default = beside(ours[column.ours], there) if column.ours else ["–"] * 4
        lines.append([f"`{column.recorded}`", column.ours or "none", *default, *beside(made, there)])
        how.append([f"`{column.recorded}`", column.how])
    print(
        f"Recorded columns beside ours by default, and beside the call that made them ({len(texts['output'])} rows):\n"
    )
    figures = ["rho", "tau", "abs. diff.", "alike %"]
    table(["recorded", "ours", *figures, *(f"made: {f}" for f in figures)], lines)
    print("The calls that made them:\n")
    table(["recorded", "how"], how)


def print_humans(every: Sequence[Column], recorded: Mapping[str, Array], ours: Ours, humans: Humans) -> None:
    lines = []
    for column in every:
        if column.ours:
            cells = []
            for human in humans.values():
                both = (float(spearman(x, human)) for x in (recorded[column.recorded], ours[column.ours]))
                cells.append(" / ".join(f"{x:+.3f}" for x in both))
            lines.append([column.ours, *cells])
    counts = ", ".join(f"{name} {int(np.isfinite(human).sum())}" for name, human in humans.items())
    print(f"rho with the human ratings, recorded / ours (rated rows: {counts}):\n")
    table(["metric", *humans], lines)


def print_lengths(texts: Texts, recorded: Mapping[str, Array]) -> None:
    length = np.array([len(t) for t in texts["output"]], dtype=float)
    for name in ("bleu_3_(pred_cs, cs)", "bleu_4_(pred_cs, cs)"):
        print(f"rho of `{name}` with the number of characters of the output: {spearman(recorded[name], length):.4f}")
    shared = [
        len(set(nltk_words(o.lower())) & set(nltk_words(r.lower())))
        for o, r in zip(texts["output"], texts["counterspeech"], strict=True)
    ]
    rho = float(spearman(recorded["bm25_score_(pred_cs, cs)"], np.array(shared, dtype=float)))
    print(f"rho of `bm25_score_(pred_cs, cs)` with the number of words that output and reference share: {rho:.3f}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--nltk-data", type=Path)
    arguments = parser.parse_args()
    read = read_table(data_folder(arguments.data_dir) / "cseval" / "recorded_judges.csv")
    numbers = numbers_of(read)
    names = [c.removeprefix("metric/") for c in read.columns if c.startswith("metric/")]
    rows = np.flatnonzero(np.all([np.isfinite(numbers[f"metric/{n}"]) for n in names], axis=0))
    recorded = {n: numbers[f"metric/{n}"][rows] for n in names}
    place = {"output": "predicted_counterspeech", "counterspeech": "counterspeech", "hatespeech": "hatespeech"}
    texts = {k: [str(read.rows[i].get(column) or "") for i in rows.tolist()] for k, column in place.items()}
    pairs = zip(texts["output"], texts["counterspeech"], strict=True)
    items = [Item(str(k), output, reference=reference) for k, (output, reference) in enumerate(pairs)]
    ours = ours_on(items, Settings(nltk_data=arguments.nltk_data))
    humans = {a: on_scale(numbers[f"{a}_score"], find_aspect(f"cseval/{a}")[0])[rows] for a in ASPECTS}
    every = columns(arguments.nltk_data)
    print_columns(every, texts, recorded, ours)
    print_lengths(texts, recorded)
    print_humans(every, recorded, ours, humans)
    rest = [n for n in names if n not in {c.recorded for c in every if c.ours}]
    print(f"Recorded columns without a metric of this family: {', '.join(f'`{n}`' for n in rest)}")
    without = sorted(set(ours) - {c.ours for c in every})
    print(f"Ours that nothing is recorded for: {', '.join(without)}")


if __name__ == "__main__":
    main()
