"""BERTScore on tiny random networks: against a plain re-computation, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from transformers import AutoModel, AutoTokenizer, T5EncoderModel

from calibrator.errors import ConfigError, ModelUnfit
from calibrator.metrics.base import Settings, Unscored, Value
from calibrator.metrics.bertscore import METRICS, layer_of, published
from calibrator.records import Item
from calibrator.resources import folder as shipped
from tests.metrics import tiny

BY_NAME = {metric.name: metric for metric in METRICS}
PAIRS = [(output, reference) for output in tiny.TEXTS for reference in tiny.TEXTS[1:4]]


def items(pairs: Sequence[tuple[str, str]] = PAIRS) -> list[Item]:
    return [Item(id=str(k), output=o, source=r, reference=r) for k, (o, r) in enumerate(pairs)]


def score(
    folder: Path, given: Sequence[Item], name: str = "bertscore", size: int = 0, layer: str = "#3"
) -> dict[str, tuple[Value, ...]]:
    settings = Settings(model=f"{folder}{layer}", device="cpu", batch_size=size)
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
    got = score(folder, items([(tiny.TEXTS[0], tiny.TEXTS[1])]), layer="#2")["bertscore-precision"]
    assert got == pytest.approx([float(cosines.max(dim=1).values.mean())], abs=1e-5)


def test_a_known_model_is_cut_behind_its_published_layer(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path / "bert-base-uncased", layers=12)
    found = score(folder, items(PAIRS[:2]), layer="")
    for k, (output, reference) in enumerate(PAIRS[:2]):
        assert found["bertscore"][k] == pytest.approx(by_hand(folder, output, reference, 9, {2, 3})[2], abs=1e-5)


def test_layers_are_those_of_the_published_table() -> None:
    assert layer_of("roberta-large", 24) == 17
    assert layer_of("microsoft/deberta-xlarge-mnli", 48) == 40
    assert layer_of("/somewhere/roberta-large", 24) == 17
    assert layer_of("princeton-nlp/sup-simcse-roberta-large", 24) == 16
    assert layer_of("roberta-large", 24, 5) == 5  # what is asked for goes before


def test_no_model_is_lost_by_the_last_part_of_its_name() -> None:
    table = yaml.safe_load((shipped("data") / "metrics" / "bertscore_layers.yaml").read_text(encoding="utf-8"))
    assert len(published()) == len(table["layers"]) == 140


@pytest.mark.parametrize(
    ("name", "asked", "said"),
    [
        ("someone/else", None, "no layer is published for someone/else; name the one to compare, 0 to 3: bertscore@"),
        ("bert-base-uncased", None, "bert-base-uncased has no layer 9; name"),  # of that name, but smaller
        ("someone/else", 4, "someone/else has no layer 4; name"),
    ],
)
def test_a_layer_that_is_not_there_or_not_known_is_asked_for(name: str, asked: int | None, said: str) -> None:
    with pytest.raises(ModelUnfit, match=said):
        layer_of(name, 3, asked)


def test_a_layer_is_named_behind_the_model(bert: Path) -> None:
    output, reference = PAIRS[0]
    for layer in (0, 1, 2):
        found = score(bert, items(PAIRS[:1]), layer=f"#{layer}")["bertscore"]
        assert found == pytest.approx([by_hand(bert, output, reference, layer, {2, 3})[2]], abs=1e-5)


def test_a_model_of_no_published_layer_wants_one(bert: Path) -> None:
    with pytest.raises(ModelUnfit, match=r"0 to 3: bertscore@.*#LAYER"):
        score(bert, items(), layer="")
    with pytest.raises(ModelUnfit, match="has no layer 4"):
        score(bert, items(), layer="#4")
    with pytest.raises(ConfigError, match="'last' is no layer"):
        score(bert, items(), layer="#last")


def test_a_folder_may_have_the_mark_in_its_name(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path / "my #1" / "bert-base-uncased", layers=9)
    assert score(folder, items(PAIRS[:1]), layer="") == score(folder, items(PAIRS[:1]), layer="#9")


@pytest.mark.parametrize("layer", [1, 2])
def test_every_token_of_a_t5_weighs(layer: int, tmp_path: Path) -> None:
    folder = tiny.t5(tmp_path)
    encoder: Any = T5EncoderModel.from_pretrained(folder)  # in evaluation mode
    encoder.encoder.block = encoder.encoder.block[:layer]  # the last one's states are normed
    tokenizer = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        found = [encoder(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in tiny.TEXTS[:2]]
    a, b = (states / states.norm(dim=-1, keepdim=True) for states in found)
    got = score(folder, items([(tiny.TEXTS[0], tiny.TEXTS[1])]), layer=f"#{layer}")
    assert got["bertscore-precision"] == pytest.approx([float((a @ b.T).max(dim=1).values.mean())], abs=1e-5)
    assert got["bertscore-recall"] == pytest.approx([float((a @ b.T).max(dim=0).values.mean())], abs=1e-5)


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
    BY_NAME["bertscore"].make(Settings(model=f"{bert}#1", device="cpu", batch_size=4))(items(), told.append)
    assert sum(told) == len(PAIRS)
    assert len(told) == 4
