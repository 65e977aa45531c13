"""What the measurable criteria measure: pure functions of a reading, each a finite number.

Counts are damped by log(1 + n), so that one extreme text does not carry a fit.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log1p, sqrt

from calibrator import lexicon as lx
from calibrator.reading import Reading, longest_common_run, stem

LONG_STEM = 6  # letters


def ratio(a: float, b: float) -> float:
    """Return a / b, and 0 where b is not positive."""
    return a / b if b > 0 else 0.0


# --- what the output takes from its source -------------------------------------------------------------------------


def on_topic(r: Reading) -> float:
    """Share of the output's topic words that also stand in the source (0 to 1)."""
    return ratio(len(r.out.content & r.source.content), len(r.out.content))


def coverage(r: Reading) -> float:
    """Share of the source's topic words that the output takes up (0 to 1)."""
    return ratio(len(r.out.content & r.source.content), len(r.source.content))


def spelling(r: Reading) -> float:
    """Likeness of output and source in character 4-grams, |A ∩ B| / √(|A| |B|) (0 to 1)."""
    return ratio(len(r.out.chars & r.source.chars), sqrt(len(r.out.chars) * len(r.source.chars)))


def new_ideas(r: Reading) -> float:
    """log(1 + topic words of the output that neither source nor further inputs have)."""
    return log1p(len(r.out.content - r.source.content - r.extra))


def from_inputs(r: Reading) -> float:
    """log(1 + topic words that only the further inputs gave)."""
    return log1p(len((r.out.content & r.extra) - r.source.content))


def phrases(r: Reading) -> float:
    """Share of the output's word pairs that stand in the source (0 to 1)."""
    return ratio(len(r.out.ngrams(2) & r.source.ngrams(2)), len(r.out.words) - 1)


def copied_run(r: Reading) -> float:
    """log(1 + words in the longest run copied from the source)."""
    return log1p(longest_common_run(r.out, r.source))


def names_kept(r: Reading) -> float:
    """Share of the source's groups and names that the output speaks of (0 to 1)."""
    return ratio(len(r.out.names & r.source.names), len(r.source.names))


def names_foreign(r: Reading) -> float:
    """log(1 + groups and names of the output that the source does not mention)."""
    return log1p(len(r.out.names - r.source.names - r.source.content))


def negated_claim(r: Reading) -> float:
    """log(1 + negations near a word of the source: four words before to six after)."""
    words, source = r.out.words, r.source.content
    return log1p(
        sum(
            w in lx.NEGATIONS and any(stem(x) in source for x in words[max(0, i - 4) : i + 7])
            for i, w in enumerate(words)
        )
    )


# --- how it is written ---------------------------------------------------------------------------------------------


def sentence_length(r: Reading) -> float:
    """log(1 + words a sentence)."""
    return log1p(ratio(len(r.out.words), len(r.out.sentences)))


def word_length(r: Reading) -> float:
    """Letters a word."""
    return sum(len(w) for w in r.out.words) / r.count


def long_words(r: Reading) -> float:
    """log(1 + different topic words with a stem of at least `LONG_STEM` letters)."""
    return log1p(sum(len(s) >= LONG_STEM for s in r.out.content))


def variety(r: Reading) -> float:
    """Different topic words in relation to all topic words (0 to 1)."""
    return ratio(len(r.out.content), sum(w not in lx.FUNCTION_WORDS for w in r.out.words))


def repetition(r: Reading) -> float:
    """Share of word pairs that repeat an earlier one (0 to 1)."""
    pairs = len(r.out.words) - 1
    return 1 - len(r.out.ngrams(2)) / pairs if pairs > 0 else 0.0


def garbling(r: Reading) -> float:
    """Pairs that English does not allow ("the of", "with are") and sentences that break off ("… because.")."""
    broken = sum(
        (a in lx.ARTICLES and b in lx.AFTER_NO_ARTICLE) or (a in lx.STRICT_PREPOSITIONS and b in lx.AUXILIARIES)
        for a, b in zip(r.out.words, r.out.words[1:], strict=False)
    )
    cut = sum(s.rsplit(None, 1)[-1].lower() in lx.NEVER_LAST for s in r.out.sentences)
    return log1p(broken + cut)


def small_letters(r: Reading) -> float:
    """Share of sentences that start with a small letter (0 to 1)."""
    return ratio(sum(s[:1].islower() for s in r.out.sentences), len(r.out.sentences))


def shouting(r: Reading) -> float:
    """Share of words of three letters and more written all in capitals (0 to 1)."""
    return sum(len(w) > 2 and w.isupper() for w in r.out.raw_words) / r.count


# --- what it says, by the words it says it with --------------------------------------------------------------------


def agreement(r: Reading) -> float:
    """1 if a phrase of agreement stands in the output, 0 otherwise."""
    words = f" {' '.join(r.out.words)} "
    return float(any(f" {phrase} " in words for phrase in lx.AGREEMENT))


def function_words(r: Reading) -> float:
    """Share of small grammatical words (0 to 1)."""
    return r.share(lx.FUNCTION_WORDS)


def share(words: frozenset[str]) -> Callable[[Reading], float]:
    """Return the measurement of how large a share of the output's words stands in `words` (0 to 1)."""
    return lambda r: r.share(words)


def number(words: frozenset[str]) -> Callable[[Reading], float]:
    """Return the measurement log(1 + how many of the output's words stand in `words`)."""
    return lambda r: log1p(r.number(words))
