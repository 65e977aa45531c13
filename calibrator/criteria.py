"""Measurable criteria: pure functions of an item's texts, each with the sentence a reader could follow.

A criterion serves any pair of a source and an output; nothing here knows a domain. Change a measurement or a word list
and `VERSION` must change with it: a frozen judge names the version that its weights belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log1p

import numpy as np
from numpy.typing import NDArray

from calibrator import lexicon as lx
from calibrator import measurements as m
from calibrator.reading import Reading, Text
from calibrator.records import Item

VERSION = 1


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

CRITERIA: tuple[Criterion, ...] = (
    Criterion("on-topic", TOPIC, "how much of {output} is in topic words of {source}", "more", m.on_topic, 1),
    Criterion("coverage", TOPIC, "how many topic words of {source} {output} takes up", "more", m.coverage, 1),
    Criterion("wording", TOPIC, "how alike {output} and {source} are, letter by letter", "more alike", m.spelling),
    Criterion(
        "given-facts",
        TOPIC,
        "how many topic words {output} takes from what was given beside {source}",
        "more",
        m.from_inputs,
    ),
    Criterion("negated-claim", TOPIC, "how often {output} denies what {source} says", "more often", m.negated_claim),
    Criterion("phrases", TOPIC, "how much of {output} is in phrases of {source}", "more", m.phrases),
    Criterion(
        "copied-run",
        TOPIC,
        "the longest passage in {output} that is copied from {source} word for word",
        "longer",
        m.copied_run,
    ),
    Criterion(
        "same-names", NAMES, "how many of the groups and names in {source} {output} speaks of", "more", m.names_kept, 1
    ),
    Criterion(
        "other-names",
        NAMES,
        "how many groups and names {output} speaks of that {source} does not",
        "more",
        m.names_foreign,
        -1,
    ),
    Criterion(
        "named", NAMES, "how many groups and names {output} speaks of at all", "more", lambda r: log1p(len(r.out.names))
    ),
    Criterion("new-ideas", SUBSTANCE, "how many topic words {output} brings in of its own", "more", m.new_ideas, 1),
    Criterion("long-words", SUBSTANCE, "how many different long topic words {output} has", "more", m.long_words),
    Criterion("length", SUBSTANCE, "how long {output} is", "longer", lambda r: log1p(len(r.out.words))),
    Criterion("sentences", SUBSTANCE, "how many sentences {output} has", "more", lambda r: log1p(len(r.out.sentences))),
    Criterion(
        "evidence",
        REASONING,
        "words of evidence in {output}: studies, facts, figures, reports",
        "more",
        m.number(lx.EVIDENCE),
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
        m.number(lx.CONNECTIVES),
        1,
    ),
    Criterion(
        "qualifiers",
        REASONING,
        "words in {output} that say how far something holds: all, some, never, may",
        "more",
        m.number(lx.QUALIFIERS),
    ),
    Criterion(
        "denouncing",
        BLAME,
        "words in {output} that call something wrong, unfair or shameful",
        "more",
        m.number(lx.DENOUNCING),
    ),
    Criterion(
        "denouncing-share",
        BLAME,
        "how much of {output} is denunciation rather than anything else",
        "more",
        m.share(lx.DENOUNCING),
    ),
    Criterion("insults", BLAME, "insults and words of contempt in {output}", "more", m.number(lx.INSULTS), -1),
    Criterion("obligation", BLAME, "demands in {output}: should, must, need to", "more", m.number(lx.OBLIGATION)),
    Criterion("shouting", BLAME, "how much of {output} is written all in capitals", "more", m.shouting, -1),
    Criterion(
        "exclamations", BLAME, "exclamation marks in {output}", "more", lambda r: log1p(r.out.text.count("!")), -1
    ),
    Criterion("empathy", WARMTH, "how much of {output} shows understanding and care", "more", m.share(lx.EMPATHY), 1),
    Criterion(
        "shared-values",
        WARMTH,
        "how much of {output} appeals to shared values: respect, equality, contribution",
        "more",
        m.share(lx.VALUES),
    ),
    Criterion("politeness", WARMTH, "polite words in {output}", "more", m.number(lx.POLITENESS), 1),
    Criterion(
        "inclusive", WARMTH, "how much of {output} speaks of 'we', 'us' and 'together'", "more", m.share(lx.INCLUSIVE)
    ),
    Criterion(
        "second-person",
        ADDRESS,
        "how much of {output} is aimed at the reader as 'you'",
        "more",
        m.share(lx.SECOND_PERSON),
    ),
    Criterion(
        "first-person", ADDRESS, "how much of {output} speaks of its writer as 'I'", "more", m.share(lx.FIRST_PERSON)
    ),
    Criterion(
        "question", ADDRESS, "whether {output} asks a question", "more plainly", lambda r: float("?" in r.out.text)
    ),
    Criterion("opinion", ADDRESS, "how much of {output} is opinion, interest or liking", "more", m.share(lx.OPINION)),
    Criterion(
        "agreement", ADDRESS, "whether {output} agrees with {source} in so many words", "more plainly", m.agreement
    ),
    Criterion(
        "non-answers",
        ADDRESS,
        "fillers in {output} that say nothing: yes, well, wow",
        "more",
        m.number(lx.NON_ANSWERS),
        -1,
    ),
    Criterion("sentence-length", FORM, "how long the sentences in {output} are", "longer", m.sentence_length),
    Criterion("word-length", FORM, "how long and learned the words in {output} are", "longer", m.word_length),
    Criterion("variety", FORM, "how seldom {output} uses the same topic word twice", "more seldom", m.variety, 1),
    Criterion(
        "function-words",
        FORM,
        "how much of {output} is small grammatical words rather than topic words",
        "more",
        m.function_words,
    ),
    Criterion("repetition", FORM, "how many word pairs {output} repeats", "more", m.repetition, -1),
    Criterion(
        "garbling",
        FORM,
        "places in {output} where grammar breaks or a sentence stops in the middle",
        "more",
        m.garbling,
        -1,
    ),
    Criterion(
        "small-letters", FORM, "how many sentences in {output} start with a small letter", "more", m.small_letters
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
