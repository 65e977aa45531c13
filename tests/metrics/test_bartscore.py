"""BARTScore on tiny random networks: against a plain re-computation, token by token."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSeq2SeqLM

from calibrator.errors import ModelError, ModelUnfit
from calibrator.metrics.bartscore import METRICS, with_state
from calibrator.metrics.base import Settings, Value
from calibrator.metrics.neural import Network, load
from calibrator.records import Item
from tests.metrics import tiny

BY_NAME = {metric.name: metric for metric in METRICS}
ITEMS = [
    Item(id=str(k), output=o, source=s, reference=r)
    for k, (o, s, r) in enumerate(
        zip(tiny.TEXTS, tiny.TEXTS[1:] + tiny.TEXTS[:1], tiny.TEXTS[2:] + tiny.TEXTS[:2], strict=True)
    )
]


def score(folder: Path, given: Sequence[Item], name: str = "bartscore", size: int = 0) -> dict[str, tuple[Value, ...]]:
    settings = Settings(model=str(folder), device="cpu", batch_size=size)
    return dict(BY_NAME[name].make(settings)(given, lambda _: None))  # type: ignore[arg-type]


def by_hand(folder: Path, source: str, target: str) -> float:
    """Return the mean log-probability of the target's tokens, asked for one after the other."""
    tokenizer, model = tiny.opened(folder, AutoModelForSeq2SeqLM)
    given = tokenizer(source, return_tensors="pt")["input_ids"]
    wanted = tokenizer(target)["input_ids"]
    written, total = [model.config.decoder_start_token_id], 0.0
    with torch.no_grad():
        for token in wanted:
            last = model(input_ids=given, decoder_input_ids=torch.tensor([written])).logits[0, -1]
            total += float(last[token] - last.exp().sum().log())
            written.append(token)
    return total / len(wanted)


@pytest.fixture(scope="module")
def bart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.bart(tmp_path_factory.mktemp("bart"))


def test_it_is_the_published_formula(bart: Path) -> None:
    found = score(bart, ITEMS, size=2)
    for k, item in enumerate(ITEMS):
        p, r = by_hand(bart, item.reference or "", item.output), by_hand(bart, item.output, item.reference or "")
        assert found["bartscore-precision"][k] == pytest.approx(p, abs=1e-4)
        assert found["bartscore-recall"][k] == pytest.approx(r, abs=1e-4)
        assert found["bartscore"][k] == pytest.approx((p + r) / 2, abs=1e-4)


def test_faithfulness_goes_from_the_source_to_the_output(bart: Path) -> None:
    found = score(bart, ITEMS, "bartscore-faithfulness")
    assert set(found) == {"bartscore-faithfulness"}
    wanted = [by_hand(bart, item.source, item.output) for item in ITEMS]
    assert found["bartscore-faithfulness"] == pytest.approx(wanted, abs=1e-4)


def test_an_item_has_the_same_value_alone_as_in_a_batch(bart: Path) -> None:
    together = score(bart, ITEMS, size=16)
    for k, item in enumerate(ITEMS):
        for name, values in score(bart, [item]).items():
            assert values[0] == pytest.approx(together[name][k], abs=1e-4)


def test_progress_is_told_in_items(bart: Path) -> None:
    told: list[int] = []
    BY_NAME["bartscore"].make(Settings(model=str(bart), device="cpu", batch_size=2))(ITEMS, told.append)
    assert sum(told) == len(ITEMS)


@pytest.fixture
def network(bart: Path) -> Network:
    return load(Settings(model=str(bart), device="cpu"), "", "bartscore", head="AutoModelForSeq2SeqLM")


def test_a_state_dictionary_replaces_the_weights(network: Network, tmp_path: Path) -> None:
    other = AutoModelForSeq2SeqLM.from_pretrained(tiny.bart(tmp_path / "other", seed=9))
    torch.save(other.state_dict(), tmp_path / "para.pth")
    changed = with_state(network, tmp_path / "para.pth")
    assert changed.name.endswith("para.pth")
    wanted = other.state_dict()
    assert all(torch.equal(value, wanted[key]) for key, value in changed.model.state_dict().items())


def test_a_state_dictionary_of_another_network_is_refused(network: Network, tmp_path: Path) -> None:
    torch.save({"model.shared.weight": torch.zeros(2, 2)}, tmp_path / "other.pth")
    with pytest.raises(ModelUnfit, match="does not hold the tensors"):
        with_state(network, tmp_path / "other.pth")


class _Planted:
    def __reduce__(self) -> tuple[object, ...]:
        return (print, ("run",))


@pytest.mark.parametrize("content", [b"no tensors", pickle.dumps(_Planted())], ids=["noise", "code"])
def test_a_file_that_holds_no_tensors_is_one_line_and_runs_nothing(
    network: Network, tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.pth").write_bytes(content)
    with pytest.raises(ModelError, match=r"bad\.pth cannot be loaded"):
        with_state(network, tmp_path / "bad.pth")
    assert "run" not in capsys.readouterr().out
