"""Pairs of texts that are nearly the same, found without comparing every text with every other."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

ALIKE = 0.8
MOST = 100_000
Words = frozenset[tuple[str, int]]


def near_pairs(texts: Sequence[str], alike: float = ALIKE, most: int = MOST) -> list[tuple[int, int]]:
    """Return the pairs (i, j), i below j, of normalised texts that share at least `alike` of their words.

    Words are counted as often as they stand in a text; the measure is the Jaccard index of these, shared words by
    words of either. Order does not count: in short texts one changed word would change most of the longer shingles. A
    text without words is like no other. At most `most` pairs are returned.
    """
    return sorted(islice(_pairs([_words(t) for t in texts], alike), most))


def _words(text: str) -> Words:
    seen: Counter[str] = Counter()
    numbered = []
    for word in text.split():
        seen[word] += 1
        numbered.append((word, seen[word]))
    return frozenset(numbered)


def _pairs(bags: list[Words], alike: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs, looking up only sets that share a rare word (prefix filter: Bayardo, Ma and Srikant 2007).

    Of two sets that share at least `alike` of their words, the larger of n words has a shared one among its n minus
    `alike` n (rounded up) plus 1 rarest; so has the smaller one among as many of its own.
    """
    often = Counter(word for bag in bags for word in bag)
    having: dict[tuple[str, int], list[int]] = defaultdict(list)
    for k in sorted(range(len(bags)), key=lambda k: (len(bags[k]), k)):
        bag = bags[k]
        needed = math.ceil(alike * len(bag) - 1e-9)
        rarest = sorted(bag, key=lambda word: (often[word], word))[: len(bag) - needed + 1]
        for other in {o for word in rarest for o in having[word]}:
            shared = len(bag & bags[other])
            if shared >= alike * (len(bag) + len(bags[other]) - shared) - 1e-9:
                yield min(k, other), max(k, other)
        for word in rarest:
            having[word].append(k)
