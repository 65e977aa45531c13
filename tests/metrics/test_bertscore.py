"""BERTScore on tiny random networks: against a plain re-computation, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from calibrator.metrics.base import Settings, Unscored, Value
from calibrator.metrics.bertscore import METRICS, layer_of
from calibrator.records import Item
from tests.metrics import tiny

BY_NAME = {metric.name: metric for metric in METRICS}
PAIRS = [(output, reference) for output in tiny.TEXTS for reference in tiny.TEXTS[1:4]]


def items(pairs: Sequence[tuple[str, str]] = PAIRS) -> list[Item]:
    return [Item(id=str(k), output=o, source=r, reference=r) for k, (o, r) in enumerate(pairs)]


def score(folder: Path, given: Sequence[Item], name: str = "bertscore", size: int = 0) -> dict[str, tuple[Value, ...]]:
    settings = Settings(model=str(folder), device="cpu", batch_size=size)
    return dict(BY_NAME[name].make(settings)(given, lambda _: None))  # type: ignore[arg-type]


def states(folder: Path, text: str, layer: int) -> tuple[list[int], list[Any]]:
    """Return the numbers and the states of one text's tokens, by transformers alone."""
    tokenizer, model = tiny.opened(folder, AutoModel)
    ids = tokenizer(text)["input_ids"]
    with torch.no_grad():
        found = model(torch.tensor([ids]), output_hidden_states=True).hidden_states[layer][0]
    return ids, [state / state.norm() for state in found]


def by_hand(folder: Path, output: str, reference: str, layer: int, ends: set[int]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of one pair by loops over its tokens."""
    (ids, ours), (other_ids, theirs) = states(folder, output, layer), states(folder, reference, layer)
    best = [max(float(a @ b) for b in theirs) for k, a in zip(ids, ours, strict=True) if k not in ends]
    other = [max(float(a @ b) for a in ours) for k, b in zip(other_ids, theirs, strict=True) if k not in ends]
    p, r = sum(best) / len(best), sum(other) / len(other)
    return p, r, 2 * p * r / (p + r)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.roberta(tmp_path_factory.mktemp("roberta"))


def test_it_is_the_published_formula(bert: Path) -> None:
    found = score(bert, items(), size=4)
    for k, (output, reference) in enumerate(PAIRS):
        p, r, f = by_hand(bert, output, reference, 3, {2, 3})
        assert found["bertscore-precision"][k] == pytest.approx(p, abs=1e-5)
        assert found["bertscore-recall"][k] == pytest.approx(r, abs=1e-5)
        assert found["bertscore"][k] == pytest.approx(f, abs=1e-5)


def test_robertas_tokens_have_a_space_before_the_first_word(roberta: Path) -> None:
    found = score(roberta, items(PAIRS[:3]))
    for k, (output, reference) in enumerate(PAIRS[:3]):
        assert found["bertscore"][k] == pytest.approx(
            by_hand(roberta, f" {output}", f" {reference}", 3, {0, 2})[2], abs=1e-5
        )
    without = by_hand(roberta, *PAIRS[0], 3, {0, 2})[2]
    assert found["bertscore"][0] != pytest.approx(without, abs=1e-4)


def test_an_item_has_the_same_value_alone_as_in_a_batch(bert: Path, roberta: Path) -> None:
    for folder in (bert, roberta):
        together = score(folder, items(), size=32)
        for k, item in enumerate(items()):
            alone = score(folder, [item])
            for name, values in together.items():
                assert alone[name][0] == pytest.approx(values[k], abs=1e-5)


def test_a_text_beside_itself_has_1(bert: Path) -> None:
    found = score(bert, items([(text, text) for text in tiny.TEXTS]))
    for values in found.values():
        assert values == pytest.approx([1.0] * len(tiny.TEXTS), abs=1e-5)


def test_precision_and_recall_change_places_with_the_texts(bert: Path) -> None:
    there, back = score(bert, items()), score(bert, items([(b, a) for a, b in PAIRS]))
    assert there["bertscore-precision"] == pytest.approx(back["bertscore-recall"], abs=1e-5)
    assert there["bertscore"] == pytest.approx(back["bertscore"], abs=1e-5)


def test_against_the_source_it_is_the_same_with_the_source_in_place_of_the_reference(bert: Path) -> None:
    given = [Item(id="a", output=tiny.TEXTS[0], source=tiny.TEXTS[1], reference=tiny.TEXTS[2])]
    swapped = [Item(id="a", output=tiny.TEXTS[0], reference=tiny.TEXTS[1])]
    found = score(bert, given, "bertscore-source")
    assert set(found) == {"bertscore-source"}
    assert found["bertscore-source"] == pytest.approx(score(bert, swapped)["bertscore"], abs=1e-6)


def test_an_encoder_decoder_is_asked_for_its_encoder(tmp_path: Path) -> None:
    folder = tiny.bart(tmp_path)
    encoder = AutoModel.from_pretrained(folder).encoder.eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        found = [encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in tiny.TEXTS[:2]]
    a, b = (states / states.norm(dim=-1, keepdim=True) for states in found)
    cosines = (a @ b.T)[1:-1]  # the marks of beginning and end weigh nothing, but may be matched
    got = score(folder, items([(tiny.TEXTS[0], tiny.TEXTS[1])]))["bertscore-precision"]
    assert got == pytest.approx([float(cosines.max(dim=1).values.mean())], abs=1e-5)


def test_a_known_model_is_cut_behind_its_published_layer(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path / "bert-base-uncased", layers=12)
    found = score(folder, items(PAIRS[:2]))
    for k, (output, reference) in enumerate(PAIRS[:2]):
        assert found["bertscore"][k] == pytest.approx(by_hand(folder, output, reference, 9, {2, 3})[2], abs=1e-5)


def test_layers_are_those_of_the_published_table() -> None:
    assert layer_of("roberta-large", 24) == 17
    assert layer_of("microsoft/deberta-xlarge-mnli", 48) == 40
    assert layer_of("/somewhere/bert-base-uncased", 12) == 9
    assert layer_of("someone/else", 12) is None
    assert layer_of("bert-base-uncased", 3) is None  # of that name, but smaller


def test_the_last_layer_of_an_unknown_model_is_said(bert: Path) -> None:
    said: list[str] = []
    BY_NAME["bertscore"].make(Settings(model=str(bert), device="cpu", tell=said.append))
    assert len(said) == 1
    assert "its last one is taken" in said[0]


def test_a_text_without_a_token_has_no_value(bert: Path) -> None:
    found = score(bert, items([(" ", tiny.TEXTS[0]), PAIRS[0]]))
    assert isinstance(found["bertscore"][0], Unscored)
    assert isinstance(found["bertscore"][1], float)


def test_a_text_longer_than_the_model_takes_is_cut_at_the_end(bert: Path) -> None:
    long = " ".join(["walking is healthy"] * 60)
    one, two = score(bert, items([(long, tiny.TEXTS[0]), (f"{long} the rain is not", tiny.TEXTS[0])]))["bertscore"]
    assert one == pytest.approx(two, abs=1e-6)


def test_progress_is_told_in_items(bert: Path) -> None:
    told: list[int] = []
    BY_NAME["bertscore"].make(Settings(model=str(bert), device="cpu", batch_size=4))(items(), told.append)
    assert sum(told) == len(PAIRS)
    assert len(told) == 4
