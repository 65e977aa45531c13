"""A model as judge that says why: a score and a few sentences of feedback, and the score rubric it may write first.

Jones et al. (2024, "A Multi-Aspect Framework for Counter Narrative Evaluation using Large Language Models", appendix C)
let a model describe each point of an aspect's scale once, and then ask for a score with an explanation, aspect by
aspect. The order is theirs (the score first, so that an explanation which is cut off costs no score); the prompts are
ours, `prompts/assess/score-rubric.j2` and `prompts/assess/assess.j2`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibrator.aspects import Aspect, Scale
from calibrator.judges.parsing import NoScore, read_score
from calibrator.models.base import ChatReply, ChatRequest, Sampling
from calibrator.models.client import Client
from calibrator.prompts import defused, item_texts, template
from calibrator.records import Failure, Item, Judgment, Message, NoRubric, Verdict
from calibrator.texts import unusable, visible

MODE = "score and feedback"
TRIES = 3  # the first at temperature 0, the others at `AGAIN`
AGAIN = 0.5
MOST_POINTS = 11  # of a scale whose points are described one by one
LONGEST = 400  # letters of a feedback or of a description
_JSON = re.compile(r"\{.*\}", re.S)


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a judge said of an item: the verdict, and its feedback; "" where the reply has none."""

    verdict: Verdict
    text: str


class FeedbackJudge:
    """Asks a model for a score on one aspect and the reason for it.

    The aspect's anchors are the score rubric (see `score_rubric`). It is a judge like any other (`judge`); `assess`
    gives the feedback too. `roles` are the texts of an item to show, the rated one last. `max_tokens` of a reply:
    feedback that is cut off is kept as far as it came.
    """

    mode = MODE

    def __init__(self, client: Client, aspect: Aspect, roles: Sequence[str], max_tokens: int = 512) -> None:
        self.id = f"feedback@{client.id}"
        self.aspect = aspect
        self._client, self._roles, self._sampling = client, tuple(roles), Sampling(0.0, max_tokens)
        self._schema = _score_schema(aspect.scale)

    def judge(self, items: Sequence[Item]) -> tuple[Verdict, ...]:
        """Return one verdict for each item, in their order. Raises what the model raises, but for no text."""
        return tuple(f.verdict for f in self.assess(items))

    def assess(self, items: Sequence[Item]) -> tuple[Feedback, ...]:
        """Return verdict and feedback for each item, in their order. Raises as `judge` does."""
        found: dict[int, Feedback] = {}
        asked: list[int] = []

        def requests() -> Iterator[ChatRequest]:
            for place, item in enumerate(items):
                if reason := unusable(item.output):
                    found[place] = Feedback(Failure(item.id, reason), "")
                    continue
                asked.append(place)
                yield self.request(item)

        def take(number: int, reply: ChatReply) -> None:
            place = asked[number]
            found[place] = self.read(items[place], reply)

        self._client.each(requests(), take)
        return tuple(found[place] for place in range(len(items)))

    def request(self, item: Item) -> ChatRequest:
        """Return what is asked of an item."""
        texts = item_texts(item)
        shown = template("assess/assess").render(
            aspect=self.aspect,
            anchors=[(point, _plain(meaning)) for point, meaning in sorted(self.aspect.anchors.items())],
            texts=[(role, texts.get(role, "")) for role in self._roles],
        )
        return ChatRequest((Message("user", shown),), self._sampling, schema=self._schema)

    def read(self, item: Item, reply: ChatReply) -> Feedback:
        """Return what a reply says of an item."""
        if reply.finish == "refused":
            return Feedback(Failure(item.id, reply.detail or "the model refused to answer"), "")
        cut = reply.finish == "length"
        said = read_score(reply.text, self.aspect.scale, cut_off=cut, names=(self.aspect.name, self.aspect.label))
        if isinstance(said, NoScore) and cut:  # the score stands first: what was cut off may be the feedback alone
            whole = re.match(r'\s*(\{\s*"score"\s*:\s*-?\d+(?:\.\d+)?)\s*,', reply.text)
            said = read_score(f"{whole[1]}}}", self.aspect.scale) if whole else said
        text = feedback_in(reply.text)
        if isinstance(said, NoScore):
            return Feedback(Failure(item.id, said.reason), text)
        return Feedback(Judgment(item.id, said.score, self.mode), text)


def feedback_in(reply: str) -> str:
    """Return the feedback in a reply: that of its JSON, also where it was cut off; else what stands around the score.

    In one line, control characters made visible; "" where there is none.
    """
    given = _object(reply).get("feedback")
    if isinstance(given, str):
        return _plain(given)
    begun = re.search(r'"feedback"\s*:\s*"((?:[^"\\]|\\.)*)', reply, re.S)
    if begun:
        return _plain(begun[1].replace('\\"', '"').replace("\\n", " "))
    rest = re.sub(r"\{[^{}]*\}", " ", reply)
    return _plain(rest) if any(c.isalpha() for c in rest) and "{" not in rest else ""


def score_rubric(client: Client, aspect: Aspect, roles: Sequence[str], max_tokens: int = 1024) -> Aspect | NoRubric:
    """Return the aspect with anchors that a model wrote, one for each point of its scale, or why there are none.

    Asked up to `TRIES` times. `roles` are the texts an assessor will see. The anchors that the aspect has are not shown
    to the model. Raises what the model raises.
    """
    points = points_of(aspect.scale)
    if len(points) > MOST_POINTS:
        return NoRubric(f"a scale of {len(points)} points is not described point by point")
    names = [f"{p:g}" for p in points]
    shown = template("assess/score-rubric").render(aspect=aspect, points=names, roles=roles)
    schema = json.dumps(
        {
            "type": "object",
            "properties": {n: {"type": "string", "maxLength": LONGEST} for n in names},
            "required": names,
            "additionalProperties": False,
        }
    )
    found: Aspect | NoRubric = NoRubric("the model was not asked")
    for draw in range(TRIES):
        sampling = Sampling(AGAIN if draw else 0.0, max_tokens, draw or None)
        reply = client.ask([ChatRequest((Message("user", shown),), sampling, draw, schema)])[0]
        found = read_anchors(aspect, reply)
        if isinstance(found, Aspect):
            break
    return found


def read_anchors(aspect: Aspect, reply: ChatReply) -> Aspect | NoRubric:
    """Return the aspect with the descriptions in a reply as its anchors, or why it has none.

    Read from JSON, or from lines that begin with the point ("1: …", "2 stars - …"). Two points that are described
    alike are no rubric: nobody could tell them apart.
    """
    if reply.finish == "refused":
        return NoRubric(reply.detail or "the model refused to answer")
    points = points_of(aspect.scale)
    given: dict[float, str] = {}
    for key, value in (_object(reply.text) or _lines(reply.text)).items():
        number = re.match(r"\D{0,8}(-?\d+(?:\.\d+)?)", key)
        if number and isinstance(value, str) and float(number[1]) in points:
            given.setdefault(float(number[1]), _plain(value))
    missing = [f"{p:g}" for p in points if not any(c.isalpha() for c in given.get(p, ""))]
    if missing:
        cut = "; the reply was cut off" if reply.finish == "length" else ""
        return NoRubric(f"no description of {', '.join(missing)}{cut}")
    if len({text.casefold() for text in given.values()}) < len(points):
        return NoRubric("two points are described alike")
    return replace(aspect, anchors={p: given[p][:LONGEST] for p in points})


def points_of(scale: Scale) -> tuple[float, ...]:
    """Return the points of a scale a rater can choose, from the lowest up."""
    count = int((scale.high - scale.low) / scale.step + 1e-9)
    return tuple(scale.low + k * scale.step for k in range(count + 1))


def _score_schema(scale: Scale) -> str:
    whole = all(float(v).is_integer() for v in (scale.low, scale.high, scale.step))
    low, high = (int(scale.low), int(scale.high)) if whole else (scale.low, scale.high)
    score = {"type": "integer" if whole else "number", "minimum": low, "maximum": high}
    feedback = {"type": "string", "maxLength": LONGEST}
    return json.dumps(
        {
            "type": "object",
            "properties": {"score": score, "feedback": feedback},
            "required": ["score", "feedback"],
            "additionalProperties": False,
        }
    )


def _object(text: str) -> Mapping[str, Any]:
    """Return the JSON object in a text, an empty one where there is none."""
    found = _JSON.search(text)
    try:
        value = json.loads(found[0], strict=False) if found else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _lines(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = re.match(
            r"\W*((?:score|star|point)?\s*-?\d+(?:\.\d+)?)\s*(?:stars?|points?)?\W*[:\-–—.)]\W*(\w.*)", line, re.I
        )
        if match:
            found.setdefault(match[1], match[2])
    return found


def _plain(text: str) -> str:
    """Return a text in one line: what a model wrote may not lay out a prompt or a terminal."""
    return defused(visible(" ".join(text.split())))
