"""What a model replied, read as a text or as the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from calibrator.models.base import ChatReply
from calibrator.texts import normalise, unusable

CUT, REFUSED = "the reply was cut off", "the model refused to write the text"
_MARKS = (('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"))
# Only what cannot be the answer that was asked for: "I'm sorry you feel that way" is one, "I cannot help with that
# request" is none. In English alone; refusals in other languages stand as texts.
_REFUSAL = re.compile(
    r"\W*(?:(?:i['’]m|i am) (?:very |so |truly |really )?sorry,? (?:but )?|i apologi[sz]e,? (?:but )?|sorry,? (?:but )?"
    r"|unfortunately,? )?(?:as an ai\b|as a (?:large )?language model\b|"
    r"(?:i (?:can ?not|can['’]t|won['’]t|will not)|(?:i['’]m|i am) (?:unable|not able) to|i must decline to) "
    r"(?:(?:assist|help)(?: you)? with|fulfil|comply with|(?:generate|create|produce|write|provide|complete)\b[^.!?]*"
    r"(?:content|request|response|reply|text|speech|message|answer)\b))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NoText:
    """There is no text, with the reason."""

    reason: str


def read_text(reply: ChatReply, called: str) -> str | NoText:
    """Return the text in a reply, or why there is none; `called` is what such a text is called.

    What is laid around a text is taken off: a heading that is its name, quotation marks around the whole, marks of
    quotation at the beginnings of lines. A refusal, an empty reply, one without a word and one that was cut off at its
    longest are no texts.
    """
    if reply.finish == "refused":
        return NoText(reply.detail or REFUSED)
    text = bare(reply.text, called)
    if reply.finish == "length":
        return NoText(CUT if text else "empty text")
    if reason := unusable(text):
        return NoText(reason)
    return NoText(REFUSED) if _REFUSAL.match(text) else text


def bare(text: str, called: str) -> str:
    """Return a text without what models lay around it; see `read_text`."""
    lines = [line.removeprefix("> ").removeprefix(">") for line in text.strip().splitlines()]
    text = "\n".join(lines).strip()
    heading, colon, rest = text.partition(":")
    if colon and normalise(heading) == normalise(called):
        text = rest.strip(" *_\n\t")
    for first, last in _MARKS:
        inner = text[1:-1]
        if len(text) > 1 and text[0] == first and text[-1] == last and first not in inner and last not in inner:
            return inner.strip()
    return text
