"""BARTScore: how likely a sequence-to-sequence model finds one text after another (Yuan et al. 2021).

The mean log-probability of the target's tokens (the marks of its beginning and end among them), each given the source
and the tokens before it, in nats, as in the published code: from the reference to the output is precision, from the
output to the reference recall, their arithmetic mean the F score, from the source to the output faithfulness. No
weights of tokens, no prompts. Texts are cut at 1,024 tokens.

The paper's CNN variant is the default model. Its "Para" variant (CNN and then ParaBank2) is published as a state
dictionary, `bart_score.pth`, of that same network: name the file as the model, `bartscore@bart_score.pth`. The weights
of facebook/bart-large-cnn must be at hand for it, and nothing but tensors is read from the file. Any other
encoder-decoder goes by its name or folder; facebook/bart-large is the paper's plain variant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from calibrator.errors import ModelError, ModelUnfit
from calibrator.hub import loading, required
from calibrator.metrics.base import NEURAL, ItemScorer, Metric, Role, Settings, Tick, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load, shared
from calibrator.records import Item

MODEL = "facebook/bart-large-cnn"
BATCH = 8
LONGEST = 1024  # tokens, as in the published code
TIED = ("lm_head.weight", "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight")  # one tensor
STATE = (".pth", ".pt", ".bin")  # how a file with a state dictionary ends


def likelihoods(network: Network, pairs: Sequence[tuple[str, str]], size: int, tick: Tick) -> list[float]:
    """Return for each pair (source, target) the mean log-probability of the target's tokens, 0 at most."""
    torch: Any = required("torch", NEURAL, "bartscore")
    found = [0.0] * len(pairs)
    with torch.inference_mode():
        for chosen in batches(pairs, lambda pair: max(map(len, pair)), size, tick):
            source = network.tokens([pairs[place][0] for place in chosen])
            target = network.tokens([pairs[place][1] for place in chosen])
            labels, mask = target["input_ids"], target["attention_mask"]
            given = {"input_ids": source["input_ids"], "attention_mask": source["attention_mask"]}
            logits = network.model(**given, labels=labels, use_cache=False).logits
            each = logits.log_softmax(dim=-1).gather(-1, labels.unsqueeze(-1)).squeeze(-1)
            means = (each * mask).sum(dim=1) / mask.sum(dim=1)
            for place, mean in zip(chosen, means.tolist(), strict=True):
                found[place] = float(mean)
    return found


@dataclass(frozen=True, slots=True)
class _Reference:
    """Precision, recall and F score against the reference."""

    network: Network
    size: int

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        pairs = [(item.reference or "", item.output) for item in items]
        pairs += [(item.output, item.reference or "") for item in items]
        both = likelihoods(self.network, pairs, self.size, shared(tick, len(pairs), len(items)))
        precision, recall = both[: len(items)], both[len(items) :]
        return {
            "bartscore": tuple((p + r) / 2 for p, r in zip(precision, recall, strict=True)),
            "bartscore-precision": tuple(precision),
            "bartscore-recall": tuple(recall),
        }


@dataclass(frozen=True, slots=True)
class _Source:
    """Faithfulness to the source."""

    network: Network
    size: int

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        pairs = [(item.source, item.output) for item in items]
        return {"bartscore-faithfulness": tuple(likelihoods(self.network, pairs, self.size, tick))}


def load_bart(settings: Settings) -> Network:
    """Return the network of `settings.model`: a folder, a name of the hub, or a file with a state dictionary.

    Raises ModelMissing and ModelError as `neural.load` does, ModelUnfit for a file whose tensors are not those of the
    default model.
    """
    head = "AutoModelForSeq2SeqLM"
    file = Path(settings.model).expanduser()
    if file.suffix not in STATE or not file.is_file():
        return load(settings, MODEL, "bartscore", head=head, longest=LONGEST)
    return with_state(load(replace(settings, model=MODEL), MODEL, "bartscore", head=head, longest=LONGEST), file)


def with_state(network: Network, file: Path) -> Network:
    """Return the network with the tensors of a state dictionary in place of its own.

    Raises ModelError where the file cannot be read, ModelUnfit where its tensors do not fit the network.
    """
    torch: Any = required("torch", NEURAL, "bartscore")
    with loading(str(file)):
        state = torch.load(file, map_location=network.device, weights_only=True)
    if not isinstance(state, Mapping):
        raise ModelError(f"{file} cannot be loaded: it is no dictionary of tensors")
    own = network.model.state_dict()
    wanted = {key for key in own if key not in TIED or key in state}
    wrong = sorted(
        key for key in wanted | set(state) if not (key in own and key in state and own[key].shape == state[key].shape)
    )
    if wrong:
        raise ModelUnfit(f"{file.name} does not hold the tensors of {network.name}: {', '.join(wrong[:3])}")
    network.model.load_state_dict(state, strict=False)
    return replace(network, name=str(file))


def _against_reference(settings: Settings) -> ItemScorer:
    return _Reference(load_bart(settings), settings.batch_size or BATCH)


def _against_source(settings: Settings) -> ItemScorer:
    return _Source(load_bart(settings), settings.batch_size or BATCH)


def _metric(name: str, needs: tuple[Role, ...], summary: str) -> Metric:
    return Metric(
        name=name,
        family="likelihood",
        better="higher",
        needs=needs,
        make=_against_source if "source" in needs else _against_reference,
        summary=summary,
        source="Yuan et al. 2021, BARTScore, equation 2 and section 3.2",
        extra=NEURAL,
        packages=PACKAGES,
        model=MODEL,
        high=0.0,
    )


METRICS: tuple[Metric, ...] = (
    _metric("bartscore", ("output", "reference"), "mean of BARTScore's precision and recall"),
    _metric("bartscore-precision", ("output", "reference"), "log-likelihood of the output given the reference"),
    _metric("bartscore-recall", ("output", "reference"), "log-likelihood of the reference given the output"),
    _metric("bartscore-faithfulness", ("output", "source"), "log-likelihood of the output given the source"),
)
