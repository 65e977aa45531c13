"""Which of many texts are the same as another, or nearly so: what must not be shown beside it."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable

ALIKE = 0.8
Words = frozenset[tuple[str, int]]


class Alike:
    """Finds among normalised texts those that share at least `alike` (above 0, to 1) of their words with another.

    Words are counted as often as they stand in a text; the measure is the Jaccard index of these, shared words by
    words of either, as in the audit. A text is like itself, also one that has no spaces between its words.
    """

    def __init__(self, texts: Iterable[str], alike: float = ALIKE) -> None:
        self._alike = alike
        self._bags = {text: _words(text) for text in texts}
        self._having: dict[tuple[str, int], list[str]] = defaultdict(list)
        for text, bag in self._bags.items():
            for word in bag:
                self._having[word].append(text)

    def to(self, text: str) -> set[str]:
        """Return the texts that are like a normalised one."""
        own = _words(text)
        found = {text} & self._bags.keys()
        # Whatever shares enough words with it has one of these: it cannot do without all of them.
        rarest = sorted(own, key=lambda word: (len(self._having.get(word, ())), word))
        needed = math.ceil(self._alike * len(own) - 1e-9)
        for other in {o for word in rarest[: len(own) - needed + 1] for o in self._having.get(word, ())}:
            shared = len(own & self._bags[other])
            if shared >= self._alike * (len(own) + len(self._bags[other]) - shared) - 1e-9:
                found.add(other)
        return found


def _words(text: str) -> Words:
    seen: Counter[str] = Counter()
    numbered = []
    for word in text.split():
        seen[word] += 1
        numbered.append((word, seen[word]))
    return frozenset(numbered)
