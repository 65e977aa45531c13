"""Stability over temperatures from replies that were recorded before, of any model, without asking anybody.

A file of recorded replies is JSON lines, an object for each reply, with

- `item` (or `uuid`, `id`): which item was rated; the same in all replies to it
- `temperature`: at which the reply was drawn
- `reply` (or `response`, `text`): what the model said, whole
- `finish` (or `finish_reason`): "length" where the reply was cut off; anything else, or nothing, where it was not
- `model`: who said it; may be left out where all replies are of one model
- `aspect`: what was rated; may be left out where it is the same in all
- what groups the items, in a field of any name: the item itself where none is named

Other fields do not matter. Each item has one reply of a model at a temperature at most.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from calibrator.aspects import Aspect
from calibrator.columns import SOURCE
from calibrator.errors import DataError
from calibrator.evaluation.probes.base import RESAMPLES, Finding, Line, Subject
from calibrator.evaluation.probes.temperatures import WHAT, Temperatures, temperature_lines
from calibrator.judges.parsing import NoScore, read_score
from calibrator.records import Failure, Item, Judgment, Verdict
from calibrator.validation import first_fault

MISSING = "no reply was recorded"
MODE = "text"


class RecordedReply(BaseModel):
    """A line of the file."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, coerce_numbers_to_str=True)
    item: str = Field(validation_alias=AliasChoices("item", "uuid", "id"), min_length=1)
    temperature: float = Field(ge=0)
    reply: str = Field(validation_alias=AliasChoices("reply", "response", "text"))
    finish: str | None = Field(default=None, validation_alias=AliasChoices("finish", "finish_reason"))
    model: str = ""
    aspect: str | None = None


class Replies:
    """The judge whose scores are read from recorded replies: it is probed by what it once said, and asked nothing."""

    mode = MODE

    def __init__(self, name: str) -> None:
        self.id = f"replies:{name}"

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Refuse: there is nobody to ask."""
        raise NotImplementedError("recorded replies answer no new question")


def read_replies(
    path: Path, aspect: Aspect, group: str | None = None
) -> tuple[dict[str, dict[float, dict[str, Verdict]]], dict[str, str]]:
    """Return the verdicts by model, temperature and item, and the group of each item.

    `group` names the field that groups the items: by default the first usual name of a source that the file has
    (`columns.SOURCE`), else each item is its own group. Replies to other aspects are passed over. Raises DataError,
    which names file and line, for what is no such file, a second reply to the same, and if nothing is about the aspect.
    """
    verdicts: dict[str, dict[float, dict[str, Verdict]]] = {}
    groups: dict[str, str] = {}
    names = (aspect.name, aspect.label)
    for row, value in _lines(path):
        try:
            line = RecordedReply.model_validate(value)
        except ValidationError as error:
            raise DataError(" ".join(first_fault(error)), file=path, row=row) from None
        if line.aspect is not None and line.aspect.casefold() not in {n.casefold() for n in (*names, aspect.ref)}:
            continue
        if group is None and not groups:
            group = next((name for name in SOURCE if isinstance(value.get(name), str)), None)
        if group is not None and not isinstance(value.get(group), str):
            raise DataError(f"there is no text under '{group}', which was named to group the items", file=path, row=row)
        here = verdicts.setdefault(line.model, {}).setdefault(line.temperature, {})
        if line.item in here:
            raise DataError(f"a second reply to item '{line.item}' at {line.temperature:g}", file=path, row=row)
        found = read_score(line.reply, aspect.scale, cut_off=line.finish == "length", names=names)
        if isinstance(found, NoScore):
            here[line.item] = Failure(line.item, found.reason)
        else:
            here[line.item] = Judgment(line.item, found.score, MODE)
        groups[line.item] = str(value[group]) if group else line.item
    if not verdicts:
        raise DataError(f"no reply is about '{aspect.name}'", file=path)
    return verdicts, groups


def probe_replies(
    path: Path, aspect: Aspect, group: str | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Finding, Subject]:
    """Return how stable recorded scores are over temperatures, a set of lines for each model; and what was probed.

    An item without a reply at one of a model's temperatures is a failure there. Raises DataError as `read_replies`
    does.
    """
    verdicts, groups = read_replies(path, aspect, group)
    items = tuple(Item(id=name, output="", group=groups[name], key=name) for name in sorted(groups))
    subject = Subject(Replies(path.name), aspect, items, seed, fixed=True, resamples=resamples)
    lines: list[Line] = []
    for model, by_temperature in sorted(verdicts.items()):
        given = {t: _of(items, here) for t, here in sorted(by_temperature.items())}
        lines += temperature_lines(subject, given, f"{model} " if model else "")
    return Finding(Temperatures.name, f"replies recorded in {path.name}; {WHAT}", tuple(lines)), subject


def _of(items: tuple[Item, ...], given: Mapping[str, Verdict]) -> tuple[Verdict, ...]:
    return tuple(given.get(i.id) or Failure(i.id, MISSING) for i in items)


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"not readable: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        raise DataError("not text in UTF-8", file=path) from None
    for row, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except ValueError:
            raise DataError("not a line of JSON", file=path, row=row) from None
        if not isinstance(value, dict):
            raise DataError("not a JSON object", file=path, row=row)
        yield row, value
