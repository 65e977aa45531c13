"""BERTScore: tokens of two texts matched by the cosine of their contextual embeddings (Zhang et al. 2020).

With x̂ the candidate's tokens and x the reference's, each embedded by one layer of an encoder and brought to length 1:
precision is the mean over x̂ of the largest cosine with a token of x, recall the same from x to x̂, F1 their harmonic
mean (equations 1 to 3). As in the published code (bert-score 0.3.13) the tokens [CLS] and [SEP], or what stands
for them, weigh nothing but may be matched (T5 has neither: its mark of the end weighs like any token), the layer is
that which agreed best with human ratings for each encoder (`data/metrics/bertscore_layers.yaml`), and no token weighs
more than another: no idf, no rescaling by a baseline. Of an encoder-decoder the encoder is taken. A model that is not
in the table wants its layer named, counted from 1, 0 for the embeddings: `bertscore@MODEL#LAYER`.

RoBERTa's (and GPT-2's) tokens are those of " text", a space before the first word. bert-score before 0.3.13 leaves the
space out beside transformers 4.17 or later, and beside transformers 5 every bert-score does: the values differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from calibrator.errors import ConfigError, ModelUnfit
from calibrator.hub import required
from calibrator.metrics.base import NEURAL, ItemScorer, Metric, Role, Settings, Tick, Unscored, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load
from calibrator.records import Item
from calibrator.resources import folder
from calibrator.validation import checked, load_yaml

MODEL = "roberta-large"
BATCH = 32
SPACED = ("roberta", "gpt2")  # kinds of network whose tokens bert-score takes of " text"
NAMES = {"precision": "bertscore-precision", "recall": "bertscore-recall", "f1": "bertscore"}


class LayerFile(BaseModel):
    """The layer that is compared, by the name of the model on the hub."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    layers: dict[str, Annotated[int, Field(ge=0)]]


@lru_cache(maxsize=1)
def published() -> Mapping[str, int]:
    """Return the shipped table by the last parts of the names, each of which stands there once.

    Raises ConfigError, which names file and entry, if it is malformed.
    """
    path = folder("data") / "metrics" / "bertscore_layers.yaml"
    table = checked(LayerFile, load_yaml(path, ConfigError), path, ConfigError).layers
    return {PurePath(name).name: layer for name, layer in table.items()}


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
    weighs = mask.clone()
    for end in (network.tokenizer.cls_token_id, network.tokenizer.sep_token_id):
        if end is not None:
            weighs &= ids != end
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


def layer_of(name: str, depth: int, asked: int | None = None) -> int:
    """Return which layer is compared for a model of `depth` layers: `asked`, or the published one.

    A model goes by the last part of its name, a folder as well as one of the hub. Raises ModelUnfit, which asks for a
    layer, if none is published or the model has fewer.
    """
    layer = published().get(PurePath(name).name) if asked is None else asked
    if layer is not None and layer <= depth:
        return layer
    problem = f"no layer is published for {name}" if layer is None else f"{name} has no layer {layer}"
    raise ModelUnfit(f"{problem}; name the one to compare, 0 to {depth}: bertscore@{name}#LAYER")


def _split(model: str) -> tuple[str, int | None]:
    """Return both parts of "MODEL#LAYER"; a folder may have a # in its name."""
    name, mark, layer = model.rpartition("#")
    if not mark or Path(model).expanduser().is_dir():
        return model, None
    if not (layer.strip().isascii() and layer.strip().isdecimal()):
        raise ConfigError(f"'{layer}' is no layer: write bertscore@MODEL#LAYER with a number, such as #9")
    return name.strip(), int(layer)


def _make(other: Role, names: Mapping[str, str], settings: Settings) -> ItemScorer:
    name, asked = _split(settings.model)
    name = name or MODEL

    def cut(config: Any) -> None:
        """Leave out the layers above the one that is compared."""
        own = "num_encoder_layers" if hasattr(config, "num_encoder_layers") else "num_hidden_layers"
        setattr(config, own, layer_of(name, getattr(config, own), asked))

    network = load(replace(settings, model=name), MODEL, "bertscore", config=cut)
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
