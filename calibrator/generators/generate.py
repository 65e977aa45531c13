"""From sources to texts: what is asked for each, the requests, and what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from calibrator.generators.design import Asked
from calibrator.generators.replies import NoText, read_text
from calibrator.generators.scheme import Method, Scheme
from calibrator.generators.sources import Source
from calibrator.generators.wording import Example, Wording
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, Sampling, request_key
from calibrator.models.client import Client
from calibrator.models.rate import LETTERS_A_TOKEN
from calibrator.models.recorded import PREFIX
from calibrator.texts import digest


@dataclass(frozen=True, slots=True)
class Task:
    """One text to be written: in answer to what, what it is asked to be, which of the samples it is, and the request.

    `sample` counts from 0 up; the seed that was sent is the request's.
    """

    source: Source
    asked: Asked
    sample: int
    request: ChatRequest


@dataclass(frozen=True, slots=True)
class Text:
    """What came of a task: a text, or None and the reason."""

    task: Task
    output: str | None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Draw:
    """How texts are drawn: samples of each, temperature (0 … 2), most tokens of a reply, and the first of the seeds.

    Sample k is asked for with seed + k.
    """

    samples: int = 1
    temperature: float = 0.7
    max_tokens: int = 256
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Workload:
    """What a piece of work takes: requests, those of them whose replies are there already, and tokens of prompts.

    The tokens are those of the requests that are left, reckoned as letters by `LETTERS_A_TOKEN`.
    """

    requests: int
    there: int
    prompt_tokens: float


@dataclass(frozen=True, slots=True)
class Outcome:
    """All texts in the order of the tasks."""

    texts: tuple[Text, ...]
    method: Method
    model: str
    failures: Mapping[str, int] = field(default_factory=dict)

    @property
    def written(self) -> int:
        """How many are texts."""
        return len(self.texts) - sum(self.failures.values())


def make_tasks(
    work: Sequence[tuple[Source, Asked]],
    wording: Wording,
    draw: Draw,
    shown: Mapping[str, Sequence[Example]] | None = None,
) -> tuple[Task, ...]:
    """Return the tasks for pairs of a source and what its answer is asked to be; `shown` are examples by source id.

    The same source asked again for the same is asked for further samples, with further seeds.
    """
    tasks = []
    for source, asked in work:
        messages = wording.messages(source.text, asked, (shown or {}).get(source.id, ()))
        for k in range(draw.samples):
            sample = source.repeat * draw.samples + k
            sampling = Sampling(draw.temperature, draw.max_tokens, draw.seed + sample)
            tasks.append(Task(source, asked, sample, ChatRequest(messages, sampling, sample)))
    return tuple(tasks)


def workload(tasks: Sequence[Task], model: str, journal: Journal) -> Workload:
    """Return what the tasks take; a reply that stands in the journal is not asked for again."""
    left, there = 0, 0
    for task in tasks:
        if len(journal) and journal.get(f"{PREFIX}{request_key(model, task.request)}") is not None:
            there += 1
        else:
            left += sum(len(m.content.encode("utf-8", "replace")) for m in task.request.messages)
    return Workload(len(tasks), there, left / LETTERS_A_TOKEN)


def generate(
    tasks: Sequence[Task],
    scheme: Scheme,
    method: Method,
    client: Client,
    told: Callable[[Text], None] = lambda text: None,
    called: str = "",
) -> Outcome:
    """Ask for all texts; `told` hears of each as it comes. Raises what the model raises, but for no reply.

    `called` is what the model is called in the rows, by default its name.
    """
    texts: dict[int, Text] = {}

    def take(place: int, reply: ChatReply) -> None:
        texts[place] = _text(tasks[place], reply, scheme)
        told(texts[place])

    client.each((task.request for task in tasks), take)
    ordered = tuple(texts[place] for place in range(len(tasks)))
    failures = Counter(t.failure for t in ordered if t.failure is not None)
    return Outcome(ordered, method, called or client.id, dict(failures.most_common()))


def _text(task: Task, reply: ChatReply, scheme: Scheme) -> Text:
    found = read_text(reply, scheme.output)
    return Text(task, None, found.reason) if isinstance(found, NoText) else Text(task, found)


def system_of(model: str, method: Method, asked: Asked, *, is_balanced: bool) -> str:
    """Return the name of the system: model, method and what was asked; a balanced design is one system."""
    wanted = "balanced" if is_balanced else asked.name
    return f"{model} {method}{f':{wanted}' if wanted else ''}"


def rows_of(outcome: Outcome, scheme: Scheme, *, is_balanced: bool = False) -> list[dict[str, Any]]:
    """Return a row for each text, all with the same columns; None where a cell is empty.

    The names of columns are those that other commands guess. For controlled texts a column for each attribute says
    whether it was required (1) or not (0), and one for each choice which option was, "" for none.
    """
    has_reference = any(t.task.source.reference is not None for t in outcome.texts)
    has_group = any(t.task.source.group is not None for t in outcome.texts)
    rows = []
    for text in outcome.texts:
        task, source = text.task, text.task.source
        system = system_of(outcome.model, outcome.method, task.asked, is_balanced=is_balanced)
        row: dict[str, Any] = {
            "id": f"{source.id}-{digest([system, task.asked.name, source.key])[:6]}-{task.sample}",
            "source": source.text,
            "output": text.output,
        }
        row |= {"reference": source.reference} if has_reference else {}
        row |= {"group": source.group} if has_group else {}
        row |= {"system": system, "method": outcome.method, "model": outcome.model}
        row |= _required(scheme, outcome.method, task.asked)
        rows.append(row | {"sample": task.sample, "seed": task.request.sampling.seed, "failure": text.failure})
    return rows


def _required(scheme: Scheme, method: Method, asked: Asked) -> dict[str, Any]:
    if method == "typed":
        return {"type": asked.type}
    if method != "controlled":
        return {}
    options = scheme.options()
    chosen = {options[name][0]: options[name][1] for name in asked.attributes if name in options}
    wanted = {f"required_{name}": int(name in asked.attributes) for name in scheme.attributes}
    return {"attributes": asked.name} | wanted | {f"required_{c}": chosen.get(c, "") for c in scheme.choices}
