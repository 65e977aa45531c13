"""How hard an English text is to read: Flesch's, Kincaid's and Dale and Chall's formulas, from counts alone.

All rest on the mean length of sentences and on how long or how unfamiliar the words are. They were fitted to passages
of a hundred words and more: on texts of one or two sentences a single word moves a score by a grade or more, so compare
means of many texts. Sentences and words are told by rules (`sentences.py`), syllables too (`syllables.py`), and
familiar words by the list of 1948 with the inflections that its instructions let pass. A text has no score where fewer
than half of its words, or none, are in Latin letters; words without a letter, such as numbers, do not count for that.
What else than English such words are is not told apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from calibrator.metrics.base import ItemScorer, Metric, Settings, Tick, Unscored, Value
from calibrator.metrics.sentences import sentences, words
from calibrator.metrics.syllables import syllables
from calibrator.records import Item
from calibrator.resources import folder

EASE, GRADE, DALE_CHALL, ADJUSTED = "flesch-reading-ease", "flesch-kincaid", "dale-chall", "dale-chall-adjusted"
MANY_UNFAMILIAR = 5.0  # percent of the words, above which the adjusted score adds its constant
_CONSTANT = 3.6365
_DOUBLED = re.compile(r"([bdfgklmnprstvz])\1$")


@dataclass(frozen=True, slots=True)
class Counts:
    """What the formulas need of a text: how many sentences, words, syllables and unfamiliar words it has."""

    sentences: int
    words: int
    syllables: int
    unfamiliar: int

    @property
    def sentence_length(self) -> float:
        """Words a sentence."""
        return self.words / self.sentences


def flesch_reading_ease(counts: Counts) -> float:
    """Return 206.835 - 1.015 words a sentence - 84.6 syllables a word (Flesch 1948); the higher, the easier.

    Plain prose is between 0 and 100; nothing bounds it.
    """
    return 206.835 - 1.015 * counts.sentence_length - 84.6 * counts.syllables / counts.words


def flesch_kincaid(counts: Counts) -> float:
    """Return 0.39 words a sentence + 11.8 syllables a word - 15.59, a school grade of the USA (Kincaid et al. 1975)."""
    return 0.39 * counts.sentence_length + 11.8 * counts.syllables / counts.words - 15.59


def dale_chall(counts: Counts) -> float:
    """Return 0.1579 percent of unfamiliar words + 0.0496 words a sentence + 3.6365 (Dale and Chall 1948).

    4.9 and below is read by the fourth grade, 9.0 to 9.9 at college. The revision of 1995 has another list of words
    and gives a cloze score; it is not this.
    """
    return _raw(counts) + _CONSTANT


def dale_chall_adjusted(counts: Counts) -> float:
    """Return Dale and Chall's score as most programs have it: the constant is added above 5 % of unfamiliar words only.

    So it jumps by 3.6365 there. It is not in the paper of 1948.
    """
    return _raw(counts) + (_CONSTANT if _percent_unfamiliar(counts) > MANY_UNFAMILIAR else 0.0)


def _raw(counts: Counts) -> float:
    return 0.1579 * _percent_unfamiliar(counts) + 0.0496 * counts.sentence_length


def _percent_unfamiliar(counts: Counts) -> float:
    return 100 * counts.unfamiliar / counts.words


FORMULAS = {
    GRADE: flesch_kincaid,
    EASE: flesch_reading_ease,
    DALE_CHALL: dale_chall,
    ADJUSTED: dale_chall_adjusted,
}


def counts_of(text: str) -> Counts | None:
    """Return what the formulas need of a text, None if it has no word."""
    found = [named for part in sentences(text) if (named := words(part))]
    every = [word for part in found for word in part]
    if not every:
        return None
    unfamiliar = sum(not _passes(word, first=k == 0) for part in found for k, word in enumerate(part))
    return Counts(len(found), len(every), sum(map(syllables, every)), unfamiliar)


def latin(text: str) -> bool:
    """Return whether a text has words in Latin letters alone, and they are half or more of its words with a letter."""
    told = [_latin(word) for word in words(text) if any(c.isalpha() for c in word)]
    return any(told) and 2 * sum(told) >= len(told)


def _latin(word: str) -> bool:
    return word.isascii() or all(unicodedata.name(c, "").startswith("LATIN ") for c in word if c.isalpha())


def familiar(word: str) -> bool:
    """Return whether a word counts as familiar: it stands on the list, or is a form that the instructions let pass.

    These are plurals and possessives, -s, -d, -ed, -ing and -n of verbs, -er and -est, -ly, a final y that became i, a
    consonant that was doubled; words joined by a hyphen where both pass; numbers. An irregular form passes only if
    listed. Two things the spelling does not tell: -er passes even where it makes a noun of a verb (which does not by
    the instructions), and so does -ing or -ed on what is no verb.
    """
    return _familiar(word.lower().replace("’", "'"))


@lru_cache(maxsize=1 << 16)
def _familiar(word: str) -> bool:
    listed = _listed()
    if word in listed or not any(c.isalpha() for c in word):
        return True
    if "-" in word:
        return all(_familiar(part) for part in word.split("-") if part)
    if "'" in word:
        stem, _, clitic = word.rpartition("'")
        return clitic in {"s", "ll", "ve", "re", "d", "m", ""} and _familiar(stem)
    return any(stem in listed for stem in _stems(word))


def _stems(word: str) -> set[str]:
    """Return what a word may be an inflection of."""
    found = set()
    for ending in ("s", "es", "d", "ed", "ing", "n", "er", "est", "r", "st", "ly"):
        if not word.endswith(ending) or len(word) - len(ending) < 2:
            continue
        stem = word[: -len(ending)]
        if ending in {"d", "n", "r", "st"}:  # added to a final e
            found |= {stem} if stem.endswith("e") else set()
            continue
        found.add(stem)
        if ending in {"es", "ed", "er", "est"} and stem.endswith("i"):
            found.add(f"{stem[:-1]}y")
        if ending in {"ed", "ing", "er", "est"} and _DOUBLED.search(stem):
            found.add(stem[:-1])
        if ending == "ing":
            found.add(f"{stem}e")
    return found


def _passes(word: str, *, first: bool) -> bool:
    """Return whether a word in a sentence counts as familiar; names of persons and places do.

    A name is told by its capital where no sentence begins; acronyms are no names.
    """
    name = not first and word[:1].isupper() and not word[1:2].isupper()
    return name or familiar(word)


@lru_cache(maxsize=1)
def _listed() -> frozenset[str]:
    lines = (folder("data") / "metrics" / "dale_chall_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word.removesuffix(".") for line in lines if not line.startswith("#") for word in line.split())


def make(settings: Settings) -> ItemScorer:
    """Return what gives the four scores; nothing of the settings is used."""
    return _score


def _score(items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
    rows: list[list[Value]] = []
    for item in items:
        counts = counts_of(item.output)
        if counts is None:
            rows.append([Unscored("the text has no word")] * len(FORMULAS))
        elif not latin(item.output):
            rows.append([Unscored("no word in Latin letters, or fewer than half of them")] * len(FORMULAS))
        else:
            rows.append([formula(counts) for formula in FORMULAS.values()])
        tick(1)
    return {name: tuple(row[k] for row in rows) for k, name in enumerate(FORMULAS)}


METRICS = (
    Metric(
        GRADE,
        "quality",
        "lower",
        ("output",),
        make,
        "school grade that the length of sentences and words asks for",
        "Kincaid et al. (1975); syllables by rules",
    ),
    Metric(
        EASE,
        "quality",
        "higher",
        ("output",),
        make,
        "reading ease by the length of sentences and words, plain prose 0 to 100",
        "Flesch (1948), A new readability yardstick; syllables by rules",
    ),
    Metric(
        DALE_CHALL,
        "quality",
        "lower",
        ("output",),
        make,
        "difficulty by the length of sentences and the share of unfamiliar words",
        "Dale and Chall (1948), A formula for predicting readability; their list of 3,000 words",
    ),
    Metric(
        ADJUSTED,
        "quality",
        "lower",
        ("output",),
        make,
        "the same, its constant added only above 5 % of unfamiliar words, as programs have it",
        "after Dale and Chall (1948); the usual form in programs",
    ),
)
