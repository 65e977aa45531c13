"""Fine-tuning on tiny random checkpoints: the loss, the schedule, the epoch that is kept, and what it learns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrator.errors import ModelError, ModelMissing
from calibrator.stats.multilabel import accuracy
from calibrator.studies.types.base import Assigned, Example, indicators
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.recipe import HEAD, TEXT_TO_TEXT, Recipe, fine_tune
from calibrator.studies.types.transformer import HeadClassifier, ListWriter, TransformerLearner, listed
from tests.studies.types.making import SCHEME, encoder_in, make_examples, writer_in

torch: Any = pytest.importorskip("torch")
TRAIN, TEST = make_examples(160, 60), make_examples(40, seed=7)
QUICK = Recipe(batch=16, accumulate=1, epochs=3, rate=5e-3)


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(encoder_in(tmp_path_factory.mktemp("bert")))


@pytest.fixture(scope="module")
def t5(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(writer_in(tmp_path_factory.mktemp("t5")))


def reached(classifier: HeadClassifier | ListWriter) -> float:
    """Return the accuracy on the test side, a failure counting as a miss."""
    said = [a.labels if isinstance(a, Assigned) else frozenset[str]() for a in classifier.predict(TEST)]
    return float(accuracy(indicators(true_labels(TEST), SCHEME.names), indicators(said, SCHEME.names)))


def test_the_recipes_are_the_published_ones() -> None:
    assert (HEAD.length, HEAD.batch, HEAD.accumulate, HEAD.rate, HEAD.epochs, HEAD.decay) == (
        256,
        32,
        2,
        2e-5,
        10,
        0.01,
    )
    assert (HEAD.patience, HEAD.gain) == (10, 0.01)
    assert replace(TEXT_TO_TEXT, batch=32) == HEAD and TEXT_TO_TEXT.batch == 2


def test_a_head_learns(bert: str) -> None:
    told: list[str] = []
    learner = TransformerLearner(bert, device="cpu", head=replace(QUICK, epochs=15), tell=told.append)
    fitted = learner.fit(TRAIN, SCHEME)
    assert isinstance(fitted, HeadClassifier)
    assert reached(fitted) > 0.7
    assert fitted.trained is not None and fitted.trained.losses[fitted.trained.kept - 1] == min(fitted.trained.losses)
    assert len(told) == 15 and "validation part" in told[0]


def test_a_writer_learns_to_write_lists(t5: str) -> None:
    learner = TransformerLearner(t5, device="cpu", text_to_text=replace(QUICK, epochs=15, rate=1e-2))
    fitted = learner.fit(TRAIN, SCHEME)
    assert isinstance(fitted, ListWriter)
    assert all(isinstance(a, Assigned) for a in fitted.predict(TEST))
    assert reached(fitted) > 0.4


def test_the_loss_of_a_head_is_binary_cross_entropy(bert: str) -> None:
    fitted = TransformerLearner(bert, device="cpu", head=replace(QUICK, epochs=1)).fit(TRAIN, SCHEME)
    assert isinstance(fitted, HeadClassifier)
    some = TEST[:5]
    found = np.array([fitted.probabilities([e.text])[0] for e in some])
    truth = indicators(true_labels(some), SCHEME.names)
    wanted = -(truth * np.log(found) + (1 - truth) * np.log(1 - found)).mean()
    with torch.no_grad():
        assert float(fitted.loss_of(some)(range(5))) == pytest.approx(wanted, rel=1e-4)


def test_the_epoch_with_the_least_loss_is_what_is_left() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    told = iter([0.5, 0.2, 0.9, 0.7])
    seen: list[float] = []

    def dev(places: Any) -> Any:
        seen.append(model.weight.item())
        return torch.tensor(next(told))

    def loss(places: Any) -> Any:
        return (model.weight - 3).square().mean()

    trained = fine_tune(model, Recipe(batch=1, accumulate=1, epochs=4, rate=0.1), (2, loss), (1, dev), seed=0)
    assert trained.losses == pytest.approx((0.5, 0.2, 0.9, 0.7)) and trained.kept == 2
    assert model.weight.item() == seen[1] and len(set(seen)) == 4


def test_it_stops_early_when_nothing_is_gained() -> None:
    model = torch.nn.Linear(1, 1, bias=False)
    told = iter([0.5, 0.499, 0.498, 0.497, 0.1])
    recipe = Recipe(batch=1, accumulate=1, epochs=5, patience=2, gain=0.01)
    loss = (1, lambda places: model.weight.square().mean())
    trained = fine_tune(model, recipe, loss, (1, lambda places: torch.tensor(next(told))), seed=0)
    assert len(trained.losses) == 3 and trained.kept == 3


def test_batches_that_are_joined_make_one_step_of_their_mean() -> None:
    """Two batches of 2 joined move the weight as one batch of 4 does."""
    moved = []
    for batch, accumulate in ((2, 2), (4, 1)):
        model = torch.nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            model.weight.fill_(1.0)
        x = torch.tensor([1.0, 2.0, 3.0, 4.0])
        loss = (4, lambda places, m=model, x=x: (m.weight[0] * x[list(places)] - 1).square().mean())
        recipe = Recipe(batch=batch, accumulate=accumulate, epochs=1, rate=0.1)
        fine_tune(model, recipe, loss, (1, lambda places: torch.tensor(0.0)), seed=0)
        moved.append(model.weight.item())
    assert moved[0] == pytest.approx(moved[1]) != 1.0


def test_torchs_generator_is_left_as_it_was_and_the_seed_decides(bert: str) -> None:
    before = torch.get_rng_state()
    learner = TransformerLearner(bert, device="cpu", head=replace(QUICK, epochs=1))
    one, two = (learner.fit(TRAIN[:40], SCHEME) for _ in range(2))
    other = replace(learner, seed=1).fit(TRAIN[:40], SCHEME)
    assert torch.equal(before, torch.get_rng_state())
    assert isinstance(one, HeadClassifier) and isinstance(two, HeadClassifier) and isinstance(other, HeadClassifier)
    texts = [e.text for e in TEST[:4]]
    assert (one.probabilities(texts) == two.probabilities(texts)).all()
    assert not (one.probabilities(texts) == other.probabilities(texts)).all()


def test_a_text_that_is_too_long_is_cut_and_the_question_behind_it_is_not(t5: str) -> None:
    learner = TransformerLearner(t5, device="cpu", text_to_text=replace(QUICK, epochs=1, length=64))
    fitted = learner.fit(TRAIN[:40], SCHEME)
    assert isinstance(fitted, ListWriter)
    ids = fitted._inputs(["river " * 500])["input_ids"][0]
    shown = fitted._tokenizer.decode(ids)
    assert len(ids) <= 66 and "Answer with a list" in shown.replace("[UNK]", "")


def test_a_label_set_is_written_in_the_order_of_the_scheme() -> None:
    assert listed(frozenset({"sharp", "asking"}), SCHEME) == "asking, sharp"
    assert listed(frozenset(), SCHEME.allowing_none()) == "none"


def test_half_precision_is_widened_before_training(bert: str, tmp_path: Path) -> None:
    from transformers import BertModel

    half = tmp_path / "half"
    encoder_in(half)
    BertModel.from_pretrained(half).half().save_pretrained(half)
    assert json.loads((half / "config.json").read_text()).get("dtype") == "float16"
    fitted: Any = TransformerLearner(str(half), device="cpu", head=replace(QUICK, epochs=1)).fit(TRAIN[:40], SCHEME)
    assert next(fitted._model.parameters()).dtype == torch.float32


def test_a_checkpoint_that_is_not_here_or_is_none_is_said(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="not on this machine"):
        TransformerLearner("nobody/nothing-at-all").fit(TRAIN, SCHEME)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be loaded"):
        TransformerLearner(str(tmp_path)).fit(TRAIN, SCHEME)


def test_texts_without_a_word_are_no_reason_to_fail_in_training(bert: str) -> None:
    train = [*TRAIN[:40], Example("empty", "", frozenset({"calm"}), "", "e")]
    assert TransformerLearner(bert, device="cpu", head=replace(QUICK, epochs=1)).fit(train, SCHEME).predict([]) == ()
