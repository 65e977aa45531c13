"""MoverScore: the earth mover's distance against other ways to it, the versions against plain re-computations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import linear_sum_assignment
from scipy.stats import wasserstein_distance
from transformers import AutoModel

from calibrator.errors import ModelUnfit
from calibrator.metrics.base import Settings, Unscored, Value
from calibrator.metrics.moverscore import METRICS, Tokens, idf, moverscore, moving_cost
from calibrator.records import Item
from tests.metrics import tiny

BY_NAME = {metric.name: metric for metric in METRICS}
ITEMS = [
    Item(id=str(k), output=o, reference=r)
    for k, (o, r) in enumerate(zip(tiny.TEXTS, tiny.TEXTS[1:] + tiny.TEXTS[:1], strict=True))
]
RNG = np.random.default_rng(5)


def score(folder: Path, given: Sequence[Item], name: str, size: int = 0) -> tuple[Value, ...]:
    settings = Settings(model=str(folder), device="cpu", batch_size=size)
    return BY_NAME[name].make(settings)(given, lambda _: None)[name]  # type: ignore[return-value]


@pytest.fixture(scope="module")
def distilbert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.distilbert(tmp_path_factory.mktemp("distilbert"))


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"), layers=6)


@pytest.mark.parametrize("sizes", [(1, 1), (3, 5), (8, 2), (12, 12)])
def test_on_a_line_the_distance_is_wassersteins(sizes: tuple[int, int]) -> None:
    x, y = (RNG.normal(size=n) for n in sizes)
    give, take = (RNG.random(n) + 0.1 for n in sizes)
    give, take = give / give.sum(), take / take.sum()
    found = moving_cost(np.abs(np.subtract.outer(x, y)), give, take)
    assert found == pytest.approx(wasserstein_distance(x, y, give, take), abs=1e-9)


def test_between_equal_weights_the_distance_is_that_of_the_best_assignment() -> None:
    cost = RNG.random((9, 9))
    rows, columns = linear_sum_assignment(cost)
    equal = np.full(9, 1 / 9)
    assert moving_cost(cost, equal, equal) == pytest.approx(cost[rows, columns].mean(), abs=1e-9)


def test_idf_counts_texts_not_tokens() -> None:
    found = idf([[1, 2, 2], [1, 3], [1]])
    assert found == pytest.approx({1: 0.0, 2: math.log(4 / 2), 3: math.log(4 / 2)})


def kept(folder: Path, text: str) -> tuple[list[int], list[int]]:
    """Return the numbers of a text's tokens, and which of them count: neither marks nor pieces that go on a word."""
    tokenizer, _ = tiny.opened(folder, AutoModel)
    ids = tokenizer(text)["input_ids"]
    pieces = tokenizer.convert_ids_to_tokens(ids)
    return ids, [k for k, piece in enumerate(pieces) if not piece.startswith("##") and piece not in set("!?.,;:'")]


def states(folder: Path, text: str) -> list[Any]:
    """Return the states of every layer for one text."""
    ids, _ = kept(folder, text)
    with torch.no_grad():
        found = tiny.opened(folder, AutoModel)[1](torch.tensor([ids]), output_hidden_states=True)
    return [layer[0].double().numpy() for layer in found.hidden_states]


def unit(rows: Any) -> Any:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def weights_by_hand(folder: Path, text: str, corpus: Sequence[str]) -> list[float]:
    """Return the inverse document frequency of the tokens of a text that count."""
    texts = [set(kept(folder, other)[0]) for other in corpus]
    ids, places = kept(folder, text)
    counts = [sum(ids[k] in other for other in texts) for k in places]
    return [math.log((len(corpus) + 1) / (count + 1)) for count in counts]


def mover_by_hand(a: Any, b: Any, give: Sequence[float], take: Sequence[float], power: int) -> float:
    cost = np.array([[np.linalg.norm(x - y) ** power for y in b] for x in a])
    one, two = np.array(give) / sum(give), np.array(take) / sum(take)
    return 1 - moving_cost(cost, one, two)


def test_moverscore_is_version_2_with_idf_of_outputs_and_references_apart(distilbert: Path) -> None:
    found = score(distilbert, ITEMS, "moverscore", size=2)
    outputs, references = [item.output for item in ITEMS], [item.reference or "" for item in ITEMS]
    for item, value in zip(ITEMS, found, strict=True):
        a, b = (
            unit(states(distilbert, text)[-1][kept(distilbert, text)[1]])
            for text in (item.output, item.reference or "")
        )
        give = weights_by_hand(distilbert, item.output, outputs)
        take = weights_by_hand(distilbert, item.reference or "", references)
        assert value == pytest.approx(mover_by_hand(a, b, give, take, 1), abs=1e-5)


def test_moverscore_even_weighs_every_token_alike(distilbert: Path) -> None:
    found = score(distilbert, ITEMS[:2], "moverscore-even")
    for item, value in zip(ITEMS, found, strict=False):
        a, b = (
            unit(states(distilbert, text)[-1][kept(distilbert, text)[1]])
            for text in (item.output, item.reference or "")
        )
        assert value == pytest.approx(mover_by_hand(a, b, [1.0] * len(a), [1.0] * len(b), 1), abs=1e-5)


def test_pmeans_takes_five_layers_and_the_squared_distance(bert: Path) -> None:
    found = score(bert, ITEMS, "moverscore-pmeans", size=3)
    outputs, references = [item.output for item in ITEMS], [item.reference or "" for item in ITEMS]
    for item, value in zip(ITEMS[:2], found, strict=False):
        sides = []
        for text in (item.output, item.reference or ""):
            layers = np.stack([unit(layer) for layer in states(bert, text)[2:]])  # of six and the embeddings
            sides.append(
                unit(np.concatenate([layers.min(0), layers.mean(0), layers.max(0)], axis=-1)[kept(bert, text)[1]])
            )
        give = weights_by_hand(bert, item.output, outputs)
        take = weights_by_hand(bert, item.reference or "", references)
        assert value == pytest.approx(mover_by_hand(sides[0], sides[1], give, take, 2), abs=1e-5)


def test_even_weights_give_an_item_the_same_value_alone_as_in_a_batch(distilbert: Path) -> None:
    together = score(distilbert, ITEMS, "moverscore-even", size=16)
    assert [score(distilbert, [item], "moverscore-even")[0] for item in ITEMS] == pytest.approx(
        list(together), abs=1e-5
    )


def test_idf_weights_depend_on_the_texts_but_not_on_the_batches(distilbert: Path) -> None:
    assert score(distilbert, ITEMS, "moverscore", 1) == pytest.approx(
        score(distilbert, ITEMS, "moverscore", 16), abs=1e-5
    )


def test_a_single_pair_has_no_idf_and_so_no_value(distilbert: Path) -> None:
    assert score(distilbert, ITEMS[:1], "moverscore") == (Unscored("no token of a text weighs anything"),)


def test_a_text_beside_itself_has_1(distilbert: Path) -> None:
    same = [Item(id=text, output=text, reference=text) for text in tiny.TEXTS]
    for name in ("moverscore", "moverscore-even"):
        assert score(distilbert, same, name) == pytest.approx([1.0] * len(same), abs=1e-5)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_tokenizer_without_word_pieces_is_refused(name: str, tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path, layers=6)
    tiny.bytepairs(tmp_path)  # in place of its own
    with pytest.raises(ModelUnfit, match=rf"{name} wants word pieces \(##\)"):
        score(folder, ITEMS, name)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_a_network_with_a_decoder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnfit, match=f"{name} wants an encoder, and .* has a decoder too"):
        score(tiny.t5(tmp_path), ITEMS, name)


def test_pmeans_wants_five_layers_besides_the_embeddings(tmp_path: Path) -> None:
    with pytest.raises(ModelUnfit, match=r"moverscore-pmeans wants 5 layers, and .* has 4"):
        score(tiny.bert(tmp_path / "four", layers=4), ITEMS, "moverscore-pmeans")
    found = score(tiny.bert(tmp_path / "five", layers=5), ITEMS, "moverscore-pmeans")
    assert all(isinstance(value, float) for value in found)


def test_vectors_that_are_no_numbers_give_no_value() -> None:
    broken = Tokens((1, 2), np.array([[1.0, 0.0], [np.nan, 0.0]]))
    even = np.ones(2)
    assert moverscore(broken, broken, (even, even)) == Unscored("the model gives no numbers for a token")
