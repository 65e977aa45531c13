"""What a model replied, read as a text or as the reason why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from calibrator.models.base import ChatReply
from calibrator.texts import normalise, unusable

CUT, REFUSED = "the reply was cut off", "the model refused to write the text"
_MARKS = (('"', '"'), ("“", "”"), ("«", "»"), ("'", "'"))
# Only what cannot be the answer that was asked for: "I'm sorry you feel that way" is one, "I cannot help with that
# request" is none, and "I cannot help with hatred" is one again. In English alone; refusals in other languages stand as
# texts.
_SORRY = (
    r"\W*(?:(?:(?:i['’]m|i am) (?:very |so |truly |really )?sorry|i apologi[sz]e|my apologies|sorry|unfortunately)"
    r"\W+(?:but )?)?"
)
_WILL_NOT = (
    r"(?:i (?:can ?not|can['’]t|won['’]t|will not|refuse to|decline to)|i (?:must|have to) (?:decline|refuse) to"
    r"|(?:i['’]m|i am) (?:unable to|not able to|not going to))"
)
_HERE = r"(?:that|this)(?=\s*(?:[.!,;:]|$))"  # and not "this hatred"
_REQUEST = r"(?:[\w'’-]+ ){0,3}(?:requests?|prompts?|tasks?|instructions?)\b"
_THIS = rf"(?:{_HERE}|{_REQUEST})"
_MAKE = r"(?:generat|creat|produc|writ|provid|complet)"
# "a response to this", and not "a platform for your message" or "a response because your message breaks my heart"
_TEXT = (
    r"(?:you with )?(?:(?!(?:for|to|with|about|on|in|off|because|when)\b)[\w'’/-]+,? ){0,6}?"
    r"(?:content|requests?|responses?|reply|replies|texts?|\w*speech|messages?|answers?)\b"
    r"(?! (?:because|when|while|until|without|since)\b)"
)
_REFUSAL = re.compile(
    rf"{_SORRY}(?:as an ai\b|as a (?:large )?language model\b"
    r"|(?:i['’]m|i am) (?:just|only|merely) an? (?:ai|language model)\b"
    rf"|{_WILL_NOT} (?:(?:assist|help)(?: you)? (?:with|in) (?:{_THIS}|{_MAKE}ing (?:{_TEXT}|{_HERE}))"
    rf"|(?:fulfil|fulfill|comply with|satisfy|process) {_THIS}|(?:engage (?:with|in)|respond to|answer) {_REQUEST}"
    rf"|(?:(?:assist|help)(?: you)? (?:to )?)?{_MAKE}e?\b (?:{_TEXT}|{_HERE})"
    rf"|do (?:that|this|so)(?=\s*(?:[.!]|$))))",
    re.IGNORECASE,
)
# What an assistant says of itself or offers, wherever it stands behind "I cannot …".
_WILL_NOT_FIRST = re.compile(rf"{_SORRY}{_WILL_NOT}\b", re.IGNORECASE)
_ASSISTANT = re.compile(
    r"\b(?:(?:some|any)thing else (?:that )?i (?:can|could) (?:help|assist|do)"
    r"|how (?:else )?can i (?:help|assist) you\W*\?|my (?:programming|guidelines)\b"
    r"|(?:as|just) an ai\b|ai (?:language )?(?:model|assistant)\b)",
    re.IGNORECASE,
)
_THOUGHT, _END_OF_THOUGHT = "<think>", "</think>"


@dataclass(frozen=True, slots=True)
class NoText:
    """There is no text, with the reason."""

    reason: str


def read_text(reply: ChatReply, called: str) -> str | NoText:
    """Return the text in a reply, or why there is none; `called` is what such a text is called.

    What is laid around a text is taken off: a heading that is its name, quotation marks around the whole, marks of
    quotation at the beginnings of lines, and what a model thought before it. A refusal, an empty reply, one without a
    word, one that was cut off at its longest and one that ends in thought are no texts.
    """
    if reply.finish == "refused":
        return NoText(reply.detail or REFUSED)
    if reply.finish == "length":
        return NoText(CUT if bare(reply.text, called) else "empty text")
    before, ended, after = reply.text.partition(_END_OF_THOUGHT)  # where it begins may stand in the prompt
    if not ended and before.lstrip().startswith(_THOUGHT):
        return NoText(CUT)
    text = bare(after if ended else before, called)
    if reason := unusable(text):
        return NoText(reason)
    return NoText(REFUSED) if _refused(text) else text


def _refused(text: str) -> bool:
    return bool(_REFUSAL.match(text) or (_WILL_NOT_FIRST.match(text) and _ASSISTANT.search(text)))


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
