"""GRUEN's components: the rules on hand-worked pairs, the networks beside a plain computation without batches."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from nltk.metrics.distance import edit_distance as nltk_distance
from transformers import (
    AutoModelForMaskedLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForMaskedLM,
)

from calibrator.errors import ModelMissing, ModelUnfit
from calibrator.hub import quiet
from calibrator.metrics import gruen as g
from calibrator.metrics.base import Settings, Unscored
from calibrator.records import Item
from tests.metrics import tiny

TEXTS = (
    "The bus was late again, and nobody was told why. Please tell us when the next one leaves.",
    "Walking is healthy. Walking is healthy. The rain is not.",
    "No.",
    "A later bus would have been better than none!",
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A classifier of two labels and a masked language model."""
    classifier = tiny.bert(tmp_path_factory.mktemp("cola"), 2)
    place = tmp_path_factory.mktemp("lm")
    torch.manual_seed(5)
    config = BertConfig(
        vocab_size=len(tiny.wordpieces(place)),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        initializer_range=0.2,
        pad_token_id=0,
    )
    BertForMaskedLM(config).save_pretrained(place)
    return classifier, place


def _plain(folders: tuple[Path, Path], text: str) -> float:
    """The published computation, sentence by sentence, through transformers' own loss."""
    with quiet():
        cola, lm = (
            head.from_pretrained(folder).eval()
            for head, folder in zip((AutoModelForSequenceClassification, AutoModelForMaskedLM), folders, strict=True)
        )
        read = [AutoTokenizer.from_pretrained(folder) for folder in folders]
    losses, logits = [], []
    for part in g.prepared(text):
        with torch.inference_mode():
            ids = read[1](part, return_tensors="pt")["input_ids"]
            losses.append(math.exp(lm(ids, labels=ids).loss.item()))
            logits.append(cola(**read[0](part, return_tensors="pt")).logits[0, 1].item())
    mean_loss, mean_logit = sum(losses) / len(losses), sum(logits) / len(logits)
    return max(0.0, float(math.exp(-0.5 * mean_loss) + mean_logit) / 8 + 0.5)


def _items(*texts: str) -> list[Item]:
    return [Item(id=str(k), output=text) for k, text in enumerate(texts)]


def _scores(folders: tuple[Path, Path], *texts: str, size: int = 0) -> dict[str, tuple[Any, ...]]:
    settings = Settings(model=f"{folders[0]}+{folders[1]}", device="cpu", batch_size=size)
    told: list[int] = []
    found = dict(g.make_grammar(settings)(_items(*texts), told.append))
    assert sum(told) == len(texts)
    return found


def test_grammaticality_is_the_published_computation(folders: tuple[Path, Path]) -> None:
    found = _scores(folders, *TEXTS)[g.GRAMMAR]
    scored = [k for k, text in enumerate(TEXTS) if text != "No."]
    assert [found[k] for k in scored] == pytest.approx([_plain(folders, TEXTS[k]) for k in scored], abs=2e-5)


def test_the_sum_is_grammaticality_and_redundancy_within_bounds(folders: tuple[Path, Path]) -> None:
    found = _scores(folders, *TEXTS)
    redundancy = g.make_redundancy(Settings())(_items(*TEXTS), lambda _: None)[g.REDUNDANCY]
    assert list(redundancy[:2]) == [0, pytest.approx(-0.4)]
    for grammar, twice, whole in zip(found[g.GRAMMAR], redundancy, found[g.SUM], strict=True):
        if isinstance(grammar, Unscored):
            assert isinstance(twice, Unscored) and isinstance(whole, Unscored)
        else:
            assert whole == pytest.approx(min(1, max(0, grammar + twice)))


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_value_does_not_depend_on_the_batch(folders: tuple[Path, Path], size: int) -> None:
    together = _scores(folders, *TEXTS, size=size)[g.GRAMMAR]
    for text, value in zip(TEXTS, together, strict=True):
        alone = _scores(folders, text, size=1)[g.GRAMMAR][0]
        assert value == (alone if isinstance(alone, Unscored) else pytest.approx(alone, abs=2e-5))


def test_a_text_without_a_sentence_of_two_words_has_no_value(folders: tuple[Path, Path]) -> None:
    assert _scores(folders, "No.")[g.GRAMMAR] == (g.NO_SENTENCE,)
    assert g.make_redundancy(Settings())(_items("Hm. No! Yes."), lambda _: None)[g.REDUNDANCY] == (g.NO_SENTENCE,)


def test_a_classifier_of_three_labels_is_refused(folders: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ModelUnfit, match="gives 3 numbers"):
        g.make_grammar(Settings(model=f"{tiny.bert(tmp_path, 3)}+{folders[1]}", device="cpu"))


def test_without_a_second_name_the_language_model_is_the_published_one(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelMissing, match="bert-base-cased is not on this machine"):
        g.make_grammar(Settings(model=str(folders[0]), device="cpu"))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One line here\nand another line", ["One line here.", "and another line"]),
        ("It cost 3.5 euros.Not more..", ["It cost UNK euros.", "Not more."]),
        ("Yes. We agree with that. No", ["We agree with that."]),
    ],
)
def test_preparation(text: str, parts: list[str]) -> None:
    assert g.prepared(text) == parts


@pytest.mark.parametrize(
    ("a", "b", "signs"),
    [
        ("The bus is late.", "The bus is late.", 4),
        ("The bus is late", "Again: The bus is late today", 4),  # one in the other
        ("A bus left.", "A bus came.", 0),  # shorter than five words: not compared
        # run of 17 of 26 characters, 4 words of 6, 4 words in both; but an edit distance far below 15.6
        ("The bus was late on Monday", "The bus was late in August", 1),
        # run of 20, not above 0.8 of 25, with 5 words of 6, which are in both; few edits
        ("The bus was late on Monday", "The bus was late on a day", 3),
        ("Walking to work is healthy for us", "Nobody said when trains would leave", 0),
    ],
)
def test_signs_of_redundancy(a: str, b: str, signs: int) -> None:
    assert g.redundant(a, b) == signs
    assert g.redundant(b, a) == signs


def test_every_pair_of_sentences_is_compared() -> None:
    assert g.redundancy(["I am a boy."] * 3) == pytest.approx(-1.2)
    assert g.redundancy(["I am a boy."]) == 0


@given(st.text("abc ", max_size=15), st.text("abc ", max_size=15))
def test_edit_distance_is_that_of_nltk(a: str, b: str) -> None:
    assert g.edit_distance(a, b) == nltk_distance(a, b)


def test_grammaticality_by_hand() -> None:
    assert g.grammaticality(2 * math.log(2), 3.5) == pytest.approx((0.5 + 3.5) / 8 + 0.5)
    assert g.grammaticality(100, -9) == 0


def test_no_redundancy_is_0_without_a_sign() -> None:
    assert math.copysign(1, g.redundancy(["The bus is late today.", "Nobody likes cold soup here."])) == 1
