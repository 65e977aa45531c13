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
_SUFFIXES = tuple("ations ation ingly ements ement ities edly ing ies ied ers ed es ly s y e".split(" "))


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """Return a crude common form of a lower-case English word: plural, -ing, -ed, -ly and the like cut off."""
    word = word.removesuffix("'s")
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


def longest_common_run(a: Sequence[str], b: Sequence[str]) -> int:
    """Return the length of the longest run of words that stands in both `a` and `b`.

    By the suffix automaton of the shorter one (Blumer et al. 1985), so that the time grows with the length of the
    texts and not with its square.
    """
    a, b = sorted((a, b), key=len)
    # State 0 is the empty run. Each state knows its longest run, the state of that run's longest suffix that ends in
    # more places, and the states one word further.
    length, suffix, onward = [0], [-1], [dict[str, int]()]
    last = 0
    for word in a:
        new, state = len(length), last
        length.append(length[last] + 1)
        suffix.append(0)
        onward.append({})
        while state >= 0 and word not in onward[state]:
            onward[state][word] = new
            state = suffix[state]
        if state >= 0:
            target = onward[state][word]
            if length[target] > length[state] + 1:
                split = len(length)
                length.append(length[state] + 1)
                suffix.append(suffix[target])
                onward.append(dict(onward[target]))
                while state >= 0 and onward[state].get(word) == target:
                    onward[state][word] = split
                    state = suffix[state]
                suffix[target] = target = split
            suffix[new] = target
        last = new
    longest = state = run = 0
    for word in b:
        while state and word not in onward[state]:
            state = suffix[state]
            run = length[state]
        if word in onward[state]:
            state, run = onward[state][word], run + 1
            longest = max(longest, run)
    return longest


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

    @cached_property
    def bigrams(self) -> set[tuple[str, ...]]:
        """Word pairs."""
        return ngrams(self.words, 2)

    @cached_property
    def numbers(self) -> list[str]:
        """The numbers written in digits."""
        return list(_NUMBER.findall(self.text))

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of the groups of people and the proper names that the text speaks of."""
        found = {stem(w) for w in self.words if w in lx.PEOPLE and w not in lx.GENERIC_PEOPLE}
        found |= {stem(w) for n in _INNER_CAPITAL.findall(self.text) if (w := n.lower()) not in lx.FUNCTION_WORDS}
        found |= {stem(w.lower()) for speaker in _SPEAKER.findall(self.text) for w in speaker.split()}
        return frozenset(found)


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
