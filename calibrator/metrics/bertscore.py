"""BERTScore: tokens of two texts matched by the cosine of their contextual embeddings (Zhang et al. 2020).

With x̂ the candidate's tokens and x the reference's, each embedded by one layer of an encoder and brought to length 1:
precision is the mean over x̂ of the largest cosine with a token of x, recall the same from x to x̂, F1 their harmonic
mean (equations 1 to 3). As in the published code (bert-score 0.3.13) the tokens that open and close a text weigh
nothing but may be matched, the layer is that which agreed best with human ratings for each encoder (`LAYERS`), and no
token weighs more than another: no idf, no rescaling by a baseline.

RoBERTa's (and GPT-2's) tokens are those of " text", a space before the first word. bert-score before 0.3.13 leaves the
space out beside transformers 4.17 or later, and beside transformers 5 every bert-score does: the values differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from calibrator.hub import required
from calibrator.metrics.base import NEURAL, ItemScorer, Metric, Role, Settings, Tick, Unscored, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load
from calibrator.records import Item

MODEL = "roberta-large"
BATCH = 32
# Which layer's states are compared, by the last part of the model's name (bert-score 0.3.13, chosen on WMT16).
LAYERS: Mapping[str, int] = {
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "bert-base-chinese": 8,
    "roberta-base": 10,
    "roberta-large": 17,
    "roberta-large-mnli": 19,
    "distilroberta-base": 5,
    "distilbert-base-uncased": 5,
    "distilbert-base-multilingual-cased": 5,
    "albert-base-v2": 9,
    "albert-xlarge-v2": 13,
    "albert-xxlarge-v2": 8,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
    "scibert_scivocab_uncased": 8,
    "electra-base-discriminator": 9,
    "electra-large-discriminator": 14,
    "bart-base": 6,
    "bart-large": 10,
    "bart-large-cnn": 10,
    "bart-large-mnli": 11,
    "t5-base": 11,
    "t5-large": 23,
    "deberta-base": 9,
    "deberta-base-mnli": 9,
    "deberta-large": 16,
    "deberta-large-mnli": 18,
    "deberta-xlarge": 18,
    "deberta-xlarge-mnli": 40,
    "deberta-v2-xlarge-mnli": 17,
    "deberta-v2-xxlarge-mnli": 22,
    "deberta-v3-base": 9,
    "deberta-v3-large": 12,
    "mdeberta-v3-base": 10,
    "mpnet-base": 8,
}
SPACED = ("roberta", "gpt2")  # kinds of network whose tokens bert-score takes of " text"
NAMES = {"precision": "bertscore-precision", "recall": "bertscore-recall", "f1": "bertscore"}


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's tokens: `vectors` of length 1, shape (tokens, d), and which of them weigh something, shape (tokens,)."""

    vectors: Any
    weighs: Any


@dataclass(frozen=True, slots=True)
class Score:
    """What two texts have in common, each -1 to 1 (F1 may be lower where the two others differ in sign)."""

    precision: float
    recall: float
    f1: float


def match(candidate: Embedded, reference: Embedded) -> Score | None:
    """Return the score of a pair, None if one of them has no token that weighs something."""
    if not (candidate.weighs.any() and reference.weighs.any()):
        return None
    cosines = candidate.vectors @ reference.vectors.T
    precision = float(cosines.max(dim=1).values[candidate.weighs].mean())
    recall = float(cosines.max(dim=0).values[reference.weighs].mean())
    total = precision + recall
    return Score(precision, recall, 2 * precision * recall / total if total else 0.0)


def embed(network: Network, texts: Sequence[str]) -> list[Embedded]:
    """Return the tokens of the texts as the network's last layer has them, computed in one batch."""
    lead = " " if network.model.config.model_type in SPACED else ""
    batch = network.tokens([lead + text.strip() for text in texts])
    encoder = network.model
    if hasattr(encoder, "encoder") and hasattr(encoder, "decoder"):
        encoder = encoder.encoder
    states = encoder(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).last_hidden_state
    states = states / states.norm(dim=-1, keepdim=True)
    mask, ids = batch["attention_mask"].bool(), batch["input_ids"]
    weighs = (ids != network.tokenizer.cls_token_id) & (ids != network.tokenizer.sep_token_id)
    return [Embedded(v[there], w[there]) for v, w, there in zip(states, weighs, mask, strict=True)]


@dataclass(frozen=True, slots=True)
class _Scorer:
    """Scores outputs against `other`, under the names that it has for the parts of a `Score`."""

    network: Network
    size: int
    other: Role
    names: Mapping[str, str]

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        torch: Any = required("torch", NEURAL, "bertscore")
        pairs = [(item.output, item.source if self.other == "source" else item.reference or "") for item in items]
        found: list[Score | None] = [None] * len(pairs)
        with torch.inference_mode():
            for chosen in batches(pairs, lambda pair: max(map(len, pair)), self.size, tick):
                texts = list(dict.fromkeys(text for place in chosen for text in pairs[place]))
                embedded = dict(zip(texts, embed(self.network, texts), strict=True))
                for place in chosen:
                    output, other = pairs[place]
                    found[place] = match(embedded[output], embedded[other])
        none = Unscored("a text has no token that the model knows of")
        return {
            name: tuple(none if score is None else getattr(score, part) for score in found)
            for part, name in self.names.items()
        }


def layer_of(name: str, depth: int) -> int | None:
    """Return which layer is compared for a model of `depth` layers, None if no one has published it."""
    layer = LAYERS.get(PurePath(name).name)
    return layer if layer is not None and layer <= depth else None


def _make(other: Role, names: Mapping[str, str], settings: Settings) -> ItemScorer:
    name = settings.model or MODEL

    def cut(config: Any) -> None:
        """Leave out the layers above the one that is compared."""
        layer = layer_of(name, config.num_hidden_layers)
        if layer is not None:
            config.num_hidden_layers = layer
        elif settings.tell is not None:
            settings.tell(f"bertscore: no layer is published for {name}; its last one is taken")

    network = load(settings, MODEL, "bertscore", config=cut)
    return _Scorer(network, settings.batch_size or BATCH, other, names)


def _against_reference(settings: Settings) -> ItemScorer:
    return _make("reference", NAMES, settings)


def _against_source(settings: Settings) -> ItemScorer:
    return _make("source", {"f1": "bertscore-source"}, settings)


def _metric(name: str, needs: tuple[Role, ...], summary: str, low: float | None = -1.0) -> Metric:
    return Metric(
        name=name,
        family="embedding",
        better="higher",
        needs=needs,
        make=_against_source if "source" in needs else _against_reference,
        summary=summary,
        source="Zhang et al. 2020, BERTScore, equations 1-3; layers and weights as in bert-score 0.3.13",
        extra=NEURAL,
        packages=PACKAGES,
        model=MODEL,
        low=low,
        high=1.0,
    )


METRICS: tuple[Metric, ...] = (
    _metric("bertscore", ("output", "reference"), "harmonic mean of BERTScore's precision and recall", None),
    _metric("bertscore-precision", ("output", "reference"), "how well the output's tokens are found in the reference"),
    _metric("bertscore-recall", ("output", "reference"), "how well the reference's tokens are found in the output"),
    _metric("bertscore-source", ("output", "source"), "BERTScore's F1 of the output against the source", None),
)
