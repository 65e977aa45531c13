"""Embeddings of sentences, and what is measured with them: how varied texts are, and how new.

The diversity is that of Saha et al. 2024 ("CrowdCounter", section 6.3): 1 minus the mean cosine similarity of all
pairs of texts. Their paper reports a novelty that it does not define. Code that the same group released with an earlier
study takes 1 minus the largest overlap of words (Jaccard's) with any text of the training corpus; `novelty` is that,
and `semantic-novelty` is the same with the cosine of sentence embeddings in place of the overlap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrator.errors import ConfigError, ModelUnfit
from calibrator.hub import loading, required, weights
from calibrator.metrics.base import NEURAL, Metric, Settings, Tick, Unscored, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load
from calibrator.records import Item

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
BATCH = 64
Vectors = NDArray[np.float32]


def _silent(_: int) -> None:
    """Hear of progress and say nothing."""


@dataclass(frozen=True, slots=True)
class SentenceEncoder:
    """Texts to vectors of length 1: the states of the last layer pooled ("mean" of the tokens, or "cls", the first).

    Texts are cut at the end where they are longer than the model says (256 tokens for all-MiniLM-L6-v2).
    """

    network: Network
    pooling: str
    size: int

    def __call__(self, texts: Sequence[str], tick: Tick = _silent) -> Vectors:
        """Return the vectors of the texts, shape (n, d), in their order; equal texts are encoded once."""
        torch: Any = required("torch", NEURAL, "a sentence encoder")
        different = list(dict.fromkeys(texts))
        found: dict[str, Vectors] = {}
        with torch.inference_mode():
            for chosen in batches(different, len, self.size, tick):
                batch = self.network.tokens([different[place] for place in chosen])
                states = self.network.model(**batch).last_hidden_state
                mask = batch["attention_mask"].unsqueeze(-1)
                pooled = states[:, 0] if self.pooling == "cls" else (states * mask).sum(1) / mask.sum(1)
                rows = torch.nn.functional.normalize(pooled, dim=-1).cpu().numpy()
                found |= {different[place]: row for place, row in zip(chosen, rows, strict=True)}
        tick(len(texts) - len(different))
        wide = self.network.model.config.hidden_size
        return np.stack([found[text] for text in texts]) if texts else np.zeros((0, wide), dtype=np.float32)


def encoder_only(name: str, wants: str) -> Callable[[Any], None]:
    """Return a check of a configuration; it raises ModelUnfit for a network that has a decoder besides."""

    def check(config: Any) -> None:
        if config.is_encoder_decoder:
            raise ModelUnfit(f"{wants} wants an encoder, and {name} has a decoder too; take another model")

    return check


def sentence_encoder(settings: Settings) -> SentenceEncoder:
    """Return the encoder of `settings.model`, all-MiniLM-L6-v2 if none is named.

    The folder may be one of sentence-transformers, whose pooling and length are then followed, or any encoder of
    transformers (mean of the tokens). Raises ModelMissing and ModelError as `neural.load` does, ModelUnfit for a model
    of which sentence-transformers would compute more than that, and for one with a decoder.
    """
    name = settings.model or MODEL
    required("torch", NEURAL, "a sentence encoder")
    folder = weights(name, download=settings.download, tell=settings.tell)
    with loading(name):
        pooling = _pooling(folder, name)
        longest = int(_read(folder / "sentence_bert_config.json").get("max_seq_length") or 0)
    check = encoder_only(name, "a sentence encoder")
    network = load(settings, MODEL, "a sentence encoder", longest=longest, config=check)
    return SentenceEncoder(network, pooling, settings.batch_size or BATCH)


def _pooling(folder: Path, name: str) -> str:
    """Return how a folder of sentence-transformers says that tokens become one vector."""
    modules = _read(folder / "modules.json") or []
    kinds = {str(module["type"]).rpartition(".")[2]: module for module in modules}
    if extra := sorted(set(kinds) - {"Transformer", "Pooling", "Normalize"}):
        raise ModelUnfit(f"{name} has parts that cannot be computed here: {', '.join(extra)}; take another model")
    said = _read(folder / kinds["Pooling"]["path"] / "config.json") if "Pooling" in kinds else {}
    modes = {key.removeprefix("pooling_mode_") for key, on in said.items() if key.startswith("pooling_mode_") and on}
    if modes <= {"mean_tokens"}:
        return "mean"
    if modes == {"cls_token"}:
        return "cls"
    raise ModelUnfit(f"{name} pools its tokens in another way than by mean or first token; take another model")


def _read(file: Path) -> Any:
    """Return what a JSON file holds, an empty mapping where there is none."""
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


def diversity(vectors: NDArray[np.floating[Any]]) -> float:
    """Return 1 minus the mean cosine of all pairs of rows, shape (n, d), each of length 1; 0 to 2.

    The sum of all cosines is the squared length of the sum of the rows, so no pair is looked at. nan below two rows.
    """
    count = len(vectors)
    if count < 2:
        return float("nan")
    rows = np.asarray(vectors, dtype=np.float64)
    total = rows.sum(axis=0)
    return float(1 - (total @ total - (rows**2).sum()) / (count * (count - 1)))


def word_overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of the words of two texts that both have (Jaccard's), 0 to 1; 0 for two texts without words."""
    both = len(a & b)
    return both / (len(a) + len(b) - both) if a or b else 0.0


@dataclass(frozen=True, slots=True)
class _Diversity:
    encode: SentenceEncoder

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, Value]:
        if len(items) < 2:
            tick(len(items))
            return {"semantic-diversity": Unscored("one text has no diversity")}
        return {"semantic-diversity": diversity(self.encode([item.output for item in items], tick))}


@dataclass(frozen=True, slots=True)
class _SemanticNovelty:
    encode: SentenceEncoder
    known: Vectors

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        vectors = self.encode([item.output for item in items], tick)
        nearest = ((self.known @ row).max() for row in vectors)
        return {"semantic-novelty": tuple(float(1 - cosine) for cosine in nearest)}


@dataclass(frozen=True, slots=True)
class _Novelty:
    known: tuple[frozenset[str], ...]

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        values = []
        for item in items:
            words = frozenset(item.output.split())
            values.append(1 - max(word_overlap(words, known) for known in self.known))
            tick(1)
        return {"novelty": tuple(values)}


def _corpus(settings: Settings, name: str) -> tuple[str, ...]:
    texts = tuple(dict.fromkeys(text for text in settings.corpus if text.strip()))
    if not texts:
        raise ConfigError(f"{name} tells how new texts are beside a corpus, such as that of a generator: --corpus FILE")
    return texts


def _make_diversity(settings: Settings) -> _Diversity:
    return _Diversity(sentence_encoder(settings))


def _make_semantic_novelty(settings: Settings) -> _SemanticNovelty:
    texts = _corpus(settings, "semantic-novelty")
    encode = sentence_encoder(settings)
    return _SemanticNovelty(encode, encode(texts))


def _make_novelty(settings: Settings) -> _Novelty:
    return _Novelty(tuple(frozenset(text.split()) for text in _corpus(settings, "novelty")))


METRICS: tuple[Metric, ...] = (
    Metric(
        name="semantic-diversity",
        family="diversity",
        better="higher",
        needs=("output",),
        make=_make_diversity,
        summary="1 minus the mean cosine similarity of all pairs of outputs, by sentence embeddings",
        source="Saha et al. 2024, CrowdCounter, section 6.3",
        of="set",
        extra=NEURAL,
        packages=PACKAGES,
        model=MODEL,
        low=0.0,
        high=2.0,
    ),
    Metric(
        name="semantic-novelty",
        family="diversity",
        better="higher",
        needs=("output",),
        make=_make_semantic_novelty,
        summary="1 minus the cosine similarity with the nearest text of a corpus, by sentence embeddings",
        source="our variant of novelty: the cosine of sentence embeddings in place of the overlap of words",
        extra=NEURAL,
        packages=PACKAGES,
        model=MODEL,
        low=0.0,
        high=2.0,
        wants_corpus=True,
    ),
    Metric(
        name="novelty",
        family="diversity",
        better="higher",
        needs=("output",),
        make=_make_novelty,
        summary="1 minus the share of words in common (Jaccard) with the nearest text of a corpus",
        source="Wang and Wan 2018, SentiGAN; words between spaces, as in earlier code of CrowdCounter's authors",
        low=0.0,
        high=1.0,
        wants_corpus=True,
    ),
)
