"""Saha et al. (2024), CrowdCounter, Tables 1 and 11: the sizes of the sides, and the words that mark each type.

    python experiments/crowdcounter_keywords.py [--data-dir DIR]

Reads `crowdcounter/{Train,Val,Test}.jsonl`. Table 11 says: the words highest by TF-IDF (scikit-learn's) of each type,
those that several types share removed. What it leaves open (which texts are a document, how many words a type keeps
before the shared ones go) is tried here; printed is how many of the paper's five words a type has among its first five,
and the share of the mean TF-IDF beside the paper's.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

TYPES = {
    "contradiction": {"problem": 1.16, "apart": 1.15, "also": 1.01, "black": 0.89, "actually": 0.85},
    "empathy_affiliation": {"opinion": 1.90, "share": 1.64, "understand": 1.42, "feel": 1.22, "live": 1.14},
    "humour": {"hatred": 1.40, "solve": 1.27, "wow": 1.23, "poverty": 1.17, "homelessness": 1.15},
    "questions": {"comment": 1.88, "wonder": 1.68, "make": 1.60, "facts": 1.60, "vague": 1.51},
    "shaming": {"others": 1.75, "hateful": 1.29, "offensive": 1.27, "someone": 1.17, "without": 1.15},
    "warning-of-consequences": {"online": 3.31, "banned": 3.07, "permanent": 2.22, "choose": 1.76, "remember": 1.71},
}
SIZES = {"Train and Val": 2147, "Test": 1288}  # the paper's train and test
KEPT = (10, 15, 20, 25, 30, 50)
Row = dict[str, Any]


def read(folder: Path, *parts: str) -> list[Row]:
    return [json.loads(line) for part in parts for line in (folder / f"{part}.jsonl").open(encoding="utf-8")]


def labels_of(row: Row, column: str) -> Sequence[str]:
    value = row[column]
    return [value] if isinstance(value, str) else value


def keywords(rows: Sequence[Row], column: str, kept: int, document: str) -> dict[str, list[tuple[str, float]]]:
    """Return of each type its words by TF-IDF in percent, the highest first, without those that several types keep."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    by_type = {t: [r["counterspeech"] for r in rows if t in labels_of(r, column)] for t in TYPES}
    vectorizer = TfidfVectorizer(stop_words="english") if "stop" in document else TfidfVectorizer()
    if "type" in document:
        matrix = vectorizer.fit_transform([" ".join(by_type[t]) for t in TYPES]).toarray()
        means = dict(zip(TYPES, matrix, strict=True))
    else:
        vectorizer.fit([r["counterspeech"] for r in rows])
        means = {t: np.asarray(vectorizer.transform(texts).mean(axis=0))[0] for t, texts in by_type.items()}
    names = vectorizer.get_feature_names_out()
    first = {t: [int(k) for k in np.argsort(-values, kind="stable")[:kept]] for t, values in means.items()}
    shared = Counter(k for places in first.values() for k in places)
    return {
        t: [(str(names[k]), 100 * float(means[t][k])) for k in places if shared[k] == 1] for t, places in first.items()
    }


def alike(found: dict[str, list[tuple[str, float]]]) -> dict[str, int]:
    """Return of each type how many of the paper's words are among its first five."""
    return {t: len({w for w, _ in found[t][:5]} & set(words)) for t, words in TYPES.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("CALIBRATOR_DATA", "data")))
    folder = parser.parse_args().data_dir / "crowdcounter"
    train, test = read(folder, "Train", "Val"), read(folder, "Test")
    print(f"Table 1: {len(train):,} and {len(test):,} pairs; the paper's {', '.join(map(str, SIZES.values()))}")
    tried = []
    for name, rows in {"all": train + test, "train": train}.items():
        for column in ("required_types", "total_types"):
            for document in ("text", "text, stop words out", "type", "type, stop words out"):
                for kept in KEPT:
                    found = keywords(rows, column, kept, document)
                    tried.append((sum(alike(found).values()), -kept, name, column, document, found))
    tried.sort(key=lambda t: t[:2], reverse=True)
    middle = tried[len(tried) // 2][0]
    print(f"Table 11: {len(tried)} ways; of the paper's 30 words the best has {tried[0][0]}, the median {middle}")
    total, kept, name, column, document, found = tried[0]
    print(f"best: {name} pairs by {column}, a document is a {document}, {-kept} words kept, {total} alike")
    print("\n| type | paper | here | alike |\n|---|---|---|---|")
    for kind, words in TYPES.items():
        theirs = ", ".join(f"{w} {v:.2f}" for w, v in words.items())
        ours = ", ".join(f"{w} {v:.2f}" for w, v in found[kind][:5])
        print(f"| {kind} | {theirs} | {ours} | {alike(found)[kind]} |")


if __name__ == "__main__":
    main()
