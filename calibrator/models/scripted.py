"""A double for tests: it answers what it was told to answer and fails on anything else."""

from __future__ import annotations

from collections.abc import Callable

from calibrator.models.base import ChatReply, ChatRequest

Script = Callable[[ChatRequest], "str | ChatReply | Exception | None"]


class ScriptedModel:
    """Answers as `script` says: a text, a whole reply, an error to raise, or None for a request it was not told about.

    `asked` keeps every request in the order it came.
    """

    def __init__(self, script: Script, name: str = "scripted/double") -> None:
        self.id = self.identity = name
        self.asked: list[ChatRequest] = []
        self._script = script

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the scripted reply. Raises the scripted error, and AssertionError for an unexpected request."""
        self.asked.append(request)
        answer = self._script(request)
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            raise AssertionError(f"nobody told the double what to answer to: {request.messages[-1].content[:200]!r}")
        return ChatReply(answer) if isinstance(answer, str) else answer

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
