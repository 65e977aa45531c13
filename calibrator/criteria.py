"""Measurable criteria: pure functions of an item's texts, each with the sentence a reader could follow.

A criterion serves any pair of a source and an output; nothing here knows a domain. Counts are damped by log(1 + n),
so that one extreme text does not carry a fit. Change a measurement and `VERSION` must change with it: a frozen judge
names the version that its weights belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from calibrator import lexicon as lx
from calibrator.reading import Reading, Text, longest_common_run, stem
from calibrator.records import Item

VERSION = 1
LONG_STEM = 6  # letters


@dataclass(frozen=True, slots=True)
class Criterion:
    """One measurable quality of an output.

    `look` says in a phrase what a reader looks at, with {output} and {source} for the two texts, and `more` names the
    upper end ("the more", "the longer"). Criteria of one `theme` that count the same way are told in one sentence.
    `measure` maps a reading to a finite number. `prior` is the direction in which most readers would count it without
    having seen a rating: +1 good, -1 bad, 0 neither; the uncalibrated rubric is made of those that have one.
    """

    name: str
    theme: str
    look: str
    more: str
    measure: Callable[[Reading], float]
    prior: int = 0


TOPIC, NAMES, SUBSTANCE, REASONING = "topic", "names", "substance", "reasoning"
BLAME, WARMTH, ADDRESS, FORM = "blame", "warmth", "address", "form"


def ratio(a: float, b: float) -> float:
    """Return a / b, and 0 where b is not positive."""
    return a / b if b > 0 else 0.0


# --- what the output takes from its source -------------------------------------------------------------------------


def _on_topic(r: Reading) -> float:
    return ratio(len(r.out.content & r.source.content), len(r.out.content))


def _coverage(r: Reading) -> float:
    return ratio(len(r.out.content & r.source.content), len(r.source.content))


def _spelling(r: Reading) -> float:
    return ratio(len(r.out.chars & r.source.chars), sqrt(len(r.out.chars) * len(r.source.chars)))


def _new_ideas(r: Reading) -> float:
    return log1p(len(r.out.content - r.source.content - r.extra))


def _from_inputs(r: Reading) -> float:
    return log1p(len((r.out.content & r.extra) - r.source.content))


def _phrases(r: Reading) -> float:
    return ratio(len(r.out.ngrams(2) & r.source.ngrams(2)), len(r.out.words) - 1)


def _copied_run(r: Reading) -> float:
    return log1p(longest_common_run(r.out, r.source))


def _names_kept(r: Reading) -> float:
    return ratio(len(r.out.names & r.source.names), len(r.source.names))


def _names_foreign(r: Reading) -> float:
    return log1p(len(r.out.names - r.source.names - r.source.content))


def _negated_claim(r: Reading) -> float:
    words, source = r.out.words, r.source.content
    return log1p(
        sum(
            w in lx.NEGATIONS and any(stem(x) in source for x in words[max(0, i - 4) : i + 7])
            for i, w in enumerate(words)
        )
    )


# --- how it is written ---------------------------------------------------------------------------------------------


def _sentence_length(r: Reading) -> float:
    return log1p(ratio(len(r.out.words), len(r.out.sentences)))


def _word_length(r: Reading) -> float:
    return sum(len(w) for w in r.out.words) / r.count


def _long_words(r: Reading) -> float:
    return log1p(sum(len(s) >= LONG_STEM for s in r.out.content))


def _variety(r: Reading) -> float:
    return ratio(len(r.out.content), sum(w not in lx.FUNCTION_WORDS for w in r.out.words))


def _repetition(r: Reading) -> float:
    pairs = len(r.out.words) - 1
    return 1 - len(r.out.ngrams(2)) / pairs if pairs > 0 else 0.0


def _garbling(r: Reading) -> float:
    """Pairs that English does not allow ("the of", "with are") and sentences that break off ("… because.")."""
    broken = sum(
        (a in lx.ARTICLES and b in lx.AFTER_NO_ARTICLE) or (a in lx.STRICT_PREPOSITIONS and b in lx.AUXILIARIES)
        for a, b in zip(r.out.words, r.out.words[1:], strict=False)
    )
    cut = sum(s.rsplit(None, 1)[-1].lower() in lx.NEVER_LAST for s in r.out.sentences)
    return log1p(broken + cut)


def _small_letters(r: Reading) -> float:
    return ratio(sum(s[:1].islower() for s in r.out.sentences), len(r.out.sentences))


def _shouting(r: Reading) -> float:
    return sum(len(w) > 2 and w.isupper() for w in r.out.raw_words) / r.count


# --- what it says, by the words it says it with --------------------------------------------------------------------


def _agreement(r: Reading) -> float:
    words = f" {' '.join(r.out.words)} "
    return float(any(f" {phrase} " in words for phrase in lx.AGREEMENT))


def _function_words(r: Reading) -> float:
    return r.share(lx.FUNCTION_WORDS)


def _share(words: frozenset[str]) -> Callable[[Reading], float]:
    return lambda r: r.share(words)


def _number(words: frozenset[str]) -> Callable[[Reading], float]:
    return lambda r: log1p(r.number(words))


CRITERIA: tuple[Criterion, ...] = (
    Criterion("on-topic", TOPIC, "how much of {output} is in topic words of {source}", "more", _on_topic, 1),
    Criterion("coverage", TOPIC, "how many topic words of {source} {output} takes up", "more", _coverage, 1),
    Criterion("wording", TOPIC, "how alike {output} and {source} are, letter by letter", "more alike", _spelling),
    Criterion(
        "given-facts",
        TOPIC,
        "how many topic words {output} takes from what was given beside {source}",
        "more",
        _from_inputs,
    ),
    Criterion("negated-claim", TOPIC, "how often {output} denies what {source} says", "more often", _negated_claim),
    Criterion("phrases", TOPIC, "how much of {output} is in phrases of {source}", "more", _phrases),
    Criterion(
        "copied-run",
        TOPIC,
        "the longest passage in {output} that is copied from {source} word for word",
        "longer",
        _copied_run,
    ),
    Criterion(
        "same-names", NAMES, "how many of the groups and names in {source} {output} speaks of", "more", _names_kept, 1
    ),
    Criterion(
        "other-names",
        NAMES,
        "how many groups and names {output} speaks of that {source} does not",
        "more",
        _names_foreign,
        -1,
    ),
    Criterion(
        "named", NAMES, "how many groups and names {output} speaks of at all", "more", lambda r: log1p(len(r.out.names))
    ),
    Criterion("new-ideas", SUBSTANCE, "how many topic words {output} brings in of its own", "more", _new_ideas, 1),
    Criterion("long-words", SUBSTANCE, "how many different long topic words {output} has", "more", _long_words),
    Criterion("length", SUBSTANCE, "how long {output} is", "longer", lambda r: log1p(len(r.out.words))),
    Criterion("sentences", SUBSTANCE, "how many sentences {output} has", "more", lambda r: log1p(len(r.out.sentences))),
    Criterion(
        "evidence",
        REASONING,
        "words of evidence in {output}: studies, facts, figures, reports",
        "more",
        _number(lx.EVIDENCE),
        1,
    ),
    Criterion(
        "numbers", REASONING, "numbers written in digits in {output}", "more", lambda r: log1p(len(r.out.numbers))
    ),
    Criterion(
        "connectives",
        REASONING,
        "words in {output} that link thoughts: because, however, therefore",
        "more",
        _number(lx.CONNECTIVES),
        1,
    ),
    Criterion(
        "qualifiers",
        REASONING,
        "words in {output} that say how far something holds: all, some, never, may",
        "more",
        _number(lx.QUALIFIERS),
    ),
    Criterion(
        "denouncing",
        BLAME,
        "words in {output} that call something wrong, unfair or shameful",
        "more",
        _number(lx.DENOUNCING),
    ),
    Criterion(
        "denouncing-share",
        BLAME,
        "how much of {output} is denunciation rather than anything else",
        "more",
        _share(lx.DENOUNCING),
    ),
    Criterion("insults", BLAME, "insults and words of contempt in {output}", "more", _number(lx.INSULTS), -1),
    Criterion("obligation", BLAME, "demands in {output}: should, must, need to", "more", _number(lx.OBLIGATION)),
    Criterion("shouting", BLAME, "how much of {output} is written all in capitals", "more", _shouting, -1),
    Criterion(
        "exclamations", BLAME, "exclamation marks in {output}", "more", lambda r: log1p(r.out.text.count("!")), -1
    ),
    Criterion("empathy", WARMTH, "how much of {output} shows understanding and care", "more", _share(lx.EMPATHY), 1),
    Criterion(
        "shared-values",
        WARMTH,
        "how much of {output} appeals to shared values: respect, equality, contribution",
        "more",
        _share(lx.VALUES),
    ),
    Criterion("politeness", WARMTH, "polite words in {output}", "more", _number(lx.POLITENESS), 1),
    Criterion(
        "inclusive", WARMTH, "how much of {output} speaks of 'we', 'us' and 'together'", "more", _share(lx.INCLUSIVE)
    ),
    Criterion(
        "second-person",
        ADDRESS,
        "how much of {output} is aimed at the reader as 'you'",
        "more",
        _share(lx.SECOND_PERSON),
    ),
    Criterion(
        "first-person", ADDRESS, "how much of {output} speaks of its writer as 'I'", "more", _share(lx.FIRST_PERSON)
    ),
    Criterion(
        "question", ADDRESS, "whether {output} asks a question", "more plainly", lambda r: float("?" in r.out.text)
    ),
    Criterion("opinion", ADDRESS, "how much of {output} is opinion, interest or liking", "more", _share(lx.OPINION)),
    Criterion(
        "agreement", ADDRESS, "whether {output} agrees with {source} in so many words", "more plainly", _agreement
    ),
    Criterion(
        "non-answers",
        ADDRESS,
        "fillers in {output} that say nothing: yes, well, wow",
        "more",
        _number(lx.NON_ANSWERS),
        -1,
    ),
    Criterion("sentence-length", FORM, "how long the sentences in {output} are", "longer", _sentence_length),
    Criterion("word-length", FORM, "how long and learned the words in {output} are", "longer", _word_length),
    Criterion("variety", FORM, "how seldom {output} uses the same topic word twice", "more seldom", _variety, 1),
    Criterion(
        "function-words",
        FORM,
        "how much of {output} is small grammatical words rather than topic words",
        "more",
        _function_words,
    ),
    Criterion("repetition", FORM, "how many word pairs {output} repeats", "more", _repetition, -1),
    Criterion(
        "garbling",
        FORM,
        "places in {output} where grammar breaks or a sentence stops in the middle",
        "more",
        _garbling,
        -1,
    ),
    Criterion(
        "small-letters", FORM, "how many sentences in {output} start with a small letter", "more", _small_letters
    ),
)

BY_NAME = {c.name: c for c in CRITERIA}


def measure(items: Sequence[Item], criteria: Sequence[Criterion] = CRITERIA) -> NDArray[np.float64]:
    """Return the criteria of the items, shape (len(items), len(criteria)), all finite.

    An item without an output or without any word in it measures as an empty text; a judge should refuse it first.
    """
    texts: dict[str, Text] = {}
    values = np.empty((len(items), len(criteria)))
    for i, item in enumerate(items):
        reading = Reading(item, texts)
        values[i] = [c.measure(reading) for c in criteria]
    return values


class Measured:
    """The criteria of items, measured once and remembered as long as this object lives."""

    def __init__(self) -> None:
        self._rows: dict[str, NDArray[np.float64]] = {}
        self._column = {c.name: j for j, c in enumerate(CRITERIA)}

    def __call__(self, items: Sequence[Item], criteria: Sequence[Criterion] = CRITERIA) -> NDArray[np.float64]:
        """Return what `measure` does, shape (len(items), len(criteria))."""
        new = {i.key: i for i in items if i.key not in self._rows}
        if new:
            self._rows.update(zip(new, measure(list(new.values())), strict=True))
        columns = [self._column[c.name] for c in criteria]
        return np.array([self._rows[i.key][columns] for i in items]).reshape(len(items), len(columns))
