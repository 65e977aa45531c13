"""BLEURT: a BERT fine-tuned to say how good a text is beside a reference (Sellam et al. 2020).

The pair (reference, output) goes through the network at once, and the one number it gives is the value. The numbers
are not calibrated: for the published checkpoints they lie about 0 to 1, may be negative, and compare only within a
checkpoint. Pairs are cut to the tokens that the checkpoint takes (512 for the default), each from the end of the longer
text.

Any network of one number does. The checkpoints of 2020 are there in a form that transformers knows, as
Elron/bleurt-{tiny,base,large}-{128,512}. The default is bleurt-base-512, which authors of CrowdCounter measured with in
an earlier study. BLEURT-20, of the year after, is there only in a form that needs a package of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibrator.errors import ModelUnfit
from calibrator.hub import required
from calibrator.metrics.base import NEURAL, ItemScorer, Metric, Settings, Tick, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load
from calibrator.records import Item

MODEL = "Elron/bleurt-base-512"
BATCH = 32


@dataclass(frozen=True, slots=True)
class _Scorer:
    network: Network
    size: int

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        torch: Any = required("torch", NEURAL, "bleurt")
        pairs = [(item.reference or "", item.output) for item in items]
        found = [0.0] * len(pairs)
        with torch.inference_mode():
            for chosen in batches(pairs, lambda pair: sum(map(len, pair)), self.size, tick):
                batch = self.network.tokens([pairs[k][0] for k in chosen], [pairs[k][1] for k in chosen])
                for place, value in zip(chosen, self.network.model(**batch).logits[:, 0].tolist(), strict=True):
                    found[place] = float(value)
        return {"bleurt": tuple(found)}


def _make(settings: Settings) -> ItemScorer:
    network = load(settings, MODEL, "bleurt", head="AutoModelForSequenceClassification")
    if network.model.config.num_labels != 1:
        raise ModelUnfit(f"{network.name} is no BLEURT: it gives {network.model.config.num_labels} numbers, not one")
    return _Scorer(network, settings.batch_size or BATCH)


METRICS: tuple[Metric, ...] = (
    Metric(
        name="bleurt",
        family="embedding",
        better="higher",
        needs=("output", "reference"),
        make=_make,
        summary="what a BERT trained on human ratings says of the output beside the reference",
        source="Sellam et al. 2020, BLEURT; checkpoints converted for transformers (Elron/bleurt-*)",
        extra=NEURAL,
        packages=PACKAGES,
        model=MODEL,
    ),
)
