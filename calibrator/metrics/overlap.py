"""Overlap of a text with a reference, by n-grams of words or letters: BLEU, GLEU, chrF, ROUGE.

How a text is cut into tokens moves these figures more than anything else, so each metric has the cut it is usually
published with, and none needs data from a download. BLEU and GLEU: the rules of mteval-v13a, the script of the WMT
evaluations, as sacrebleu has them; case counts. chrF: characters without white space; case counts. ROUGE: the rules of
ROUGE-1.5.5 as Google's rouge_score has them: small letters, a-z and 0-9 only, so texts in other scripts have no value;
no stemming (its option `use_stemmer`, ROUGE's -m, is off, as it is there by default). A text that has no token under
these rules is unscored.

Everything is of single texts. BLEU was made for whole corpora: unsmoothed, a text without a common n-gram of some order
has 0. The counts are smoothed as mteval-v13a does, which is smoothing 3 of Chen and Cherry (2014): the k-th order
without a match counts as 1 / 2^k matches. So a text of fewer than n words has less than 1 in bleu-n even if it equals
its reference; `sacrebleu` leaves out the orders that a text is too short for. A text without a common word has 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibrator.hub import required
from calibrator.metrics.base import OVERLAP, ItemScorer, Metric, Role, Settings, Tick, Unscored, Value
from calibrator.records import Item

NEEDS: tuple[Role, ...] = ("output", "reference")
ORDERS = (1, 2, 3, 4)
NO_TOKEN = Unscored("no token is left in the text or its reference under the rules of this metric")
Values = Mapping[str, float]
Pair = Callable[[str, str], Values | Unscored]  # output and reference to values by name


@dataclass(frozen=True, slots=True)
class PairScorer:
    """Gives each item what `values` gives for its output and reference, under the `names`."""

    names: tuple[str, ...]
    values: Pair

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        """Return by the names of metrics one value for each item, in their order."""
        found: dict[str, list[Value]] = {name: [] for name in self.names}
        for item in items:
            values = self.values(item.output, item.reference or "")
            for name, column in found.items():
                column.append(values if isinstance(values, Unscored) else float(values[name]))
            tick(1)
        return {name: tuple(column) for name, column in found.items()}


def make_bleu(settings: Settings) -> ItemScorer:
    """Return what gives BLEU of the orders 1 to 4 and GLEU, by nltk on tokens of mteval-v13a."""
    bleu: Any = required("nltk.translate.bleu_score", OVERLAP, "BLEU")
    gleu: Any = required("nltk.translate.gleu_score", OVERLAP, "GLEU")
    cut: Any = required("sacrebleu.tokenizers.tokenizer_13a", OVERLAP, "BLEU").Tokenizer13a()
    smoothing = bleu.SmoothingFunction().method3
    names = tuple(f"bleu-{n}" for n in ORDERS)
    weights = [tuple(1 / n for _ in range(n)) for n in ORDERS]

    def values(output: str, reference: str) -> Values | Unscored:
        candidate, target = cut(output).split(), cut(reference).split()
        if not candidate or not target:
            return NO_TOKEN
        by_order = bleu.sentence_bleu([target], candidate, weights=weights, smoothing_function=smoothing)
        return dict(zip(names, by_order, strict=True)) | {"gleu": gleu.sentence_gleu([target], candidate)}

    return PairScorer((*names, "gleu"), values)


def make_sacrebleu(settings: Settings) -> ItemScorer:
    """Return what gives sacrebleu's sentence BLEU."""
    metrics: Any = required("sacrebleu.metrics", OVERLAP, "sacrebleu")
    bleu = metrics.BLEU(effective_order=True)

    def values(output: str, reference: str) -> Values | Unscored:
        score = bleu.sentence_score(output, [reference])
        return {"sacrebleu": min(score.score, 100.0)} if score.sys_len and score.ref_len else NO_TOKEN

    return PairScorer(("sacrebleu",), values)


def make_chrf(settings: Settings) -> ItemScorer:
    """Return what gives chrF and chrF++."""
    metrics: Any = required("sacrebleu.metrics", OVERLAP, "chrF")
    by_name = {"chrf": metrics.CHRF(), "chrf++": metrics.CHRF(word_order=2)}

    def values(output: str, reference: str) -> Values | Unscored:
        if not output.split() or not reference.split():
            return NO_TOKEN
        return {name: metric.sentence_score(output, [reference]).score for name, metric in by_name.items()}

    return PairScorer(tuple(by_name), values)


KINDS = {"rouge-1": "rouge1", "rouge-2": "rouge2", "rouge-l": "rougeL"}
PARTS = {"": "fmeasure", "-precision": "precision", "-recall": "recall"}


def make_rouge(settings: Settings) -> ItemScorer:
    """Return what gives ROUGE-1, -2 and -L: F1, precision and recall."""
    cut: Any = required("rouge_score.tokenizers", OVERLAP, "ROUGE").DefaultTokenizer(use_stemmer=False)
    scorer: Any = required("rouge_score.rouge_scorer", OVERLAP, "ROUGE").RougeScorer(
        list(KINDS.values()), tokenizer=cut
    )

    def values(output: str, reference: str) -> Values | Unscored:
        if not cut.tokenize(output) or not cut.tokenize(reference):
            return NO_TOKEN
        scores = scorer.score(target=reference, prediction=output)
        return {f"{n}{end}": getattr(scores[k], part) for n, k in KINDS.items() for end, part in PARTS.items()}

    return PairScorer(tuple(f"{name}{end}" for name in KINDS for end in PARTS), values)


def _metric(
    name: str,
    make: Callable[[Settings], ItemScorer],
    summary: str,
    source: str,
    packages: tuple[str, ...],
    high: float = 1.0,
) -> Metric:
    return Metric(
        name, "overlap", "higher", NEEDS, make, summary, source, extra=OVERLAP, low=0.0, high=high, packages=packages
    )


_BLEU = "Papineni et al. 2002, smoothing 3 of Chen and Cherry 2014; nltk, tokens of mteval-v13a by sacrebleu"
_BOTH = ("nltk", "sacrebleu")
_ROUGE = "Lin 2004; rouge_score, without stemming"
_WHAT = {"": "F1", "-precision": "precision", "-recall": "recall"}
_OF = {"rouge-1": "common words", "rouge-2": "common pairs of words", "rouge-l": "the longest common subsequence"}
METRICS: tuple[Metric, ...] = (
    *(
        _metric(
            f"bleu-{n}",
            make_bleu,
            f"sentence BLEU, n-grams of 1 to {n} words" if n > 1 else "BLEU of words",
            _BLEU,
            _BOTH,
        )
        for n in ORDERS
    ),
    _metric(
        "gleu",
        make_bleu,
        "Google-BLEU: the lower of precision and recall over n-grams of 1 to 4 words",
        "Wu et al. 2016 (not GLEU for grammatical errors); nltk, tokens of mteval-v13a by sacrebleu",
        _BOTH,
    ),
    _metric(
        "sacrebleu",
        make_sacrebleu,
        "sentence BLEU as sacrebleu gives it: n-grams of 1 to 4 words, fewer for shorter texts",
        "Papineni et al. 2002, Post 2018; sacrebleu, defaults of sentence_bleu",
        ("sacrebleu",),
        high=100.0,
    ),
    _metric(
        "chrf",
        make_chrf,
        "F2 over n-grams of 1 to 6 characters",
        "Popović 2015, 2016 (chrF2); sacrebleu, defaults",
        ("sacrebleu",),
        high=100.0,
    ),
    _metric(
        "chrf++",
        make_chrf,
        "F2 over n-grams of 1 to 6 characters and of 1 and 2 words",
        "Popović 2017; sacrebleu, word_order=2",
        ("sacrebleu",),
        high=100.0,
    ),
    *(
        _metric(f"{name}{end}", make_rouge, f"{_WHAT[end]} of {_OF[name]}", _ROUGE, ("rouge-score",))
        for name in KINDS
        for end in PARTS
    ),
)
