"""Prompt templates, `prompts/*.j2`, become messages. What is the same for all items comes first, the item last.

Behind the item stands one line more, which is always the same and asks again for the reply: without it small models
go on with the item's text.

The texts of items are quoted: every line of a text begins with a mark, so that no text can end its own quotation, and
what a chat template would take for the end of a turn is broken up.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calibrator.aspects import Aspect
from calibrator.records import Disagreement, Item, Message
from calibrator.resources import folder
from calibrator.texts import digest, visible

MARK = "> "
# Everything that some reader takes for the end of a line, not the line feed alone.
_LINE_ENDS = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
# Servers turn these spellings into the control tokens of their chat templates, wherever they stand.
_CONTROL = re.compile(
    r"<(?=\||｜|/?s>|/?(?:start|end)_of_[a-z]+>|[a-z_]+\|>|/?(?:bos|eos|pad|unk)>|</?SYS>>"
    r"|(?:reserved|special|extra_id)_)|\[(?=\||/?INST\]|(?-i:/?[A-Z][A-Z_]*\]))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt: words that are always the same, or the place of an item's text (`slot` is its role)."""

    text: str = ""
    slot: str = ""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One message to a model, with places for the texts of an item."""

    parts: tuple[Part, ...]
    role: str = "user"

    def messages(self, texts: Mapping[str, str]) -> tuple[Message, ...]:
        """Return the messages for an item; `texts` holds a text for every role, and each is quoted."""
        filled = (quoted(texts[p.slot]) if p.slot else p.text for p in self.parts)
        return (Message(self.role, "".join(filled)),)

    def shown(self, texts: Mapping[str, str]) -> str:
        """Return the prompt as one text with `texts` in their places as they are, for people to fill in."""
        return "".join(texts[p.slot] if p.slot else p.text for p in self.parts)


def quoted(text: str) -> str:
    """Return a text as material in a prompt: each of its lines begins with the mark."""
    return "\n".join(MARK + line for line in _LINE_ENDS.split(defused(text)))


def defused(text: str) -> str:
    """Return a text in which nothing reads as a control token; a space breaks up what would."""
    return _CONTROL.sub(lambda m: f"{m[0]} ", text)


def item_texts(item: Item) -> dict[str, str]:
    """Return the texts of an item by role, the rated one last."""
    return {"source": item.source, **item.inputs, "output": item.output}


def score_prompt(aspect: Aspect, steps: Sequence[str], roles: Sequence[str]) -> Prompt:
    """Return the prompt that asks for one score; `roles` are the texts of an item to show, the rated one last."""
    mark = secrets.token_hex(16)  # no aspect can hold it, so that none can make a place for a text
    slot = f"{mark}{{}}{mark}".format
    shown = _render("score", aspect, steps=[_plain(s) for s in steps], roles=roles, called=aspect.called, slot=slot)
    pieces = (shown.rstrip("\n") + "\n").split(mark)
    return Prompt(tuple(Part(slot=p) if k % 2 else Part(p) for k, p in enumerate(pieces) if p))


def g_eval_prompt(aspect: Aspect, roles: Sequence[str]) -> tuple[Message, ...]:
    """Return the messages that ask for evaluation steps from the definition alone."""
    return (Message("user", _render("g-eval", aspect, roles=roles)),)


def draft_prompt(aspect: Aspect, roles: Sequence[str], exemplars: Sequence[Item]) -> tuple[Message, ...]:
    """Return the messages that ask for a rubric, with rated items to learn from."""
    examples = [{"rated": _number(i.human), "texts": _named(aspect, roles, i)} for i in exemplars]
    return (Message("user", _render("draft", aspect, examples=examples)),)


def refine_prompt(
    aspect: Aspect, roles: Sequence[str], steps: Sequence[str], move: str, worst: Sequence[Disagreement]
) -> tuple[Message, ...]:
    """Return the messages that ask for a better rubric by one move, with the worst disagreements.

    Each move has a template of its own, `prompts/refine-<move>.j2`, which says what to do; the rest is the same for
    all. Raises jinja2.TemplateNotFound for a move that has none.
    """
    examples = [
        {
            "judged": _number(d.judged),
            "rated": _number(d.human),
            "off": _off(d),
            "texts": _named(aspect, roles, d.item),
        }
        for d in worst
    ]
    values = {"steps": [_plain(s) for s in steps], "examples": examples}
    return (Message("user", _render(f"refine-{move}", aspect, **values)),)


def inline(text: str) -> str:
    """Return a text as it stands inside a sentence: in one line, double quotation marks made single."""
    return " ".join(defused(text).split()).replace('"', "'")


def prompts_digest() -> str:
    """Return the digest of the templates of a calibration: with other ones the same run would ask something else.

    Those in folders (`generate/`, `types/`, `assess/`) belong to other work.
    """
    return digest({p.name: p.read_text(encoding="utf-8") for p in sorted(folder("prompts").glob("*.j2"))})


def _off(disagreement: Disagreement) -> str:
    """Return in words which way the judge was wrong.

    A gap in ranks may point the other way than the two figures do: a judge that is a point too high throughout has put
    a text too low where it is only half a point too high.
    """
    points, gap = disagreement.judged - disagreement.human, disagreement.gap
    way = "high" if gap > 0 or (gap == 0 and points > 0) else "low"
    if points * gap < 0:
        return f"beside all the other texts, the assessor put this one too {way}"
    return f"the assessor was too {way}"


def _named(aspect: Aspect, roles: Sequence[str], item: Item) -> list[tuple[str, str]]:
    texts = item_texts(item)
    return [(aspect.called(role), texts.get(role, "")) for role in roles]


def _number(value: float | None) -> str:
    return "?" if value is None else f"{value:.3g}"


def _plain(step: str) -> str:
    """Return a step in one line: what a model wrote may not lay out the prompt either."""
    return defused(visible(" ".join(step.split())))


def _render(name: str, aspect: Aspect, **values: Any) -> str:
    return str(template(name).render(aspect=aspect, **values))


def template(name: str) -> Any:
    """Return `prompts/<name>.j2`, a jinja2.Template; a value that it names and is not given is an error.

    Nothing is escaped: a prompt is plain text. The filter `quoted` makes a text material, `inline` puts it into a
    sentence, `defused` breaks up what a chat template would take for the end of a turn.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder("prompts")), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    environment.filters |= {"quoted": quoted, "defused": defused, "inline": inline}
    environment.globals["number"] = _number
    return environment.get_template(f"{name}.j2")
