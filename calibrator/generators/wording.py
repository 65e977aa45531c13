"""Prompts that ask for a text: `prompts/generate/<method>.j2`, filled in from a scheme.

Sources and examples are quoted as material (see `calibrator.prompts`). In the two forms that follow a published prompt,
vanilla and typed, the source stands as in the original: as the user's message, or inside the sentence; what a chat
template would take for the end of a turn is broken up all the same.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calibrator.generators.design import Asked
from calibrator.generators.scheme import Method, Scheme
from calibrator.prompts import template
from calibrator.records import Message

Form = Literal["chat", "plain"]
FORMED: tuple[Method, ...] = ("vanilla", "typed")  # the methods that have both


@dataclass(frozen=True, slots=True)
class Example:
    """A source and a text that answers it, shown to the model; `group` is that of its row, None without one."""

    source: str
    output: str
    group: str | None = None


class Wording:
    """Makes the messages of one method from a scheme.

    `form` is "chat" (an instruction, and for vanilla and typed the source as the user's message) or "plain" (one text
    whose end the answer continues), of which only vanilla and typed have two. `words` is the limit that is named, None
    for none.
    """

    def __init__(self, scheme: Scheme, method: Method, form: Form = "chat", words: int | None = None) -> None:
        self.scheme, self.method, self.form, self.words = scheme, method, form, words
        self._turn = secrets.token_hex(16)  # no text can hold it, so that none can begin another message
        self._template = template(f"generate/{method}")

    def messages(self, source: str, asked: Asked, examples: Sequence[Example] = ()) -> tuple[Message, ...]:
        """Return the messages that ask for one text in answer to `source`."""
        scheme, kinds = self.scheme, self.scheme.kinds()
        filled = self._template.render(
            scheme=scheme,
            form=self.form,
            words=self.words,
            source=source,
            turn=self._turn,
            type=scheme.types.get(asked.type),
            types=list(scheme.types.values()),
            wanted=[kinds[name] for name in asked.attributes],
            examples=examples,
        )
        first, found, second = filled.partition(self._turn)
        if found:
            return Message("system", first.strip()), Message("user", second.strip())
        return (Message("user", first.rstrip() + ("" if self.form == "plain" else "\n")),)
