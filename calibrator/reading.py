"""One item read once: the tokens, names and sets that the measurable criteria share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

from calibrator import lexicon as lx
from calibrator.records import Item

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
# The look behind and the possessive ++ keep a run of a hundred thousand dots from being tried at every dot.
_SENTENCE_END = re.compile(r"(?<![.!?…。！？])[.!?…。！？]++(?=\s|$|[\"'”’)])|\n+")
_INNER_CAPITAL = re.compile(r"(?<=[a-z,;'] )[A-Z][^\W\d_]+")
_SPEAKER = re.compile(r"(?:^|\||\n)[^\S\n]*([A-Z][\w .'-]{0,30}?):")
_NUMBER = re.compile(r"\d+")
# Longest first, so that the first that fits is the one to cut.
_SUFFIXES = tuple("ations ation ingly ements ement ities edly ity ing ies ied ed es ly s y e".split(" "))
_IRREGULAR = {"men": "man", "women": "woman", "children": "child", "family": "famil"}
LONGEST_ACRONYM = 5  # letters; a longer word in capitals is shouted


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a crude common form of a lower-case English word: plural, -ing, -ed, -ly and the like cut off."""
    word = word.removesuffix("'s")
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            return word[: -len(suffix)]
    return word


def content_stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words that carry content, which is all but articles, prepositions and the like."""
    return frozenset(stem(w) for w in words if w not in lx.FUNCTION_WORDS)


def ngrams(words: Sequence[str], n: int) -> set[tuple[str, ...]]:
    """Return the set of n-grams of a sequence."""
    return set(zip(*(words[i:] for i in range(n)), strict=False))


def char_ngrams(text: str, n: int = 4) -> set[str]:
    """Return the set of n-grams of the characters of a text, in lower case."""
    lowered = text.lower()
    return {lowered[i : i + n] for i in range(len(lowered) - n + 1)}


class Text:
    """One text and what can be counted in it; everything beyond the words is worked out when first asked for."""

    def __init__(self, text: str) -> None:
        self.text = text.strip().replace("’", "'")
        self.raw_words: list[str] = _WORD.findall(self.text)
        self.words = [w.lower() for w in self.raw_words]
        self._ngrams: dict[int, set[tuple[str, ...]]] = {}

    @cached_property
    def sentences(self) -> list[str]:
        """The sentences, without their final punctuation; never empty for a text with words."""
        return [s for s in (part.strip() for part in _SENTENCE_END.split(self.text)) if s]

    @cached_property
    def content(self) -> frozenset[str]:
        """Stems of the content words."""
        return content_stems(self.words)

    @cached_property
    def chars(self) -> set[str]:
        """Character 4-grams."""
        return char_ngrams(self.text)

    def ngrams(self, n: int) -> set[tuple[str, ...]]:
        """Runs of n words."""
        if n not in self._ngrams:
            self._ngrams[n] = ngrams(self.words, n)
        return self._ngrams[n]

    @cached_property
    def numbers(self) -> list[str]:
        """The numbers written in digits."""
        return list(_NUMBER.findall(self.text))

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of the groups of people and the proper names that the text speaks of."""
        people = (w for w in self.words if w in lx.PEOPLE and w not in lx.GENERIC_PEOPLE)
        capitalised = (w for w in _INNER_CAPITAL.findall(self.text) if not w.isupper() or len(w) <= LONGEST_ACRONYM)
        speakers = (w for speaker in _SPEAKER.findall(self.text) for w in speaker.split())
        proper = (w for w in (n.lower() for n in (*capitalised, *speakers)) if w not in lx.FUNCTION_WORDS)
        return frozenset(stem(w) for w in (*people, *proper))


def longest_common_run(a: Text, b: Text, most: int = 16) -> int:
    """Return the length of the longest run of words that stands in both texts, `most` if it is longer still."""
    length = 0
    while length < most and a.ngrams(length + 1) & b.ngrams(length + 1):
        length += 1
    return length


class Reading:
    """An output beside its source and its further inputs."""

    def __init__(self, item: Item, texts: dict[str, Text]) -> None:
        """Read `item`; `texts` keeps what was read of sources and inputs, which many items share."""
        self.out = Text(item.output)
        self.source = _remembered(item.source, texts)
        self.count = max(1, len(self.out.words))
        self.extra: frozenset[str] = frozenset().union(*(_remembered(t, texts).content for t in item.inputs.values()))

    def share(self, words: frozenset[str]) -> float:
        """Share of the output's words that stand in `words`, 0 to 1."""
        return self.number(words) / self.count

    def number(self, words: frozenset[str]) -> int:
        """How many of the output's words stand in `words`."""
        return sum(w in words for w in self.out.words)


def _remembered(text: str, texts: dict[str, Text]) -> Text:
    if text not in texts:
        texts[text] = Text(text)
    return texts[text]
