"""What neural metrics share: loading without noise, faults in one line, batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers.utils import logging

from calibrator.errors import ModelError, ModelMissing, ModelUnfit
from calibrator.hub import quiet
from calibrator.metrics.base import Settings
from calibrator.metrics.neural import CHARACTERS, Network, batches, load, shared
from tests.metrics import tiny


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bert(tmp_path_factory.mktemp("bert"))


def test_a_network_is_loaded_from_a_folder_in_single_precision_and_for_evaluation(bert: Path) -> None:
    network = load(Settings(model=str(bert), device="cpu"), "", "a test")
    assert network.longest == tiny.LONGEST
    assert not network.model.training
    assert {p.dtype for p in network.model.parameters()} == {torch.float32}


def test_weights_in_half_precision_are_computed_with_in_single(tmp_path: Path, bert: Path) -> None:
    from transformers import AutoModel, AutoTokenizer

    AutoTokenizer.from_pretrained(bert).save_pretrained(tmp_path)
    AutoModel.from_pretrained(bert).half().save_pretrained(tmp_path)
    network = load(Settings(model=str(tmp_path), device="cpu"), "", "a test")
    assert {p.dtype for p in network.model.parameters()} == {torch.float32}


def test_loading_says_nothing_and_leaves_the_library_as_it_was(bert: Path, capfd: pytest.CaptureFixture[str]) -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load(Settings(model=str(bert), device="cpu"), "", "a test", head="AutoModel")
    said = capfd.readouterr()
    assert (said.out, said.err) == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_quiet_puts_everything_back_after_a_fault() -> None:
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    with pytest.raises(ValueError, match="broken"), quiet():
        raise ValueError("broken")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_positions_of_roberta_begin_behind_the_padding(tmp_path: Path) -> None:
    network = load(Settings(model=str(tiny.roberta(tmp_path)), device="cpu"), "", "a test")
    assert network.longest == tiny.LONGEST  # of two more
    batch = network.tokens(["walking " * 200])
    assert batch["input_ids"].shape == (1, tiny.LONGEST)
    network.model(**batch)  # a place more would be an IndexError


def test_a_limit_of_our_own_stands_for_the_tokenizers_but_not_for_the_networks(bert: Path) -> None:
    assert load(Settings(model=str(bert), device="cpu"), "", "a test", longest=20).longest == 20
    assert load(Settings(model=str(bert), device="cpu"), "", "a test", longest=1024).longest == tiny.LONGEST


def test_a_model_that_is_not_here_is_named_with_what_provides_it() -> None:
    with pytest.raises(ModelMissing, match="no-one/has-this"):
        load(Settings(), "no-one/has-this", "a test")


def test_a_head_without_weights_is_refused_rather_than_drawn_at_random(bert: Path) -> None:
    with pytest.raises(ModelUnfit, match=r"no weights for .*classifier"):
        load(Settings(model=str(bert), device="cpu"), "", "a test", head="AutoModelForSequenceClassification")


def test_another_kind_of_model_is_one_line(bert: Path) -> None:
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(Settings(model=str(bert), device="cpu"), "", "a test", head="AutoModelForSeq2SeqLM")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_damaged_file_is_one_line(tmp_path: Path, name: str) -> None:
    tiny.bert(tmp_path)
    (tmp_path / name).write_text("{")
    with pytest.raises(ModelError, match="cannot be loaded") as raised:
        load(Settings(model=str(tmp_path), device="cpu"), "", "a test")
    assert "\n" not in str(raised.value)


def test_pickled_weights_that_are_none_are_one_line(tmp_path: Path) -> None:
    tiny.bert(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    (tmp_path / "pytorch_model.bin").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="cannot be loaded"):
        load(Settings(model=str(tmp_path), device="cpu"), "", "a test")


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    tiny.bert(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(ModelUnfit, match="no vocabulary"):
        load(Settings(model=str(tmp_path), device="cpu"), "", "a test")


def test_batches_go_from_long_to_short_and_hold_everything_once() -> None:
    things = ["a", "aaaa", "aa", "aaa", "aaaaa"]
    told: list[int] = []
    found = list(batches(things, len, 2, told.append))
    assert found == [[4, 1], [3, 2], [0]]
    assert told == [2, 2, 1]


@pytest.mark.parametrize(("steps", "items"), [(10, 5), (5, 10), (7, 3), (1, 4)])
def test_steps_are_told_as_items(steps: int, items: int) -> None:
    told: list[int] = []
    tick = shared(told.append, steps, items)
    for _ in range(steps):
        tick(1)
    assert sum(told) == items
    assert min(told) >= 0


LIMIT = CHARACTERS * tiny.LONGEST
LONG = " ".join(tiny.TEXTS)


def uncut(network: Network, one: str, two: str | None) -> Any:
    """Return the numbers of the tokens by the tokenizer alone."""
    return network.tokenizer(one, two, truncation=True, max_length=network.longest)["input_ids"]


@pytest.mark.parametrize("more", [-1, 0, 1, 7, 3 * LIMIT])
@pytest.mark.parametrize("kind", [tiny.bert, tiny.roberta])
def test_long_texts_have_the_tokens_that_they_have_uncut(
    kind: Callable[[Path], Path], more: int, tmp_path: Path
) -> None:
    network = load(Settings(model=str(kind(tmp_path)), device="cpu"), "", "a test")
    long = (LONG * (4 * LIMIT // len(LONG) + 1))[: LIMIT + more]
    assert len(network.shortened(long)) == min(len(long), LIMIT)
    for one, two in ((long, None), (long, tiny.TEXTS[0]), (tiny.TEXTS[0], long), (long, long)):
        given = None if two is None else [two]
        assert network.tokens([one], given)["input_ids"].tolist() == [uncut(network, one, two)]


@pytest.mark.parametrize("filler", [" ", "x"])
def test_of_a_long_text_of_few_tokens_more_is_kept(filler: str, bert: Path) -> None:
    network = load(Settings(model=str(bert), device="cpu"), "", "a test")
    text = f"Walking {filler * (LIMIT + 5)} is healthy."
    assert network.shortened(text) == text
    more = text + LONG * LIMIT
    assert LIMIT < len(network.shortened(more)) < len(more)
    assert network.tokens([more])["input_ids"].tolist() == [uncut(network, more, None)]


@pytest.mark.parametrize("longest", [tiny.LONGEST, tiny.LONGEST - 1])  # one of which has an odd token to give
@pytest.mark.parametrize(("a", "b"), [(1, 1), (1, 3), (3, 1), (4, 5)])
def test_the_longer_of_two_long_texts_is_the_same_as_uncut(longest: int, a: int, b: int, bert: Path) -> None:
    network = load(Settings(model=str(bert), device="cpu"), "", "a test", longest=longest)
    few, many = "paragraph " * (LIMIT // 10), "is, so. " * (LIMIT // 8)  # tokens at the beginning, for as many letters
    for one, two in ((few * a, many * b), (many * a, few * b), (many * a, many * b)):
        assert network.tokens([one], [two])["input_ids"].tolist() == [uncut(network, one, two)]
