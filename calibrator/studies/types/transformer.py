"""The fine-tuned classifier: a checkpoint with a head of one output a label, or one that writes the list of labels.

Which of them follows from the checkpoint: an encoder (BERT, RoBERTa, …) or a decoder gets the head, an encoder and
decoder (Flan-T5) is taught to answer the list prompt. Both choose their epoch on a part of the training side (see
`recipe`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrator.errors import ModelError, ModelMissing
from calibrator.hub import SAFE, device_of, loading, required, weights
from calibrator.records import Failure
from calibrator.studies.types.base import Answer, Array, Assigned, Classifier, Example, Tick, ignored, indicators
from calibrator.studies.types.data import true_labels
from calibrator.studies.types.folds import holdout
from calibrator.studies.types.linear import decide
from calibrator.studies.types.prompting import ROLE, list_prompt
from calibrator.studies.types.reading import read_labels
from calibrator.studies.types.recipe import EXTRA, HEAD, TEXT_TO_TEXT, Recipe, Told, Trained, fine_tune, seeded
from calibrator.studies.types.scheme import Scheme
from calibrator.texts import unusable

METHOD = "transformer"
BAR = 0.5  # from which probability on a label is given
WANTS = "a fine-tuned classifier"


def _nobody(line: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class TransformerLearner:
    """Fine-tunes `model`, a folder or a name of the hub, by the recipe for its kind.

    `download` allows that weights are fetched; `tell` hears of that and of each epoch.
    """

    model: str
    seed: int = 0
    device: str = "auto"
    download: bool = False
    tell: Told = _nobody
    head: Recipe = HEAD
    text_to_text: Recipe = TEXT_TO_TEXT

    def fit(self, train: Sequence[Example], scheme: Scheme) -> Classifier:
        """Return a classifier. Raises ModelMissing or ModelError if the checkpoint is not here or cannot be loaded."""
        transformers: Any = required("transformers", EXTRA, WANTS)
        torch: Any = required("torch", EXTRA, WANTS)
        folder = checkpoint(self.model, download=self.download, tell=self.tell)
        texts = [e for e in train if not unusable(e.text)]
        with loading(self.model):
            config = transformers.AutoConfig.from_pretrained(folder, **SAFE)
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **SAFE)
        with seeded(torch, self.seed), loading(self.model):  # a new head is drawn
            if config.is_encoder_decoder:
                loaded = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder, **SAFE).float()
            else:
                loaded = _with_head(transformers, folder, tokenizer, len(scheme.names)).float()
        device = device_of(self.device)
        kind: type[HeadClassifier | ListWriter] = ListWriter if config.is_encoder_decoder else HeadClassifier
        recipe = self.text_to_text if config.is_encoder_decoder else self.head
        learnt, held = holdout(texts, scheme.names, recipe.share, self.seed)
        made = kind(f"{METHOD}@{self.model}", scheme, loaded.to(device), tokenizer, device, recipe)
        made.trained = fine_tune(
            loaded,
            recipe,
            (len(learnt), made.loss_of(learnt)),
            (len(held), made.loss_of(held)),
            self.seed,
            self.tell,
        )
        return made


def checkpoint(model: str, *, download: bool = False, tell: Told = _nobody) -> Path:
    """Return the folder of a checkpoint. Raises ModelMissing or ModelError if there is none, or nothing to load it."""
    required("transformers", EXTRA, WANTS)
    required("torch", EXTRA, WANTS)
    folder = weights(model, download=download, tell=tell)
    if not (folder / "config.json").is_file():
        raise ModelMissing(f"{model} is no checkpoint: there is no config.json in the folder; name the one that has it")
    return folder


class HeadClassifier:
    """A checkpoint with one output for each label; its probabilities are those of independent decisions.

    A label is given from a probability of 0.5 on, which is not fitted to anything; a text that reaches it with none
    gets the likeliest, unless the scheme allows a text without a label.
    """

    def __init__(self, name: str, scheme: Scheme, model: Any, tokenizer: Any, device: str, recipe: Recipe) -> None:
        self.id, self._scheme, self._recipe = name, scheme, recipe
        self._model, self._tokenizer, self._device = model, tokenizer, device
        self.trained: Trained | None = None

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example."""
        answers: list[Answer] = [Failure(e.id, unusable(e.text) or "") for e in examples]
        usable = [k for k, e in enumerate(examples) if not unusable(e.text)]
        tick(len(examples) - len(usable))
        bars = np.full(len(self._scheme.names), BAR)
        for places in _batches(usable, self._recipe.batch):
            found = self.probabilities([examples[k].text for k in places])
            given = decide(found, bars, always_one=not self._scheme.empty)
            for k, row in zip(places, given, strict=True):
                labels = frozenset(n for n, yes in zip(self._scheme.names, row, strict=True) if yes)
                answers[k] = Assigned(examples[k].id, labels)
            tick(len(places))
        return tuple(answers)

    def probabilities(self, texts: Sequence[str]) -> Array:
        """Return how likely each label is, shape (texts, L)."""
        torch: Any = required("torch", EXTRA, WANTS)
        with torch.no_grad():
            logits = self._model(**self._inputs(texts)).logits
        return np.asarray(torch.sigmoid(logits.double()).cpu().numpy())

    def loss_of(self, examples: Sequence[Example]) -> Any:
        """Return the loss of some of these examples: binary cross-entropy, the mean over texts and labels."""
        torch: Any = required("torch", EXTRA, WANTS)
        truth = torch.tensor(indicators(true_labels(examples), self._scheme.names), dtype=torch.float32)

        def loss(places: Sequence[int]) -> Any:
            logits = self._model(**self._inputs([examples[k].text for k in places])).logits
            wanted = truth[list(places)].to(self._device)
            return torch.nn.functional.binary_cross_entropy_with_logits(logits.float(), wanted)

        return loss

    def _inputs(self, texts: Sequence[str]) -> Any:
        return _encoded(self._tokenizer, texts, self._recipe.length).to(self._device)


class ListWriter:
    """A checkpoint that is taught to answer the list prompt; what it writes is read as strictly as any reply."""

    def __init__(self, name: str, scheme: Scheme, model: Any, tokenizer: Any, device: str, recipe: Recipe) -> None:
        self.id, self._scheme, self._recipe = name, scheme, recipe
        self._model, self._tokenizer, self._device = model, tokenizer, device
        self._prompt = list_prompt(scheme, "short")
        self.trained: Trained | None = None

    def predict(self, examples: Sequence[Example], tick: Tick = ignored) -> tuple[Answer, ...]:
        """Return one answer for each example."""
        answers: list[Answer] = [Failure(e.id, unusable(e.text) or "") for e in examples]
        usable = [k for k, e in enumerate(examples) if not unusable(e.text)]
        tick(len(examples) - len(usable))
        for places in _batches(usable, self._recipe.batch):
            for k, said in zip(places, self._written([examples[k].text for k in places]), strict=True):
                found = read_labels(said, self._scheme)
                of = examples[k].id
                answers[k] = Failure(of, found) if isinstance(found, str) else Assigned(of, found)
            tick(len(places))
        return tuple(answers)

    def loss_of(self, examples: Sequence[Example]) -> Any:
        """Return the loss of some of these examples: cross-entropy of the list's tokens."""
        wanted = [listed(labels, self._scheme) for labels in true_labels(examples)]

        def loss(places: Sequence[int]) -> Any:
            inputs = self._inputs([examples[k].text for k in places])
            targets = _encoded(self._tokenizer, [wanted[k] for k in places], self._recipe.length).to(self._device)
            ids = targets["input_ids"].masked_fill(targets["attention_mask"] == 0, -100)  # padding is no target
            return self._model(**inputs, labels=ids).loss

        return loss

    def _written(self, texts: Sequence[str]) -> list[str]:
        torch: Any = required("torch", EXTRA, WANTS)
        longest = len(self._tokenizer(listed(frozenset(self._scheme.names), self._scheme))["input_ids"]) + 8
        with torch.no_grad():
            ids = self._model.generate(**self._inputs(texts), max_new_tokens=longest, do_sample=False, num_beams=1)
        return [str(t) for t in self._tokenizer.batch_decode(ids, skip_special_tokens=True)]

    def _inputs(self, texts: Sequence[str]) -> Any:
        """Return the prompts; a text is cut where the whole would be too long, never the question behind it."""
        room = self._recipe.length - len(self._tokenizer(self._shown(""))["input_ids"])
        shown = [self._shown(_cut(self._tokenizer, text, max(room, 16))) for text in texts]
        return self._tokenizer(shown, padding=True, return_tensors="pt").to(self._device)

    def _shown(self, text: str) -> str:
        return self._prompt.messages({ROLE: text})[0].content


def listed(labels: frozenset[str], scheme: Scheme) -> str:
    """Return a label set as a model is taught to write it: names by comma, in the order of the scheme."""
    return ", ".join(name for name in scheme.names if name in labels) or "none"


def _with_head(transformers: Any, folder: Any, tokenizer: Any, labels: int) -> Any:
    """Return an encoder or decoder with a new head. Raises ModelError if its tokenizer has nothing to fill up with."""
    settings = {"num_labels": labels, "problem_type": "multi_label_classification", "ignore_mismatched_sizes": True}
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, **SAFE, **settings)
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
        if tokenizer.pad_token_id is None:
            raise ModelError(f"{folder}: its tokenizer has nothing to fill up short texts with")
    model.config.pad_token_id = tokenizer.pad_token_id
    return model


def _encoded(tokenizer: Any, texts: Sequence[str], length: int) -> Any:
    most = min(length, getattr(tokenizer, "model_max_length", length))
    return tokenizer(list(texts), padding=True, truncation=True, max_length=most, return_tensors="pt")


def _cut(tokenizer: Any, text: str, room: int) -> str:
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    return text if len(ids) <= room else str(tokenizer.decode(ids[:room]))


def _batches(places: Sequence[int], size: int) -> list[Sequence[int]]:
    return [places[k : k + size] for k in range(0, len(places), size)]
