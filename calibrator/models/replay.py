"""Recorded replies and nothing else: a run's journal answers in place of its models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from calibrator.errors import ModelMissing, ModelUnfit
from calibrator.journal import Journal
from calibrator.models.base import ChatReply, ChatRequest, reply_from_json, request_key
from calibrator.models.recorded import PREFIX
from calibrator.texts import digest, digest_set


class ReplayModel:
    """Answers from the journal that `replay/<path>` names: the file, or the folder of its run.

    A request has the reply that any model of that run gave to the very same one; it takes no call and costs nothing.
    The journal is only read. Raises ModelMissing if there is none, or no reply in it.
    """

    def __init__(self, name: str) -> None:
        given = Path(name.removeprefix("replay/")).expanduser()
        path = given / "journal.jsonl" if given.is_dir() else given
        if not path.is_file():
            raise ModelMissing(f"{name}: there is no journal at {path}; name a run's folder, e.g. replay/runs/<id>")
        self._journal = Journal(path)
        replies = [(k, v) for k, v in self._journal.items() if k.startswith(PREFIX)]
        self._models = sorted({value["model"] for _, value in replies})
        if not self._models:
            raise ModelMissing(f"{name}: no reply of a model is in {path}")
        self.id = name
        self.identity = f"replay#{digest_set(map(digest, replies))}"

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Return the recorded reply. Raises ModelUnfit for a request that the journal has no whole reply to."""
        problem = "the journal has no reply to this request (another prompt, item or sampling)"
        for model in self._models:
            found = self._journal.get(f"{PREFIX}{request_key(model, request)}")
            if found is not None:
                reply = reply_from_json(found["reply"])
                if reply.answers(request):
                    return replace(reply, cost=0.0, calls=0)
                problem = "the recorded reply has no log-probabilities, which are wanted now"
        raise ModelUnfit(f"{self.id}: {problem}")

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
