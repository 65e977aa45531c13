"""How varied the texts of a set are: the share of distinct n-grams, and the entropy of their distribution.

Both depend on how much text there is: the more, the smaller distinct-n (nearly all n-grams of a short set are new) and
the larger the entropy (its bound is the logarithm of how many n-grams there are). Compare sets of one size only.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from calibrator.metrics.base import Metric, SetScorer, Settings, Tick, Unscored, Value
from calibrator.records import Item

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[^\w\s]|_")
_LENGTHS = {"distinct": (1, 2, 3), "entropy": (1, 2), "distinct-chars": (1, 2)}
Tokens = Sequence[str]


def tokens(text: str) -> list[str]:
    """Return the tokens that are counted: words in lower case, and each punctuation mark as one of its own."""
    return _TOKEN.findall(text.lower())


def ngram_counts(texts: Sequence[Tokens], n: int) -> Counter[tuple[str, ...]]:
    """Return how often each run of n tokens stands in the texts; none goes from one text into the next."""
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        counts.update(zip(*(text[k:] for k in range(n)), strict=False))
    return counts


def distinct(texts: Sequence[Tokens], n: int) -> float:
    """Return how many different n-grams the texts have together, by how many tokens: 0 to 1, nan for no token.

    Li et al. (2016, section 5) scale by the number of generated tokens; later programs divide by that of the n-grams,
    which is larger by a factor of tokens / n-grams, or average a figure of each text.
    """
    length = sum(map(len, texts))
    return len(ngram_counts(texts, n)) / length if length else math.nan


def entropy(texts: Sequence[Tokens], n: int, base: float = math.e) -> float:
    """Return the entropy of the distribution of n-grams over the texts together, in nats; nan where there is none.

    Zhang et al. (2018), Ent-n: -(1/N) sum of F(w) log(F(w)/N) over the n-grams w. The paper leaves the base open, the
    natural logarithm is what the authors' programs use. At most the logarithm of N.
    """
    counts = ngram_counts(texts, n)
    total = sum(counts.values())
    if not total:
        return math.nan
    return max(0.0, -math.fsum(count / total * math.log(count / total) for count in counts.values()) / math.log(base))


def distinct_by_text(texts: Sequence[Tokens], n: int) -> float:
    """Return the mean over the texts of different n-grams by tokens, 0 to 1; nan for no text.

    What the package `distinct-n` calls the corpus level. It depends on the length of a text, not on how many there are,
    and sees no repetition from one text to the next.
    """
    shares = [distinct([text], n) for text in texts if text]
    return math.fsum(shares) / len(shares) if shares else math.nan


def make(settings: Settings) -> SetScorer:
    """Return what gives all of these; nothing of the settings is used."""
    return _score


def _score(items: Sequence[Item], tick: Tick) -> Mapping[str, Value]:
    texts = [tokens(item.output) for item in items]
    letters = [list(item.output) for item in items]
    found = {f"distinct-{n}": distinct(texts, n) for n in _LENGTHS["distinct"]}
    found |= {f"entropy-{n}": entropy(texts, n) for n in _LENGTHS["entropy"]}
    found |= {f"entropy-{n}-bits": entropy(texts, n, 2) for n in _LENGTHS["entropy"]}
    found |= {f"distinct-{n}-chars": distinct_by_text(letters, n) for n in _LENGTHS["distinct-chars"]}
    tick(len(items))
    return {name: Unscored("no text is that long") if math.isnan(value) else value for name, value in found.items()}


def _metric(name: str, summary: str, source: str, high: float | None) -> Metric:
    return Metric(name, "diversity", "higher", ("output",), make, summary, source, of="set", low=0.0, high=high)


METRICS = (
    *(
        _metric(f"distinct-{n}", f"different {n}-grams by the tokens of all texts", "Li et al. (2016)", 1.0)
        for n in _LENGTHS["distinct"]
    ),
    *(
        _metric(f"entropy-{n}", f"entropy of the {n}-grams of all texts, in nats", "Zhang et al. (2018), Ent-n", None)
        for n in _LENGTHS["entropy"]
    ),
    *(
        _metric(
            f"entropy-{n}-bits",
            "the same in bits, as Saha et al. (2024) seem to report it",
            "Zhang et al. (2018), Ent-n; base 2 as in public code for the tables of Saha et al. (2024)",
            None,
        )
        for n in _LENGTHS["entropy"]
    ),
    *(
        _metric(
            f"distinct-{n}-chars",
            f"different runs of {n} characters by the characters of a text, mean over the texts",
            "package distinct-n given strings, as in public code for the tables of Saha et al. (2024)",
            1.0,
        )
        for n in _LENGTHS["distinct-chars"]
    ),
)
