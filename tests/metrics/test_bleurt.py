"""BLEURT on a tiny random network of one number."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification

from calibrator.errors import ModelUnfit
from calibrator.metrics.base import Settings, Value
from calibrator.metrics.bleurt import METRICS
from calibrator.metrics.neural import CHARACTERS
from calibrator.records import Item
from tests.metrics import tiny

ITEMS = [
    Item(id=str(k), output=o, reference=r) for k, (o, r) in enumerate(zip(tiny.TEXTS, tiny.TEXTS[::-1], strict=True))
]


def score(folder: Path, given: Sequence[Item], size: int = 0) -> tuple[Value, ...]:
    found = METRICS[0].make(Settings(model=str(folder), device="cpu", batch_size=size))(given, lambda _: None)
    return found["bleurt"]  # type: ignore[return-value]


@pytest.fixture(scope="module")
def bleurt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bleurt"), labels=1)


def test_it_is_what_the_network_says_of_reference_and_output_in_this_order(bleurt: Path) -> None:
    tokenizer, model = tiny.opened(bleurt, AutoModelForSequenceClassification)
    found = score(bleurt, ITEMS, size=2)
    for item, value in zip(ITEMS, found, strict=True):
        with torch.no_grad():
            wanted = float(model(**tokenizer(item.reference, item.output, return_tensors="pt")).logits)
        assert value == pytest.approx(wanted, abs=1e-5)
    swapped = [Item(id="a", output=item.reference or "", reference=item.output) for item in ITEMS]
    assert score(bleurt, swapped)[0] != pytest.approx(found[0], abs=1e-3)


def test_an_item_has_the_same_value_alone_as_in_a_batch(bleurt: Path) -> None:
    together = score(bleurt, ITEMS, size=16)
    assert [score(bleurt, [item])[0] for item in ITEMS] == pytest.approx(list(together), abs=1e-5)


def test_a_classifier_of_several_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnfit, match="gives 3 numbers"):
        METRICS[0].make(Settings(model=str(tiny.bert(tmp_path, labels=3)), device="cpu"))


def test_a_bare_encoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelUnfit, match="no weights for"):
        METRICS[0].make(Settings(model=str(tiny.bert(tmp_path)), device="cpu"))


def test_texts_just_above_what_is_read_have_the_value_of_the_whole(bleurt: Path) -> None:
    tokenizer, model = tiny.opened(bleurt, AutoModelForSequenceClassification)
    long = " ".join(tiny.TEXTS) * 20
    long = long[: CHARACTERS * tiny.LONGEST + 3]
    assert len(long) == CHARACTERS * tiny.LONGEST + 3
    pairs = [(long, tiny.TEXTS[0]), (tiny.TEXTS[0], long), (long, long)]
    found = score(bleurt, [Item(id=str(k), output=o, reference=r) for k, (r, o) in enumerate(pairs)])
    for (reference, output), value in zip(pairs, found, strict=True):
        whole = tokenizer(reference, output, truncation=True, max_length=tiny.LONGEST, return_tensors="pt")
        with torch.no_grad():
            assert value == pytest.approx(float(model(**whole).logits), abs=1e-5)
