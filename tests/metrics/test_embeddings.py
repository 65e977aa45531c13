"""Sentence embeddings: on a tiny random network by hand, and all-MiniLM-L6-v2 where its package is installed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModel, AutoTokenizer

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnfit
from calibrator.hub import weights
from calibrator.metrics.base import Settings, Unscored
from calibrator.metrics.embeddings import (
    METRICS,
    MODEL,
    SentenceEncoder,
    diversity,
    sentence_encoder,
    word_overlap,
)
from calibrator.records import Item
from tests.metrics import tiny

BY_NAME = {metric.name: metric for metric in METRICS}
ITEMS = [Item(id=str(k), output=text) for k, text in enumerate(tiny.TEXTS)]


def measure(name: str, given: Sequence[Item], settings: Settings) -> Any:
    return BY_NAME[name].make(settings)(given, lambda _: None)[name]


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"))


def by_hand(folder: Path, text: str) -> Any:
    """Return the mean of a text's last states, at length 1."""
    tokenizer, model = tiny.opened(folder, AutoModel)
    with torch.no_grad():
        mean = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0).numpy()
    return mean / np.linalg.norm(mean)


def test_a_vector_is_the_mean_of_the_tokens_at_length_1(bert: Path) -> None:
    found = sentence_encoder(Settings(model=str(bert), device="cpu", batch_size=2))(tiny.TEXTS)
    assert found.shape == (len(tiny.TEXTS), tiny.WIDE)
    assert found.dtype == np.float32
    for text, row in zip(tiny.TEXTS, found, strict=True):
        assert row == pytest.approx(by_hand(bert, text), abs=1e-5)


def test_a_text_has_the_same_vector_alone_as_in_a_batch_and_keeps_its_place(bert: Path) -> None:
    encode = sentence_encoder(Settings(model=str(bert), device="cpu"))
    texts = [*tiny.TEXTS, tiny.TEXTS[0]]
    told: list[int] = []
    together = encode(texts, told.append)
    assert sum(told) == len(texts)
    assert np.array_equal(together[0], together[-1])
    for text, row in zip(texts, together, strict=True):
        assert encode([text])[0] == pytest.approx(row, abs=1e-5)


def test_no_texts_have_no_vectors(bert: Path) -> None:
    assert sentence_encoder(Settings(model=str(bert), device="cpu"))([]).shape == (0, tiny.WIDE)


def pooled(folder: Path, *kinds: str, **modes: bool) -> Path:
    """Save a tiny network as sentence-transformers would, with these parts and ways of pooling."""
    tiny.bert(folder)
    parts = [
        {"idx": k, "path": "" if k == 0 else f"{k}_{kind}", "type": f"sentence_transformers.models.{kind}"}
        for k, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(parts))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({f"pooling_mode_{k}": v for k, v in modes.items()}))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    return folder


def test_pooling_and_length_of_a_folder_of_sentence_transformers_are_followed(tmp_path: Path) -> None:
    folder = pooled(tmp_path, "Transformer", "Pooling", "Normalize", cls_token=True, mean_tokens=False)
    encode = sentence_encoder(Settings(model=str(folder), device="cpu"))
    assert (encode.pooling, encode.network.longest) == ("cls", 16)
    with torch.no_grad():
        batch = AutoTokenizer.from_pretrained(folder)(
            tiny.TEXTS[3], return_tensors="pt", truncation=True, max_length=16
        )
        first = AutoModel.from_pretrained(folder).eval()(**batch).last_hidden_state[0, 0].numpy()
    assert encode([tiny.TEXTS[3]])[0] == pytest.approx(first / np.linalg.norm(first), abs=1e-5)


def test_a_model_with_further_parts_or_another_pooling_is_refused(tmp_path: Path) -> None:
    more = pooled(tmp_path / "a", "Transformer", "Pooling", "Dense", mean_tokens=True)
    with pytest.raises(ModelUnfit, match="Dense"):
        sentence_encoder(Settings(model=str(more), device="cpu"))
    other = pooled(tmp_path / "b", "Transformer", "Pooling", max_tokens=True)
    with pytest.raises(ModelUnfit, match="pools its tokens"):
        sentence_encoder(Settings(model=str(other), device="cpu"))


def test_a_damaged_description_is_one_line(tmp_path: Path) -> None:
    tiny.bert(tmp_path)
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(ModelError, match="cannot be loaded"):
        sentence_encoder(Settings(model=str(tmp_path), device="cpu"))


@given(st.integers(2, 12), st.integers(1, 5), st.integers(0, 2**31))
@settings(max_examples=50, deadline=None)
def test_diversity_is_that_of_all_pairs(count: int, wide: int, seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(count, wide))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert diversity(rows) == pytest.approx(1 - np.mean([a @ b for a, b in combinations(rows, 2)]), abs=1e-9)


def test_diversity_of_less_than_two_texts_is_not_defined(bert: Path) -> None:
    assert np.isnan(diversity(np.ones((1, 1))))
    found = measure("semantic-diversity", ITEMS[:1], Settings(model=str(bert), device="cpu"))
    assert isinstance(found, Unscored)


def test_diversity_of_a_set_is_that_of_its_outputs(bert: Path) -> None:
    found = measure("semantic-diversity", ITEMS, Settings(model=str(bert), device="cpu", batch_size=2))
    rows = [by_hand(bert, text) for text in tiny.TEXTS]
    assert found == pytest.approx(1 - np.mean([a @ b for a, b in combinations(rows, 2)]), abs=1e-5)
    same = [Item(id=str(k), output=tiny.TEXTS[0]) for k in range(3)]
    assert measure("semantic-diversity", same, Settings(model=str(bert), device="cpu")) == pytest.approx(0, abs=1e-5)


def test_semantic_novelty_is_the_distance_to_the_nearest_text_of_the_corpus(bert: Path) -> None:
    corpus = tiny.TEXTS[2:]
    found = measure("semantic-novelty", ITEMS, Settings(model=str(bert), device="cpu", corpus=corpus))
    known = [by_hand(bert, text) for text in corpus]
    wanted = [1 - max(float(by_hand(bert, text) @ other) for other in known) for text in tiny.TEXTS]
    assert found == pytest.approx(wanted, abs=1e-5)
    assert found[2:] == pytest.approx([0, 0, 0], abs=1e-5)


def test_novelty_is_the_share_of_words_that_the_nearest_text_has_not() -> None:
    corpus = ("the bus is late", "it rains")
    given = [
        Item(id="a", output="the bus is here"),
        Item(id="b", output="it rains"),
        Item(id="c", output="nothing new"),
    ]
    assert measure("novelty", given, Settings(corpus=corpus)) == pytest.approx((1 - 3 / 5, 0.0, 1.0))


def test_overlap_of_texts_without_words_is_0() -> None:
    assert word_overlap(frozenset(), frozenset()) == 0.0


@pytest.mark.parametrize("name", ["novelty", "semantic-novelty"])
def test_novelty_wants_a_corpus(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} .*corpus"):
        BY_NAME[name].make(Settings())


@pytest.fixture(scope="module")
def minilm() -> SentenceEncoder:
    try:
        weights(MODEL)
    except ModelMissing as missing:
        pytest.skip(str(missing))
    return sentence_encoder(Settings(device="cpu"))


def test_a_paraphrase_is_nearer_than_another_matter(minilm: SentenceEncoder) -> None:
    said, same, other = minilm(
        [
            "The meeting was put off until Monday.",
            "They postponed the meeting to Monday.",
            "Cats sleep most of the day.",
        ]
    )
    assert minilm.network.longest == 256
    assert said @ same > 0.7 > 0.3 > said @ other


@pytest.mark.parametrize("name", ["semantic-diversity", "semantic-novelty"])
def test_a_network_with_a_decoder_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelUnfit, match="has a decoder too; take another model"):
        measure(name, [], Settings(model=str(tiny.t5(tmp_path)), device="cpu", corpus=("A text.",)))
