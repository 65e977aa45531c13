"""What a TF-IDF classifier sees of a text: words and signs, pairs of them, and pieces of words.

Counted here rather than by scikit-learn, so that a classifier that was stored sees a text as it did when it was fitted.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from typing import Literal

Kind = Literal["words", "words+pieces"]
KINDS: tuple[Kind, ...] = ("words", "words+pieces")
LONGEST = 10_000  # tokens of a text that are looked at
PIECES = (3, 5)  # letters, the ends of a word included
_TOKEN = re.compile(r"\w+|[^\w\s]")  # signs count: a question mark tells more than most words


def terms(text: str, kind: Kind) -> Counter[str]:
    """Return how often each term occurs: tokens, pairs of neighbours and, with pieces, 3 to 5 letters of a word."""
    tokens = _TOKEN.findall(text.lower())[:LONGEST]
    counts = Counter(tokens)
    counts.update(f"{a} {b}" for a, b in itertools.pairwise(tokens))
    if kind == "words+pieces":
        for token, times in Counter(t for t in tokens if t[0].isalnum()).items():
            for piece in _pieces(token):
                counts[piece] += times
    return counts


def listed(text: str, kind: Kind) -> list[str]:
    """Return the terms of a text, each as often as it occurs, as scikit-learn's vectorisers take them."""
    return list(terms(text, kind).elements())


def _pieces(token: str) -> list[str]:
    """Return the pieces of a word; what marks its ends cannot stand in a token, so that no piece is taken for one."""
    marked = f"\t{token}\t"
    return [
        f"\n{marked[k : k + size]}"
        for size in range(PIECES[0], PIECES[1] + 1)
        for k in range(max(0, len(marked) - size + 1))
    ]
