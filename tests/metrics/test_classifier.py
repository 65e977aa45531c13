"""Classifiers as metrics: tiny random networks through the real loading, beside what the network itself gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnfit
from calibrator.hub import quiet
from calibrator.metrics.base import Settings
from calibrator.metrics.classifier import Preset, classifier_metrics, make, presets
from calibrator.records import Item
from tests.metrics import tiny

ITEMS = [
    Item(id="a", source="The bus was late again", output="A later bus would have been better than none!"),
    Item(id="b", source="Walking is healthy", output="No."),
    Item(id="c", source="Nobody was told why", output="Please tell us, kindly, when the next one leaves. " * 3),
]
NAMES = {0: "against", 1: "neutral", 2: "for"}


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier with three named labels."""
    return tiny.bert(tmp_path_factory.mktemp("three"), 3, id2label=NAMES, label2id={v: k for k, v in NAMES.items()})


def _metric(name: str) -> Callable[[Settings], Any]:
    return next(m.make for m in classifier_metrics() if m.name == name)


def _values(scorer: Any, items: Sequence[Item] = ITEMS) -> list[float]:
    told: list[int] = []
    found = scorer(items, told.append)
    assert sum(told) == len(items)
    ((_, values),) = found.items()
    return list(values)


def _logits(folder: Path, item: Item, *, pair: bool = False, segments: bool = True) -> Any:
    """What the network gives for one item alone, with nothing padded."""
    with quiet():
        model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
        tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = (item.source, item.output) if pair else (item.output,)
    batch = tokenizer(*texts, truncation=True, return_tensors="pt")
    if not segments:
        batch.pop("token_type_ids")
    with torch.inference_mode():
        return model(**batch).logits[0].double()


def test_a_named_label_is_read_by_softmax(three: Path) -> None:
    values = _values(_metric("text-classifier")(Settings(model=f"{three}#for", device="cpu")))
    assert values == pytest.approx([float(_logits(three, item).softmax(-1)[2]) for item in ITEMS], abs=2e-5)
    assert len(set(values)) == len(ITEMS)


def test_a_label_may_be_named_by_its_number_and_in_any_case(three: Path) -> None:
    by_name, by_number, shouted = (
        _values(_metric("text-classifier")(Settings(model=f"{three}#{label}", device="cpu")))
        for label in ("for", "2", "FOR")
    )
    assert by_name == by_number == shouted


def test_a_weighted_sum_of_labels(three: Path) -> None:
    values = _values(_metric("pair-classifier")(Settings(model=f"{three}#for=1;against=-1", device="cpu")))
    expected = [_logits(three, item, pair=True).softmax(-1) for item in ITEMS]
    assert values == pytest.approx([float(p[2] - p[0]) for p in expected], abs=2e-5)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_value_does_not_depend_on_the_batch(three: Path, size: int) -> None:
    settings = Settings(model=f"{three}#for", device="cpu", batch_size=size)
    scorer = _metric("text-classifier")(settings)
    alone = [_values(scorer, [item])[0] for item in ITEMS]
    assert _values(scorer) == pytest.approx(alone, abs=2e-5)
    assert _values(scorer, ITEMS[::-1]) == pytest.approx(alone[::-1], abs=2e-5)


def test_several_labels_at_once_are_read_by_the_logistic_function(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path, 3, id2label=NAMES, problem_type="multi_label_classification")
    values = _values(_metric("text-classifier")(Settings(model=f"{folder}#neutral", device="cpu")))
    assert values == pytest.approx([float(_logits(folder, item).sigmoid()[1]) for item in ITEMS], abs=2e-5)


def test_the_only_number_of_a_network_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path, 1)
    values = _values(_metric("text-classifier")(Settings(model=str(folder), device="cpu")))
    assert values == pytest.approx([float(_logits(folder, item)[0]) for item in ITEMS], abs=1e-4)


def test_of_two_labels_the_second_is_read_unless_told_otherwise(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path, 2)
    second, first = (
        _values(_metric("text-classifier")(Settings(model=model, device="cpu")))
        for model in (str(folder), f"{folder}#0")
    )
    assert [a + b for a, b in zip(first, second, strict=True)] == pytest.approx([1.0] * len(ITEMS), abs=2e-5)
    assert second == pytest.approx([float(_logits(folder, item).softmax(-1)[1]) for item in ITEMS], abs=2e-5)


def test_a_pair_without_segment_numbers(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path, 2)
    preset = next(p for p in presets() if p.name == "counter-argument-quality")
    values = _values(make(preset, Settings(model=str(folder), device="cpu")))
    plain = [float(_logits(folder, i, pair=True, segments=False).softmax(-1)[1]) for i in ITEMS]
    told_apart = [float(_logits(folder, i, pair=True).softmax(-1)[1]) for i in ITEMS]
    assert values == pytest.approx(plain, abs=2e-5)
    assert values != pytest.approx(told_apart, abs=1e-3)


def test_a_part_of_the_checkpoint_with_another_name_is_found(tmp_path: Path) -> None:
    """As HateXplain's published model has its pooler; left alone, transformers would draw one at random."""
    folder = tiny.bert(tmp_path, 2)
    expected = [float(_logits(folder, item).softmax(-1)[1]) for item in ITEMS]
    file = folder / "model.safetensors"
    renamed = {k.replace("bert.pooler.", "bert_pooler."): v for k, v in load_file(file).items()}
    assert "bert_pooler.dense.weight" in renamed
    save_file(renamed, file, metadata={"format": "pt"})
    preset = next(p for p in presets() if p.name == "toxicity-hatexplain")
    assert _values(make(preset, Settings(model=str(folder), device="cpu"))) == pytest.approx(expected, abs=2e-5)
    with pytest.raises(ModelUnfit, match=r"no weights for .*pooler"):
        _metric("text-classifier")(Settings(model=str(folder), device="cpu"))


def test_a_label_that_the_model_does_not_have_names_those_it_has(three: Path) -> None:
    for label in ("toxic", "7"):
        with pytest.raises(ModelUnfit, match=f"no label {label}; it has against, neutral, for"):
            _metric("text-classifier")(Settings(model=f"{three}#{label}", device="cpu"))
    with pytest.raises(ModelUnfit, match="it has against, neutral, for"):
        _metric("toxicity")(Settings(model=str(three), device="cpu"))


def test_which_of_three_labels_must_be_said(three: Path) -> None:
    with pytest.raises(ModelUnfit, match="has 3 labels; name one"):
        _metric("text-classifier")(Settings(model=str(three), device="cpu"))


def test_weights_of_labels_are_numbers(three: Path) -> None:
    with pytest.raises(ConfigError, match="LABEL=NUMBER"):
        _metric("text-classifier")(Settings(model=f"{three}#for=much", device="cpu"))


def test_an_encoder_without_a_head_is_refused(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path)
    with pytest.raises(ModelUnfit, match="no weights for classifier"):
        _metric("text-classifier")(Settings(model=str(folder), device="cpu"))


def test_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        _metric("text-classifier")(Settings(model=str(tmp_path), device="cpu"))
    assert "\n" not in str(caught.value)


def test_nothing_is_fetched_unasked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelMissing, match=r"unitary/unbiased-toxic-roberta is not on this machine"):
        _metric("toxicity")(Settings(model="", device="cpu"))


def test_the_presets_say_what_they_read() -> None:
    found = {m.name: m for m in classifier_metrics()}
    assert {"toxicity", "argument-quality", "counter-argument-quality", "pro-con"} <= set(found)
    assert found["pro-con"].needs == ("source", "output")
    assert (found["pro-con"].low, found["pro-con"].high, found["pro-con"].wants_model) == (-1, 1, True)
    assert (found["toxicity"].low, found["toxicity"].high, found["toxicity"].better) == (0, 1, "lower")
    assert all(bool(m.model) != m.wants_model and m.extra == "neural" for m in found.values())
    assert found["toxicity"] is next(m for m in classifier_metrics() if m.name == "toxicity")


def test_a_stance_preset_reads_pro_less_con(tmp_path: Path) -> None:
    folder = tiny.bert(tmp_path, 2, id2label={0: "con", 1: "pro"})
    values = _values(_metric("pro-con")(Settings(model=str(folder), device="cpu")))
    expected = [_logits(folder, item, pair=True).softmax(-1) for item in ITEMS]
    assert values == pytest.approx([float(p[1] - p[0]) for p in expected], abs=2e-5)
    assert isinstance(presets()[0], Preset)
