"""GRUEN's components of linguistic quality (Zhu and Bhat 2020), as its published code computes them.

That code (WanzhengZhu/GRUEN, main.py) sums three components and limits the sum to 0 … 1: grammaticality, 0 or more;
redundancy, 0 or less; focus, 0 or -0.1. Two of them are here, with its formulas.

Left out by name:
- `gruen-focus` needs spaCy's tokens, stop words and vectors (en_core_web_md) and a package for the word mover's
  distance that is no longer kept. What it does is also not what it says: it takes 0.1 off where 1 / (1 + e^(7 - d)) is
  below 0.05 for some neighbouring sentences; as d is a distance, these are neighbours too much *alike* (d < 4.06).
- `gruen-coherence`, the paper's fourth (order of sentences by ALBERT), was never released.
- `gruen` itself, for want of these. `gruen-without-focus` is the sum of the two that are here, within 0 … 1: it equals
  what the published code gives for a text to which focus takes nothing off, and is at most 0.1 above it elsewhere.

Here sentences are split by rules (`sentences.py`), there by NLTK's Punkt, which wants a download; how often they differ
stands in `experiments/LOG.md`. A text without a sentence of two words has no value; there it would get 0.625.

The classifier of grammaticality is a bert-base-cased fine-tuned on CoLA whose second output means acceptable; the
authors' own is on a file server, not on the hub. `@CLASSIFIER` names it, `@CLASSIFIER+LANGUAGE_MODEL` also another
masked language model than bert-base-cased.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from calibrator.errors import ModelUnfit
from calibrator.hub import required
from calibrator.metrics.base import NEURAL, ItemScorer, Metric, Settings, Tick, Unscored, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load
from calibrator.metrics.sentences import sentences
from calibrator.records import Item

GRAMMAR, REDUNDANCY, SUM = "gruen-grammaticality", "gruen-redundancy", "gruen-without-focus"
LANGUAGE_MODEL = "bert-base-cased"
BATCH = 32  # sentences
TOLD = 128  # items after which progress is told
LONGEST_CLASSIFIED, LONGEST_MODELLED = 128, 512  # tokens, those at both ends included
NO_SENTENCE = Unscored("no sentence has two words")
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NUMBER = re.compile(r"\d+\. \d+")
TWO = 2  # labels: not acceptable, acceptable
_LONG = 5  # words, from which two sentences are compared closely


def prepared(text: str) -> list[str]:
    """Return the sentences that are scored: of two words or more, each full stop with a space behind it.

    Line ends become full stops, two full stops one, and decimal numbers "UNK", as in the published code.
    """
    text = ". ".join(text.strip().split("\n\n"))
    text = text.replace("\n", ". ").replace("..", ".").replace(".", ". ").replace(". . ", ". ").replace(".  . ", ". ")
    while "  " in text:
        text = text.replace("  ", " ")
    while number := _NUMBER.search(text):
        text = text.replace(number[0], "UNK")
    return [part for part in sentences(text.strip()) if len(part.translate(_PUNCTUATION).split()) > 1]


def grammaticality(perplexity: float, acceptability: float) -> float:
    """Return max(0, (e^(-perplexity / 2) + acceptability) / 8 + 1/2), both means over the sentences."""
    return max(0.0, (math.exp(-0.5 * perplexity) + acceptability) / 8 + 0.5)


def redundancy(parts: Sequence[str]) -> float:
    """Return -0.1 for each sign of redundancy in each pair of sentences; 0 where there is none."""
    stripped = [part.strip() for part in parts]
    return 0.0 - 0.1 * sum(redundant(a, b) for a, b in combinations(stripped, 2))  # 0.0 rather than -0.0


def redundant(a: str, b: str) -> int:
    """Return how many of four signs two sentences show that they say the same; all if one stands in the other.

    The signs, where one of them has five words or more: the longest common run of characters is above 0.8 of the
    shorter in characters, or in words; the edit distance is below 0.6 of the longer; more than 0.8 of the words of the
    shorter stand in both.
    """
    if a in b or b in a:
        return 4
    first, second = a.split(), b.split()
    if max(len(first), len(second)) < _LONG:
        return 0
    match = SequenceMatcher(None, a, b).find_longest_match(0, len(a), 0, len(b))
    shorter = min(len(first), len(second))
    shared = len(a[match.a : match.a + match.size].split())
    signs = (
        match.size > 0.8 * min(len(a), len(b)),
        shared > 0.8 * shorter,
        edit_distance(a, b) < 0.6 * max(len(a), len(b)),
        sum(word in second for word in first) > 0.8 * shorter,
    )
    return sum(signs)


def edit_distance(a: str, b: str) -> int:
    """Return the fewest insertions, deletions and replacements of characters that make `b` of `a` (Levenshtein)."""
    places = np.arange(len(b) + 1)
    letters = np.array([ord(c) for c in b], dtype=np.int64)
    row = places
    for i, letter in enumerate(a, 1):
        above = np.minimum(row[1:] + 1, row[:-1] + (letters != ord(letter)))
        # Insertions go to the right: the least, over all places to the left, of what is there and the way to here.
        row = np.minimum.accumulate(np.concatenate(([i], above)) - places) + places
    return int(row[-1])


@dataclass(frozen=True, slots=True)
class _Grammar:
    classifier: Network
    language: Network
    size: int

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        grammar: list[Value] = []
        whole: list[Value] = []
        for start in range(0, len(items), TOLD):
            for value, total in self._values([prepared(item.output) for item in items[start : start + TOLD]]):
                grammar.append(value)
                whole.append(total)
            tick(len(items[start : start + TOLD]))
        return {GRAMMAR: tuple(grammar), SUM: tuple(whole)}

    def _values(self, texts: Sequence[Sequence[str]]) -> Iterator[tuple[Value, Value]]:
        """Yield grammaticality and the sum for each text, given by its sentences."""
        flat = [part for parts in texts for part in parts]
        acceptable, perplexity = self._acceptable(flat), self._perplexity(flat)
        start = 0
        for parts in texts:
            chosen = slice(start, start + len(parts))
            start += len(parts)
            if not parts:
                yield NO_SENTENCE, NO_SENTENCE
                continue
            value = grammaticality(_mean(perplexity[chosen]), _mean(acceptable[chosen]))
            yield value, min(1.0, max(0.0, value + redundancy(parts)))

    def _acceptable(self, parts: Sequence[str]) -> list[float]:
        """Return the classifier's second number for each sentence, not a probability."""
        torch: Any = required("torch", NEURAL, GRAMMAR)
        found = [0.0] * len(parts)
        with torch.inference_mode():
            for chosen in batches(parts, len, self.size, lambda _: None):
                numbers = self.classifier.model(**self.classifier.tokens([parts[k] for k in chosen])).logits[:, 1]
                for place, value in zip(chosen, numbers.tolist(), strict=True):
                    found[place] = float(value)
        return found

    def _perplexity(self, parts: Sequence[str]) -> list[float]:
        """Return e to the mean loss of the masked language model for each sentence with no token masked.

        The tokens that mark beginning and end are among those over which the mean is taken, as in the published code.
        """
        torch: Any = required("torch", NEURAL, GRAMMAR)
        found = [0.0] * len(parts)
        with torch.inference_mode():
            for chosen in batches(parts, len, self.size, lambda _: None):
                batch = self.language.tokens([parts[k] for k in chosen])
                chances = self.language.model(**batch).logits.log_softmax(dim=-1)
                own = chances.gather(-1, batch["input_ids"].unsqueeze(-1)).squeeze(-1).double()
                mask = batch["attention_mask"]
                losses = -(own * mask).sum(dim=1) / mask.sum(dim=1)
                for place, value in zip(chosen, losses.exp().tolist(), strict=True):
                    found[place] = float(value)
        return found


def make_grammar(settings: Settings) -> ItemScorer:
    """Return what gives grammaticality and the sum.

    Raises ModelMissing where torch, transformers or weights are absent, ModelError for files of another kind,
    ModelUnfit for a classifier that has not two labels.
    """
    first, second = (replace(settings, model=name) for name in _two(settings.model))
    head = "AutoModelForSequenceClassification"
    classifier = load(first, first.model, GRAMMAR, head=head, longest=LONGEST_CLASSIFIED)
    if classifier.model.config.num_labels != TWO:
        raise ModelUnfit(
            f"{first.model} gives {classifier.model.config.num_labels} numbers; GRUEN's classifier gives two"
        )
    language = load(second, second.model, GRAMMAR, head="AutoModelForMaskedLM", longest=LONGEST_MODELLED)
    return _Grammar(classifier, language, settings.batch_size or BATCH)


def _two(model: str) -> tuple[str, str]:
    """Return both parts of "CLASSIFIER+LANGUAGE_MODEL"; a folder may have a + in its name."""
    classifier, plus, language = model.rpartition("+")
    if not plus or Path(model).expanduser().is_dir():
        return model, LANGUAGE_MODEL
    return classifier.strip(), language.strip() or LANGUAGE_MODEL


def make_redundancy(settings: Settings) -> ItemScorer:
    """Return what gives redundancy; nothing of the settings is used."""
    return _redundancy


def _redundancy(items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
    values: list[Value] = []
    for item in items:
        parts = prepared(item.output)
        values.append(redundancy(parts) if parts else NO_SENTENCE)
        tick(1)
    return {REDUNDANCY: tuple(values)}


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_CODE = "Zhu and Bhat (2020), GRUEN, as in WanzhengZhu/GRUEN (main.py); sentences by rules"
METRICS = (
    Metric(
        REDUNDANCY,
        "quality",
        "higher",
        ("output",),
        make_redundancy,
        "0 where no two sentences say the same, -0.1 for each sign that two do",
        _CODE,
        high=0.0,
    ),
    Metric(
        GRAMMAR,
        "quality",
        "higher",
        ("output",),
        make_grammar,
        "acceptability and perplexity of the sentences; give a classifier fine-tuned on CoLA",
        _CODE,
        extra=NEURAL,
        packages=PACKAGES,
        wants_model=True,
        low=0.0,
    ),
    Metric(
        SUM,
        "quality",
        "higher",
        ("output",),
        make_grammar,
        "grammaticality and redundancy together, 0 to 1: GRUEN but for its focus; give a classifier as above",
        _CODE,
        extra=NEURAL,
        packages=PACKAGES,
        wants_model=True,
        low=0.0,
        high=1.0,
    ),
)
