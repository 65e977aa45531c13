"""METEOR: common words, also by stem and by synonym, with a penalty for words in another order.

This is nltk's: words of the text are matched with those of the reference as they are (in small letters), then by
Porter's stem, then where WordNet has the reference's word as a synonym of the text's. With precision P and recall R
over words, and m matches in c chunks of neighbours, the score is

    P R / (alpha P + (1 - alpha) R) * (1 - gamma (c / m)^beta)

with alpha 0.9, beta 3 and gamma 0.5: the values, and so the formula, of Banerjee and Lavie (2005), in the terms of
Lavie and Agarwal (2007). It is not METEOR 1.5 of Denkowski and Lavie (2014), which weighs function words apart and
matches paraphrases. In two points nltk (3.10) is simpler than the papers. It matches from the end of a text backwards,
and does not search for the matching with the fewest crossings. And WordNet is asked for what the stemmer left of a
word: "auto" and "car" are matched, "automobile" (stem "automobil") and "car" are not. A text that equals its reference
has a little less than 1, since it is one chunk.

Tokens are those of nltk's `word_tokenize`, but for its list of abbreviations, which is a download: sentences are told
by Punkt without it, words by `NLTKWordTokenizer`. Case does not count.
"""

from __future__ import annotations

from typing import Any

from calibrator.hub import required
from calibrator.metrics.base import OVERLAP, ItemScorer, Metric, Settings, Unscored
from calibrator.metrics.overlap import NEEDS, NO_TOKEN, PairScorer, Values
from calibrator.metrics.wordnet import open_wordnet


def make_meteor(settings: Settings) -> ItemScorer:
    """Return what gives METEOR.

    Raises ModelMissing if nltk or WordNet is not there, ModelError if WordNet cannot be read.
    """
    meteor: Any = required("nltk.translate.meteor_score", OVERLAP, "METEOR")
    sentences: Any = required("nltk.tokenize.punkt", OVERLAP, "METEOR").PunktSentenceTokenizer()
    words: Any = required("nltk.tokenize", OVERLAP, "METEOR").NLTKWordTokenizer()
    wordnet = open_wordnet(settings.nltk_data, "METEOR")

    def tokens(text: str) -> list[str]:
        return [token for sentence in sentences.tokenize(text) for token in words.tokenize(sentence)]

    def values(output: str, reference: str) -> Values | Unscored:
        candidate, target = tokens(output), tokens(reference)
        if not candidate or not target:
            return NO_TOKEN
        try:
            return {"meteor": meteor.single_meteor_score(target, candidate, wordnet=wordnet)}
        except RecursionError:  # the stemmer of nltk 3.9 at hundreds of y in a row
            return Unscored("a word is too long for the stemmer")

    return PairScorer(("meteor",), values)


METRICS: tuple[Metric, ...] = (
    Metric(
        "meteor",
        "overlap",
        "higher",
        NEEDS,
        make_meteor,
        "common words, stems and synonyms, less for another order",
        "Banerjee and Lavie 2005; nltk with WordNet, not METEOR 1.5",
        extra=OVERLAP,
        low=0.0,
        high=1.0,
        packages=("nltk",),
    ),
)
