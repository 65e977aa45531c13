"""Scores of text classifiers: presets (`data/metrics/classifiers.yaml`), and any sequence classifier by its name.

A value is a weighted sum of what the network gives for some of its labels: probabilities by softmax over all labels, by
the logistic function of each, or the numbers as they are. `text-classifier@MODEL` reads the output,
`pair-classifier@MODEL` the source and the output as a pair; `#` names the label:

    text-classifier@folder#LABEL             the probability of a label, by its name or its number from 0
    text-classifier@folder#for=1;against=-1  a weighted sum
    text-classifier@folder                   the only number of a network that has one, else the second of two labels

There a probability is by softmax; by the logistic function if the model's configuration says that it gives several
labels at once ("multi_label_classification"); a number is taken as it is if the network has one only or its
configuration says "regression". With a preset, `@MODEL#LABEL` replaces model and label; how the value is made stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from calibrator.errors import ConfigError, ModelUnfit
from calibrator.hub import SAFE, loading, required, weights
from calibrator.metrics.base import NEURAL, Better, ItemScorer, Metric, Role, Settings, Tick, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, complete, ready
from calibrator.records import Item
from calibrator.resources import folder
from calibrator.validation import checked, load_yaml

BATCH = 32
TWO = 2  # labels, the second of which says yes
By = Literal["softmax", "sigmoid", "none", "configured"]
Labels = dict[int | str, float]


class Preset(BaseModel):
    """A classifier as it stands in a file: which model reads what, and how the value is made of its labels."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True, allow_inf_nan=False)
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    model: str = ""
    inputs: tuple[Role, ...] = Field(min_length=1, max_length=2)
    labels: Labels = {}
    by: By
    longest: int = Field(default=0, ge=0)
    segments: bool = True
    renamed: dict[str, str] = {}
    low: float | None = None
    high: float | None = None
    better: Better
    summary: str
    source: str

    def metric(self) -> Metric:
        """Return the record; a probability is between 0 and 1."""
        low, high = (0.0, 1.0) if self.by in {"softmax", "sigmoid"} else (None, None)
        return Metric(
            self.name,
            "classifier",
            self.better,
            self.inputs,
            partial(make, self),
            self.summary,
            self.source,
            extra=NEURAL,
            packages=PACKAGES,
            model=self.model,
            wants_model=not self.model,
            low=low if self.low is None else self.low,
            high=high if self.high is None else self.high,
        )


class PresetFile(BaseModel):
    """A file of presets."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    presets: tuple[Preset, ...]


def presets() -> tuple[Preset, ...]:
    """Return the shipped presets. Raises ConfigError, which names file and entry, if their file is malformed."""
    path = folder("data") / "metrics" / "classifiers.yaml"
    return checked(PresetFile, load_yaml(path, ConfigError), path, ConfigError).presets


@lru_cache(maxsize=1)
def classifier_metrics() -> tuple[Metric, ...]:
    """Return the presets and the two general forms as metrics."""
    anyone = "any sequence classifier of transformers"
    general = (
        Preset(
            name="text-classifier",
            inputs=("output",),
            by="configured",
            better="neither",
            summary="a label of a classifier of yours for the output: text-classifier@MODEL#LABEL",
            source=anyone,
        ),
        Preset(
            name="pair-classifier",
            inputs=("source", "output"),
            by="configured",
            better="neither",
            summary="a label of a classifier of yours for source and output as a pair: pair-classifier@MODEL#LABEL",
            source=anyone,
        ),
    )
    return tuple(preset.metric() for preset in (*presets(), *general))


@dataclass(frozen=True, slots=True)
class _Scorer:
    """`weights` has one for each number that the network gives."""

    preset: Preset
    network: Network
    weights: tuple[float, ...]
    by: By
    size: int

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        torch: Any = required("torch", NEURAL, self.preset.name)
        texts = [tuple(_text(item, role) for role in self.preset.inputs) for item in items]
        found = [0.0] * len(texts)
        factors = torch.tensor(self.weights, dtype=torch.float64)
        with torch.inference_mode():
            for chosen in batches(texts, lambda parts: sum(map(len, parts)), self.size, tick):
                numbers = self._numbers([texts[k] for k in chosen]).double().cpu()
                if self.by == "softmax":
                    numbers = numbers.softmax(dim=-1)
                elif self.by == "sigmoid":
                    numbers = numbers.sigmoid()
                for place, value in zip(chosen, (numbers @ factors).tolist(), strict=True):
                    found[place] = float(value)
        return {self.preset.name: tuple(found)}

    def _numbers(self, texts: Sequence[tuple[str, ...]]) -> Any:
        """Return what the network gives for the texts, shape (texts, labels)."""
        second = [parts[1] for parts in texts] if len(self.preset.inputs) > 1 else None
        batch = self.network.tokens([parts[0] for parts in texts], second)
        if not self.preset.segments:
            batch.pop("token_type_ids", None)
        return self.network.model(**batch).logits


def make(preset: Preset, settings: Settings) -> ItemScorer:
    """Return the scorer of a preset, with model and label of `settings.model` ("MODEL#LABEL") where it has them.

    Raises ModelMissing where torch, transformers or the weights are absent; ModelError for damaged files; ModelUnfit
    for a label that the model does not have, with those it has; ConfigError for weights of labels that are no numbers.
    """
    model, label = _split(settings.model)
    labels = _asked(label) if label else preset.labels
    network = _load(preset, replace(settings, model=model or preset.model))
    by, weighted = _how(network, labels, preset.by)
    return _Scorer(preset, network, weighted, by, settings.batch_size or BATCH)


def _split(model: str) -> tuple[str, str]:
    name, _, label = model.partition("#")
    return name.strip(), label.strip()


def _asked(text: str) -> Labels:
    """Return the labels in "LABEL" or "LABEL=WEIGHT;LABEL=WEIGHT"."""
    if "=" not in text:
        return {_label(text): 1.0}
    found: Labels = {}
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, _, weight = part.rpartition("=")
        try:
            found[_label(name)] = float(weight)
        except ValueError:
            raise ConfigError(f"'{part}': write labels as LABEL=NUMBER;LABEL=NUMBER") from None
    return found


def _label(text: str) -> int | str:
    text = text.strip()
    return int(text) if text.isdecimal() else text


def _load(preset: Preset, settings: Settings) -> Network:
    required("torch", NEURAL, preset.name)
    transformers: Any = required("transformers", NEURAL, preset.name)
    place = str(weights(settings.model, download=settings.download, tell=settings.tell))
    with loading(settings.model):
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, **SAFE)
        head = transformers.AutoModelForSequenceClassification
        how = {"key_mapping": preset.renamed} if preset.renamed else {}
        model, info = head.from_pretrained(place, output_loading_info=True, **SAFE, **how)
    complete(settings.model, tokenizer, info, "AutoModelForSequenceClassification")
    return ready(settings.model, tokenizer, model, settings.device, preset.longest)


def _how(network: Network, labels: Labels, by: By) -> tuple[By, tuple[float, ...]]:
    """Return how the numbers of the network are turned into values, and the weight of each."""
    config = network.model.config
    names = [str(config.id2label[k]) for k in range(config.num_labels)]
    if by == "configured":
        if len(names) == 1 or config.problem_type == "regression":
            by = "none"
        else:
            by = "sigmoid" if config.problem_type == "multi_label_classification" else "softmax"
    if not labels:
        if len(names) > TWO:
            raise ModelUnfit(f"{network.name} has {len(names)} labels; name one: {network.name}#{{{', '.join(names)}}}")
        labels = {len(names) - 1: 1.0}
    weighted = [0.0] * len(names)
    for label, weight in labels.items():
        weighted[_place(network.name, label, names)] += weight
    return by, tuple(weighted)


def _place(name: str, label: int | str, names: Sequence[str]) -> int:
    known = {n.casefold(): k for k, n in enumerate(names)}
    if isinstance(label, str) and label.casefold() in known:
        return known[label.casefold()]
    if str(label) in known:  # a model may call its labels by digits
        return known[str(label)]
    if isinstance(label, int) and label < len(names):
        return label
    raise ModelUnfit(f"{name} has no label {label}; it has {', '.join(names)}: name the one to read after a #")


def _text(item: Item, role: Role) -> str:
    return {"output": item.output, "source": item.source, "reference": item.reference or ""}[role]
