"""UniEval: a T5 asked yes-or-no questions about a text, one for each dimension (Zhong et al. 2022).

The value is P("Yes") / (P("Yes") + P("No")) for the first token of the answer (equation 1), 0 to 1. Questions are those
the checkpoints were trained with (`data/metrics/unieval.yaml`); input is cut at 1,024 tokens. As in the published code
some dimensions ask about each sentence of the output and average the answers; engagingness adds them up and so has no
upper bound; the overall value is the mean of a task's dimensions. Sentences are those of NLTK's English Punkt model,
which must be at hand for these (`python -m nltk.downloader punkt_tab`).

Responses have their history as the source, and for engagingness and groundedness an input named `fact`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from calibrator.errors import ConfigError, ModelError, ModelMissing, ModelUnfit
from calibrator.hub import required
from calibrator.metrics.base import NEURAL, OVERLAP, ItemScorer, Metric, Role, Settings, Tick, Unscored, Value
from calibrator.metrics.neural import PACKAGES, Network, batches, load, shared
from calibrator.records import Item
from calibrator.resources import folder
from calibrator.validation import load_yaml

SUMMARY, RESPONSE, FACT = "MingZhong/unieval-sum", "MingZhong/unieval-dialog", "MingZhong/unieval-fact"
BATCH = 8
LONGEST = 1024  # tokens, as in the published code
PUNKT = "tokenizers/punkt_tab/english/"
Split = Callable[[str], Sequence[str]]


class Question(BaseModel):
    """What is asked for a dimension, with places in braces, and about what: the whole output or `each` sentence."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    ask: str
    each: Literal["mean", "sum"] | None = None

    def about(self, item: Item, output: str) -> str:
        """Return the question about `output`, with the other texts of the item. Raises KeyError for one it lacks."""
        texts = {**item.inputs, "source": item.source, "reference": item.reference or "", "output": output}
        return re.sub(r"\{(\w+)\}", lambda place: texts[place[1]], self.ask)


def questions(task: str) -> dict[str, Question]:
    """Return the questions of a task by dimension. Raises ConfigError if the file does not hold them."""
    file = folder("data") / "metrics" / "unieval.yaml"
    try:
        tasks = TypeAdapter(dict[str, dict[str, Question]]).validate_python(load_yaml(file, ConfigError))
    except ValidationError as error:
        raise ConfigError(f"{file.name}: {error.errors()[0]['msg']}") from None
    if task not in tasks:
        raise ConfigError(f"{file.name} has no task '{task}'")
    return tasks[task]


def answers(network: Network, asked: Sequence[str], size: int, tick: Tick) -> list[float]:
    """Return for each question the probability of "Yes" where "Yes" and "No" are the only answers, 0 to 1.

    Raises ModelUnfit if the model's tokens cannot tell the two apart.
    """
    torch: Any = required("torch", NEURAL, "unieval")
    yes, no = (network.tokenizer(word)["input_ids"][0] for word in ("Yes", "No"))
    if yes == no:
        raise ModelUnfit(f"{network.name} cannot answer Yes or No: it has one token for both")
    found = [0.0] * len(asked)
    with torch.inference_mode():
        for chosen in batches(asked, len, size, tick):
            batch = network.tokens([asked[place] for place in chosen])
            start = torch.full((len(chosen), 1), network.model.config.decoder_start_token_id, device=network.device)
            given = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
            first = network.model(**given, decoder_input_ids=start, use_cache=False).logits[:, 0]
            # The softmax over all tokens cancels out of the ratio.
            for place, value in zip(chosen, torch.sigmoid(first[:, yes] - first[:, no]).tolist(), strict=True):
                found[place] = float(value)
    return found


@dataclass(frozen=True, slots=True)
class _Scorer:
    """The mean over some dimensions of a task, under one name."""

    network: Network
    size: int
    name: str
    asked: tuple[Question, ...]
    split: Split

    def __call__(self, items: Sequence[Item], tick: Tick) -> Mapping[str, tuple[Value, ...]]:
        asked = [[self._questions(question, item) for question in self.asked] for item in items]
        texts = [text for item in asked for part in item if not isinstance(part, Unscored) for text in part]
        found = iter(answers(self.network, texts, self.size, shared(tick, len(texts), len(items))))
        return {self.name: tuple(self._value(item, found) for item in asked)}

    def _questions(self, question: Question, item: Item) -> list[str] | Unscored:
        """Return what is asked of an item in a dimension."""
        parts = [item.output] if question.each is None else self.split(item.output)
        try:
            return [question.about(item, part) for part in parts]
        except KeyError as error:
            return Unscored(f"no input named {error.args[0]}")

    def _value(self, asked: Sequence[list[str] | Unscored], found: Iterator[float]) -> Value:
        """Return the value of an item, whose answers come next in `found`."""
        total: float = 0
        missing: Unscored | None = None
        for question, part in zip(self.asked, asked, strict=True):
            if isinstance(part, Unscored):
                missing = part
            else:
                mine = sum(next(found) for _ in part)
                total += mine if question.each == "sum" else mine / len(part)
        return missing or total / len(self.asked)


def punkt(settings: Settings) -> Split:
    """Return what splits a text into sentences: NLTK's Punkt with its English model.

    NLTK reads below the folders of `nltk.data.path` only, so that of the settings is added there. Raises ModelMissing,
    with the command that provides it, if NLTK or the model is not there, ModelError if NLTK may not or cannot read it.
    """
    nltk: Any = required("nltk.tokenize.punkt", OVERLAP, "unieval")
    data: Any = required("nltk.data", OVERLAP, "unieval")
    own = [str(settings.nltk_data)] if settings.nltk_data else []
    data.path.extend(folder for folder in own if folder not in data.path)
    try:
        model = nltk.load_punkt_params(data.find(PUNKT, paths=[*own, *data.path]))
    except LookupError:
        problem = "NLTK's model of English sentences is not on this machine"
        raise ModelMissing(f"unieval: {problem}; it comes with: python -m nltk.downloader punkt_tab") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"NLTK's model of English sentences cannot be read: {' '.join(str(error).split())}") from None
    sentences = nltk.PunktSentenceTokenizer(model)
    return lambda text: sentences.tokenize(text) or [text]


def _make(name: str, task: str, dimensions: tuple[str, ...], default: str, settings: Settings) -> ItemScorer:
    asked = questions(task)
    chosen = tuple(asked[dimension] for dimension in dimensions)
    split = punkt(settings) if any(question.each for question in chosen) else (lambda text: [text])
    network = load(settings, default, "unieval", head="AutoModelForSeq2SeqLM", longest=LONGEST)
    return _Scorer(network, settings.batch_size or BATCH, name, chosen, split)


def _metric(
    name: str, task: str, dimensions: str, model: str, needs: str, about: str, high: float | None = 1.0
) -> Metric:
    roles: dict[str, Role] = {"output": "output", "source": "source", "reference": "reference"}
    return Metric(
        name=name,
        family="likelihood",
        better="higher",
        needs=("output", *(roles[role] for role in needs.split())),
        make=partial(_make, name, task, tuple(dimensions.split()), model),
        summary=about,
        source="Zhong et al. 2022, UniEval, equation 1; questions and sentences as in its published code",
        extra=NEURAL,
        packages=(*PACKAGES, "nltk"),
        model=model,
        low=0.0,
        high=high,
    )


_ALL = "coherence consistency fluency relevance"
_TURN = "naturalness coherence engagingness groundedness understandability"
METRICS: tuple[Metric, ...] = (
    _metric("unieval", "summary", _ALL, SUMMARY, "source reference", "mean of UniEval's four dimensions of summaries"),
    _metric("unieval-coherence", "summary", "coherence", SUMMARY, "source", "is it a coherent summary of the source"),
    _metric("unieval-consistency", "summary", "consistency", SUMMARY, "source", "is what it says in the source"),
    _metric("unieval-fluency", "summary", "fluency", SUMMARY, "", "are its sentences fluent"),
    _metric("unieval-relevance", "summary", "relevance", SUMMARY, "reference", "does it say what the reference says"),
    _metric(
        "unieval-response", "response", _TURN, RESPONSE, "source", "mean of the five dimensions of responses", None
    ),
    _metric("unieval-response-naturalness", "response", "naturalness", RESPONSE, "", "is it a natural response"),
    _metric("unieval-response-coherence", "response", "coherence", RESPONSE, "source", "does it fit the history"),
    _metric("unieval-response-engagingness", "response", "engagingness", RESPONSE, "source", "is it engaging", None),
    _metric("unieval-response-groundedness", "response", "groundedness", RESPONSE, "", "does it agree with the fact"),
    _metric("unieval-response-understandability", "response", "understandability", RESPONSE, "", "is it clear"),
    _metric("unieval-data-naturalness", "data", "naturalness", SUMMARY, "", "is it a fluent utterance"),
    _metric("unieval-data-informativeness", "data", "informativeness", SUMMARY, "reference", "does it inform alike"),
    _metric("unieval-fact", "fact", "consistency", FACT, "source", "is each of its sentences true to the source"),
)
