"""MoverScore: 1 minus what it costs to move the output's tokens onto the reference's (Zhao et al. 2019).

Tokens are embedded by an encoder, brought to length 1, and weighed by their inverse document frequency; the cost is the
earth mover's distance between the two weighed sets of tokens (unigrams), computed exactly as a linear program. Two
versions are published, and both are here:

- `moverscore` is `moverscore_v2.py`, which the authors recommend: the last layer of distilbert-base-uncased, and the
  Euclidean distance.
- `moverscore-pmeans` is `moverscore.py`, the paper's WMD-1+PMeans: minimum, mean and maximum of the last five layers
  (each state at length 1 before), one behind the other, and the squared distance, as its code has it. The paper's model
  is a BERT fine-tuned on MNLI, given out as a file and not on the hub, so the model must be named.

As in that code, single punctuation marks and word pieces that go on a word (##) weigh nothing, the marks of beginning
and end stay in, and there are no stop words. So the tokenizer must be one of word pieces, as BERT's. A token's weight
is log((N + 1) / (n + 1)) for n of N texts that have it, counted among the outputs and among the references apart. So
the value depends on the texts that are measured together; `moverscore-even` is `moverscore` with equal weights, which
does not (the authors' way for single sentences).
"""

from __future__ import annotations

import math
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrator.errors import ModelUnfit
from calibrator.hub import required
from calibrator.metrics.base import NEURAL, ItemScorer, Metric, Settings, Tick, Unscored, Value
from calibrator.metrics.embeddings import encoder_only
from calibrator.metrics.neural import PACKAGES, Network, batches, load
from calibrator.records import Item

MODEL = "distilbert-base-uncased"
BATCH = 32
LAYERS = 5  # whose states `moverscore-pmeans` takes
MARKS = frozenset(string.punctuation)
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text that count: their numbers, shape (tokens,), and vectors of length 1, shape (tokens, d)."""

    ids: tuple[int, ...]
    vectors: Array


def moving_cost(cost: Array, give: Array, take: Array) -> float:
    """Return the earth mover's distance between weights `give`, shape (n,), and `take`, shape (m,), each summing to 1.

    `cost` has shape (n, m). The smallest sum of flow times cost, by linear programming (HiGHS).
    """
    from scipy import sparse
    from scipy.optimize import linprog

    n, m = cost.shape
    out = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    into = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    # One of the n + m sums follows from the others.
    rows: Any = sparse.vstack([out, into], format="csr")[:-1]
    done = linprog(cost.ravel(), A_eq=rows, b_eq=np.concatenate([give, take])[:-1], bounds=(0, None), method="highs")
    return float("nan") if done.fun is None else float(done.fun)


def idf(texts: Iterable[Sequence[int]]) -> dict[int, float]:
    """Return log((N + 1) / (n + 1)) for every token that n of the N texts have, 0 for one that all have."""
    counts: Counter[int] = Counter()
    number = 0
    for ids in texts:
        counts.update(set(ids))
        number += 1
    return {token: math.log((number + 1) / (count + 1)) for token, count in counts.items()}


def moverscore(output: Tokens, reference: Tokens, weights: tuple[Array, Array], *, squared: bool = False) -> Value:
    """Return 1 minus the cost of moving one text onto the other; `weights` are those of the tokens, 0 or more each.

    The distance of two vectors of length 1 is 0 to 2, squared 0 to 4. Unscored where all tokens of a text weigh 0.
    """
    kept = [w > 0 for w in weights]
    if not all(k.any() for k in kept):
        return Unscored("no token of a text weighs anything")
    give, take = (w[k] / w[k].sum() for w, k in zip(weights, kept, strict=True))
    cosines = output.vectors[kept[0]] @ reference.vectors[kept[1]].T
    cost = np.clip(2 - 2 * cosines, 0, None)
    if not np.isfinite(cost).all():
        return Unscored("the model gives no numbers for a token")
    moved = moving_cost(cost if squared else np.sqrt(cost), give, take)
    return Unscored("the cost of moving could not be computed") if math.isnan(moved) else 1 - moved


def tokens_of(network: Network, texts: Sequence[str], *, pmeans: bool) -> list[Tokens]:
    """Return the tokens of texts that count, computed in one batch; `pmeans` says which of the two embeddings."""
    torch: Any = required("torch", NEURAL, "moverscore")
    batch = network.tokens(texts)
    given = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
    done = network.model(**given, output_hidden_states=pmeans)
    if pmeans:
        layers = torch.stack(done.hidden_states[-LAYERS:])
        layers = layers / layers.norm(dim=-1, keepdim=True)
        states = torch.cat([layers.amin(dim=0), layers.mean(dim=0), layers.amax(dim=0)], dim=-1)
    else:
        states = done.last_hidden_state
    states = states.cpu().double()  # in single precision a vector would lie 0.0003 away from itself
    vectors = (states / states.norm(dim=-1, keepdim=True)).numpy()
    found = []
    for row, ids, mask in zip(vectors, batch["input_ids"].tolist(), batch["attention_mask"].tolist(), strict=True):
        pieces = network.tokenizer.convert_ids_to_tokens(ids)
        places = [k for k, piece in enumerate(pieces) if mask[k] and "##" not in piece and piece not in MARKS]
        found.append(Tokens(tuple(ids[k] for k in places), row[places]))
    return found


@dataclass(frozen=True, slots=True)
class _Scorer:
    """One version: its name, whether it embeds by p-means, and whether tokens weigh alike."""

    network: Network
    size: int
    name: str
    pmeans: bool = False
    even: bool = False

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        torch: Any = required("torch", NEURAL, self.name)
        pairs = [(item.output, item.reference or "") for item in items]
        by_output, by_reference = (self._idf([pair[side] for pair in pairs]) for side in (0, 1))
        found: list[Value] = [0.0] * len(pairs)
        with torch.inference_mode():
            for chosen in batches(pairs, lambda pair: max(map(len, pair)), self.size, tick):
                texts = list(dict.fromkeys(text for place in chosen for text in pairs[place]))
                tokens = dict(zip(texts, tokens_of(self.network, texts, pmeans=self.pmeans), strict=True))
                for place in chosen:
                    output, reference = (tokens[text] for text in pairs[place])
                    weights = self._weights(output, by_output), self._weights(reference, by_reference)
                    found[place] = moverscore(output, reference, weights, squared=self.pmeans)
        return {self.name: tuple(found)}

    def _idf(self, texts: Sequence[str]) -> dict[int, float]:
        """Return the inverse document frequencies of the tokens of texts; a text that occurs twice counts twice."""
        return idf(self.network.tokenizer(list(texts), truncation=True, max_length=self.network.longest)["input_ids"])

    def _weights(self, tokens: Tokens, known: Mapping[int, float]) -> Array:
        return np.array([1.0 if self.even else known[token] for token in tokens.ids])


def _load(settings: Settings, default: str, name: str, layers: int = 1) -> Network:
    """Return the network. Raises ModelUnfit for one with a decoder, with fewer layers, or without word pieces."""
    model = settings.model or default
    check = encoder_only(model, name)

    def fit(config: Any) -> None:
        check(config)
        if config.num_hidden_layers < layers:
            raise ModelUnfit(f"{name} wants {layers} layers, and {model} has {config.num_hidden_layers}")

    network = load(settings, default, name, config=fit)
    # Byte pairs have "##" too, for the marks themselves.
    if not any(piece.startswith("##") and piece[2:3].isalnum() for piece in network.tokenizer.get_vocab()):
        raise ModelUnfit(f"{name} wants word pieces (##), and the tokenizer of {model} has none; take a kind of BERT")
    return network


def _make(settings: Settings) -> ItemScorer:
    return _Scorer(_load(settings, MODEL, "moverscore"), settings.batch_size or BATCH, "moverscore")


def _make_even(settings: Settings) -> ItemScorer:
    name = "moverscore-even"
    return _Scorer(_load(settings, MODEL, name), settings.batch_size or BATCH, name, even=True)


def _make_pmeans(settings: Settings) -> ItemScorer:
    name = "moverscore-pmeans"
    return _Scorer(_load(settings, "", name, LAYERS), settings.batch_size or BATCH, name, pmeans=True)


_PAPER = "Zhao et al. 2019, MoverScore"
METRICS: tuple[Metric, ...] = (
    Metric(
        name="moverscore",
        by_file=True,
        family="embedding",
        better="higher",
        needs=("output", "reference"),
        make=_make,
        summary="1 minus the cost of moving the output's tokens onto the reference's, weighed by idf in the file",
        source=f"{_PAPER}; as in its moverscore_v2.py (last layer, Euclidean distance)",
        extra=NEURAL,
        packages=(*PACKAGES, "scipy"),
        model=MODEL,
        low=-1.0,
        high=1.0,
    ),
    Metric(
        name="moverscore-even",
        family="embedding",
        better="higher",
        needs=("output", "reference"),
        make=_make_even,
        summary="moverscore with equal weights: independent of the other texts of the file",
        source=f"{_PAPER}; as in its moverscore_v2.py with all idf 1",
        extra=NEURAL,
        packages=(*PACKAGES, "scipy"),
        model=MODEL,
        low=-1.0,
        high=1.0,
    ),
    Metric(
        name="moverscore-pmeans",
        by_file=True,
        family="embedding",
        better="higher",
        needs=("output", "reference"),
        make=_make_pmeans,
        summary="moverscore on minimum, mean and maximum of the last five layers, squared distance",
        source=f"{_PAPER}, WMD-1+PMeans; as in its moverscore.py, whose BERT fine-tuned on MNLI must be named",
        extra=NEURAL,
        packages=(*PACKAGES, "scipy"),
        wants_model=True,
        low=-3.0,
        high=1.0,
    ),
)
